#include "core/cuda/check.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

namespace tessera::cuda {

void fail(cudaError_t code, std::string_view call) {
  static_cast<void>(cudaGetLastError());
  throw CudaError(static_cast<int>(code),
                  fmt::format("CUDA: {} failed: {} ({})", call, cudaGetErrorString(code), cudaGetErrorName(code)));
}

}  // namespace tessera::cuda
