// Symbolic phase in tiles: a block per tile row of C. A bitmap over its tile columns gives every tile of C a slot;
// Boolean products of bitmaps give positions; a bit per slot and tile of A marks the pairs that are not empty, and
// their number before each is its place in the list, so that the list has one order without counters.
#include "core/cuda/launch.cuh"
#include "core/cuda/shared_memory.cuh"
#include "spgemm/cuda/accumulators/launch.cuh"
#include "spgemm/cuda/tiles/column_window.cuh"
#include "spgemm/cuda/tiles/row_counts.cuh"
#include "spgemm/cuda/tiles/tile_product.hpp"

#include <cstddef>
#include <type_traits>

namespace tessera::cuda {

namespace {

constexpr int threads = symbolic_threads;
constexpr int warps = threads / warp_size;

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
    // All lanes have one tile of A, so that the branch of full ones costs the others nothing.
    const std::uint64_t of_a = memory.a_bitmaps[t];
    const std::uint64_t of_b = b.bitmaps[b_tile];
    const std::uint64_t product =
        of_a == ~std::uint64_t{0} ? detail::boolean_product_of_full(of_b) : detail::boolean_product(of_a, of_b);
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

/// Pairs of a slot. \param s < slots
[[nodiscard]] __device__ int pairs_of_slot(const SymbolicMemory& memory, int s) {
  int pairs = 0;
  for (int w = 0; w < memory.a_words; ++w) pairs += __popc(memory.hits[s * memory.a_words + w]);
  return pairs;
}

/// First pair and number of pairs of the tiles of C. One warp. \returns pairs of the tile row, in lane 0
__device__ unsigned write_tiles(const SymbolicMemory& memory, int slots, int first, unsigned first_pair,
                                const CTileArrays& c) {
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  unsigned before = first_pair;
  for (int s0 = 0; s0 < slots; s0 += warp_size) {
    const int s = s0 + lane;
    const int pairs = s < slots ? pairs_of_slot(memory, s) : 0;
    const int up_to = sum_up_to_lane(pairs);
    if (s < slots) {
      const unsigned begin = before + static_cast<unsigned>(up_to - pairs);
      memory.first_pairs[s] = begin;
      c.tiles[first + s] = {begin, pairs, memory.columns[s], 0};
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

/// Sizes of C in CSR: the entries of its rows.
struct RowSizes {
  index_t rows;
  const offset_t* pair_offsets;
  offset_t* counts;

  __device__ void write_end() const { counts[rows] = 0; }
  /// A tile row of C without entries.
  __device__ void write_nothing(index_t tile_row) const {
    const std::int64_t row = std::int64_t{tile_row} * tile_size + threadIdx.x;
    if (threadIdx.x < tile_size && row < rows) counts[row] = 0;
  }
  [[nodiscard]] __device__ int pairs(index_t tile_row) const {
    return static_cast<int>(pair_offsets[tile_row + 1] - pair_offsets[tile_row]);
  }
  [[nodiscard]] __device__ bool fits(const SymbolicLayout& /*layout*/) const { return true; }
  /// Records for a tile row of C, one per slot. One thread. \returns the first
  __device__ int reserve(index_t tile_row, int slots, const CTileArrays& c, TileTotals* totals) const {
    const auto first = static_cast<int>(atomicAdd(&totals->c_tiles, static_cast<unsigned>(slots)));
    c.rows[tile_row] = {first, slots};
    return first;
  }
  /// Two warps.
  __device__ void write(const SymbolicMemory& memory, index_t tile_row, int slots, int& first, const CTileArrays& c,
                        TileTotals* totals) const {
    if (threadIdx.x < warp_size) write_bitmaps(memory, slots, first, rows, c, tile_row, counts);
    if (threadIdx.x / warp_size != 1) return;
    const auto first_pair = static_cast<unsigned>(pair_offsets[tile_row]);
    const unsigned live = write_tiles(memory, slots, first, first_pair, c);
    if (threadIdx.x == warp_size) atomicAdd(&totals->live_pairs, static_cast<unsigned long long>(live));
  }
};

/// Sizes of C in tiles: the tiles of its tile rows, then the entries of its tile rows. Tile rows take their places in
/// the list of pairs as they come.
struct TileSizes {
  index_t tile_rows;
  unsigned shared_bytes;
  unsigned long long most_pairs;  ///< that there is room for
  const offset_t* pair_counts;
  offset_t* counts;

  __device__ void write_end() const { counts[2 * std::int64_t{tile_rows}] = 0; }
  __device__ void write_nothing(index_t tile_row) const {
    if (threadIdx.x == 0) write_counts(tile_row, 0, 0);
  }
  [[nodiscard]] __device__ int pairs(index_t tile_row) const { return static_cast<int>(pair_counts[tile_row]); }
  /// Tile rows beyond the limits of tiles have no slots.
  [[nodiscard]] __device__ bool fits(const SymbolicLayout& layout) const {
    return layout.slots > 0 && layout.bytes() <= shared_bytes;
  }
  /// Nothing: it is not known yet which slots have entries.
  __device__ int reserve(index_t /*tile_row*/, int /*slots*/, const CTileArrays& /*c*/, TileTotals* /*totals*/) const {
    return 0;
  }
  /// A record per tile with entries. One warp. \param first becomes -1 where there is no room for the pairs
  __device__ void write(const SymbolicMemory& memory, index_t tile_row, int slots, int& first, const CTileArrays& c,
                        TileTotals* totals) const {
    if (threadIdx.x >= warp_size) return;
    const TileRowTotals row = count(memory, slots);
    unsigned long long first_pair = 0;
    if (threadIdx.x == 0) {
      first_pair = atomicAdd(&totals->live_pairs, static_cast<unsigned long long>(row.pairs));
      const bool has_room = first_pair + row.pairs <= most_pairs;
      first = has_room ? static_cast<int>(atomicAdd(&totals->c_tiles, static_cast<unsigned>(row.tiles))) : -1;
      c.rows[tile_row] = {first, row.tiles};
      write_counts(tile_row, row.tiles, row.entries);
    }
    __syncwarp();
    if (first < 0) return;
    first_pair = __shfl_sync(full_warp, first_pair, 0);
    TilesBefore before{first, 0};
    for (int s0 = 0; s0 < slots; s0 += warp_size) {
      before = write_records(memory, s0 + static_cast<int>(threadIdx.x), slots, static_cast<unsigned>(first_pair),
                             before, c);
    }
  }

 private:
  struct TileRowTotals {
    int tiles = 0;
    unsigned entries = 0;
    unsigned pairs = 0;
  };
  /// What earlier slots of the tile row took.
  struct TilesBefore {
    int tile;
    unsigned entries;
  };

  __device__ void write_counts(index_t tile_row, int tiles, unsigned entries) const {
    counts[tile_row] = tiles;
    counts[std::int64_t{tile_rows} + tile_row] = entries;
  }
  /// Leaves the pairs before each slot. All lanes must call.
  [[nodiscard]] static __device__ TileRowTotals count(const SymbolicMemory& memory, int slots) {
    TileRowTotals sum;
    for (int s0 = 0; s0 < slots; s0 += warp_size) {
      const int s = s0 + static_cast<int>(threadIdx.x);
      const std::uint64_t bitmap = s < slots ? memory.c_bitmaps[s] : 0;
      const unsigned pairs = s < slots ? static_cast<unsigned>(pairs_of_slot(memory, s)) : 0;
      const unsigned up_to = sum_up_to_lane(pairs);
      if (s < slots) memory.first_pairs[s] = sum.pairs + up_to - pairs;
      sum.pairs += __shfl_sync(full_warp, up_to, warp_size - 1);
      sum.tiles += __popc(__ballot_sync(full_warp, bitmap != 0));
      sum.entries += __reduce_add_sync(full_warp, static_cast<unsigned>(detail::count_bits(bitmap)));
    }
    return sum;
  }
  /// Slot `s` of each lane. All lanes must call. \returns what is before the next slots
  [[nodiscard]] static __device__ TilesBefore write_records(const SymbolicMemory& memory, int s, int slots,
                                                            unsigned first_pair, const TilesBefore& before,
                                                            const CTileArrays& c) {
    const std::uint64_t bitmap = s < slots ? memory.c_bitmaps[s] : 0;
    const auto entries = static_cast<unsigned>(detail::count_bits(bitmap));
    const unsigned live = __ballot_sync(full_warp, bitmap != 0);
    const unsigned up_to = sum_up_to_lane(entries);
    if (bitmap != 0) {
      const int tile = before.tile + __popc(live & ((1U << threadIdx.x) - 1U));
      memory.first_pairs[s] += first_pair;
      c.bitmaps[tile] = bitmap;
      c.tiles[tile] = {memory.first_pairs[s], pairs_of_slot(memory, s), memory.columns[s],
                       before.entries + up_to - entries};
    }
    return {before.tile + __popc(live), before.entries + __shfl_sync(full_warp, up_to, warp_size - 1)};
  }
};

/// \tparam Sizes RowSizes or TileSizes
template <class Sizes>
__global__ void __launch_bounds__(threads)
    symbolic_kernel(PositionArrays a, PositionArrays b, CTileArrays c, Sizes sizes, TileTotals* totals) {
  __shared__ TileColumnRange range;
  __shared__ int slots;
  __shared__ int first;
  if (blockIdx.x == 0 && threadIdx.x == 0) sizes.write_end();
  const index_t tile_row = a.taken[blockIdx.x];
  const auto write_nothing = [&] {
    if (threadIdx.x == 0) c.rows[tile_row] = {0, 0};
    sizes.write_nothing(tile_row);
  };
  const TileRow row = a.rows[tile_row];
  find_range(a, b, row, range);
  if (range.last < 0) return write_nothing();
  const int words = window_words(range.first, range.last);
  const SymbolicLayout layout{min(sizes.pairs(tile_row), warp_size * words), words, row.tiles};
  if (!sizes.fits(layout)) return write_nothing();
  const SymbolicMemory memory(layout, range.first);
  load_rows(a, b, row, memory);
  memory.window.clear(words);
  __syncthreads();
  memory.for_each_pair([&](int, int b_tile) { memory.window.insert(b.columns[b_tile]); });
  __syncthreads();
  if (threadIdx.x < warp_size) {
    const int found = memory.window.number(words, [&](int s, index_t column) { memory.columns[s] = column; });
    if (threadIdx.x == 0) {
      slots = found;
      first = sizes.reserve(tile_row, found, c, totals);
    }
  }
  __syncthreads();
  multiply_bitmaps(b, memory, slots);
  sizes.write(memory, tile_row, slots, first, c, totals);
  __syncthreads();
  if (first >= 0) write_pairs(b, memory, row.first, c.pairs);
}

template <class Sizes>
void enqueue_symbolic(const Context& context, const TilePositions& a, const TilePositions& b, unsigned shared_bytes,
                      const CTiles& c, const Sizes& sizes, TileTotals* totals) {
  const index_t taken = a.arrays().taken.count;
  if (taken == 0) return;
  if (shared_bytes + symbolic_static_bytes > context.limits().shared_per_block) {
    allow_shared_bytes(symbolic_kernel<Sizes>, context.limits().largest_shared_per_block - symbolic_static_bytes);
  }
  launch("symbolic phase in tiles", context, Grid{static_cast<unsigned>(taken), threads, shared_bytes},
         symbolic_kernel<Sizes>, a.arrays(), b.arrays(), c.arrays(), sizes, totals);
}

}  // namespace

void enqueue_symbolic_tiles(const Context& context, index_t rows, const TilePositions& a, const TilePositions& b,
                            const offset_t* pair_offsets, unsigned shared_bytes, const CTiles& c, offset_t* counts,
                            TileTotals* totals) {
  enqueue_symbolic(context, a, b, shared_bytes, c, RowSizes{rows, pair_offsets, counts}, totals);
}

void enqueue_symbolic_tiles(const Context& context, const TilePositions& a, const TilePositions& b,
                            const offset_t* pair_counts, unsigned shared_bytes, std::int64_t most_pairs,
                            const CTiles& c, offset_t* sizes, TileTotals* totals) {
  const auto room = static_cast<unsigned long long>(most_pairs);
  enqueue_symbolic(context, a, b, shared_bytes, c, TileSizes{a.tile_rows(), shared_bytes, room, pair_counts, sizes},
                   totals);
}

}  // namespace tessera::cuda
