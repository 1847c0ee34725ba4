/// \file
/// Turns status codes of the CUDA runtime into exceptions. Only sources of the CUDA backend include this.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

namespace tessera::cuda {

/// Throws an exception that names the call and the error. Clears the runtime's error state, so that the device stays
/// usable unless the error ends the context.
/// \throws CudaError
[[noreturn]] void fail(cudaError_t code, std::string_view call);

/// \param call what was attempted, e.g. "copy to the device" \throws CudaError when code is not cudaSuccess
inline void check(cudaError_t code, std::string_view call) {
  if (code != cudaSuccess) fail(code, call);
}

}  // namespace tessera::cuda
