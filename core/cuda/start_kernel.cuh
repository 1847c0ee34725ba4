/// \file
/// The one place that puts kernels into streams. Its own header, so that the emulator of tests/emulator can put another
/// in its place.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>

namespace tessera::cuda {

/// For launch(), which looks for errors.
/// \param shared_bytes dynamic shared memory of a block
template <class... Parameters, class... Arguments>
void start_kernel(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, std::size_t shared_bytes,
                  cudaStream_t stream, Arguments&&... arguments) {
  kernel<<<blocks, threads, shared_bytes, stream>>>(std::forward<Arguments>(arguments)...);
}

}  // namespace tessera::cuda
