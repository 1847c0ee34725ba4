/// \file
/// Words that threads of one grid hand to each other (PTX ISA, "Memory Consistency Model": relaxed, scope of the GPU).
/// A word is all that is handed over: other memory is not ordered by it. A separate header, because the emulator
/// (tests/emulator) replaces it.
#pragma once

#include <cstdint>

namespace tessera::cuda {

[[nodiscard]] __device__ inline std::uint32_t load_relaxed(const std::uint32_t* address) {
  std::uint32_t word = 0;
#ifdef __CUDA_ARCH__
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(address));
#endif
  return word;
}
[[nodiscard]] __device__ inline std::uint64_t load_relaxed(const std::uint64_t* address) {
  std::uint64_t word = 0;
#ifdef __CUDA_ARCH__
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(address));
#endif
  return word;
}

__device__ inline void store_relaxed(std::uint32_t* address, std::uint32_t word) {
#ifdef __CUDA_ARCH__
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(address), "r"(word));
#endif
}
__device__ inline void store_relaxed(std::uint64_t* address, std::uint64_t word) {
#ifdef __CUDA_ARCH__
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(address), "l"(word));
#endif
}

/// What a thread calls that has loaded in vain and will try again.
__device__ inline void let_others_run() {}

}  // namespace tessera::cuda
