/// \file
/// A triangular matrix on a GPU, laid out for substitution: rows renumbered by level and cut into tasks of one warp.
#pragma once

#include "solvers/factors/device_levels.hpp"
#include "solvers/factors/prepared_factors.hpp"
#include "tessera/array.hpp"

#include <cstdint>
#include <vector>

namespace tessera::cuda {

/// Rows of one level and one number of lanes, as many as a warp has room for.
struct TriangularTask {
  index_t first_row = 0;   ///< position in the schedule
  std::uint16_t rows = 0;  ///< at most 32 >> lanes_log2
  std::uint16_t lanes_log2 = 0;
};

/// As kernels see it. Entry e of an active lane lies at begins[task] + e * active + lane, where a task has
/// rows << lanes_log2 active lanes; rows are filled up to one length by entries without a column.
template <class T>
struct TriangularPointers {
  const TriangularTask* tasks;
  const offset_t* begins;  ///< first entry of every task, then their number
  const index_t* columns;  ///< positions; -1: no entry
  const T* values;
  const T* inverse_diagonal;  ///< null: all 1
};

template <class T>
struct PackedTriangle {
  index_t rows = 0;
  index_t levels = 0;
  std::vector<index_t> level_tasks;  ///< first task of every level, then their number
  Array<index_t> level_tasks_on_gpu;
  Array<TriangularTask> tasks;
  Array<offset_t> begins;
  Array<index_t> columns;
  Array<T> values;
  Array<T> inverse_diagonal;

  [[nodiscard]] TriangularPointers<T> pointers() const noexcept {
    return {tasks.data(), begins.data(), columns.data(), values.data(),
            inverse_diagonal.empty() ? nullptr : inverse_diagonal.data()};
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return level_tasks_on_gpu.bytes() + tasks.bytes() + begins.bytes() + columns.bytes() + values.bytes() +
           inverse_diagonal.bytes();
  }
};

/// \param positions of the rows in the schedule: the inverse of its order
/// \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] PackedTriangle<T> pack_triangle(const detail::TriangularFactor<T>& factor, const DeviceLevels& schedule,
                                              const Array<index_t>& positions, const Device& device);

/// The inverse of a permutation on a GPU.
[[nodiscard]] Array<index_t> inverse_order(const Array<index_t>& order);

}  // namespace tessera::cuda
