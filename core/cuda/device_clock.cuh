/// \file
/// The clock of a GPU for kernels.
#pragma once

#include <cstdint>

#ifndef __CUDA_ARCH__
#include <chrono>
#endif

namespace tessera::cuda {

/// Nanoseconds since an arbitrary time.
[[nodiscard]] inline __device__ std::uint64_t device_nanoseconds() {
#ifdef __CUDA_ARCH__
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#else
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
#endif
}

}  // namespace tessera::cuda
