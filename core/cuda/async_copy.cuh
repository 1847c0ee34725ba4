/// \file
/// Asynchronous copies from global to shared memory (PTX ISA, cp.async): 16 bytes per call, past the registers. Each
/// thread waits for its own. Compute capability 8.0 and later.
#pragma once

#include <cstring>

namespace tessera::cuda {

/// Begins to copy one element of 16 bytes; it does not pass through the first-level cache.
/// \param from in global memory, to in shared memory, both aligned to 16 bytes
template <class Element>
__device__ inline void begin_async_copy(const Element* from, Element* to) {
  static_assert(sizeof(Element) == 16);
#ifdef __CUDA_ARCH__
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(address), "l"(from) : "memory");
#else
  std::memcpy(to, from, sizeof(Element));
#endif
}

/// Waits for all copies that this thread has begun. Other threads see them after a barrier.
__device__ inline void wait_for_async_copies() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.wait_all;" : : : "memory");
#endif
}

}  // namespace tessera::cuda
