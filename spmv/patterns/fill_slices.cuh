/// \file
/// Values of rows on lists brought into the order of slices, encoded on the way: by lanes, or staged in shared memory
/// where rows are long.
#pragma once

#include "core/cuda/launch.cuh"
#include "spmv/patterns/lane_row.cuh"

#include <cstddef>
#include <cstdint>

namespace tessera::cuda {

inline constexpr int fill_threads = 128;
inline constexpr int fill_warps = fill_threads / warp_size;
/// Rows at least so long pass through shared memory: read by neighbouring lanes, written by neighbouring rows.
inline constexpr int width_worth_staging = 9;

/// A value as another type.
template <class To>
struct RoundTo {
  static constexpr bool packed = false;
  template <class From>
  [[nodiscard]] __device__ To operator()(From value) const {
    return static_cast<To>(value);
  }
};

/// Where entry k of a row of a padded slice stands. \tparam Packed whether the rows of a lane follow each other
template <bool Packed>
[[nodiscard]] __device__ std::size_t padded_place(const SlicedRows& rows, std::int64_t row, int k) {
  const int slice_rows = warp_size * rows.shape.rows_per_lane;
  const std::int64_t slice = row / slice_rows;
  const int within = static_cast<int>(row % slice_rows);
  const int place = Packed ? within % warp_size * rows.shape.rows_per_lane + within / warp_size : within;
  return static_cast<std::size_t>((slice * rows.width + k) * slice_rows + place);
}

/// A warp per 32 rows, a lane per row.
template <class From, class To, class Encode>
__global__ void __launch_bounds__(fill_threads)
    fill_by_lanes_kernel(SlicedRows rows, std::int64_t groups, const From* from, To* to, Encode encode) {
  const std::int64_t group = (std::int64_t{blockIdx.x} * fill_threads + threadIdx.x) / warp_size;
  if (group >= groups) return;
  const unsigned lane = threadIdx.x % warp_size;
  const LaneRow of_lane(rows, group);
  const int length = of_lane.length;
  const From* const own = from + of_lane.begin;
  if (!rows.shape.jagged) {
#pragma unroll 4
    for (int k = 0; k < rows.width; ++k) {
      to[padded_place<Encode::packed>(rows, of_lane.row, k)] = k < length ? encode(own[k]) : To{0};
    }
    return;
  }
  offset_t at = rows.begin[group];
  for (int k = 0;; ++k) {
    const unsigned there = __ballot_sync(full_warp, k < length ? 1 : 0);
    if (there == 0) return;
    if (k < length) to[at + __popc(there & ((1u << lane) - 1))] = encode(own[k]);
    at += __popc(there);
  }
}

/// A warp per 32 rows of padded slices, 32 entries of each at a time through shared memory.
template <class From, class To, class Encode>
__global__ void __launch_bounds__(fill_threads)
    fill_staged_kernel(SlicedRows rows, std::int64_t groups, const From* from, To* to, Encode encode) {
  __shared__ To staged[fill_warps][warp_size][warp_size + 1];
  const std::int64_t group = (std::int64_t{blockIdx.x} * fill_threads + threadIdx.x) / warp_size;
  if (group >= groups) return;
  auto& tile = staged[threadIdx.x / warp_size];
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const LaneRow of_lane(rows, group);
  for (int k0 = 0; k0 < rows.width; k0 += warp_size) {
#pragma unroll 8
    for (int r = 0; r < warp_size; ++r) {
      const int of_row = __shfl_sync(full_warp, of_lane.length, r);
      const offset_t first = __shfl_sync(full_warp, of_lane.begin, r);
      tile[r][lane] = k0 + lane < of_row ? encode(from[first + k0 + lane]) : To{0};
    }
    __syncwarp();
    const int count = rows.width - k0 < warp_size ? rows.width - k0 : warp_size;
    for (int k = 0; k < count; ++k) {
      to[padded_place<Encode::packed>(rows, of_lane.row, k0 + k)] = tile[lane][k];
    }
    __syncwarp();
  }
}

/// Neither waits nor allocates. \param from in the order of CSR \param encode callable on the device with a value
template <class From, class To, class Encode>
void fill_slices(const Device& device, const SlicedRows& rows, const From* from, To* to, const Encode& encode) {
  const std::int64_t groups = rows.shape.slices(rows.rows) * rows.shape.rows_per_lane;
  if (groups == 0 || rows.width == 0) return;
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  const Grid grid{blocks_for(groups, fill_warps), fill_threads};
  const auto kernel = !rows.shape.jagged && rows.width >= width_worth_staging ? fill_staged_kernel<From, To, Encode>
                                                                              : fill_by_lanes_kernel<From, To, Encode>;
  launch("values of rows by slices", context, grid, kernel, rows, groups, from, to, encode);
}

}  // namespace tessera::cuda
