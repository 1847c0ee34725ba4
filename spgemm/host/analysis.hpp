/// \file
/// Analysis of C = A B on the host: products and column range per row, from one pass over A.
#pragma once

#include "spgemm/common/factors.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"

#include <algorithm>
#include <cstdint>

namespace tessera::host {

/// Products and column range of every row of C.
struct ProductAnalysis {
  Array<offset_t> products;      ///< running sum, rows + 1 entries, the first 0
  Array<index_t> first_columns;  ///< smallest column of every row; 0 for an empty one
  Array<index_t> widths;         ///< columns from the smallest to the largest; 0 for an empty row
  offset_t bound_total = 0;      ///< Σ of what rows can hold at most

  [[nodiscard]] std::int64_t rows() const noexcept { return widths.size(); }
  [[nodiscard]] offset_t total() const noexcept { return products[rows()]; }
  [[nodiscard]] offset_t row_products(std::int64_t i) const noexcept { return products[i + 1] - products[i]; }
  /// The most entries row i can have.
  [[nodiscard]] offset_t bound(std::int64_t i) const noexcept { return std::min<offset_t>(row_products(i), widths[i]); }
  /// Row i of C, with its bound as the limit. \param a_offsets of A
  [[nodiscard]] RowTask task(const offset_t* a_offsets, std::int64_t i) const noexcept {
    return {a_offsets[i], a_offsets[i + 1], first_columns[i], widths[i], row_products(i), bound(i)};
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return products.bytes() + first_columns.bytes() + widths.bytes();
  }
  [[nodiscard]] static std::uint64_t bytes(std::int64_t rows) noexcept {
    return static_cast<std::uint64_t>(rows) * (sizeof(offset_t) + 2 * sizeof(index_t)) + sizeof(offset_t);
  }
};

/// O(rows(A) + nnz(A)). \param device the host \throws InvalidArgument when the products do not fit into 63 bits
template <class T>
[[nodiscard]] ProductAnalysis analyse_product(const CsrView<T>& a, const CsrView<T>& b, const Device& device);

}  // namespace tessera::host
