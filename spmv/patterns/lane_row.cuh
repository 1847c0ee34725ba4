/// \file
/// The rows of a warp that brings values into order: a lane per row, with its list and its first nonzero in CSR.
#pragma once

#include "core/cuda/warp.cuh"
#include "spmv/patterns/pattern_values.hpp"

#include <cstddef>
#include <cstdint>

namespace tessera::cuda {

/// Position of a row among the codes by slices.
[[nodiscard]] __device__ inline std::size_t code_place(std::int64_t row, int rows_per_lane) {
  const std::int64_t slice = row / (warp_size * rows_per_lane);
  const int within = static_cast<int>(row % (warp_size * rows_per_lane));
  const int place = within % warp_size * rows_per_lane + within / warp_size;
  return static_cast<std::size_t>(slice * (warp_size * rows_per_lane) + place);
}

/// The row of a lane, among 32 rows of a warp.
struct LaneRow {
  std::int64_t row;
  int code = 0;
  int length = 0;  ///< of its list; 0 for an exception, and beyond the end
  /// Its number, of an exception; else -1.
  std::int64_t exception = -1;
  offset_t begin = 0;  ///< its first nonzero in CSR

  /// Every lane must call.
  __device__ LaneRow(const SlicedRows& rows, std::int64_t group) : row(group * warp_size + threadIdx.x % warp_size) {
    int nonzeros = 0;
    if (row < rows.rows) {
      code = rows.codes[code_place(row, rows.shape.rows_per_lane)];
      length = rows.table[code * (rows.width + 1)];
      nonzeros = length;
      if (code == rows.lists) {
        exception = number_of_exception(rows, static_cast<index_t>(row));
        nonzeros = rows.exception_lengths[exception];
      }
    }
    begin = rows.begin[group] + sum_up_to_lane(nonzeros) - nonzeros;
  }

  [[nodiscard]] __device__ static std::int64_t number_of_exception(const SlicedRows& rows, index_t row) {
    std::int64_t first = 0;
    for (std::int64_t count = rows.exception_count; count > 1;) {
      const std::int64_t half = count / 2;
      if (rows.exceptions[first + half] <= row) first += half;
      count -= half;
    }
    return first;
  }
};

}  // namespace tessera::cuda
