/// \file
/// Launches with an attribute. A separate header, because the emulator (tests/emulator) replaces those that include it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

namespace tessera::cuda {

/// As start_kernel(), with one attribute of the launch.
template <class... Parameters, class... Arguments>
[[nodiscard]] cudaError_t start_kernel_with(cudaLaunchAttribute attribute, void (*kernel)(Parameters...),
                                            unsigned blocks, unsigned threads, std::size_t shared_bytes,
                                            cudaStream_t stream, Arguments&&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
}

}  // namespace tessera::cuda
