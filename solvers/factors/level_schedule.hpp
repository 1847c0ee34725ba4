/// \file
/// Levels of a triangular matrix: a row's level is one more than the largest level of the rows that it needs. Rows of
/// one level do not need each other (Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., §11.6).
#pragma once

#include "tessera/device.hpp"
#include "tessera/types.hpp"

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

/// make_body() makes the body of a thread, which is called with rows, level by level. Any body must give the same
/// result for a row.
template <class MakeBody>
void for_each_level(const LevelSchedule& schedule, const Device& device, const MakeBody& make_body) {
#pragma omp parallel num_threads(device.threads())
  {
    auto body = make_body();
    for (index_t level = 0; level < schedule.levels(); ++level) {
      const offset_t begin = schedule.offsets[static_cast<std::size_t>(level)];
      const offset_t end = schedule.offsets[static_cast<std::size_t>(level) + 1];
#pragma omp for schedule(static)
      for (offset_t k = begin; k < end; ++k) body(schedule.rows[static_cast<std::size_t>(k)]);
    }
  }
}

}  // namespace tessera::host
