// Symbolic phase in tiles: a block per tile row of C. A bitmap over its tile columns gives every tile of C a slot;
// Boolean products of bitmaps give positions; a bit per slot and tile of A marks the pairs that are not empty, and
// their number before each is its place in the list, so that the list has one order without counters.
#include "core/cuda/launch.cuh"
#include "core/cuda/shared_memory.cuh"
#include "spgemm/cuda/accumulators/launch.cuh"
#include "spgemm/cuda/tiles/column_window.cuh"
#include "spgemm/cuda/tiles/row_counts.cuh"
#include "spgemm/cuda/tiles/tile_product.hpp"
#include "spgemm/cuda/tiles/tile_row_choice.hpp"

#include <climits>
#include <cstddef>
#include <type_traits>

namespace tessera::cuda {

namespace {

constexpr int count_threads = 256;
constexpr int count_blocks_of_multiprocessor = 8;
constexpr int threads = 128;
constexpr int warps = threads / warp_size;

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

/// First tile and number of tiles of a row of B.
struct alignas(8) BTiles {
  int first;
  int tiles;
};

/// A tile row of C in shared memory, laid out as SymbolicLayout counts it.
struct SymbolicMemory {
  std::uint64_t* c_bitmaps;  ///< per slot
  std::uint64_t* a_bitmaps;  ///< per tile of A
  BTiles* b_tiles;           ///< per tile of A
  unsigned* hits;            ///< a_words() per slot: the tiles of A that meet a tile of B there
  unsigned* first_pairs;     ///< per slot
  index_t* columns;          ///< per slot
  ColumnWindow window;
  int a_tiles;
  int a_words;

  __device__ SymbolicMemory(const SymbolicLayout& layout, index_t first_column)
      : a_tiles(layout.a_tiles), a_words(layout.a_words()) {
    unsigned char* memory = dynamic_shared_memory();
    const auto take = [&memory](auto*& target, int count) {
      target = reinterpret_cast<std::remove_reference_t<decltype(target)>>(memory);
      memory += static_cast<std::size_t>(count) * sizeof(*target);
    };
    take(c_bitmaps, layout.slots);
    take(a_bitmaps, a_tiles);
    take(b_tiles, a_tiles);
    take(hits, layout.slots * a_words);
    take(first_pairs, layout.slots);
    take(columns, layout.slots);
    take(window.words, layout.words);
    take(window.ranks, layout.words);
    window.origin = first_column & ~31;
  }

