/// \file
/// What one block of MERBIT computes before its commit: the sums of the rows that it closes, and of the one it leaves
/// open. A tile is worked on as a warp would, lane by lane; its products are not staged, since on the host a lane
/// reads them in order anyway.
#pragma once

#include "core/parallel.hpp"
#include "preprocess/long_row_slices.hpp"
#include "preprocess/merbit_tiles.hpp"
#include "spmv/terms.hpp"

#include <algorithm>
#include <array>
#include <utility>

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

/// One lane: sums of the rows it closes go to rows[0], rows[1], ... \returns the sum of the row that it leaves open
template <class T, DescriptorWord Word, class Terms>
[[nodiscard]] inline T sum_lane(Word down_flags, int steps, const Terms& terms, offset_t k, T* rows) noexcept {
  const auto sum_run = [&](int length) {
    const offset_t begin = std::exchange(k, k + length);
    return sum_terms<T>(terms, begin, k);
  };
  const int open = for_each_closed_run(down_flags, steps, [&](int length) { *rows++ = sum_run(length); });
  return sum_run(open);
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
    const offset_t k = tile_x + step - lane.y_offset;
    if (lane.down_flags == 0) {
      // Lanes inside one row, all at once.
      int end = step + sigma;
      for (; end < tile_steps && unpack_lane<Word>(lane_words[1], sigma).down_flags == 0; end += sigma) ++lane_words;
      carry += sum_terms<T>(terms, k, k + std::min(end, tile_steps) - step);
      step = end - sigma;
      continue;
    }
    T* rows = tile_rows + lane.y_offset;
    const T open = sum_lane<T>(lane.down_flags, std::min(sigma, tile_steps - step), terms, k, rows);
    // The segmented scan of a warp, one lane at a time: the first row a lane closes takes what lanes before it left.
    rows[0] += carry;
    carry = open;
  }
}

/// Sums of the runs of long-row tiles that were computed window by window, in the order of the runs. On the stack:
/// products neither allocate nor share anything.
template <class T>
using LongRowSums = std::array<T, static_cast<std::size_t>(max_long_row_slices)>;

/// Goes through all runs one window of x at a time. Partial sums are added in the order of the windows.
template <class T, class Terms>
void sum_long_rows(const Device& device, const LongRowSlices& slices, const Terms& terms, LongRowSums<T>& sums) {
  const std::int64_t runs = slices.runs();
  parallel_tasks(device, slices.windows, [&](std::int64_t w) {
    const std::int64_t first = w * runs;
    for (std::int64_t r = first; r < first + runs; ++r) {
      sums[static_cast<std::size_t>(r)] = sum_terms<T>(terms, slices.begin[r], slices.begin[r + runs]);
    }
  });
  for (std::int64_t r = runs; r < slices.windows * runs; ++r) {
    sums[static_cast<std::size_t>(r % runs)] += sums[static_cast<std::size_t>(r)];
  }
}

/// Everything that the sum of a block depends on but the terms.
template <class T, DescriptorWord Word>
struct BlockInput {
  const BlockGrid& grid;
  const Word* words;
  const LongRowSlices& long_rows;
  const T* long_row_sums;  ///< one a run

  /// What a long-row tile adds: its own terms, or, in the first tile of a run that was summed already, the whole run's.
  template <class Terms>
  [[nodiscard]] T long_row_tile(std::int64_t tile, const Terms& terms) const noexcept {
    const std::int64_t run = long_rows.run_of(tile);
    if (run == long_rows.runs()) return sum_terms<T>(terms, grid.tiles.tile_x[tile], grid.tiles.tile_x[tile + 1]);
    return tile == long_rows.first_tile[run] ? long_row_sums[run] : T{0};
  }
};

/// One block: rows[i] becomes the block's sum of row first_row(block) + i for every row that it closes.
/// \returns the sum of the row in which the block ends
template <class T, DescriptorWord Word, class Terms>
[[nodiscard, gnu::noinline]] T sum_block(const BlockInput<T, Word>& input, std::int64_t block, const Terms& terms,
                                         T* rows) noexcept {
  const BlockGrid& grid = input.grid;
  const MerbitTiles& tiles = grid.tiles;
  const std::int64_t begin = block * grid.tiles_per_block;
  const std::int64_t end = std::min(begin + grid.tiles_per_block, tiles.tiles());
  const index_t first_row = tiles.first_row(begin);
  T carry{0};
  for (std::int64_t tile = begin; tile < end; ++tile) {
    if (tiles.is_long_row(tile)) {
      carry += input.long_row_tile(tile, terms);
    } else {
      sum_tile<T>(tiles, input.words, tile, terms, rows + (tiles.first_row(tile) - first_row), carry);
    }
  }
  return carry;
}

}  // namespace tessera::host
