/// \file
/// CSR5's tiles on a GPU, by rows. One pass over the rows of a matrix finds what the tiles need of them: each lane
/// takes four neighbouring rows, however many are empty, and the whole warp the tiles inside long rows. A second pass,
/// where rows are empty, writes the rows of the segments of marked tiles.
#pragma once

#include "core/cuda/launch.cuh"
#include "preprocess/csr5_tiles.hpp"
#include "tessera/types.hpp"

#include <bit>
#include <cstdint>

namespace tessera::cuda {

/// Position of a nonzero, or of the end, by tile.
struct TilePlace {
  std::int64_t tile;
  std::uint32_t offset;  ///< nonzeros of the tile before it
};

/// Maps nonzeros to tiles of `size` nonzeros. Divides by multiplication, since a row needs several quotients.
struct TileGrid {
  offset_t nnz;
  std::int64_t tiles;  ///< complete ones
  std::uint32_t size;
  int shift;                 ///< of products with `near`
  std::uint32_t near;        ///< 2^shift / size, rounded up: exact for 31 bits
  std::uint64_t reciprocal;  ///< 2^64 / size, rounded up: exact below 2^64 / size

  /// \param tile_nonzeros in [2, 2^31)
  TileGrid(offset_t nonzeros, std::int64_t complete, std::int64_t tile_nonzeros)
      : nnz(nonzeros),
        tiles(complete),
        size(static_cast<std::uint32_t>(tile_nonzeros)),
        shift(31 + std::bit_width(size - 1)),
        near(static_cast<std::uint32_t>(((std::uint64_t{1} << shift) - 1) / size + 1)),
        reciprocal(~std::uint64_t{0} / size + 1) {}

  [[nodiscard]] __device__ TilePlace place_of(offset_t k) const {
    const auto nonzero = static_cast<unsigned long long>(k);
    const unsigned long long tile = __umul64hi(nonzero, reciprocal);
    return {static_cast<std::int64_t>(tile), static_cast<std::uint32_t>(nonzero - tile * size)};
  }
  /// place_of(k), cheaper when k lies less than 2^31 beyond `before`, as rows nearly always do.
  /// \param before,distance of a nonzero up to k; from it to k
  [[nodiscard]] __device__ TilePlace place_after(TilePlace before, offset_t distance, offset_t k) const {
    const std::uint64_t offset = before.offset + static_cast<std::uint64_t>(distance);
    if (offset >> 31 != 0) return place_of(k);
    const auto low = static_cast<std::uint32_t>(offset);
    const auto tile = static_cast<std::uint32_t>(std::uint64_t{low} * near >> shift);
    return {before.tile + tile, low - tile * size};
  }
};

/// What the host reads; all zero before the pass.
struct RowPassEnds {
  offset_t empty_offsets;        ///< not by this pass: the size of empty_offset
  index_t rest_begin;            ///< not by this pass: the row of the first nonzero beyond the tiles
  index_t rest_end;              ///< one past the row of the last nonzero
  std::uint32_t has_empty_rows;  ///< 0 or 1
};

/// Output of the pass. `row_starts` and `ends` must be zero before.
struct RowFindings {
  std::uint32_t* row_starts;  ///< one bit per nonzero: whether it begins a row
  std::uint32_t* empty_rows;  ///< one bit per row
  std::uint32_t* first_row;  ///< tiles + 1: row of each tile's first nonzero and of the first beyond the tiles, or rows
  std::uint32_t* last_row;   ///< tiles: row of each tile's last nonzero
  RowPassEnds* ends;
};

inline constexpr int row_pass_threads = 256;
inline constexpr int rows_per_lane = 4;

/// The rows of a lane: row i has the nonzeros from offset[i] to offset[i + 1]. Rows that do not exist have none.
struct LaneRows {
  std::int64_t first;
  offset_t offset[rows_per_lane + 1];

