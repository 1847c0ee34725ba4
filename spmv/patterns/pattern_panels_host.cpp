/// \file
/// Row patterns times a multivector on the host: rows split by the merge path, eight sums per row; neither columns nor,
/// of templates, values are read from the matrix.
#include "spmv/patterns/pattern_panels_host.hpp"

#include "preprocess/merge_search.hpp"
#include "spmv/common/chunks.hpp"
#include "spmv/multi_vector/csr_product.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace tessera::host {

using namespace detail;

namespace {

/// The nonzeros of a row.
template <class T>
struct PanelRow {
  index_t length = 0;
  const index_t* columns = nullptr;  ///< less `origin`
  std::int64_t origin = 0;
  const T* values = nullptr;  ///< null: every value is 1
};

template <class T>
[[nodiscard]] PanelRow<T> panel_row(const RowPatterns<T>& found, const CsrView<T>& a, std::int64_t row) noexcept {
  const offset_t begin = a.row_offsets.data()[row];
  const int code = found.codes[row];
  const T* const own = a.is_pattern() ? nullptr : a.values.data() + begin;
  if (code == found.lists) {
    return {static_cast<index_t>(a.row_offsets.data()[row + 1] - begin), a.columns.data() + begin, 0, own};
  }
  const index_t* const list = found.table.data() + std::int64_t{code} * found.stride();
  const bool is_template = found.kind == RowListKind::columns_and_values && !found.values.empty();
  return {list[0], list + 1, row, is_template ? found.values.data() + std::int64_t{code} * found.width : own};
}

/// \tparam Width columns at a time \tparam ByRows whether the elements of a row of X follow each other
template <int Width, bool ByRows, class T>
void multiply_panel_row(const PanelRow<T>& row, std::int64_t i, std::int64_t column, T alpha,
                        const MultiVectorView<const T>& x, T beta, const MultiVectorView<T>& y) {
  const std::int64_t apart = ByRows ? 1 : x.column_stride();
  const T* const first = x.data() + column * apart;
  std::array<T, static_cast<std::size_t>(Width)> sums{};
  for (index_t k = 0; k < row.length; ++k) {
    const T value = row.values == nullptr ? T{1} : row.values[k];
    const T* const from = first + (row.origin + row.columns[k]) * x.row_stride();
    for (int n = 0; n < Width; ++n) sums[static_cast<std::size_t>(n)] += value * from[n * apart];
  }
  for (int n = 0; n < Width; ++n) {
    T& target = y(i, column + n);
    const T product = alpha * sums[static_cast<std::size_t>(n)];
    target = beta == T{0} ? product : product + beta * target;
  }
}

template <bool ByRows, class T>
void multiply_row(const PanelRow<T>& row, std::int64_t i, T alpha, const MultiVectorView<const T>& x, T beta,
                  const MultiVectorView<T>& y) {
  std::int64_t column = 0;
  for (; column + panel_columns <= y.columns(); column += panel_columns) {
    multiply_panel_row<panel_columns, ByRows>(row, i, column, alpha, x, beta, y);
  }
  for (; column < y.columns(); ++column) multiply_panel_row<1, ByRows>(row, i, column, alpha, x, beta, y);
}

}  // namespace

template <class T>
void multiply_pattern_panels(const Device& device, const RowPatterns<T>& found, const CsrView<T>& a, T alpha,
                             const MultiVectorView<const T>& x, T beta, const MultiVectorView<T>& y) {
  const offset_t* const offsets = a.row_offsets.data();
  const offset_t length = path_length(a.rows, a.nnz());
  const std::int64_t chunks = chunk_count(length);
  const bool by_rows = x.column_stride() == 1;
  for_each_chunk(device, chunks, [&](std::int64_t s) {
    const Range path = part_of(length, chunks, s);
    const std::int64_t end = merge_search(offsets, a.rows, a.nnz(), path.end).y;
    for (std::int64_t i = merge_search(offsets, a.rows, a.nnz(), path.begin).y; i < end; ++i) {
      const PanelRow<T> row = panel_row(found, a, i);
      if (by_rows) {
        multiply_row<true>(row, i, alpha, x, beta, y);
      } else {
        multiply_row<false>(row, i, alpha, x, beta, y);
      }
    }
  });
}

template void multiply_pattern_panels(const Device&, const RowPatterns<float>&, const CsrView<float>&, float,
                                      const MultiVectorView<const float>&, float, const MultiVectorView<float>&);
template void multiply_pattern_panels(const Device&, const RowPatterns<double>&, const CsrView<double>&, double,
                                      const MultiVectorView<const double>&, double, const MultiVectorView<double>&);

}  // namespace tessera::host
