/// \file
/// How the memory beside a multiprocessor is divided between its L1 cache and shared memory.
#pragma once

#include "core/cuda/check.hpp"
#include "spgemm/cuda/warp_slices.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace tessera::cuda {

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
