/// \file
/// What one block of MERBIT computes before its commit: the rows that it both begins and closes are stored, the sums of
/// the two rows that other blocks may share are left to the commit. A block is walked row by row, by the flags of its
/// lanes: where lanes and tiles end plays no part in the sums, since one thread works on all of them.
#pragma once

#include "core/parallel.hpp"
#include "preprocess/long_row_slices.hpp"
#include "preprocess/merbit_tiles.hpp"
#include "spmv/common/segments.hpp"
#include "spmv/common/terms.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tessera::host {

/// Blocks of consecutive tiles, the units of work. How many there are depends on the matrix alone.
struct BlockGrid {
  const MerbitTiles& tiles;
  int least_tiles;  ///< of a block, about

  [[nodiscard]] std::int64_t size() const noexcept {
    return std::min((tiles.tiles() + least_tiles - 1) / least_tiles, max_segments);
  }
  [[nodiscard]] Range tiles_of(std::int64_t block) const noexcept { return part_of(tiles.tiles(), size(), block); }
  /// The row in which a block starts; for block size(), the number of rows.
  [[nodiscard]] index_t first_row(std::int64_t block) const noexcept { return tiles.first_row(tiles_of(block).begin); }
  /// Whether no earlier block starts in the same row. The rows that blocks start in are the shared ones; visiting just
  /// the blocks for which this holds visits every shared row once.
  [[nodiscard]] bool is_first_in_row(std::int64_t block) const noexcept {
    return block == 0 || first_row(block - 1) < first_row(block);
  }
};

/// Sums of the rows at the ends of some tiles.
template <class T>
struct EndSums {
  T first{0};  ///< of the row in which the tiles begin, if they close it
  T open{0};   ///< of the row in which they end
};

/// The tiles of a range: rows that end in it are stored, but for the one in which it begins. Terms and epilogue come by
/// value, and the loop is a function of its own: so the compiler keeps their pointers in registers (bench/NOTES.md).
template <class T, DescriptorWord Word, class Terms, class Epilogue>
[[nodiscard, gnu::noinline]] EndSums<T> multiply_tiles(const MerbitTiles& tiles, const Word* words, Range range,
                                                       Terms terms, Epilogue epilogue, ProductDots& dots) noexcept {
  const int sigma = tiles.sigma;
  const index_t first_row = tiles.first_row(range.begin);
  const Word* const end_word = words + range.end * lanes_per_tile;
  EndSums<T> sums;
  ProductDots inner;  // in registers: `dots` might alias y
  index_t row = first_row;
  offset_t begin = tiles.tile_x[range.begin];
  offset_t lane_begin = begin + first_row;  // on the path, and less the row: the nonzero
  for (const Word* word = words + range.begin * lanes_per_tile; word < end_word; ++word, lane_begin += sigma) {
    for (Word flags = unpack_lane<Word>(*word, sigma).down_flags; flags != 0; flags &= flags - 1) {
      const offset_t end = lane_begin + lowest_flag(flags) - row;
      const T sum = sum_terms<T>(terms, begin, end);
      begin = end;
      if (row == first_row) {
        sums.first = sum;
      } else {
        epilogue.store(row, sum, inner);
      }
      ++row;
    }
  }
  sums.open = sum_terms<T>(terms, begin, tiles.tile_x[range.end]);
  dots += inner;
  return sums;
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
      sums[static_cast<std::size_t>(r)] =
          sum_many_terms<T>(terms, slices.begin[r], slices.begin[r + runs], slices.begin[r + 1]);
    }
  });
  for (std::int64_t r = runs; r < slices.windows * runs; ++r) {
    sums[static_cast<std::size_t>(r % runs)] += sums[static_cast<std::size_t>(r)];
  }
}

/// Everything that a block depends on but the terms and the epilogue.
template <class T, DescriptorWord Word>
struct BlockInput {
  const BlockGrid& grid;
  const Word* words;
  const LongRowSlices& long_rows;
  const T* long_row_sums;  ///< one a run
};

/// One block: the stretches of tiles between the runs that were summed already, and the sums of the runs that begin in
/// it.
template <class T, DescriptorWord Word, class Terms, class Epilogue>
[[nodiscard]] EndSums<T> multiply_block(const BlockInput<T, Word>& input, std::int64_t block, const Terms& terms,
                                        const Epilogue& epilogue, ProductDots& dots) noexcept {
  const MerbitTiles& tiles = input.grid.tiles;
  const LongRowSlices& long_rows = input.long_rows;
  const Range range = input.grid.tiles_of(block);
  EndSums<T> sums;
  const auto add_tiles = [&](Range stretch) {
    const auto [first, open] = multiply_tiles<T>(tiles, input.words, stretch, terms, epilogue, dots);
    const index_t row = tiles.first_row(stretch.begin);
    if (row == tiles.first_row(stretch.end)) {
      sums.open += open;
      return;
    }
    const T sum = std::exchange(sums.open, open) + first;
    if (row == tiles.first_row(range.begin)) {
      sums.first = sum;
    } else {
      epilogue.store(row, sum, dots);
    }
  };
  std::int64_t tile = range.begin;
  std::int64_t run = long_rows.first_run_after(tile);
  for (; run < long_rows.runs() && long_rows.first_tile[run] < range.end; ++run) {
    const std::int64_t first_tile = long_rows.first_tile[run];
    if (first_tile >= range.begin) {
      add_tiles({tile, first_tile});
      sums.open += input.long_row_sums[run];
    }
    tile = std::min(long_rows.end_tile[run], range.end);
  }
  add_tiles({tile, range.end});
  return sums;
}

}  // namespace tessera::host
