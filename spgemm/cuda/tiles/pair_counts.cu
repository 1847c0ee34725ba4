// Pairs of tiles and scalar products of every tile row of C, the shared memory that its symbolic phase takes, and
// whether it is formed in tiles: a warp per tile row.
#include "core/cuda/launch.cuh"
#include "core/cuda/warp.cuh"
#include "spgemm/cuda/tiles/column_window.cuh"
#include "spgemm/cuda/tiles/tile_product.hpp"
#include "spgemm/cuda/tiles/tile_row_choice.hpp"

#include <climits>

namespace tessera::cuda {

namespace {

constexpr int count_threads = 256;
constexpr int count_blocks_of_multiprocessor = 8;

/// Of the tile rows of a warp or block: totals as in TileTotals.
struct PairSums {
  unsigned long long pairs = 0;
  unsigned long long products = 0;
  unsigned long long poor_pairs = 0;
  unsigned long long poor_products = 0;
  unsigned symbolic_bytes = 0;
  unsigned in_tiles = 0;
  unsigned by_rows = 0;
  unsigned beyond = 0;

  __device__ void add(const TileRowFacts& row, const TileRowRule& rule) {
    beyond |= limits_exceeded(row, rule);
    if (!is_formed_in_tiles(row, rule)) {
      ++by_rows;
      return;
    }
    products += row.products;
    pairs += row.pairs;
    symbolic_bytes = max(symbolic_bytes, row.layout.bytes());
    if (row.pairs > 0) ++in_tiles;
    if (tile_row_pays(row, least_pair_products)) return;
    poor_pairs += row.pairs;
    poor_products += row.products;
  }
  __device__ void add(const PairSums& other) {
    pairs += other.pairs;
    products += other.products;
    poor_pairs += other.poor_pairs;
    poor_products += other.poor_products;
    symbolic_bytes = max(symbolic_bytes, other.symbolic_bytes);
    in_tiles += other.in_tiles;
    by_rows += other.by_rows;
    beyond |= other.beyond;
  }
  __device__ void publish(TileTotals& totals) const {
    atomicAdd(&totals.pairs, pairs);
    atomicAdd(&totals.products, products);
    atomicMax(&totals.symbolic_bytes, symbolic_bytes);
    atomicAdd(&totals.in_tiles, in_tiles);
    if (by_rows != 0) atomicAdd(&totals.by_rows, by_rows);
    if (beyond != 0) atomicOr(&totals.beyond, beyond);
    if (poor_pairs == 0) return;
    atomicAdd(&totals.poor_pairs, poor_pairs);
    atomicAdd(&totals.poor_products, poor_products);
  }
};

/// Pairs and products of a tile row. One warp; the same in all lanes.
__device__ TileRowFacts facts_of(const PositionArrays& a, const PositionArrays& b, const TileRow& row) {
  TileRowFacts facts;
  unsigned pairs = 0;
  unsigned first = INT_MAX;
  int last = -1;
  long long products = 0;
  bool found = row.tiles != tiles_not_found;
  for (int t = static_cast<int>(threadIdx.x % warp_size); t < row.tiles; t += warp_size) {
    const index_t k = a.columns[row.first + t];
    const TileRow b_row = b.rows[k];
    found = found && b_row.tiles != tiles_not_found;
    pairs += static_cast<unsigned>(b_row.tiles);
    first = min(first, static_cast<unsigned>(b_row.first_column));
    last = max(last, b_row.last_column);
    products += detail::products_of(a.bitmaps[row.first + t], b.lengths[k]);
  }
  // Which limit it was the positions have noted.
  if (__ballot_sync(full_warp, !found) != 0) facts.beyond = static_cast<unsigned>(BeyondTiles::not_found);
  facts.pairs = __reduce_add_sync(full_warp, pairs);
  first = __reduce_min_sync(full_warp, first);
  last = __reduce_max_sync(full_warp, last);
  facts.products = static_cast<unsigned long long>(sum_over_lanes(products));
  const int words = last < 0 ? 0 : window_words(static_cast<int>(first), last);
  const auto window = static_cast<unsigned long long>(warp_size) * static_cast<unsigned>(words);
  facts.layout = {static_cast<int>(facts.pairs < window ? facts.pairs : window), words, row.tiles};
  return facts;
}

__global__ void __launch_bounds__(count_threads)
    pair_counts_kernel(index_t tile_rows, PositionArrays a, PositionArrays b, TileRowRule rule, std::uint8_t* in_tiles,
                       offset_t* pair_counts, TileTotals* totals) {
  constexpr int warps_of_block = count_threads / warp_size;
  __shared__ PairSums of_warps[warps_of_block];
  const auto warp = static_cast<int>(threadIdx.x / warp_size);
  const bool leads = threadIdx.x % warp_size == 0;
  if (blockIdx.x == 0 && threadIdx.x == 0) pair_counts[tile_rows] = 0;
  PairSums sums;
  const std::int64_t stride = std::int64_t{gridDim.x} * warps_of_block;
  for (std::int64_t i = std::int64_t{blockIdx.x} * warps_of_block + warp; i < a.taken.count; i += stride) {
    const index_t tile_row = a.taken[i];
    const TileRow row = a.rows[tile_row];
    bool formed = tile_row_may_pay(row.tiles, a.lengths[tile_row], rule);
    TileRowFacts facts;
    if (formed) {
      facts = facts_of(a, b, row);
      formed = is_formed_in_tiles(facts, rule);
      sums.add(facts, rule);
    } else {
      ++sums.by_rows;
    }
    if (!leads) continue;
    pair_counts[tile_row] = formed ? static_cast<offset_t>(facts.pairs) : 0;
    if (in_tiles != nullptr) in_tiles[tile_row] = formed ? 1 : 0;
  }
  if (leads) of_warps[warp] = sums;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < warps_of_block; ++w) sums.add(of_warps[w]);
  sums.publish(*totals);
}

}  // namespace

void enqueue_pair_counts(const Context& context, const TilePositions& a, const TilePositions& b,
                         const TileRowRule& rule, std::uint8_t* in_tiles, offset_t* pair_counts, TileTotals* totals) {
  const index_t taken = a.arrays().taken.count;
  if (taken == 0) return;
  const auto most = static_cast<unsigned>(context.multiprocessors() * count_blocks_of_multiprocessor);
  const unsigned needed = blocks_for(taken, count_threads / warp_size);
  launch("pairs of tiles", context, Grid{needed < most ? needed : most, count_threads}, pair_counts_kernel,
         a.tile_rows(), a.arrays(), b.arrays(), rule, in_tiles, pair_counts, totals);
}

}  // namespace tessera::cuda
