/// \file
/// Levels of a triangular matrix: a row's level is one more than the largest level of the rows that it needs. Rows of
/// one level do not need each other (Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., §11.6).
#pragma once

#include "core/parallel.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::host {

enum class Triangle { lower, upper };

struct LevelSchedule {
  std::vector<offset_t> offsets{0};  ///< of the levels in `rows`
  std::vector<index_t> rows;         ///< by level, ascending in each

  [[nodiscard]] index_t levels() const noexcept { return static_cast<index_t>(offsets.size() - 1); }
};

/// \param row_offsets,columns a square matrix; entries on the diagonal and in the other triangle do not count
/// O(rows + nnz).
[[nodiscard]] LevelSchedule level_schedule(std::span<const offset_t> row_offsets, std::span<const index_t> columns,
                                           Triangle triangle);

/// Whether the threads of `device` have enough to do between the barriers of levels. \param work e.g. nonzeros
[[nodiscard]] bool is_worth_threads(const LevelSchedule& schedule, offset_t work, const Device& device);

/// body(thread, row) for all rows, level by level; a thread number belongs to one thread at a time. Any thread must
/// give the same result for a row.
template <class Body>
void for_each_level(const LevelSchedule& schedule, const Device& device, const Body& body) {
  const int threads = std::max(1, device.threads());
  for (index_t level = 0; level < schedule.levels(); ++level) {
    const offset_t begin = schedule.offsets[static_cast<std::size_t>(level)];
    const offset_t size = schedule.offsets[static_cast<std::size_t>(level) + 1] - begin;
    parallel_tasks(device, threads, [&](std::int64_t thread) {
      const Range part = part_of(size, threads, thread);
      for (offset_t k = begin + part.begin; k < begin + part.end; ++k) {
        body(static_cast<std::size_t>(thread), schedule.rows[static_cast<std::size_t>(k)]);
      }
    });
  }
}

/// The same with a body for every thread, made by make_body() before the threads start.
template <class MakeBody>
void for_each_level_with(const LevelSchedule& schedule, const Device& device, const MakeBody& make_body) {
  std::vector<decltype(make_body())> bodies;
  const int threads = std::max(1, device.threads());
  bodies.reserve(static_cast<std::size_t>(threads));
  for (int t = 0; t < threads; ++t) bodies.push_back(make_body());
  for_each_level(schedule, device, [&bodies](std::size_t thread, index_t row) { bodies[thread](row); });
}

}  // namespace tessera::host
