/// \file
/// Stands in for the header of the same name: the kernel before has always ended.
#pragma once

#include "core/cuda/start_kernel.cuh"

#include <utility>

namespace tessera::cuda {

template <class... Parameters, class... Arguments>
[[nodiscard]] cudaError_t start_dependent_kernel(void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
                                                 cudaStream_t stream, Arguments&&... arguments) {
  return start_kernel(kernel, blocks, threads, 0, stream, std::forward<Arguments>(arguments)...);
}

inline void wait_for_previous_kernel() {}
inline void let_next_kernel_start() {}

}  // namespace tessera::cuda
