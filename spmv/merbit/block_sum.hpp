/// \file
/// What one block of MERBIT computes before its commit: the sums of the rows that it closes, and of the one it leaves
/// open. A tile is worked on as a warp would, lane by lane; its products are not staged, since on the host a lane
/// reads them in order anyway.
#pragma once

#include "preprocess/merbit_tiles.hpp"
#include "spmv/terms.hpp"

#include <algorithm>

namespace tessera::host {

/// Blocks of consecutive tiles.
struct BlockGrid {
  const MerbitTiles& tiles;
  int tiles_per_block;

  [[nodiscard]] std::int64_t size() const noexcept { return (tiles.tiles() + tiles_per_block - 1) / tiles_per_block; }
  /// The row in which a block starts; for block size(), the number of rows.
  [[nodiscard]] index_t first_row(std::int64_t block) const noexcept {
    return tiles.first_row(std::min(block * tiles_per_block, tiles.tiles()));
  }
  /// Whether no earlier block starts in the same row. The rows that blocks start in are the shared ones; visiting just
  /// the blocks for which this holds visits every shared row once.
  [[nodiscard]] bool is_first_in_row(std::int64_t block) const noexcept {
    return block == 0 || first_row(block - 1) < first_row(block);
  }
};

/// Sum of the terms of a lane, a tile or a block since its last closed row.
template <class T>
struct OpenRow {
  T sum{0};
  bool closed_any = false;
};

/// One lane: sums of the rows it closes go to rows[0], rows[1], ...
template <class T, DescriptorWord Word, class Terms>
[[nodiscard]] inline OpenRow<T> sum_lane(Word down_flags, int steps, const Terms& terms, offset_t k, T* rows) noexcept {
  const auto sum_run = [&](int length) {
    T sum{0};
    for (const offset_t end = k + length; k < end; ++k) sum += terms[k];
    return sum;
  };
  const int open = for_each_closed_run(down_flags, steps, [&](int length) { *rows++ = sum_run(length); });
  return {sum_run(open), down_flags != 0};
}

/// One tile. `carry` is the open sum before it on entry and after it on return.
template <class T, DescriptorWord Word, class Terms>
void sum_tile(const MerbitTiles& tiles, const Word* words, std::int64_t tile, const Terms& terms, T* tile_rows,
              T& carry) noexcept {
  const offset_t tile_x = tiles.tile_x[tile];
  const int sigma = tiles.sigma;
  const offset_t first_step = tile * tiles.steps_per_tile();
  const auto tile_steps = static_cast<int>(std::min(tiles.steps_per_tile(), tiles.length() - first_step));
  const Word* lane_words = words + tile * lanes_per_tile;
  for (int step = 0; step < tile_steps; step += sigma, ++lane_words) {
    const LaneSteps<Word> lane = unpack_lane<Word>(*lane_words, sigma);
    T* rows = tile_rows + lane.y_offset;
    const OpenRow<T> open =
        sum_lane<T>(lane.down_flags, std::min(sigma, tile_steps - step), terms, tile_x + step - lane.y_offset, rows);
    // The segmented scan of a warp, one lane at a time: the first row a lane closes takes what lanes before it left.
    if (open.closed_any) {
      rows[0] += carry;
      carry = open.sum;
    } else {
      carry += open.sum;
    }
  }
}

/// One block: rows[i] becomes the block's sum of row first_row(block) + i for every row that it closes.
/// \returns the sum of the row in which the block ends
template <class T, DescriptorWord Word, class Terms>
[[nodiscard, gnu::noinline]] T sum_block(const BlockGrid& grid, const Word* words, std::int64_t block,
                                         const Terms& terms, T* rows) noexcept {
  const MerbitTiles& tiles = grid.tiles;
  const std::int64_t begin = block * grid.tiles_per_block;
  const std::int64_t end = std::min(begin + grid.tiles_per_block, tiles.tiles());
  const index_t first_row = tiles.first_row(begin);
  T carry{0};
  for (std::int64_t tile = begin; tile < end; ++tile) {
    if (tiles.is_long_row(tile)) {
      carry += sum_terms<T>(terms, tiles.tile_x[tile], tiles.tile_x[tile + 1]);
    } else {
      sum_tile<T>(tiles, words, tile, terms, rows + (tiles.first_row(tile) - first_row), carry);
    }
  }
  return carry;
}

}  // namespace tessera::host
