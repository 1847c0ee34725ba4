/// \file
/// TileRowCounts on a warp, and the count of one row in memory.
#pragma once

#include "core/cuda/launch.cuh"
#include "spgemm/common/tile_arithmetic.hpp"

namespace tessera::cuda {

using detail::TileRowCounts;

/// Those of another lane.
[[nodiscard]] __device__ inline TileRowCounts counts_of_lane(const TileRowCounts& counts, int lane) {
  TileRowCounts other;
  other.even = __shfl_sync(full_warp, counts.even, lane);
  other.odd = __shfl_sync(full_warp, counts.odd, lane);
  return other;
}

/// Inclusive sum over the lanes. All lanes must call.
[[nodiscard]] __device__ inline TileRowCounts counts_up_to_lane(TileRowCounts counts) {
  const unsigned lane = threadIdx.x % warp_size;
#pragma unroll
  for (unsigned distance = 1; distance < warp_size; distance *= 2) {
    TileRowCounts other;
    other.even = __shfl_up_sync(full_warp, counts.even, distance);
    other.odd = __shfl_up_sync(full_warp, counts.odd, distance);
    if (lane >= distance) counts += other;
  }
  return counts;
}

/// Entries per row before each tile and in all tiles, of a tile row; a lane has one tile after the other.
class RunningRowCounts {
 public:
  /// Entries of each row before this lane's tile. All lanes must call. \param bitmap 0: no tile
  [[nodiscard]] __device__ TileRowCounts next(std::uint64_t bitmap) {
    const TileRowCounts own(bitmap);
    TileRowCounts before = counts_up_to_lane(own);
    const TileRowCounts all = counts_of_lane(before, warp_size - 1);
    before += total_;
    before.even -= own.even;
    before.odd -= own.odd;
    total_ += all;
    return before;
  }
  [[nodiscard]] __device__ const TileRowCounts& total() const { return total_; }

 private:
  TileRowCounts total_;
};

/// Count of row r, loaded alone.
[[nodiscard]] __device__ inline int load_row_count(const TileRowCounts* counts, int r) {
  return __ldg(reinterpret_cast<const unsigned short*>(counts) + detail::place_of_count(r));
}

}  // namespace tessera::cuda
