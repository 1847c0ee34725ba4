/// \file
/// Slices of tile rows: ranges of tile columns with few entries, each of which one thread merges. For tile rows too
/// wide or with too many tiles for the shared memory of a block.
#pragma once

#include "preprocess/tile_merge.hpp"

namespace tessera::detail {

/// Tile columns between the first and the last one of a tile row, 32 per word, and tiles, that a block can hold.
inline constexpr int most_window_words = 1024;
inline constexpr int most_found_tiles = 512;

/// Entries of the longest row of a tile row per slice.
inline constexpr offset_t entries_of_slice = 64;

struct TileSlice {
  index_t first = 0;  ///< tile column
  index_t last = 0;   ///< past the last one
};

/// The row of a tile row with the most entries, of several the first.
[[nodiscard]] TESSERA_HOST_DEVICE inline int longest_row(const CsrStructurePointers& a, index_t tile_row) {
  int longest = 0;
  offset_t most = -1;
  for (int r = 0; r < tile_size; ++r) {
    const offset_t length = a.begin_of(tile_row, r + 1) - a.begin_of(tile_row, r);
    if (length > most) longest = r;
    most = length > most ? length : most;
  }
  return longest;
}

/// Slices that a tile row is cut into: at least one.
[[nodiscard]] TESSERA_HOST_DEVICE inline offset_t slices_of(const CsrStructurePointers& a, index_t tile_row) {
  const int r = longest_row(a, tile_row);
  return 1 + (a.begin_of(tile_row, r + 1) - a.begin_of(tile_row, r)) / entries_of_slice;
}

/// Slice `number` of `count`: they are cut where the longest row is, into equal parts of it. A slice may be empty.
[[nodiscard]] TESSERA_HOST_DEVICE inline TileSlice slice_of(const CsrStructurePointers& a, index_t tile_row,
                                                            offset_t number, offset_t count) {
  const int r = longest_row(a, tile_row);
  const offset_t begin = a.begin_of(tile_row, r);
  const offset_t length = a.begin_of(tile_row, r + 1) - begin;
  const auto cut = [&](offset_t n) {
    if (n == 0) return index_t{0};
    return n == count ? TileMerge::no_tile : tile_of(a.columns[begin + length * n / count]);
  };
  return {cut(number), cut(number + 1)};
}

}  // namespace tessera::detail
