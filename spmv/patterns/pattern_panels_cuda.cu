/// \file
/// Row patterns times a multivector on a GPU: a launch per panel of eight columns.
#include "spmv/patterns/pattern_panels.hpp"

#include "spmv/patterns/pattern_launch.cuh"
#include "spmv/patterns/pattern_panels.cuh"

#include <type_traits>

namespace tessera::cuda {

namespace {

template <class V, class T>
void enqueue_with(const Context& context, const PatternOperand<T>& operand, const V* values, const CsrView<T>& a,
                  T alpha, const MultiVectorView<const T>& x, T beta, const MultiVectorView<T>& y) {
  constexpr unsigned warps = pattern_threads / warp_size;
  const PatternRows rows = pattern_rows(operand);
  PatternPanelValues<V, T> of_panel{.of_lists = operand.list_values, .begin = operand.begin};
  (operand.shape.jagged ? of_panel.jagged : of_panel.padded) = values;
  const PatternPanelCsr<T> csr{a.row_offsets.data(), a.columns.data(), a.is_pattern() ? nullptr : a.values.data()};
  const int per_lane = operand.shape.rows_per_lane;
  std::size_t shared = shared_columns_bytes(rows.places());
  if (operand.list_values != nullptr) shared += std::size_t{sizeof(T)} * (operand.lists + 1) * operand.width;
  const std::int64_t groups = std::int64_t{rows.slices} * per_lane;
  const Grid grid{rows.exception_blocks + blocks_for(groups, warps), pattern_threads, shared};
  const auto kernel = x.row_stride() == 1 ? pattern_panel_kernel<false, V, T> : pattern_panel_kernel<true, V, T>;
  for_each_panel(x, y, [&](const StridedVectors<const T>& source, const StridedVectors<T>& target, int columns) {
    launch("product by row patterns with eight columns", context, grid, kernel, rows, per_lane, of_panel, csr, source,
           columns, StridedUpdate<T>{target, alpha, beta});
  });
}

}  // namespace

template <class T>
void enqueue_pattern_panels(const Context& context, const PatternOperand<T>& operand, const CsrView<T>& a, T alpha,
                            const MultiVectorView<const T>& x, T beta, const MultiVectorView<T>& y) {
  if constexpr (std::is_same_v<T, double>) {
    if (operand.floats != nullptr) return enqueue_with(context, operand, operand.floats, a, alpha, x, beta, y);
  }
  enqueue_with(context, operand, operand.values, a, alpha, x, beta, y);
}

template void enqueue_pattern_panels(const Context&, const PatternOperand<float>&, const CsrView<float>&, float,
                                     const MultiVectorView<const float>&, float, const MultiVectorView<float>&);
template void enqueue_pattern_panels(const Context&, const PatternOperand<double>&, const CsrView<double>&, double,
                                     const MultiVectorView<const double>&, double, const MultiVectorView<double>&);

}  // namespace tessera::cuda
