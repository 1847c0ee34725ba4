/// \file
/// Stands in for the header of the same name: kernels run before this returns.
#pragma once

#include "tests/emulator/launch.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <tuple>
#include <utility>

namespace tessera::cuda {

template <class... Parameters, class... Arguments>
[[nodiscard]] cudaError_t start_kernel(void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
                                       std::size_t shared_bytes, cudaStream_t stream, Arguments&&... arguments) {
  const std::tuple<Parameters...> parameters(std::forward<Arguments>(arguments)...);
  return emulator::launch(reinterpret_cast<const void*>(kernel), {blocks, threads, shared_bytes}, stream,
                          [=] { std::apply(kernel, parameters); });
}

}  // namespace tessera::cuda
