/// \file
/// The merge path by its definition: one step after the other from (0, 0).
#pragma once

#include "preprocess/merge_search.hpp"

#include <vector>

namespace tessera::testing {

using namespace detail;

/// Points before each step, and the end: path_length + 1 of them.
[[nodiscard]] inline std::vector<PathPoint> naive_path(const std::vector<offset_t>& row_offsets) {
  const auto rows = static_cast<index_t>(row_offsets.size() - 1);
  std::vector<PathPoint> points{{0, 0}};
  PathPoint point;
  while (point.y < rows) {
    if (point.x < row_offsets[static_cast<std::size_t>(point.y) + 1]) {
      ++point.x;
    } else {
      ++point.y;
    }
    points.push_back(point);
  }
  return points;
}

/// Row offsets of every matrix with 0 to max_rows rows of 0 to max_length nonzeros.
[[nodiscard]] inline std::vector<std::vector<offset_t>> all_small_offsets(std::size_t max_rows, offset_t max_length) {
  std::vector<std::vector<offset_t>> all{{0}};
  for (std::size_t begin = 0; all[begin].size() <= max_rows; ++begin) {
    for (offset_t length = 0; length <= max_length; ++length) {
      std::vector<offset_t> longer = all[begin];
      longer.push_back(longer.back() + length);
      all.push_back(std::move(longer));
    }
  }
  return all;
}

}  // namespace tessera::testing
