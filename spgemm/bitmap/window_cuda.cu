#include "spgemm/accumulate/accumulators_cuda.hpp"
#include "spgemm/bitmap/window.cuh"

namespace tessera::cuda {

namespace {

__global__ void __launch_bounds__(window_threads)
    count_kernel(Factors<NoValue> factors, RowBatch batch, offset_t* counts, int lanes, unsigned slice) {
  if (row_of_warp() >= static_cast<unsigned>(batch.count)) return;
  const index_t row = row_of(batch, static_cast<index_t>(row_of_warp()));
  const int n = marked_row(factors, batch.facts, row, lanes, slice_of_warp(slice)).population();
  if (lane_of_warp() == 0) counts[row] = n;
}

template <RowPass Pass>
__global__ void __launch_bounds__(window_threads)
    columns_kernel(Factors<NoValue> factors, RowBatch batch, RowOutput<NoValue> out, int lanes, unsigned slice) {
  if (row_of_warp() >= static_cast<unsigned>(batch.count)) return;
  const index_t row = row_of(batch, static_cast<index_t>(row_of_warp()));
  const Bitmap<BitWord> bitmap = marked_row(factors, batch.facts, row, lanes, slice_of_warp(slice));
  const int n = Pass == RowPass::place ? 0 : bitmap.population();
  const offset_t place = place_of_warp<Pass>(out, row, n, n);
  if (place != no_place) write_columns(bitmap, out.columns + place);
}

template <RowPass Pass, class V>
__global__ void __launch_bounds__(window_threads)
    values_kernel(Factors<V> factors, RowBatch batch, RowOutput<V> out, int lanes, unsigned slice) {
  if (row_of_warp() >= static_cast<unsigned>(batch.count)) return;
  const index_t row = row_of(batch, static_cast<index_t>(row_of_warp()));
  WindowRows<V, 1> window(factors, batch.facts, row, 1, slice_of_warp(slice), lanes);
  const offset_t place = place_of_warp<Pass>(out, row, window.entries(), window.room(slice));
  if (place == no_place) return;
  window.add_up();
  window.write(0, out.columns + place, out.values + place);
}

template <RowPass Pass, class V>
void launch_rows(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out) {
  const int lanes = lanes_of_list(batch.mean_list);
  if constexpr (has_values<V>) {
    launch_slices("rows of C in a window", context, batch.count,
                  batch.slice > 0 ? batch.slice : window_bytes(batch.widest, batch.most_entries, sizeof(V)),
                  values_kernel<Pass, V>, factors, batch, out, lanes);
  } else {
    launch_slices("columns of C in a window", context, batch.count, window_bytes(batch.widest, 0, 0),
                  columns_kernel<Pass>, factors, batch, out, lanes);
  }
}

}  // namespace

template <class V>
void enqueue_window(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                    const RowOutput<V>& out) {
  switch (pass) {
    case RowPass::count:
      return launch_slices("counting rows of C in a window", context, batch.count, window_bytes(batch.widest, 0, 0),
                           count_kernel, positions_of(factors), batch, out.counts, lanes_of_list(batch.mean_list));
    case RowPass::place:
      return launch_rows<RowPass::place>(context, factors, batch, out);
    case RowPass::claim:
      return launch_rows<RowPass::claim>(context, factors, batch, out);
  }
}

template void enqueue_window(const Context&, RowPass, const Factors<double>&, const RowBatch&,
                             const RowOutput<double>&);
template void enqueue_window(const Context&, RowPass, const Factors<float>&, const RowBatch&, const RowOutput<float>&);
template void enqueue_window(const Context&, RowPass, const Factors<NoValue>&, const RowBatch&,
                             const RowOutput<NoValue>&);

}  // namespace tessera::cuda