  /// body(number of the tile of A, tile of B) for all pairs: warps take tiles of A in turn, lanes tiles of B.
  template <class Body>
  __device__ void for_each_pair(Body body) const {
    const auto lane = static_cast<int>(threadIdx.x % warp_size);
    for (int t = static_cast<int>(threadIdx.x / warp_size); t < a_tiles; t += warps) {
      const BTiles b = b_tiles[t];
      for (int u = lane; u < b.tiles; u += warp_size) body(t, b.first + u);
    }
  }
};

/// The range of tile columns of a tile row of C. Every thread must call; ends with a barrier.
__device__ void find_range(const PositionArrays& a, const PositionArrays& b, const TileRow& row,
                           TileColumnRange& range) {
  if (threadIdx.x == 0) range.clear();
  __syncthreads();
  for (int t = static_cast<int>(threadIdx.x); t < row.tiles; t += threads) {
    const TileRow b_row = b.rows[a.columns[row.first + t]];
    if (b_row.tiles > 0) range.include(b_row.first_column, b_row.last_column);
  }
  __syncthreads();
}

__device__ void load_rows(const PositionArrays& a, const PositionArrays& b, const TileRow& row,
                          const SymbolicMemory& memory) {
  for (int t = static_cast<int>(threadIdx.x); t < row.tiles; t += threads) {
    const TileRow b_row = b.rows[a.columns[row.first + t]];
    memory.b_tiles[t] = {b_row.first, b_row.tiles};
    memory.a_bitmaps[t] = a.bitmaps[row.first + t];
  }
}

/// Positions of C, and the tiles of A that take part.
__device__ void multiply_bitmaps(const PositionArrays& b, const SymbolicMemory& memory, int slots) {
  for (int s = static_cast<int>(threadIdx.x); s < slots; s += threads) memory.c_bitmaps[s] = 0;
  for (int w = static_cast<int>(threadIdx.x); w < slots * memory.a_words; w += threads) memory.hits[w] = 0;
  __syncthreads();
  memory.for_each_pair([&](int t, int b_tile) {
    const std::uint64_t product = detail::boolean_product(memory.a_bitmaps[t], b.bitmaps[b_tile]);
    if (product == 0) return;
    const int s = memory.window.slot(b.columns[b_tile]);
    auto* const bits = reinterpret_cast<unsigned long long*>(memory.c_bitmaps + s);
    if ((product & ~*static_cast<volatile unsigned long long*>(bits)) != 0) atomicOr(bits, product);
    atomicOr(memory.hits + s * memory.a_words + (t >> 5), 1U << (t & 31));
  });
  __syncthreads();
}

/// Bitmaps and row ranks of the tiles of C, and the entries of the tile row's rows. One warp.
__device__ void write_bitmaps(const SymbolicMemory& memory, int slots, int first, index_t rows, const CTileArrays& c,
                              index_t tile_row, offset_t* counts) {
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  RunningRowCounts running;
  for (int s0 = 0; s0 < slots; s0 += warp_size) {
    const int s = s0 + lane;
    const std::uint64_t bitmap = s < slots ? memory.c_bitmaps[s] : 0;
    const TileRowCounts before = running.next(bitmap);
    if (s < slots) {
      c.bitmaps[first + s] = bitmap;
      c.row_ranks[first + s] = before;
    }
  }
  const std::int64_t row = std::int64_t{tile_row} * tile_size + lane;
  if (lane < tile_size && row < rows) counts[row] = running.total().of_row(lane);
}

/// First pair and number of pairs of the tiles of C. One warp. \returns pairs of the tile row, in lane 0
__device__ unsigned write_tiles(const SymbolicMemory& memory, int slots, int first, unsigned first_pair,
                                const CTileArrays& c) {
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  unsigned before = first_pair;
  for (int s0 = 0; s0 < slots; s0 += warp_size) {
    const int s = s0 + lane;
    int pairs = 0;
    if (s < slots) {
      for (int w = 0; w < memory.a_words; ++w) pairs += __popc(memory.hits[s * memory.a_words + w]);
    }
    const int up_to = sum_up_to_lane(pairs);
    if (s < slots) {
      const unsigned begin = before + static_cast<unsigned>(up_to - pairs);
      memory.first_pairs[s] = begin;
      c.tiles[first + s] = {begin, pairs, memory.columns[s]};
    }
    before += static_cast<unsigned>(__shfl_sync(full_warp, up_to, warp_size - 1));
  }
  return before - first_pair;
}

/// Each pair at its place: after those of earlier tiles of A.
__device__ void write_pairs(const PositionArrays& b, const SymbolicMemory& memory, int first_a, TilePair* pairs) {
  memory.for_each_pair([&](int t, int b_tile) {
    const int s = memory.window.slot(b.columns[b_tile]);
    const unsigned* const hits = memory.hits + s * memory.a_words;
    const unsigned bit = 1U << (t & 31);
    if ((hits[t >> 5] & bit) == 0) return;
    unsigned place = memory.first_pairs[s] + static_cast<unsigned>(__popc(hits[t >> 5] & (bit - 1U)));
    for (int w = 0; w < t >> 5; ++w) place += static_cast<unsigned>(__popc(hits[w]));
    pairs[place] = {first_a + t, b_tile};
  });
}

/// A tile row of C without entries.
__device__ void write_nothing(index_t rows, index_t tile_row, CTileRow* c_rows, offset_t* counts) {
  const std::int64_t row = std::int64_t{tile_row} * tile_size + threadIdx.x;
  if (threadIdx.x == 0) c_rows[tile_row] = {0, 0};
  if (threadIdx.x < tile_size && row < rows) counts[row] = 0;
}

__global__ void __launch_bounds__(threads)
    symbolic_kernel(index_t rows, PositionArrays a, PositionArrays b, const offset_t* pair_offsets, CTileArrays c,
                    offset_t* counts, TileTotals* totals) {
  __shared__ TileColumnRange range;
  __shared__ int slots;
  __shared__ int first;
  if (blockIdx.x == 0 && threadIdx.x == 0) counts[rows] = 0;
  const index_t tile_row = a.taken[blockIdx.x];
  const TileRow row = a.rows[tile_row];
  find_range(a, b, row, range);
  if (range.last < 0) return write_nothing(rows, tile_row, c.rows, counts);
  const auto first_pair = static_cast<unsigned>(pair_offsets[tile_row]);
  const auto pairs = static_cast<int>(pair_offsets[tile_row + 1] - pair_offsets[tile_row]);
  const int words = window_words(range.first, range.last);
  const SymbolicMemory memory({min(pairs, warp_size * words), words, row.tiles}, range.first);
  load_rows(a, b, row, memory);
  memory.window.clear(words);
  __syncthreads();
  memory.for_each_pair([&](int, int b_tile) { memory.window.insert(b.columns[b_tile]); });
  __syncthreads();
  if (threadIdx.x < warp_size) {
    const int found = memory.window.number(words, [&](int s, index_t column) { memory.columns[s] = column; });
    if (threadIdx.x == 0) {
      slots = found;
      first = static_cast<int>(atomicAdd(&totals->c_tiles, static_cast<unsigned>(found)));
      c.rows[tile_row] = {first, found};
    }
  }
  __syncthreads();
  multiply_bitmaps(b, memory, slots);
  if (threadIdx.x < warp_size) write_bitmaps(memory, slots, first, rows, c, tile_row, counts);
  if (threadIdx.x / warp_size == 1) {
    const unsigned live = write_tiles(memory, slots, first, first_pair, c);
    if (threadIdx.x == warp_size) atomicAdd(&totals->live_pairs, static_cast<unsigned long long>(live));
  }
  __syncthreads();
  write_pairs(b, memory, row.first, c.pairs);
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

void enqueue_symbolic_tiles(const Context& context, index_t rows, const TilePositions& a, const TilePositions& b,
                            const offset_t* pair_offsets, unsigned shared_bytes, const CTiles& c, offset_t* counts,
                            TileTotals* totals) {
  const index_t taken = a.arrays().taken.count;
  if (taken == 0) return;
  if (shared_bytes + symbolic_static_bytes > context.limits().shared_per_block) {
    allow_shared_bytes(symbolic_kernel, context.limits().largest_shared_per_block - symbolic_static_bytes);
  }
  launch("symbolic phase in tiles", context, Grid{static_cast<unsigned>(taken), threads, shared_bytes}, symbolic_kernel,
         rows, a.arrays(), b.arrays(), pair_offsets, c.arrays(), counts, totals);
}

}  // namespace tessera::cuda