  __device__ LaneRows(const offset_t* row_offsets, index_t rows, std::int64_t first_row) : first(first_row) {
#pragma unroll
    for (int i = 0; i <= rows_per_lane; ++i) offset[i] = row_offsets[first + i < rows ? first + i : rows];
  }
  [[nodiscard]] __device__ bool filled(int i) const { return offset[i] < offset[i + 1]; }
};

/// Sets the bits of the nonzeros that begin the lane's rows, with one atomic operation per word.
__device__ inline void mark_row_starts(const LaneRows& rows, std::uint32_t* bitmap) {
  auto word = static_cast<std::uint64_t>(rows.offset[0]) / 32;
  unsigned bits = 0;
#pragma unroll
  for (int i = 0; i < rows_per_lane; ++i) {
    const auto nonzero = static_cast<std::uint64_t>(rows.offset[i]);
    if (nonzero / 32 != word) {
      if (bits != 0) atomicOr(bitmap + word, bits);
      word = nonzero / 32;
      bits = 0;
    }
    if (rows.filled(i)) bits |= 1u << (nonzero % 32);
  }
  if (bits != 0) atomicOr(bitmap + word, bits);
}

/// Writes the bits of the rows of all lanes. Every lane must call.
__device__ inline void mark_empty_rows(const LaneRows& own, index_t rows, const RowFindings& to) {
  constexpr int lanes_per_word = 32 / rows_per_lane;
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  unsigned word = 0;
#pragma unroll
  for (int i = 0; i < rows_per_lane; ++i) {
    if (own.first + i < rows && !own.filled(i)) word |= 1u << i;
  }
  word <<= lane % lanes_per_word * rows_per_lane;
  for (int distance = 1; distance < lanes_per_word; distance *= 2) word |= __shfl_xor_sync(full_warp, word, distance);
  if (lane % lanes_per_word != 0 || own.first >= rows) return;
  to.empty_rows[own.first / 32] = word;
  if (word != 0) to.ends->has_empty_rows = 1;
}

/// Writes a nonempty row to the tiles that begin or end in it, except to tiles that lie inside it.
__device__ inline void write_tile_rows(const RowFindings& to, TilePlace begin, TilePlace end, std::uint32_t row) {
  if (begin.offset == 0) to.first_row[begin.tile] = row;
  if (end.tile == begin.tile) return;
  to.last_row[end.tile - 1] = row;
  if (end.offset != 0) to.first_row[end.tile] = row;
}

/// Writes long rows to the tiles inside them, which write_tile_rows() leaves out. Every lane must call.
__device__ inline void share_long_rows(const RowFindings& to, const std::int64_t (&tile)[rows_per_lane + 1],
                                       std::int64_t first) {
  const int lane = static_cast<int>(threadIdx.x % warp_size);
#pragma unroll
  for (int i = 0; i < rows_per_lane; ++i) {
    for (unsigned lanes = __ballot_sync(full_warp, tile[i + 1] - tile[i] > 1); lanes != 0; lanes &= lanes - 1) {
      const int source = __ffs(static_cast<int>(lanes)) - 1;
      const std::int64_t begin = __shfl_sync(full_warp, tile[i], source);
      const std::int64_t last = __shfl_sync(full_warp, tile[i + 1], source) - 1;
      const auto row = static_cast<std::uint32_t>(__shfl_sync(full_warp, first, source) + i);
      for (std::int64_t k = begin + lane; k < last; k += warp_size) {
        to.last_row[k] = row;
        to.first_row[k + 1] = row;
      }
    }
  }
}

/// Finds the rows of the tiles. Every lane must call.
__device__ inline void find_tile_rows(const LaneRows& rows, const TileGrid& grid, const RowFindings& to) {
  TilePlace begin = grid.place_of(rows.offset[0]);
  const TilePlace first = begin;
  std::int64_t tile[rows_per_lane + 1] = {first.tile};
#pragma unroll
  for (int i = 0; i < rows_per_lane; ++i) {
    const TilePlace end = grid.place_after(first, rows.offset[i + 1] - rows.offset[0], rows.offset[i + 1]);
    if (rows.filled(i)) write_tile_rows(to, begin, end, static_cast<std::uint32_t>(rows.first + i));
    begin = end;
    tile[i + 1] = end.tile;
  }
  if (__any_sync(full_warp, tile[rows_per_lane] - tile[0] > 1) != 0) share_long_rows(to, tile, rows.first);
}

__global__ void __launch_bounds__(row_pass_threads)
    scan_rows_kernel(const offset_t* row_offsets, index_t rows, TileGrid grid, RowFindings to) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * row_pass_threads + threadIdx.x;
  const LaneRows own(row_offsets, rows, thread * rows_per_lane);
  if (thread == 0 && grid.tiles * std::int64_t{grid.size} == grid.nnz) {
    to.first_row[grid.tiles] = static_cast<std::uint32_t>(rows);
  }
  mark_row_starts(own, to.row_starts);
  mark_empty_rows(own, rows, to);
  find_tile_rows(own, grid, to);
#pragma unroll
  for (int i = 0; i < rows_per_lane; ++i) {
    if (own.filled(i) && own.offset[i + 1] == grid.nnz) to.ends->rest_end = static_cast<index_t>(own.first + i + 1);
  }
}

