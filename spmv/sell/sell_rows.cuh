/// \file
/// Rows of a matrix in CSR as sliced ELL sees them.
#pragma once

#include "core/cuda/warp.cuh"
#include "tessera/types.hpp"

#include <cstdint>

namespace tessera::cuda {

/// Every lane must call.
[[nodiscard]] __device__ inline int most_of_lanes(int value) {
  for (int distance = warp_size / 2; distance > 0; distance /= 2) {
    const int other = __shfl_xor_sync(full_warp, value, distance);
    value = value > other ? value : other;
  }
  return value;
}

/// The rows of a matrix in CSR.
struct SlicedCsr {
  index_t rows;
  index_t limit;  ///< of rows in slices
  const offset_t* offsets;

  /// Of a row in a slice, else 0. \param whole gets its length
  [[nodiscard]] __device__ int sliced_length(std::int64_t row, offset_t& whole) const {
    whole = row < rows ? offsets[row + 1] - offsets[row] : 0;
    return whole > limit ? 0 : static_cast<int>(whole);
  }
};

}  // namespace tessera::cuda
