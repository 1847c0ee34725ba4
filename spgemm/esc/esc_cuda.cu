#include "core/cuda/launch.cuh"
#include "spgemm/accumulate/accumulators_cuda.hpp"
#include "spgemm/cuda/block_claim.cuh"
#include "spgemm/cuda/carve_out.cuh"
#include "spgemm/esc/esc_rows.cuh"

#include <cstdint>

namespace tessera::cuda {

namespace {

constexpr int threads = 128;
constexpr int warps = threads / warp_size;
/// Blocks that a multiprocessor should hold at once.
constexpr int resident_blocks = 8;

/// The row of this warp; one without entries when the batch has no such row.
struct WarpRow {
  bool exists = false;
  index_t number = 0;
  offset_t begin = 0;  ///< of A's row
  offset_t end = 0;
  ProductKeys keys;
};

__device__ WarpRow row_of_warp(const RowBatch& batch, const offset_t* a_offsets) {
  WarpRow row;
  const offset_t i = offset_t{blockIdx.x} * warps + threadIdx.x / warp_size;
  row.exists = i < batch.count;
  if (!row.exists) return row;
  row.number = row_of(batch, static_cast<index_t>(i));
  row.begin = __ldg(a_offsets + row.number);
  row.end = __ldg(a_offsets + row.number + 1);
  row.keys = keys_of_row(__ldg(batch.facts.first_columns + row.number), __ldg(batch.facts.products + row.number));
  return row;
}

/// Sorted products of a row. All lanes have the same, but for what is said to be a lane's.
template <int E>
struct SortedRow {
  std::uint32_t keys[E];  ///< of this lane
  unsigned heads = 0;     ///< of this lane: keys that begin an entry
  int before = 0;         ///< entries that begin in earlier lanes
  int entries = 0;
  int products = 0;
};

template <int E, class W>
__device__ void expand_and_sort(const Factors<W>& factors, const WarpRow& row, int log_lanes,
                                const ProductBuffer<E, W>& buffer, SortedRow<E>& sorted) {
  sorted.products = Expansion<E, W, W>(factors, row.keys, buffer, log_lanes).row(row.begin, row.end);
  sort_products(buffer, sorted.products, sorted.keys);
  sorted.heads = heads_of_lane(row.keys, sorted.keys);
  const int own = __popc(sorted.heads);
  const int up_to = sum_up_to_lane(own);
  sorted.before = up_to - own;
  sorted.entries = __shfl_sync(full_warp, up_to, warp_size - 1);
}

template <int E>
__global__ void __launch_bounds__(threads, resident_blocks)
    esc_count_kernel(Factors<NoValue> factors, RowBatch batch, RowOutput<NoValue> out, int log_lanes) {
  const WarpRow row = row_of_warp(batch, factors.a_offsets);
  SortedRow<E> sorted;
  expand_and_sort(factors, row, log_lanes, ProductBuffer<E, NoValue>::of_warp(), sorted);
  if (row.exists && threadIdx.x % warp_size == 0) out.counts[row.number] = sorted.entries;
}

/// Where the row of this warp goes. All threads of the block must call.
template <RowPass Pass, class V>
__device__ offset_t place_of_warp(const RowOutput<V>& out, const WarpRow& row, int entries) {
  const bool speaks = row.exists && threadIdx.x % warp_size == 0;
  offset_t place = no_place;
  if (Pass == RowPass::place || out.starts != nullptr) {
    if (speaks) place = place_of<Pass>(out, row.number, entries);
  } else {
    const BlockEntries in_block = entries_in_block<threads>(speaks ? entries : 0);
    const offset_t first = claim_for_block(out, in_block.total);
    if (speaks) place = take_of_block(out, row.number, entries, first, in_block.before);
  }
  return __shfl_sync(full_warp, place, 0);
}

template <RowPass Pass, int E, class V>
__global__ void __launch_bounds__(threads, resident_blocks)
    esc_kernel(Factors<V> factors, RowBatch batch, RowOutput<V> out, int log_lanes) {
  const auto buffer = ProductBuffer<E, V>::of_warp();
  const WarpRow row = row_of_warp(batch, factors.a_offsets);
  SortedRow<E> sorted;
  expand_and_sort(factors, row, log_lanes, buffer, sorted);
  __syncwarp();  // all keys have been read
  store_sorted(buffer, sorted.keys, sorted.heads, sorted.before);
  const offset_t place = place_of_warp<Pass>(out, row, sorted.entries);
  if (place != no_place) contract(buffer, row.keys, sorted.products, sorted.entries, out, place);
}

/// Lanes that expand a row of B together, as a power of two: the fewest that take three quarters of a mean row at once.
int log_lanes_for(double mean_list) {
  int log_lanes = 0;
  while (log_lanes < 5 && (1 << log_lanes) < 0.75 * mean_list) ++log_lanes;
  return log_lanes;
}

/// \tparam W V, or NoValue for a pass that only counts
template <int E, class W, class Kernel>
void launch_kernel(const Context& context, Kernel kernel, const Factors<W>& factors, const RowBatch& batch,
                   const RowOutput<W>& out) {
  const std::size_t shared_bytes = warps * ProductBuffer<E, W>::bytes;
  set_carve_out(kernel, shared_bytes, resident_blocks, context.limits());
  launch("sorting the products of rows", context, Grid{blocks_for(batch.count, warps), threads, shared_bytes}, kernel,
         factors, batch, out, log_lanes_for(batch.mean_list));
}

template <int E, class V>
void launch_pass(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                 const RowOutput<V>& out) {
  if (pass == RowPass::place) {
    launch_kernel<E>(context, esc_kernel<RowPass::place, E, V>, factors, batch, out);
  } else if (pass == RowPass::claim) {
    launch_kernel<E>(context, esc_kernel<RowPass::claim, E, V>, factors, batch, out);
  } else {
    RowOutput<NoValue> counts;
    counts.counts = out.counts;
    launch_kernel<E>(context, esc_count_kernel<E>, positions_of(factors), batch, counts);
  }
}

}  // namespace

template <class V>
void enqueue_esc(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                 const RowOutput<V>& out) {
  if (batch.count == 0) return;
  const std::uint32_t products = batch.most_products;
  if (products <= 64) return launch_pass<2>(context, pass, factors, batch, out);
  if (products <= 128) return launch_pass<4>(context, pass, factors, batch, out);
  if (products <= 256) return launch_pass<8>(context, pass, factors, batch, out);
  launch_pass<esc_products / warp_size>(context, pass, factors, batch, out);
}

template void enqueue_esc(const Context&, RowPass, const Factors<double>&, const RowBatch&, const RowOutput<double>&);
template void enqueue_esc(const Context&, RowPass, const Factors<float>&, const RowBatch&, const RowOutput<float>&);
template void enqueue_esc(const Context&, RowPass, const Factors<NoValue>&, const RowBatch&, const RowOutput<NoValue>&);

}  // namespace tessera::cuda
