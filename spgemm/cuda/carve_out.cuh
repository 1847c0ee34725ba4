/// \file
/// How the memory beside a multiprocessor is divided between its L1 cache and shared memory.
#pragma once

#include "core/cuda/check.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>

namespace tessera::cuda {

/// The most shared memory of a multiprocessor of compute capability 9.0, and what the runtime keeps of it for a block
/// (CUDA C++ Programming Guide, "Compute Capability 9.0").
inline constexpr std::size_t most_shared_bytes = 228 * 1024;
inline constexpr std::size_t shared_bytes_kept = 1024;

/// Share of the shared memory, in percent, in which `blocks` blocks of a kernel have room; the rest is left to the L1.
[[nodiscard]] constexpr int carve_out(std::size_t shared_bytes, int blocks) noexcept {
  if (shared_bytes == 0) return 0;
  const std::size_t wanted = static_cast<std::size_t>(blocks) * (shared_bytes + shared_bytes_kept);
  return static_cast<int>(std::min<std::size_t>(100, (100 * wanted + most_shared_bytes - 1) / most_shared_bytes));
}

/// Asks for it before a launch. Left to itself, the driver gives a kernel as much shared memory as its blocks can use,
/// and rows of B that neighbouring rows share fall out of the L1 (spgemm-prototypes.md: 1.45 times the time on lap2d).
/// \param shared_bytes of a block \throws CudaError
template <class... Parameters>
void set_carve_out(void (*kernel)(Parameters...), std::size_t shared_bytes, int blocks) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, carve_out(shared_bytes, blocks)),
        "dividing the L1 cache");
}

/// Lets the blocks of a kernel have more shared memory than without asking.
/// \param most_dynamic_bytes ones of any launch: always the same number, since another thread may be about to
/// launch the kernel \throws CudaError
template <class... Parameters>
void allow_shared_bytes(void (*kernel)(Parameters...), std::size_t most_dynamic_bytes) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(most_dynamic_bytes)),
        "asking for shared memory");
}

}  // namespace tessera::cuda
