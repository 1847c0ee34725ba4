/// \file
/// The only launch of kernels. A separate header, because the emulator (tests/emulator) replaces it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

namespace tessera::cuda {

/// \param shared_bytes dynamic shared memory per block
/// \returns the status of this launch; <<<>>> with cudaGetLastError() could return an older error
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
