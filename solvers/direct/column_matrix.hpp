/// \file
/// A square matrix by columns in double, as direct solvers take it, and its scaling by powers of two.
#pragma once

#include "core/detail_namespace.hpp"
#include "preprocess/fill_prediction.hpp"
#include "tessera/csr.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
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

/// A, by rows as a pattern, and by columns.
struct DirectSystem {
  PatternLists columns_of;  ///< of the caller's matrix
  ColumnMatrix columns;
  bool is_symmetric = false;
};

/// Factors 2^row[i] and 2^column[j].
struct PowerScaling {
  std::vector<int> row;
  std::vector<int> column;
};

/// value 2^exponent, rounded only where it is subnormal.
[[nodiscard]] inline double scale_by_power(double value, int exponent) {
  if (exponent < -1022 || exponent > 1023) return std::ldexp(value, exponent);
  return value * std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52U);
}

/// floor(log2 |value|) of a finite value that is not 0.
[[nodiscard]] inline int exponent_of(double value) {
  const auto biased = static_cast<int>((std::bit_cast<std::uint64_t>(value) >> 52U) & 0x7ffU);
  return biased == 0 ? std::ilogb(value) : biased - 1023;
}

/// Brings the largest magnitude of every row and column to about 1 (Ruiz 2001, in exponents of two, so that nothing
/// overflows or is rounded). A symmetric matrix gets equal factors for row and column i.
[[nodiscard]] PowerScaling power_scaling(const ColumnMatrix& matrix);

/// Rows and columns in other orders: new row and column k are the old rows[k] and columns[k].
struct DirectOrder {
  std::vector<index_t> rows;
  std::vector<index_t> columns;
};

/// Entry (i, j) of the result is entry (rows[i], columns[j]), scaled. Entries that would underflow become the smallest
/// normal number: none is lost.
[[nodiscard]] ColumnMatrix permuted(const ColumnMatrix& matrix, const PowerScaling& scaling, const DirectOrder& order);

extern template ColumnMatrix columns_of(const CsrView<float>&);
extern template ColumnMatrix columns_of(const CsrView<double>&);
extern template bool is_symmetric(const CsrView<float>&, const ColumnMatrix&);
extern template bool is_symmetric(const CsrView<double>&, const ColumnMatrix&);

}  // namespace tessera::detail
