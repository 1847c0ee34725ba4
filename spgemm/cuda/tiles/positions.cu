// From CSR to bitmap tiles: a block per tile row, a warp per row. The tile columns of the tile row, in a bitmap, give
// every tile its slot; runs of entries in one tile are joined by shuffles before their bits are set.
#include "core/cuda/launch.cuh"
#include "spgemm/cuda/tiles/column_window.cuh"
#include "spgemm/cuda/tiles/row_counts.cuh"
#include "spgemm/cuda/tiles/tiled_factor.hpp"

#include <climits>
#include <cstddef>

namespace tessera::cuda {

namespace {

constexpr int threads = tile_size * warp_size;

/// What a block keeps of its tile row.
struct PositionsMemory {
  std::uint64_t bitmaps[most_row_tiles];
  index_t columns[most_row_tiles];
  unsigned words[most_window_words];
  unsigned short ranks[most_window_words];
  TileColumnRange range;
  int tiles;
  int first;  ///< of the tiles in the factor

  [[nodiscard]] __device__ ColumnWindow window() { return {words, ranks, range.first & ~31}; }
};

/// The columns of a warp's row, the first of them in registers.
class RowColumns {
 public:
  __device__ RowColumns(const CsrPositions& matrix, std::int64_t row) : columns_(matrix.columns) {
    if (row < matrix.rows) {
      begin_ = matrix.offsets[row];
      end_ = matrix.offsets[row + 1];
    }
#pragma unroll
    for (int k = 0; k < kept_chunks; ++k) {
      const offset_t at = begin_ + warp_size * k + lane();
      kept_[k] = at < end_ ? __ldcs(columns_ + at) : no_column;
    }
  }

  [[nodiscard]] __device__ bool empty() const { return begin_ == end_; }
  [[nodiscard]] __device__ index_t first() const { return columns_[begin_]; }
  [[nodiscard]] __device__ index_t last() const { return columns_[end_ - 1]; }

  /// body(column, whether this lane has one) for 32 columns at a time, all lanes at once.
  template <class Body>
  __device__ void for_each_chunk(Body body) const {
#pragma unroll
    for (int k = 0; k < kept_chunks; ++k) {
      const offset_t at = begin_ + warp_size * k;
      if (at < end_) body(kept_[k], at + lane() < end_);
    }
    for (offset_t at = begin_ + warp_size * kept_chunks; at < end_; at += warp_size) {
      const bool has = at + lane() < end_;
      body(has ? columns_[at + lane()] : no_column, has);
    }
  }

  [[nodiscard]] static __device__ int lane() { return static_cast<int>(threadIdx.x % warp_size); }

 private:
  static constexpr int kept_chunks = 4;
  static constexpr index_t no_column = -tile_size;

