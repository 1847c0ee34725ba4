/// \file
/// Launches of accumulators: shared memory, and kernels whose warps do a row of C each.
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

/// Asks for as much shared memory as `blocks` blocks per SM need; the rest is left to the L1. Left to itself, the
/// driver gives a kernel as much shared memory as its blocks can use, and rows of B that neighbouring rows share fall
/// out of the L1 (1.45 times the time on lap2d). \param shared_bytes of a block \throws CudaError
template <class... Parameters>
void set_carve_out(void (*kernel)(Parameters...), std::size_t shared_bytes, int blocks, const DeviceLimits& limits) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                             carve_out(static_cast<std::int64_t>(shared_bytes), blocks, limits)),
        "dividing the L1 cache");
}

/// Lets the blocks of a kernel have more dynamic shared memory than without asking.
/// \param most_dynamic_bytes of any launch: always the same number on a device, since another thread may be about to
/// launch the kernel \throws CudaError
template <class... Parameters>
void allow_shared_bytes(void (*kernel)(Parameters...), std::int64_t most_dynamic_bytes) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(most_dynamic_bytes)),
        "asking for shared memory");
}

/// Starts a kernel with a warp for each row of a batch; a batch without rows starts nothing.
/// \param shared_bytes of a warp \param kernel gets the arguments and shared_bytes
template <class... Parameters, class... Arguments>
void launch_warps(std::string_view name, const Context& context, index_t rows, std::int64_t shared_bytes,
                  void (*kernel)(Parameters...), Arguments&&... arguments) {
  if (rows == 0) return;
  const DeviceLimits& limits = context.limits();
  const int warps = warps_of_block(shared_bytes, limits);
  const std::int64_t bytes = warps * shared_bytes;
  // The kernels have no static shared memory.
  if (bytes > limits.shared_per_block) allow_shared_bytes(kernel, limits.largest_shared_per_block);
  launch(name, context, Grid{blocks_for(rows, warps), warps * warp_size, static_cast<std::size_t>(bytes)}, kernel,
         std::forward<Arguments>(arguments)..., static_cast<unsigned>(shared_bytes));
}

[[nodiscard]] __device__ inline int lane_of_warp() { return static_cast<int>(threadIdx.x % warp_size); }

/// Which row of its batch the warp does; may be beyond the last.
[[nodiscard]] __device__ inline unsigned row_of_warp() {
  return blockIdx.x * (blockDim.x / warp_size) + threadIdx.x / warp_size;
}

[[nodiscard]] __device__ inline unsigned char* memory_of_warp(unsigned shared_bytes) {
  return dynamic_shared_memory() + threadIdx.x / warp_size * shared_bytes;
}

/// First entry of a row of n entries in its output, for every lane. \param most entries that the warp can hold
/// \tparam P numeric or numeric_allocating \returns no_offset where the buffer is full, or n > most
template <Phase P, class V>
[[nodiscard]] __device__ offset_t output_offset_of_warp(const RowOutput<V>& out, index_t row, offset_t n,
                                                        offset_t most) {
  if constexpr (P == Phase::numeric) {
    return n <= most ? out.starts[row] : no_offset;
  } else {
    offset_t offset = no_offset;
    if (lane_of_warp() == 0) {
      if (n > 0 && n <= most) {
        offset = allocate_row(out, row, n);
      } else {
        // An empty row always has an offset, however full the buffer is.
        if (n == 0) offset = out.starts == nullptr ? 0 : out.starts[row];
        out.counts[row] = n;
        out.buffer_offsets[row] = offset;
      }
    }
    return __shfl_sync(full_warp, offset, 0);
  }
}

}  // namespace tessera::cuda
