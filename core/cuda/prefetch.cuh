/// \file
/// Prefetches into the second-level cache, which bring data nearer and are not waited for (PTX ISA, prefetch and
/// cp.async.bulk.prefetch).
#pragma once

#include "core/cuda/warp.cuh"

namespace tessera::cuda {

/// What the second-level cache transfers.
inline constexpr int sector_bytes = 32;

/// The line of an address; how many of its sectors come, PTX leaves open.
inline __device__ void prefetch_line([[maybe_unused]] const void* address) {
#ifdef __CUDA_ARCH__
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
#endif
}

/// Count elements, every sector of them, by all lanes of a warp.
template <int Count, class T>
__device__ void prefetch_by_warp(const T* from) {
  constexpr int of_sector = sector_bytes / static_cast<int>(sizeof(T));
#pragma unroll
  for (int i = 0; i < Count; i += warp_size * of_sector) {
    const int mine = i + static_cast<int>(threadIdx.x % warp_size) * of_sector;
    if (mine < Count) prefetch_line(from + mine);
  }
}

/// By one thread; nothing before compute capability 9.0. \param from, bytes multiples of 16
inline __device__ void prefetch_in_bulk([[maybe_unused]] const void* from, [[maybe_unused]] unsigned bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" : : "l"(from), "r"(bytes) : "memory");
#endif
}

}  // namespace tessera::cuda
