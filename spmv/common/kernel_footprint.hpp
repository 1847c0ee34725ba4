/// \file
/// Footprint of a kernel: what a block asks of a GPU, for the tuning tables of the kernel families.
#pragma once

#include "core/cuda/device_limits.hpp"

namespace tessera::cuda {

/// What a block of a kernel asks of a GPU.
struct KernelFootprint {
  int threads = 0;
  int min_blocks = 1;    ///< per multiprocessor, which the kernel's registers are bounded for
  int shared_bytes = 0;  ///< static and dynamic

  friend constexpr bool operator==(const KernelFootprint&, const KernelFootprint&) = default;
};

/// Whether a block fits a multiprocessor.
[[nodiscard]] constexpr bool fits(const KernelFootprint& block, const DeviceLimits& gpu) noexcept {
  return block.threads <= gpu.threads_per_multiprocessor && block.shared_bytes <= gpu.largest_shared_per_block;
}

}  // namespace tessera::cuda
