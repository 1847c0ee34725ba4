/// \file
/// Bulk copies from global to shared memory: one thread starts a copy, a barrier in shared memory reports it complete
/// (PTX ISA, cp.async.bulk and mbarrier). Compute capability 9.0 and later; must not be called on earlier ones.
#pragma once

#include <cstdint>

namespace tessera::cuda {

/// Sizes and addresses of copies are multiples of so many bytes.
inline constexpr int bulk_copy_granule = 16;

/// A barrier that completes a phase when the bytes announced for it have arrived.
using CopyBarrier = std::uint64_t;

[[nodiscard]] __device__ inline std::uint32_t shared_address(const void* in_shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(in_shared));
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/// By one thread, before any use. Synchronise the waiting threads with it after make_barriers_visible().
__device__ inline void init_barrier(CopyBarrier* barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
}

/// By the thread that initialised the barriers: makes them visible to the copy engine.
__device__ inline void make_barriers_visible() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// By every thread that accessed shared memory which a copy will overwrite, before it synchronises with the thread that
/// starts the copy.
__device__ inline void release_to_bulk_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/// Announces the bytes of the phase that begins. By one thread.
__device__ inline void expect_bytes(CopyBarrier* barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

/// Starts a copy of data that is read once: evict-first priority in L2. By one thread.
/// \param bytes a positive multiple of bulk_copy_granule
__device__ inline void bulk_copy(void* to_shared, const void* from_global, std::uint32_t bytes, CopyBarrier* barrier) {
  std::uint64_t evict_first = 0;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(evict_first));
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::
          "r"(shared_address(to_shared)),
      "l"(from_global), "r"(bytes), "r"(shared_address(barrier)), "l"(evict_first)
      : "memory");
}

/// Waits until the phase of this parity is complete. \param parity 0 for the first phase, then 1, 0, ...
__device__ inline void wait_for_copies(CopyBarrier* barrier, std::uint32_t parity) {
  std::uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}\n"
        : "=r"(done)
        : "r"(shared_address(barrier)), "r"(parity)
        : "memory");
  }
}

#else

// Never runs: has_bulk_copies() is false on these GPUs.
__device__ inline void init_barrier(CopyBarrier*) { __trap(); }
__device__ inline void make_barriers_visible() { __trap(); }
__device__ inline void release_to_bulk_copies() { __trap(); }
__device__ inline void expect_bytes(CopyBarrier*, std::uint32_t) { __trap(); }
__device__ inline void bulk_copy(void*, const void*, std::uint32_t, CopyBarrier*) { __trap(); }
__device__ inline void wait_for_copies(CopyBarrier*, std::uint32_t) { __trap(); }

#endif

}  // namespace tessera::cuda
