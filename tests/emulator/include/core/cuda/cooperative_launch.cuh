/// \file
/// Stands in for the header of the same name: all blocks of the grid run in turns, so that they may wait for each
/// other. Their kernels have no __shared__ variables, of which there is one set, but dynamic shared memory alone.
#pragma once

#include "tests/emulator/launch.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <tuple>
#include <utility>

namespace tessera::cuda {

template <class... Parameters, class... Arguments>
[[nodiscard]] cudaError_t start_cooperative_kernel(void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
                                                   std::size_t shared_bytes, cudaStream_t stream,
                                                   Arguments&&... arguments) {
  const std::tuple<Parameters...> parameters(std::forward<Arguments>(arguments)...);
  return emulator::launch(reinterpret_cast<const void*>(kernel), {blocks, threads, shared_bytes, true}, stream,
                          [=] { std::apply(kernel, parameters); });
}

}  // namespace tessera::cuda