  const index_t* columns_;
  offset_t begin_ = 0;
  offset_t end_ = 0;
  index_t kept_[kept_chunks];
};

/// Whether this lane's tile column begins a run of equal ones. All lanes must call.
[[nodiscard]] __device__ bool begins_run(index_t tile_column) {
  const index_t before = __shfl_up_sync(full_warp, tile_column, 1);
  return RowColumns::lane() == 0 || before != tile_column;
}

__device__ void find_range(const RowColumns& row, TileColumnRange& range) {
  if (threadIdx.x == 0) range.clear();
  __syncthreads();
  if (RowColumns::lane() == 0 && !row.empty()) range.include(row.first() >> 3, row.last() >> 3);
  __syncthreads();
}

__device__ void insert_columns(const RowColumns& row, const ColumnWindow& window) {
  row.for_each_chunk([&](index_t column, bool has) {
    const index_t tile_column = column >> 3;
    const bool begins = begins_run(tile_column);
    if (has && begins) window.insert(tile_column);
  });
}

/// Sets the bits of a row in the bitmaps: byte `r` of each belongs to this warp alone.
__device__ void set_bits(const RowColumns& row, int r, const ColumnWindow& window, std::uint64_t* bitmaps) {
  row.for_each_chunk([&](index_t column, bool has) {
    const index_t tile_column = column >> 3;
    unsigned bits = has ? 1U << (column & 7) : 0;
#pragma unroll
    for (unsigned distance = 1; distance < tile_size; distance *= 2) {
      const unsigned other_bits = __shfl_down_sync(full_warp, bits, distance);
      const index_t other_column = __shfl_down_sync(full_warp, tile_column, distance);
      if (RowColumns::lane() + distance < warp_size && other_column == tile_column) bits |= other_bits;
    }
    const bool begins = begins_run(tile_column);
    if (has && begins) {
      reinterpret_cast<unsigned char*>(bitmaps + window.slot(tile_column))[r] |= static_cast<unsigned char>(bits);
    }
    __syncwarp();
  });
}

/// Writes the tiles of a tile row, and how many entries of each row lie before them. One warp.
__device__ void write_tiles(const PositionsMemory& memory, bool fits, const TileArrays& out) {
  const int lane = RowColumns::lane();
  RunningRowCounts counts;
  for (int t0 = 0; t0 < memory.tiles; t0 += warp_size) {
    const int t = t0 + lane;
    const std::uint64_t bitmap = t < memory.tiles ? memory.bitmaps[t] : 0;
    const TileRowCounts before = counts.next(bitmap);
    if (t < memory.tiles && fits) {
      out.bitmaps[memory.first + t] = bitmap;
      out.columns[memory.first + t] = memory.columns[t];
      out.row_ranks[memory.first + t] = before;
    }
  }
  if (lane == 0) out.lengths[blockIdx.x] = counts.total();
}

/// A tile row that is empty, or cannot be served.
__device__ void write_no_tiles(const TileArrays& out) {
  if (threadIdx.x != 0) return;
  out.rows[blockIdx.x] = {0, 0, INT_MAX, -1};
  out.lengths[blockIdx.x] = TileRowCounts();
}

__device__ void give_up(const TileArrays& out, BeyondTiles reason, TileTotals* totals) {
  write_no_tiles(out);
  if (threadIdx.x == 0) atomicOr(&totals->beyond, static_cast<unsigned>(reason));
}

__global__ void __launch_bounds__(threads)
    positions_kernel(CsrPositions matrix, unsigned capacity, TileArrays out, unsigned* tiles, TileTotals* totals) {
  __shared__ PositionsMemory memory;
  const auto warp = static_cast<int>(threadIdx.x / warp_size);
  const RowColumns row(matrix, std::int64_t{blockIdx.x} * tile_size + warp);
  find_range(row, memory.range);
  if (memory.range.last < 0) return write_no_tiles(out);
  const int words = window_words(memory.range.first, memory.range.last);
  if (words > most_window_words) return give_up(out, BeyondTiles::span, totals);
  const ColumnWindow window = memory.window();
  window.clear(words);
  __syncthreads();
  insert_columns(row, window);
  __syncthreads();
  if (warp == 0) {
    const int count = window.number(words, [&](int slot, index_t column) {
      if (slot >= most_row_tiles) return;
      memory.columns[slot] = column;
      memory.bitmaps[slot] = 0;
    });
    if (threadIdx.x == 0) {
      memory.tiles = count;
      memory.first = static_cast<int>(atomicAdd(tiles, static_cast<unsigned>(count)));
    }
  }
  __syncthreads();
  if (memory.tiles > most_row_tiles) return give_up(out, BeyondTiles::tiles, totals);
  set_bits(row, warp, window, memory.bitmaps);
  __syncthreads();
  if (warp != 0) return;
  const bool fits = static_cast<unsigned>(memory.first) + static_cast<unsigned>(memory.tiles) <= capacity;
  write_tiles(memory, fits, out);
  if (threadIdx.x == 0) {
    out.rows[blockIdx.x] = {memory.first, fits ? memory.tiles : 0, memory.range.first, memory.range.last};
  }
}

/// What a block keeps of a sampled tile row.
struct SampleMemory {
  unsigned words[most_window_words];
  unsigned short ranks[most_window_words];
  TileColumnRange range;
  unsigned entries;
};

__global__ void __launch_bounds__(threads) sample_kernel(CsrPositions matrix, index_t tile_rows, TileSample* sample) {
  __shared__ SampleMemory memory;
  const auto warp = static_cast<int>(threadIdx.x / warp_size);
  const std::int64_t tile_row = std::int64_t{blockIdx.x} * tile_rows / gridDim.x;
  const RowColumns row(matrix, tile_row * tile_size + warp);
  if (threadIdx.x == 0) memory.entries = 0;
  find_range(row, memory.range);
  if (memory.range.last < 0) return;
  row.for_each_chunk([&](index_t /*column*/, bool has) {
    const unsigned lanes = __ballot_sync(full_warp, has);
    if (RowColumns::lane() == 0) atomicAdd(&memory.entries, static_cast<unsigned>(__popc(lanes)));
  });
  const int words = window_words(memory.range.first, memory.range.last);
  const bool fits = words <= most_window_words;
  const ColumnWindow window{memory.words, memory.ranks, memory.range.first & ~31};
  if (fits) window.clear(words);
  __syncthreads();
  if (fits) insert_columns(row, window);
  __syncthreads();
  if (warp != 0) return;
  const int tiles = fits ? window.number(words, [](int, index_t) {}) : static_cast<int>(memory.entries);
  if (threadIdx.x != 0) return;
  atomicAdd(&sample->tiles, static_cast<unsigned long long>(tiles));
  atomicAdd(&sample->entries, static_cast<unsigned long long>(memory.entries));
}

}  // namespace

void enqueue_positions(const Context& context, const CsrPositions& matrix, const TilePositions& tiles, int which,
                       TileTotals* totals) {
  if (tiles.tile_rows() == 0) return;
  launch("tiles of a factor", context, Grid{static_cast<unsigned>(tiles.tile_rows()), threads}, positions_kernel,
         matrix, static_cast<unsigned>(tiles.capacity()), tiles.arrays(), totals->tiles + which, totals);
}

void enqueue_tile_sample(const Context& context, const CsrPositions& matrix, TileSample* sample) {
  const index_t tile_rows = detail::tiles_across(matrix.rows);
  const unsigned blocks = static_cast<unsigned>(tile_rows < sampled_tile_rows ? tile_rows : sampled_tile_rows);
  if (blocks == 0) return;
  launch("sample of tiles", context, Grid{blocks, threads}, sample_kernel, matrix, tile_rows, sample);
}

}  // namespace tessera::cuda
