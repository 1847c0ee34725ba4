/// \file
/// Starting kernels whose warps do a row of C each, and what such a warp begins and ends with.
#pragma once

#include "core/cuda/check.hpp"
#include "core/cuda/launch.cuh"
#include "core/cuda/shared_memory.cuh"
#include "spgemm/cuda/accumulators/rows.cuh"
#include "spgemm/cuda/accumulators/tuning.hpp"

#include <cuda_runtime.h>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace tessera::cuda {

/// Starts a kernel with a warp for each row of a batch; a batch without rows starts nothing.
/// \param slice bytes of shared memory a warp \param kernel gets the arguments and the slice
template <class... Parameters, class... Arguments>
void launch_slices(std::string_view name, const Context& context, index_t rows, std::int64_t slice,
                   void (*kernel)(Parameters...), Arguments&&... arguments) {
  if (rows == 0) return;
  const DeviceLimits& limits = context.limits();
  const int warps = warps_of_block(slice, limits);
  const std::int64_t bytes = warps * slice;
  // The kernels have no static shared memory.
  if (bytes > limits.shared_per_block) allow_shared_bytes(kernel, limits.largest_shared_per_block);
  launch(name, context, Grid{blocks_for(rows, warps), warps * warp_size, static_cast<std::size_t>(bytes)}, kernel,
         std::forward<Arguments>(arguments)..., static_cast<unsigned>(slice));
}

[[nodiscard]] __device__ inline int lane_of_warp() { return static_cast<int>(threadIdx.x % warp_size); }

/// Which row of its batch the warp does; may be beyond the last.
[[nodiscard]] __device__ inline unsigned row_of_warp() {
  return blockIdx.x * (blockDim.x / warp_size) + threadIdx.x / warp_size;
}

[[nodiscard]] __device__ inline unsigned char* slice_of_warp(unsigned slice) {
  return dynamic_shared_memory() + threadIdx.x / warp_size * slice;
}

/// Where a row of n entries goes; every lane gets it. \param most entries that the warp can hold \tparam Pass place or
/// claim \returns no_place where there is too little room, or n > most
template <RowPass Pass, class V>
[[nodiscard]] __device__ offset_t place_of_warp(const RowOutput<V>& out, index_t row, offset_t n, offset_t most) {
  if constexpr (Pass == RowPass::place) {
    return n <= most ? out.starts[row] : no_place;
  } else {
    offset_t place = no_place;
    if (lane_of_warp() == 0) {
      if (n > 0 && n <= most) {
        place = claim_place(out, row, n);
      } else {
        // An empty row is never without a place, be the room as full as it may.
        if (n == 0) place = out.starts == nullptr ? 0 : out.starts[row];
        out.counts[row] = n;
        out.places[row] = place;
      }
    }
    return __shfl_sync(full_warp, place, 0);
  }
}

/// Asks for it before a launch. Left to itself, the driver gives a kernel as much shared memory as its blocks can use,
/// and rows of B that neighbouring rows share fall out of the L1 (spgemm-prototypes.md: 1.45 times the time on lap2d).
/// \param shared_bytes of a block \throws CudaError
template <class... Parameters>
void set_carve_out(void (*kernel)(Parameters...), std::size_t shared_bytes, int blocks, const DeviceLimits& limits) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                             carve_out(static_cast<std::int64_t>(shared_bytes), blocks, limits)),
        "dividing the L1 cache");
}

/// Lets the blocks of a kernel have more shared memory than without asking.
/// \param most_dynamic_bytes ones of any launch: always the same number, since another thread may be about to
/// launch the kernel \throws CudaError
template <class... Parameters>
void allow_shared_bytes(void (*kernel)(Parameters...), std::int64_t most_dynamic_bytes) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(most_dynamic_bytes)),
        "asking for shared memory");
}

}  // namespace tessera::cuda
