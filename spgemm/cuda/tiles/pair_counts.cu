// Pairs of tiles and scalar products of every tile row of C, and the shared memory that its symbolic phase takes: a
// warp per tile row.
#include "core/cuda/launch.cuh"
#include "core/cuda/warp.cuh"
#include "spgemm/cuda/tiles/column_window.cuh"
#include "spgemm/cuda/tiles/tile_product.hpp"

#include <climits>

namespace tessera::cuda {

namespace {

constexpr int count_threads = 256;
constexpr int count_blocks_of_multiprocessor = 8;

/// Of one tile row, or of some.
struct PairSums {
  unsigned long long pairs = 0;
  unsigned long long products = 0;
  unsigned symbolic_bytes = 0;
};

/// Pairs and products of a tile row, for lane 0. One warp.
__device__ PairSums count_pairs(const PositionArrays& a, const PositionArrays& b, const TileRow& row) {
  unsigned pairs = 0;
  unsigned first = INT_MAX;
  int last = -1;
  long long products = 0;
  for (int t = static_cast<int>(threadIdx.x % warp_size); t < row.tiles; t += warp_size) {
    const index_t k = a.columns[row.first + t];
    const TileRow b_row = b.rows[k];
    pairs += static_cast<unsigned>(b_row.tiles);
    first = min(first, static_cast<unsigned>(b_row.first_column));
    last = max(last, b_row.last_column);
    products += detail::products_of(a.bitmaps[row.first + t], b.lengths[k]);
  }
  pairs = __reduce_add_sync(full_warp, pairs);
  first = __reduce_min_sync(full_warp, first);
  last = __reduce_max_sync(full_warp, last);
  products = sum_over_lanes(products);
  const int words = last < 0 ? 0 : window_words(static_cast<int>(first), last);
  const std::int64_t window = std::int64_t{warp_size} * words;
  const SymbolicLayout layout{static_cast<int>(pairs < window ? pairs : window), words, row.tiles};
  return {pairs, static_cast<unsigned long long>(products), layout.bytes()};
}

__global__ void __launch_bounds__(count_threads)
    pair_counts_kernel(index_t tile_rows, PositionArrays a, PositionArrays b, offset_t* pair_counts,
                       TileTotals* totals) {
  constexpr int warps_of_block = count_threads / warp_size;
  __shared__ PairSums of_warps[warps_of_block];
  const auto warp = static_cast<int>(threadIdx.x / warp_size);
  const bool leads = threadIdx.x % warp_size == 0;
  if (blockIdx.x == 0 && threadIdx.x == 0) pair_counts[tile_rows] = 0;
  PairSums sums;
  const std::int64_t stride = std::int64_t{gridDim.x} * warps_of_block;
  for (std::int64_t i = std::int64_t{blockIdx.x} * warps_of_block + warp; i < tile_rows; i += stride) {
    const PairSums of_row = count_pairs(a, b, a.rows[i]);
    sums.pairs += of_row.pairs;
    sums.products += of_row.products;
    sums.symbolic_bytes = max(sums.symbolic_bytes, of_row.symbolic_bytes);
    if (leads) pair_counts[i] = static_cast<offset_t>(of_row.pairs);
  }
  if (leads) of_warps[warp] = sums;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < warps_of_block; ++w) {
    sums.pairs += of_warps[w].pairs;
    sums.products += of_warps[w].products;
    sums.symbolic_bytes = max(sums.symbolic_bytes, of_warps[w].symbolic_bytes);
  }
  atomicAdd(&totals->pairs, sums.pairs);
  atomicAdd(&totals->products, sums.products);
  atomicMax(&totals->symbolic_bytes, sums.symbolic_bytes);
}

}  // namespace

void enqueue_pair_counts(const Context& context, const TilePositions& a, const TilePositions& b, offset_t* pair_counts,
                         TileTotals* totals) {
  if (a.tile_rows() == 0) return;
  const auto most = static_cast<unsigned>(context.multiprocessors() * count_blocks_of_multiprocessor);
  const unsigned needed = blocks_for(a.tile_rows(), count_threads / warp_size);
  launch("pairs of tiles", context, Grid{needed < most ? needed : most, count_threads}, pair_counts_kernel,
         a.tile_rows(), a.arrays(), b.arrays(), pair_counts, totals);
}

}  // namespace tessera::cuda
