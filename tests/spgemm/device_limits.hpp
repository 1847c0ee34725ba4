/// \file
/// Limits of GPUs by compute capability (CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability").
#pragma once

#include "core/cuda/device_limits.hpp"

#include <array>

namespace tessera::testing {

[[nodiscard]] constexpr cuda::DeviceLimits limits_of(int compute_capability, int threads, int blocks, int shared_kb) {
  cuda::DeviceLimits limits;
  limits.compute_capability = compute_capability;
  limits.multiprocessors = 100;
  limits.threads_per_multiprocessor = threads;
  limits.blocks_per_multiprocessor = blocks;
  limits.shared_per_multiprocessor = shared_kb * 1024;
  limits.shared_per_block = 48 * 1024;
  limits.largest_shared_per_block = (shared_kb - 1) * 1024;
  limits.reserved_shared_per_block = 1024;
  return limits;
}

inline constexpr cuda::DeviceLimits limits_sm80 = limits_of(80, 2048, 32, 164);
inline constexpr cuda::DeviceLimits limits_sm89 = limits_of(89, 1536, 24, 100);
inline constexpr cuda::DeviceLimits limits_sm90 = limits_of(90, 2048, 32, 228);
inline constexpr cuda::DeviceLimits limits_sm120 = limits_of(120, 1536, 24, 100);
inline constexpr std::array<cuda::DeviceLimits, 4> all_limits{limits_sm80, limits_sm89, limits_sm90, limits_sm120};

}  // namespace tessera::testing
