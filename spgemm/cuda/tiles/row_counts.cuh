/// \file
/// RowCounts on a warp, and the count of one row in memory.
#pragma once

#include "core/cuda/launch.cuh"
#include "spgemm/common/bitmap_tiles.hpp"

namespace tessera::cuda {

using detail::RowCounts;

/// Inclusive sum over the lanes. All lanes must call.
[[nodiscard]] __device__ inline RowCounts counts_up_to_lane(RowCounts counts) {
  const unsigned lane = threadIdx.x % warp_size;
#pragma unroll
  for (unsigned distance = 1; distance < warp_size; distance *= 2) {
    RowCounts other;
#pragma unroll
    for (int k = 0; k < 4; ++k) other.of[k] = __shfl_up_sync(full_warp, counts.of[k], distance);
    if (lane >= distance) counts += other;
  }
  return counts;
}

/// Those of the last lane. All lanes must call.
[[nodiscard]] __device__ inline RowCounts counts_of_last_lane(const RowCounts& counts) {
  RowCounts last;
#pragma unroll
  for (int k = 0; k < 4; ++k) last.of[k] = __shfl_sync(full_warp, counts.of[k], warp_size - 1);
  return last;
}

/// Count of row r, loaded alone.
[[nodiscard]] __device__ inline int load_row_count(const RowCounts* counts, int r) {
  return __ldg(reinterpret_cast<const unsigned short*>(counts) + RowCounts::half_of(r));
}

}  // namespace tessera::cuda
