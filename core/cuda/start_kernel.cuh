/// \file
/// The one place that puts kernels into streams. Its own header, so that the emulator of tests/emulator can put another
/// in its place.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

namespace tessera::cuda {

/// \param shared_bytes dynamic shared memory of a block
/// \returns how this launch went: unlike <<<>>> with cudaGetLastError(), never what a caller left behind
template <class... Parameters, class... Arguments>
[[nodiscard]] cudaError_t start_kernel(void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
                                       std::size_t shared_bytes, cudaStream_t stream, Arguments&&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
}

}  // namespace tessera::cuda
