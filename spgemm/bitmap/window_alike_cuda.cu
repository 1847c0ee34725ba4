// Rows of C whose rows of A have the same positions, as several unknowns a node make them: what they share is read once
// (spgemm-prototypes.md, identical consecutive rows).
#include "spgemm/accumulate/accumulators_cuda.hpp"
#include "spgemm/analysis/analysis_cuda.hpp"
#include "spgemm/bitmap/window.cuh"

namespace tessera::cuda {

namespace {

/// Rows of the group that begins with `row`.
[[nodiscard]] __device__ int members_of(const RowFacts& facts, index_t row) {
  return (facts.bins[row + 1] & third_bit) != 0 ? 3 : 2;
}

template <class V>
__global__ void __launch_bounds__(window_threads)
    alike_values_kernel(Factors<V> factors, RowBatch batch, RowOutput<V> out, int lanes, unsigned slice) {
  if (row_of_warp() >= static_cast<unsigned>(batch.count)) return;
  const index_t row = row_of(batch, static_cast<index_t>(row_of_warp()));
  const int members = members_of(batch.facts, row);
  WindowRows<V, rows_alike> window(factors, batch.facts, row, members, slice_of_warp(slice), lanes);
  if (window.entries() > window.room(slice)) return;
  window.add_up();
  for (int r = 0; r < members; ++r) {
    const offset_t place = out.starts[row + r];
    window.write(r, out.columns + place, out.values + place);
  }
}

__global__ void __launch_bounds__(window_threads)
    alike_columns_kernel(Factors<NoValue> factors, RowBatch batch, RowOutput<NoValue> out, int lanes, unsigned slice) {
  if (row_of_warp() >= static_cast<unsigned>(batch.count)) return;
  const index_t row = row_of(batch, static_cast<index_t>(row_of_warp()));
  const Bitmap<BitWord> bitmap = marked_row(factors, batch.facts, row, lanes, slice_of_warp(slice));
  const int members = members_of(batch.facts, row);
  for (int r = 0; r < members; ++r) write_columns(bitmap, out.columns + out.starts[row + r]);
}

}  // namespace

template <class V>
void enqueue_window_alike(const Context& context, const Factors<V>& factors, const RowBatch& batch,
                          const RowOutput<V>& out) {
  const int lanes = lanes_of_list(batch.mean_list);
  if constexpr (has_values<V>) {
    launch_slices("rows of C in a window, several alike", context, batch.count, batch.slice, alike_values_kernel<V>,
                  factors, batch, out, lanes);
  } else {
    launch_slices("columns of C in a window, several alike", context, batch.count, window_bytes(batch.widest, 0, 0),
                  alike_columns_kernel, factors, batch, out, lanes);
  }
}

template void enqueue_window_alike(const Context&, const Factors<double>&, const RowBatch&, const RowOutput<double>&);
template void enqueue_window_alike(const Context&, const Factors<float>&, const RowBatch&, const RowOutput<float>&);
template void enqueue_window_alike(const Context&, const Factors<NoValue>&, const RowBatch&, const RowOutput<NoValue>&);

}  // namespace tessera::cuda
