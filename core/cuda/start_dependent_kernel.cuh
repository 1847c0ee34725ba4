/// \file
/// Programmatic dependent launch (CUDA C++ Programming Guide): a kernel starts before the kernel before it in the
/// stream has ended, and waits for it where it needs its results. From compute capability 9.0 on. A separate header,
/// because the emulator (tests/emulator) replaces it.
#pragma once

#include "core/cuda/start_kernel_with.cuh"

#include <cuda_runtime.h>

#include <utility>

namespace tessera::cuda {

/// A launch that may overlap with the kernel before it. Each thread of the kernel calls wait_for_previous_kernel().
/// \returns the status of this launch
template <class... Parameters, class... Arguments>
[[nodiscard]] cudaError_t start_dependent_kernel(void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
                                                 cudaStream_t stream, Arguments&&... arguments) {
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  return start_kernel_with(overlap, kernel, blocks, threads, 0, stream, std::forward<Arguments>(arguments)...);
}

/// Before it, a kernel reads only what no kernel that may still run writes, and writes nothing. After it, all kernels
/// before this one are done and what they wrote is visible. Does nothing in a kernel that was launched without overlap.
__device__ inline void wait_for_previous_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

/// The next kernel, if it may overlap, may start once all blocks of this one have called it or ended.
__device__ inline void let_next_kernel_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

}  // namespace tessera::cuda
