/// \file
/// CSR times a multivector on the host: rows split by the merge path, eight sums per row at a time.
#include "preprocess/merge_search.hpp"
#include "spmv/common/chunks.hpp"
#include "spmv/multi_vector/csr_product.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace tessera::host {

namespace {

/// Adds the terms of a row to one sum per column.
template <std::size_t Width, class T>
void add_row(const CsrView<T>& a, Range entries, const MultiVectorView<const T>& x, std::int64_t column,
             std::array<T, Width>& sums) {
  const std::int64_t row_stride = x.row_stride();
  const std::int64_t column_stride = x.column_stride();
  const T* const first = x.data() + column * column_stride;
  for (auto k = static_cast<std::size_t>(entries.begin); k < static_cast<std::size_t>(entries.end); ++k) {
    const T value = a.value(static_cast<offset_t>(k));
    const T* const of_row = first + a.columns[k] * row_stride;
    for (std::size_t n = 0; n < Width; ++n) sums[n] += value * of_row[static_cast<std::int64_t>(n) * column_stride];
  }
}

template <std::size_t Width, class T>
void multiply_row(const CsrView<T>& a, Range entries, std::int64_t row, std::int64_t column, T alpha,
                  const MultiVectorView<const T>& x, T beta, const MultiVectorView<T>& y) {
  std::array<T, Width> sums{};
  add_row(a, entries, x, column, sums);
  for (std::size_t n = 0; n < Width; ++n) {
    T& target = y(row, column + static_cast<std::int64_t>(n));
    const T product = alpha * sums[n];
    target = beta == T{0} ? product : product + beta * target;
  }
}

}  // namespace

template <class T>
void csr_product(const Device& device, const CsrView<T>& a, T alpha, const MultiVectorView<const T>& x, T beta,
                 const MultiVectorView<T>& y) {
  const offset_t* const row_offsets = a.row_offsets.data();
  const offset_t length = a.rows + a.nnz();
  const std::int64_t chunks = chunk_count(length);
  for_each_chunk(device, chunks, [&](std::int64_t s) {
    const Range path = part_of(length, chunks, s);
    const std::int64_t end = merge_search(row_offsets, a.rows, a.nnz(), path.end).y;
    for (std::int64_t i = merge_search(row_offsets, a.rows, a.nnz(), path.begin).y; i < end; ++i) {
      const Range entries{row_offsets[i], alpha == T{0} ? row_offsets[i] : row_offsets[i + 1]};
      std::int64_t column = 0;
      for (; column + detail::panel_columns <= y.columns(); column += detail::panel_columns) {
        multiply_row<detail::panel_columns>(a, entries, i, column, alpha, x, beta, y);
      }
      for (; column < y.columns(); ++column) multiply_row<1>(a, entries, i, column, alpha, x, beta, y);
    }
  });
}

template void csr_product(const Device&, const CsrView<float>&, float, const MultiVectorView<const float>&, float,
                          const MultiVectorView<float>&);
template void csr_product(const Device&, const CsrView<double>&, double, const MultiVectorView<const double>&, double,
                          const MultiVectorView<double>&);

}  // namespace tessera::host
