/// \file
/// CSR times a multivector on the host: panels of eight columns, each along equal chunks of the merge path (Merrill &
/// Garland, SC 2016), so that a long row is split.
#include "preprocess/merge_search.hpp"
#include "spmv/common/chunks.hpp"
#include "spmv/multi_vector/csr_product.hpp"

#include <array>
#include <cstddef>

namespace tessera::host {

namespace {

using detail::merge_search;
using detail::PathPoint;

template <class T, std::size_t Width>
using PanelSums = std::array<T, Width>;

/// Columns of X and Y from one on. \tparam ByRows whether the columns of X follow each other, which the compiler turns
/// into loads of several
template <class T, bool ByRows>
struct HostPanel {
  const T* x;
  std::int64_t x_row_stride;
  std::int64_t x_column_stride;
  T* y;
  std::int64_t y_row_stride;
  std::int64_t y_column_stride;
  T alpha;
  T beta;

  /// Terms of one row, in order.
  template <std::size_t Width>
  [[nodiscard]] PanelSums<T, Width> sum(const CsrView<T>& a, offset_t begin, offset_t end) const {
    PanelSums<T, Width> sums{};
    const index_t* const columns = a.columns.data();
    for (offset_t k = begin; k < end; ++k) {
      const T value = a.value(k);
      const T* const from = x + columns[k] * x_row_stride;
      for (std::size_t n = 0; n < Width; ++n) {
        sums[n] += value * from[static_cast<std::int64_t>(n) * (ByRows ? 1 : x_column_stride)];
      }
    }
    return sums;
  }
  template <std::size_t Width>
  void store(index_t row, const PanelSums<T, Width>& sums) const {
    for (std::size_t n = 0; n < Width; ++n) {
      T& target = at(row, n);
      const T product = alpha * sums[n];
      target = beta == T{0} ? product : product + beta * target;
    }
  }
  template <std::size_t Width>
  void add(index_t row, const PanelSums<T, Width>& sums) const {
    for (std::size_t n = 0; n < Width; ++n) at(row, n) += alpha * sums[n];
  }

 private:
  [[nodiscard]] T& at(index_t row, std::size_t n) const {
    return y[row * y_row_stride + static_cast<std::int64_t>(n) * y_column_stride];
  }
};

/// Sums of the row that is open at the end of a chunk.
template <class T, std::size_t Width>
struct PanelCarry {
  index_t row = 0;
  PanelSums<T, Width> sums{};
};

/// Rows that end in the part of the path from `begin` to `end`.
template <std::size_t Width, class T, class Panel>
[[gnu::noinline]] PanelCarry<T, Width> multiply_part(const CsrView<T>& a, PathPoint begin, PathPoint end, Panel panel) {
  const offset_t* const row_offsets = a.row_offsets.data();
  offset_t k = begin.x;
  for (index_t row = begin.y; row < end.y; ++row) {
    panel.store(row, panel.template sum<Width>(a, k, row_offsets[row + 1]));
    k = row_offsets[row + 1];
  }
  return {end.y, panel.template sum<Width>(a, k, end.x)};
}

/// Carries are added in the order of the chunks, whose number depends on the matrix alone.
template <std::size_t Width, class T, class Panel>
void multiply_panel(const Device& device, const CsrView<T>& a, const Panel& panel) {
  const offset_t* const row_offsets = a.row_offsets.data();
  const offset_t length = detail::path_length(a.rows, a.nnz());
  const std::int64_t chunks = chunk_count(length);
  std::array<PanelCarry<T, Width>, max_chunks> carries;
  for_each_chunk(device, chunks, [&](std::int64_t s) {
    const Range path = part_of(length, chunks, s);
    carries[static_cast<std::size_t>(s)] =
        multiply_part<Width, T>(a, merge_search(row_offsets, a.rows, a.nnz(), path.begin),
                                merge_search(row_offsets, a.rows, a.nnz(), path.end), panel);
  });
  for (std::int64_t s = 0; s < chunks; ++s) {
    const PanelCarry<T, Width>& carry = carries[static_cast<std::size_t>(s)];
    if (carry.row < a.rows) panel.add(carry.row, carry.sums);
  }
}

template <bool ByRows, class T>
void multiply_panels(const Device& device, const CsrView<T>& a, T alpha, const MultiVectorView<const T>& x, T beta,
                     const MultiVectorView<T>& y) {
  const auto panel_at = [&](std::int64_t column) {
    return HostPanel<T, ByRows>{x.data() + column * x.column_stride(),
                                x.row_stride(),
                                x.column_stride(),
                                y.data() + column * y.column_stride(),
                                y.row_stride(),
                                y.column_stride(),
                                alpha,
                                beta};
  };
  std::int64_t column = 0;
  for (; column + detail::panel_columns <= y.columns(); column += detail::panel_columns) {
    multiply_panel<detail::panel_columns>(device, a, panel_at(column));
  }
  for (; column + 4 <= y.columns(); column += 4) multiply_panel<4>(device, a, panel_at(column));
  for (; column + 2 <= y.columns(); column += 2) multiply_panel<2>(device, a, panel_at(column));
  for (; column < y.columns(); ++column) multiply_panel<1>(device, a, panel_at(column));
}

/// Y = β Y.
template <class T>
void scale(const Device& device, T beta, const MultiVectorView<T>& y) {
  const std::int64_t chunks = chunk_count(y.rows());
  for_each_chunk(device, chunks, [&](std::int64_t s) {
    const Range rows = part_of(y.rows(), chunks, s);
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      for (std::int64_t j = 0; j < y.columns(); ++j) y(i, j) = beta == T{0} ? T{0} : beta * y(i, j);
    }
  });
}

}  // namespace

template <class T>
void csr_product(const Device& device, const CsrView<T>& a, T alpha, const MultiVectorView<const T>& x, T beta,
                 const MultiVectorView<T>& y) {
  if (alpha == T{0}) return scale(device, beta, y);
  if (x.layout() == MultiVectorLayout::row_major) return multiply_panels<true>(device, a, alpha, x, beta, y);
  multiply_panels<false>(device, a, alpha, x, beta, y);
}

template void csr_product(const Device&, const CsrView<float>&, float, const MultiVectorView<const float>&, float,
                          const MultiVectorView<float>&);
template void csr_product(const Device&, const CsrView<double>&, double, const MultiVectorView<const double>&, double,
                          const MultiVectorView<double>&);

}  // namespace tessera::host
