/// \file
/// Words that threads of one grid, or of several GPUs, hand to each other (PTX ISA, "Memory Consistency Model":
/// relaxed). A word is all that is handed over: other memory is not ordered by it. A separate header, because the
/// emulator (tests/emulator) replaces it.
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

/// A value and a number that says which one it is: loaded and stored as one word.
struct alignas(16) NumberedWord {
  std::uint64_t value = 0;
  std::uint64_t number = 0;
};

[[nodiscard]] __device__ inline NumberedWord load_relaxed(const NumberedWord* address) {
  NumberedWord word;
#ifdef __CUDA_ARCH__
  asm volatile(
      "{\n"
      " .reg .b128 both;\n"
      " ld.relaxed.gpu.global.b128 both, [%2];\n"
      " mov.b128 {%0, %1}, both;\n"
      "}"
      : "=l"(word.value), "=l"(word.number)
      : "l"(address));
#endif
  return word;
}
__device__ inline void store_relaxed(NumberedWord* address, NumberedWord word) {
#ifdef __CUDA_ARCH__
  asm volatile(
      "{\n"
      " .reg .b128 both;\n"
      " mov.b128 both, {%1, %2};\n"
      " st.relaxed.gpu.global.b128 [%0], both;\n"
      "}" ::"l"(address),
      "l"(word.value), "l"(word.number));
#endif
}

/// The same in the scope of the system: words in the memory of another GPU, or of the host.
[[nodiscard]] __device__ inline NumberedWord load_relaxed_system(const NumberedWord* address) {
  NumberedWord word;
#ifdef __CUDA_ARCH__
  asm volatile(
      "{\n"
      " .reg .b128 both;\n"
      " ld.relaxed.sys.global.b128 both, [%2];\n"
      " mov.b128 {%0, %1}, both;\n"
      "}"
      : "=l"(word.value), "=l"(word.number)
      : "l"(address));
#endif
  return word;
}
__device__ inline void store_relaxed_system(NumberedWord* address, NumberedWord word) {
#ifdef __CUDA_ARCH__
  asm volatile(
      "{\n"
      " .reg .b128 both;\n"
      " mov.b128 both, {%1, %2};\n"
      " st.relaxed.sys.global.b128 [%0], both;\n"
      "}" ::"l"(address),
      "l"(word.value), "l"(word.number));
#endif
}
[[nodiscard]] __device__ inline std::uint32_t load_relaxed_system(const std::uint32_t* address) {
  std::uint32_t word = 0;
#ifdef __CUDA_ARCH__
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(word) : "l"(address));
#endif
  return word;
}
__device__ inline void store_relaxed_system(std::uint32_t* address, std::uint32_t word) {
#ifdef __CUDA_ARCH__
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(address), "r"(word));
#endif
}

/// What a thread calls that has loaded in vain and will try again.
__device__ inline void let_others_run() {}

}  // namespace tessera::cuda
