/// \file
/// Launching kernels.
#pragma once

#include "core/cuda/check.hpp"
#include "core/cuda/context.hpp"
#include "core/cuda/start_kernel.cuh"

#include <cstdint>
#include <string_view>
#include <utility>

namespace tessera::cuda {

/// Lanes of a warp.
inline constexpr int warp_size = 32;
inline constexpr unsigned full_warp = 0xffffffffu;

/// Blocks for `items`; at least 1, because a launch of no blocks is an error.
[[nodiscard]] inline unsigned blocks_for(std::int64_t items, int items_per_block) {
  const std::int64_t blocks = (items + items_per_block - 1) / items_per_block;
  return blocks < 1 ? 1u : static_cast<unsigned>(blocks);
}

/// Launch configuration.
struct Grid {
  unsigned blocks = 1;
  int threads = 256;             ///< per block
  std::size_t shared_bytes = 0;  ///< dynamic, per block
};

/// Launches a kernel in the stream of `context`. The device must be current.
/// \param name for the error message \throws CudaError when it cannot be started
template <class... Parameters, class... Arguments>
void launch(std::string_view name, const Context& context, const Grid& grid, void (*kernel)(Parameters...),
            Arguments&&... arguments) {
  check(start_kernel(kernel, grid.blocks, static_cast<unsigned>(grid.threads), grid.shared_bytes, context.stream(),
                     std::forward<Arguments>(arguments)...),
        name);
}

}  // namespace tessera::cuda
