/// \file
/// Launches of grids whose blocks all run at once, so that they may wait for each other (CUDA C++ Programming Guide,
/// "Grid Synchronization"). A separate header, because the emulator (tests/emulator) replaces it.
#pragma once

#include "core/cuda/start_kernel_with.cuh"

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

namespace tessera::cuda {

/// As start_kernel(); refused where the blocks do not fit the GPU all at once.
template <class... Parameters, class... Arguments>
[[nodiscard]] cudaError_t start_cooperative_kernel(void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
                                                   std::size_t shared_bytes, cudaStream_t stream,
                                                   Arguments&&... arguments) {
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  return start_kernel_with(cooperative, kernel, blocks, threads, shared_bytes, stream,
                           std::forward<Arguments>(arguments)...);
}

}  // namespace tessera::cuda
