/// \file
/// The tiles of a tile row, found by one block: a bitmap of tile columns in shared memory gives every tile its rank,
/// then each row sets its bits in the bitmaps of the tiles.
#pragma once

#include "core/bitmap_tile.hpp"
#include "core/cuda/launch.cuh"
#include "core/cuda/warp.cuh"
#include "preprocess/tile_merge.hpp"
#include "preprocess/tile_slices.hpp"

#include <cstdint>

namespace tessera::cuda {

using namespace detail;

/// One warp per row.
inline constexpr int find_threads = tile_size * warp_size;
/// What a block knows of its tile row.
struct TileRowWindow {
  unsigned words[most_window_words];        ///< bit 32 q + z: tile column `first` + 32 q + z has a tile
  unsigned short ranks[most_window_words];  ///< tiles before each word
  std::uint64_t bitmaps[most_found_tiles];
  index_t columns[most_found_tiles];
  index_t first_of_row[tile_size];
  index_t last_of_row[tile_size];
  int tiles;
};

/// The columns of a row, as a warp holds them: the first ones in registers, further ones are read again.
class RowColumns {
 public:
  __device__ RowColumns(const CsrStructurePointers& a, index_t tile_row, int row, int lane)
      : columns_(a.columns), begin_(a.begin_of(tile_row, row)), end_(a.begin_of(tile_row, row + 1)), lane_(lane) {
#pragma unroll
    for (int k = 0; k < kept; ++k) kept_[k] = load(begin_ + warp_size * k + lane);
  }

  /// Tile columns of the first and the last entry, for lane 0; no_tile and -1 without entries.
  [[nodiscard]] __device__ index_t first() const { return begin_ < end_ ? tile_of(kept_[0]) : TileMerge::no_tile; }
  [[nodiscard]] __device__ index_t last() const { return begin_ < end_ ? tile_of(columns_[end_ - 1]) : -1; }

  /// round(column) for 32 entries at a time, by all lanes; -1 beyond the row.
  template <class Round>
  __device__ void for_rounds(const Round& round) const {
#pragma unroll
    for (int k = 0; k < kept; ++k) {
      if (begin_ + warp_size * k < end_) round(kept_[k]);
    }
    for (offset_t k = begin_ + warp_size * kept; k < end_; k += warp_size) round(load(k + lane_));
  }

 private:
  static constexpr int kept = 4;

  [[nodiscard]] __device__ index_t load(offset_t k) const { return k < end_ ? columns_[k] : -1; }

