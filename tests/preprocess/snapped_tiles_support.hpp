/// \file
/// Snapped tiles the slow way: every tile walked step by step.
#pragma once

#include "preprocess/snapped_tiles.hpp"

#include <algorithm>
#include <vector>

namespace tessera::testing {

using namespace detail;

struct NaiveSnappedTiles {
  std::vector<TileStart> starts;
  std::vector<std::uint32_t> lane_words;
  std::int64_t shared_starts = 0;
  bool cannot_be_summed = false;
};

/// Lane words of the tile between two starts, whose summation is set.
inline std::vector<std::uint32_t> naive_lane_words(const std::vector<offset_t>& offsets, const TileStart& start,
                                                   const TileStart& end, const TileRules& rules) {
  const int sigma = rules.sigma;
  const auto rows = static_cast<index_t>(offsets.size() - 1);
  const int tile_rows = end.y() - start.y();
  std::vector<std::uint32_t> words(lanes_per_tile, 0);
  int left = static_cast<int>(end.x - start.x) + tile_rows;
  PathPoint point{start.x, start.y()};
  for (int lane = 0; lane < lanes_per_tile; ++lane) {
    auto& word = words[static_cast<std::size_t>(lane)];
    const auto y_offset = static_cast<std::uint32_t>(point.y - start.y());
    const auto flags = walk_lane<std::uint32_t>(offsets.data(), rows, std::clamp(left, 0, sigma), point);
    left -= sigma;
    const auto end_of = [&](int row) { return offsets[static_cast<std::size_t>(start.y() + row + 1)]; };
    if (start.kind() == TileKind::walk && sigma > 0) word = pack_lane<std::uint32_t>({flags, y_offset}, sigma);
    if (start.kind() == TileKind::few_rows && lane < tile_rows)
      word = static_cast<std::uint32_t>(end_of(lane) - start.x);
    for (int j = 0; start.kind() == TileKind::rows && j < row_rounds; ++j) {
      const int row = 32 * j + lane;
      if (row >= tile_rows) continue;
      const offset_t length = end_of(row) - offsets[static_cast<std::size_t>(start.y() + row)];
      word |= static_cast<std::uint32_t>(length) << (8 * j);
    }
  }
  return words;
}

inline NaiveSnappedTiles naive_snapped_tiles(const std::vector<offset_t>& offsets, const TileRules& rules) {
  const auto rows = static_cast<index_t>(offsets.size() - 1);
  const offset_t nnz = offsets.back();
  const std::int64_t count = snapped_tile_count(path_length(rows, nnz), rules);
  NaiveSnappedTiles tiles;
  for (std::int64_t t = 0; t < count; ++t) {
    tiles.starts.push_back(snapped_start(offsets.data(), rows, nnz, t * rules.spacing, rules.snap));
    tiles.shared_starts += tiles.starts.back().inside_row() ? 1 : 0;
  }
  tiles.starts.push_back({nnz, static_cast<std::uint32_t>(rows), 0});
  for (std::size_t t = 0; t + 1 < tiles.starts.size(); ++t) {
    TileStart& start = tiles.starts[t];
    const TileStart& end = tiles.starts[t + 1];
    TileShape shape{static_cast<int>(end.x - start.x), end.y() - start.y(), 0,
                    !start.inside_row() && !end.inside_row()};
    for (index_t i = start.y(); i < end.y(); ++i) {
      const offset_t from = std::max(offsets[static_cast<std::size_t>(i)], start.x);
      shape.longest = std::max(shape.longest, static_cast<int>(offsets[static_cast<std::size_t>(i) + 1] - from));
    }
    start.summation = choose_summation(shape, rules);
    if (start.kind() == TileKind::walk && rules.sigma == 0) tiles.cannot_be_summed = true;
    const auto words = naive_lane_words(offsets, start, end, rules);
    tiles.lane_words.insert(tiles.lane_words.end(), words.begin(), words.end());
  }
  return tiles;
}

/// Row offsets of a mixture of empty, short and long rows.
template <class Generator>
std::vector<offset_t> mixed_offsets(std::size_t rows, Generator& generator) {
  std::vector<offset_t> offsets{0};
  const auto habit = generator() % 4;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto kind = generator() % 40;
    offset_t length = static_cast<offset_t>(generator() % 30);
    if (habit == 0) length = 5;
    if (habit == 1) length = static_cast<offset_t>(generator() % 3);
    if (habit == 2 && kind < 10) length = static_cast<offset_t>(generator() % 300);
    if (habit != 0 && kind == 39) length = static_cast<offset_t>(generator() % 3000);
    offsets.push_back(offsets.back() + length);
  }
  return offsets;
}

}  // namespace tessera::testing
