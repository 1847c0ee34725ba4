/// Levels of a triangular matrix: one pass over its entries, then a counting sort of the rows by level.
#include "solvers/factors/level_schedule.hpp"

#include <algorithm>
#include <cstddef>

namespace tessera::host {

namespace {

/// Entries for every thread and level, below which waiting at barriers costs more than it saves, on a machine that
/// others use too.
constexpr offset_t work_per_thread_and_level = 1 << 13;

}  // namespace

LevelSchedule level_schedule(std::span<const offset_t> row_offsets, std::span<const index_t> columns,
                             Triangle triangle) {
  const auto n = static_cast<index_t>(row_offsets.size() - 1);
  std::vector<index_t> level_of_row(static_cast<std::size_t>(n));
  index_t levels = 0;
  for (index_t step = 0; step < n; ++step) {
    const index_t i = triangle == Triangle::lower ? step : n - 1 - step;
    const auto row = static_cast<std::size_t>(i);
    index_t level = 0;
    for (offset_t k = row_offsets[row]; k < row_offsets[row + 1]; ++k) {
      const index_t j = columns[static_cast<std::size_t>(k)];
      if (triangle == Triangle::lower ? j < i : j > i) {
        level = std::max(level, level_of_row[static_cast<std::size_t>(j)] + 1);
      }
    }
    level_of_row[row] = level;
    levels = std::max(levels, level + 1);
  }
  LevelSchedule schedule;
  schedule.offsets.assign(static_cast<std::size_t>(levels) + 1, 0);
  for (const index_t level : level_of_row) ++schedule.offsets[static_cast<std::size_t>(level) + 1];
  for (std::size_t level = 0; level < static_cast<std::size_t>(levels); ++level) {
    schedule.offsets[level + 1] += schedule.offsets[level];
  }
  std::vector<offset_t> next(schedule.offsets.begin(), schedule.offsets.end() - 1);
  schedule.rows.resize(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i) {
    const index_t level = level_of_row[static_cast<std::size_t>(i)];
    schedule.rows[static_cast<std::size_t>(next[static_cast<std::size_t>(level)]++)] = i;
  }
  return schedule;
}

bool is_worth_threads(const LevelSchedule& schedule, offset_t work, const Device& device) {
  const offset_t least = grain(work_per_thread_and_level) * device.threads() * schedule.levels();
  return device.threads() > 1 && work >= least && work > 0;
}

}  // namespace tessera::host
