/// \file
/// The tensor instruction in double precision (PTX ISA, "mma.m8n8k4 with .f64"), and what stands in for it on GPUs
/// below compute capability 8.0 and in the emulator.
#pragma once

#include "core/cuda/launch.cuh"

namespace tessera::cuda {

/// C += A B for an 8 x 4 tile A and a 4 x 8 tile B. Every lane must call: lane l holds A(l / 4, l % 4), B(l % 4, l /
/// 4), and C(l / 4, 2 (l % 4)) and the column after it. Fused multiply-add; the order of the terms is the hardware's.
__device__ __forceinline__ void mma_m8n8k4(double& c0, double& c1, double a, double b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(c0), "+d"(c1)
               : "d"(a), "d"(b));
#else
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  for (int k = 0; k < 4; ++k) {
    const double of_row = __shfl_sync(full_warp, a, lane / 4 * 4 + k);
    const double of_column = __shfl_sync(full_warp, b, lane % 4 * 8 + k);
    const double of_next = __shfl_sync(full_warp, b, lane % 4 * 8 + 4 + k);
    c0 = fma(of_row, of_column, c0);
    c1 = fma(of_row, of_next, c1);
  }
#endif
}

}  // namespace tessera::cuda