  const index_t* columns_;
  offset_t begin_;
  offset_t end_;
  int lane_;
  index_t kept_[kept];
};

/// Tile column of an entry; -1 beyond the row.
[[nodiscard]] __device__ inline index_t tile_column_of(index_t column) { return column < 0 ? -1 : tile_of(column); }

/// Whether a lane holds the first entry of its tile in this round.
[[nodiscard]] __device__ inline bool begins_tile(index_t tile_column, int lane) {
  const index_t previous = __shfl_up_sync(full_warp, tile_column, 1);
  return tile_column >= 0 && (lane == 0 || previous != tile_column);
}

/// Marks the tile columns of a row.
__device__ inline void mark_tiles(const RowColumns& row, index_t first, int lane, TileRowWindow& window) {
  row.for_rounds([&](index_t column) {
    const index_t tile_column = tile_column_of(column);
    if (!begins_tile(tile_column, lane)) return;
    const unsigned place = static_cast<unsigned>(tile_column - first);
    const unsigned bit = 1u << place % 32;
    unsigned* const word = &window.words[place / 32];
    if ((*static_cast<volatile unsigned*>(word) & bit) == 0) atomicOr(word, bit);
  });
}

/// Ranks of the marked tile columns; the first most_found_tiles are noted. One warp.
__device__ inline void rank_tiles(index_t first, int words, int lane, TileRowWindow& window) {
  int tiles = 0;
  for (int q0 = 0; q0 < words; q0 += warp_size) {
    const int q = q0 + lane;
    unsigned bits = q < words ? window.words[q] : 0;
    const int count = __popc(bits);
    const int up_to = sum_up_to_lane(count);
    int rank = tiles + up_to - count;
    if (q < words) window.ranks[q] = static_cast<unsigned short>(rank);
    for (; bits != 0 && rank < most_found_tiles; bits &= bits - 1, ++rank) {
      window.columns[rank] = first + q * 32 + __ffs(static_cast<int>(bits)) - 1;
      window.bitmaps[rank] = 0;
    }
    tiles += __shfl_sync(full_warp, up_to, warp_size - 1);
  }
  if (lane == 0) window.tiles = tiles;
}

/// The bits of all lanes of the same tile, for the first of them. At most eight neighbouring lanes have the same tile.
[[nodiscard]] __device__ inline unsigned join_bits(unsigned bits, index_t tile_column, int lane) {
#pragma unroll
  for (int distance = 1; distance < tile_size; distance *= 2) {
    const unsigned other = __shfl_down_sync(full_warp, bits, static_cast<unsigned>(distance));
    const index_t of_other = __shfl_down_sync(full_warp, tile_column, static_cast<unsigned>(distance));
    if (lane + distance < warp_size && of_other == tile_column) bits |= other;
  }
  return bits;
}

/// Sets the bits of row `r`: a byte of each bitmap, which no other warp writes.
__device__ inline void set_bits(const RowColumns& row, int r, index_t first, int lane, TileRowWindow& window) {
  auto* const bytes = reinterpret_cast<unsigned char*>(window.bitmaps);
  row.for_rounds([&](index_t column) {
    const index_t tile_column = tile_column_of(column);
    const bool begins = begins_tile(tile_column, lane);
    const unsigned bits = join_bits(1u << (column & (tile_size - 1)), tile_column, lane);
    if (begins) {
      const unsigned place = static_cast<unsigned>(tile_column - first);
      const unsigned before = window.words[place / 32] & ((1u << place % 32) - 1);
      bytes[tile_size * (window.ranks[place / 32] + __popc(before)) + r] |= static_cast<unsigned char>(bits);
    }
    __syncwarp();
  });
}

/// A tile row as its block found it. The same in all threads.
struct FoundTileRow {
  index_t first;  ///< tile column; the window begins at the multiple of 32 before it
  index_t last;
  int words;  ///< of the window; more than most_window_words: the block gave up
  int tiles;  ///< more than most_found_tiles: the block gave up

  [[nodiscard]] __device__ bool fits() const { return words <= most_window_words && tiles <= most_found_tiles; }
};

/// Finds the tiles of a tile row; columns and bitmaps lie in the window then. Every thread of a block of find_threads
/// must call, once. \param row of this warp \param on_number called by thread 0 with the number of tiles, while others
/// still set bits
template <class OnNumber>
__device__ FoundTileRow find_tiles(const RowColumns& row, TileRowWindow& window, const OnNumber& on_number) {
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const int r = static_cast<int>(threadIdx.x / warp_size);
  if (lane == 0) {
    window.first_of_row[r] = row.first();
    window.last_of_row[r] = row.last();
  }
  __syncthreads();
  FoundTileRow found{TileMerge::no_tile, -1, 0, 0};
  for (int i = 0; i < tile_size; ++i) {
    found.first = min(found.first, window.first_of_row[i]);
    found.last = max(found.last, window.last_of_row[i]);
  }
  if (found.last < 0) return found;
  const index_t origin = found.first & ~31;
  found.words = (found.last - origin) / 32 + 1;
  if (found.words > most_window_words) return found;
  for (int q = static_cast<int>(threadIdx.x); q < found.words; q += find_threads) window.words[q] = 0;
  __syncthreads();
  mark_tiles(row, origin, lane, window);
  __syncthreads();
  if (r == 0) rank_tiles(origin, found.words, lane, window);
  __syncthreads();
  found.tiles = window.tiles;
  if (threadIdx.x == 0) on_number(found.tiles);
  if (found.tiles <= most_found_tiles) set_bits(row, r, origin, lane, window);
  __syncthreads();
  return found;
}

}  // namespace tessera::cuda