/// Input and output of the second pass.
template <class Word>
struct EmptyOffsets {
  int sigma;
  const std::uint32_t* tile_ptr;  ///< with marks
  const Word* words;
  const offset_t* empty_ptr;
  std::uint32_t* to;
};

/// Tile and lane in which a row begins; empty unless it begins in a tile.
template <class Word>
struct RowStart {
  unsigned bit = 0;
  std::uint32_t pointer = 0;
  Word word = 0;
  offset_t first = 0;

  __device__ void load(const EmptyOffsets<Word>& offsets, TilePlace at) {
    const unsigned lane = at.offset / static_cast<unsigned>(offsets.sigma);
    bit = at.offset - lane * static_cast<unsigned>(offsets.sigma);
    pointer = offsets.tile_ptr[at.tile];
    word = offsets.words[at.tile * lanes_per_tile + lane];
    first = offsets.empty_ptr[at.tile];
  }
  __device__ void write(const EmptyOffsets<Word>& offsets, std::uint32_t row) const {
    if ((pointer & empty_row_mark) == 0) return;
    const Csr5Lane<Word> lane = unpack_csr5_lane<Word>(word, offsets.sigma);
    const Word earlier = static_cast<Word>((Word{1} << bit) - 1);
    const offset_t segment = offset_t{lane.y_offset} + count_flags(static_cast<Word>(lane.row_starts & earlier));
    offsets.to[first + segment] = row - (pointer & ~empty_row_mark);
  }
};

/// Writes the rows that begin in marked tiles, each at its segment. First segments that begin before their tile stay
/// zero.
template <class Word>
__global__ void __launch_bounds__(row_pass_threads)
    fill_empty_offset_kernel(const offset_t* row_offsets, index_t rows, TileGrid grid, EmptyOffsets<Word> offsets) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * row_pass_threads + threadIdx.x;
  const LaneRows own(row_offsets, rows, thread * rows_per_lane);
  const TilePlace first = grid.place_of(own.offset[0]);
  RowStart<Word> start[rows_per_lane];
#pragma unroll
  for (int i = 0; i < rows_per_lane; ++i) {
    const TilePlace at = grid.place_after(first, own.offset[i] - own.offset[0], own.offset[i]);
    if (own.filled(i) && at.tile < grid.tiles) start[i].load(offsets, at);
  }
#pragma unroll
  for (int i = 0; i < rows_per_lane; ++i) start[i].write(offsets, static_cast<std::uint32_t>(own.first + i));
}

}  // namespace tessera::cuda
