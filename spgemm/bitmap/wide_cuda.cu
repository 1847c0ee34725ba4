#include "core/cuda/check.hpp"
#include "spgemm/bitmap/wide.cuh"
#include "spgemm/bitmap/wide.hpp"
#include "spgemm/cuda/carve_out.cuh"
#include "tessera/error.hpp"

#include <algorithm>

namespace tessera::cuda {

namespace {

/// Threads for rows with few entries, and for others.
constexpr int light_threads = 128;
constexpr int heavy_threads = 512;
constexpr int huge_threads = 1024;
/// Threads for rows whose sums are in shared memory, of which every warp reads its part of every list.
constexpr int shared_threads = 256;

/// The marks that the widest row needs, as far as they fit into `bytes`.
template <RowPass Pass>
[[nodiscard]] unsigned marks_of(const RowBatch& batch, std::size_t bytes) {
  const std::size_t needed = (static_cast<std::size_t>(batch.widest) + 31) / 32;
  return static_cast<unsigned>(
      std::clamp<std::size_t>(bytes / sizeof(Mark<Pass>), 1, std::max<std::size_t>(needed, 1)));
}

template <class V, RowPass Pass, WideSums Sums, int Threads>
void launch_wide(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out,
                 unsigned marks, std::size_t bytes) {
  const auto kernel = wide_kernel<V, Pass, Sums, Threads>;
  allow_shared_bytes(kernel, tuning_for(context.limits()).tiled_bytes);
  launch("rows of a product, by stretches of columns", context,
         Grid{static_cast<unsigned>(batch.count), Threads, bytes}, kernel, factors, batch, out, marks);
}

template <class V, RowPass Pass, WideSums Sums>
void launch_wide(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out,
                 std::size_t most_bytes) {
  const unsigned marks = marks_of<Pass>(batch, most_bytes);
  const std::size_t bytes = marks * sizeof(Mark<Pass>);
  const Tuning& tuning = tuning_for(context.limits());
  if (batch.most_products > tuning.huge_products) {
    launch_wide<V, Pass, Sums, huge_threads>(context, factors, batch, out, marks, bytes);
  } else if (batch.mean_entries > tuning.heavy_entries || static_cast<std::int64_t>(bytes) > tuning.heavy_bytes) {
    launch_wide<V, Pass, Sums, heavy_threads>(context, factors, batch, out, marks, bytes);
  } else {
    launch_wide<V, Pass, Sums, light_threads>(context, factors, batch, out, marks, bytes);
  }
}

void count_wide(const Context& context, const Factors<NoValue>& factors, const RowBatch& batch, offset_t* counts,
                std::size_t bytes) {
  RowOutput<NoValue> out;
  out.counts = counts;
  launch_wide<NoValue, RowPass::count, WideSums::any_order>(context, factors, batch, out, bytes);
}

}  // namespace

template <class V>
void enqueue_wide(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                  const RowOutput<V>& out, bool ordered, std::size_t bytes) {
  if (pass == RowPass::claim) throw InvalidArgument("rows by stretches of columns cannot look for places");
  if (batch.count == 0) return;
  if (pass == RowPass::count) {
    return count_wide(context, positions_of(factors), batch, out.counts, bytes);
  }
  if constexpr (has_values<V>) {
    if (ordered) return launch_wide<V, RowPass::place, WideSums::in_order>(context, factors, batch, out, bytes);
  }
  launch_wide<V, RowPass::place, WideSums::any_order>(context, factors, batch, out, bytes);
}

template <class V>
void enqueue_wide(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                  const RowOutput<V>& out, bool ordered) {
  enqueue_wide(context, pass, factors, batch, out, ordered,
               static_cast<std::size_t>(tuning_for(context.limits()).tiled_bytes));
}

template <class V>
void enqueue_wide_in_shared(const Context& context, const Factors<V>& factors, const RowBatch& batch,
                            const RowOutput<V>& out) {
  if (batch.count == 0) return;
  const auto bytes = static_cast<std::size_t>(
      batch.slice > 0 ? batch.slice : wide_shared_bytes(batch.widest, batch.most_entries, sizeof(V)));
  constexpr unsigned of_each_row = 0;
  if (batch.mean_list < tuning_for(context.limits()).shared_many_threads) {
    launch_wide<V, RowPass::place, WideSums::in_shared, shared_threads>(context, factors, batch, out, of_each_row,
                                                                        bytes);
  } else {
    launch_wide<V, RowPass::place, WideSums::in_shared, heavy_threads>(context, factors, batch, out, of_each_row,
                                                                       bytes);
  }
}

template void enqueue_wide_in_shared(const Context&, const Factors<double>&, const RowBatch&, const RowOutput<double>&);
template void enqueue_wide_in_shared(const Context&, const Factors<float>&, const RowBatch&, const RowOutput<float>&);
template void enqueue_wide(const Context&, RowPass, const Factors<double>&, const RowBatch&, const RowOutput<double>&,
                           bool, std::size_t);
template void enqueue_wide(const Context&, RowPass, const Factors<float>&, const RowBatch&, const RowOutput<float>&,
                           bool, std::size_t);
template void enqueue_wide(const Context&, RowPass, const Factors<NoValue>&, const RowBatch&, const RowOutput<NoValue>&,
                           bool, std::size_t);
template void enqueue_wide(const Context&, RowPass, const Factors<double>&, const RowBatch&, const RowOutput<double>&,
                           bool);
template void enqueue_wide(const Context&, RowPass, const Factors<float>&, const RowBatch&, const RowOutput<float>&,
                           bool);
template void enqueue_wide(const Context&, RowPass, const Factors<NoValue>&, const RowBatch&, const RowOutput<NoValue>&,
                           bool);

}  // namespace tessera::cuda
