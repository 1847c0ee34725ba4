/// \file
/// A square matrix by columns in double, as direct solvers take it, and its scaling by powers of two.
#pragma once

#include "core/detail_namespace.hpp"
#include "preprocess/fill_prediction.hpp"
#include "tessera/csr.hpp"

#include <span>
#include <vector>

namespace tessera::detail {

/// Compressed columns.
struct ColumnMatrix {
  std::vector<offset_t> offsets;  ///< n + 1 entries
  std::vector<index_t> rows;      ///< nnz entries, in any order within a column
  std::vector<double> values;     ///< nnz entries

  [[nodiscard]] index_t size() const noexcept { return static_cast<index_t>(offsets.size() - 1); }
  [[nodiscard]] offset_t nnz() const noexcept { return offsets.back(); }
  [[nodiscard]] PatternLists pattern() const noexcept { return {offsets, rows}; }
};

/// The columns of a matrix, rows ascending. O(nnz).
/// \throws InvalidMatrix naming the first row that holds NaN or infinity
template <class T>
[[nodiscard]] ColumnMatrix columns_of(const CsrView<T>& matrix);

/// Whether the matrix equals its transpose, value by value.
template <class T>
[[nodiscard]] bool is_symmetric(const CsrView<T>& matrix, const ColumnMatrix& columns);

/// Factors 2^row[i] and 2^column[j].
struct PowerScaling {
  std::vector<int> row;
  std::vector<int> column;
};

/// Brings the largest magnitude of every row and column to about 1 (Ruiz 2001, in exponents of two, so that nothing
/// overflows or is rounded). A symmetric matrix gets equal factors for row and column i.
[[nodiscard]] PowerScaling power_scaling(const ColumnMatrix& matrix);

/// Entry (i, j) of the result is entry (order[i], order[j]), scaled. Entries that would underflow become the smallest
/// normal number: none is lost.
[[nodiscard]] ColumnMatrix permuted(const ColumnMatrix& matrix, const PowerScaling& scaling,
                                    std::span<const index_t> order);

extern template ColumnMatrix columns_of(const CsrView<float>&);
extern template ColumnMatrix columns_of(const CsrView<double>&);
extern template bool is_symmetric(const CsrView<float>&, const ColumnMatrix&);
extern template bool is_symmetric(const CsrView<double>&, const ColumnMatrix&);

}  // namespace tessera::detail
