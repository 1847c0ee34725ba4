/// \file
/// Tensor instructions on half precision and TF32 with sums in single precision (PTX ISA, "mma.m16n8k16 with .f16" and
/// "mma.m16n8k8 with .tf32"), and what stands in for them below compute capability 8.0 and in the emulator. Products
/// are exact; the order of the terms and the rounding of sums are the hardware's, which cuts bits off rather than
/// rounding to nearest (Fasi et al., PeerJ Comput. Sci. 7, 2021). The stand-ins round to nearest.
///
/// With g = lane / 4 and t = lane % 4 a lane holds the products' entries (g, 2 t) and (g, 2 t + 1). All lanes must
/// call.
#pragma once

#include "core/cuda/launch.cuh"
#include "core/narrow_floats.hpp"

namespace tessera::cuda {

/// Two neighbouring numbers in half precision, the first in the low bits.
using HalfPair = unsigned;

[[nodiscard]] __device__ __forceinline__ float half_at(HalfPair pair, int k) {
  return detail::float_of(detail::Half{static_cast<std::uint16_t>(pair >> (16 * k))});
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 800
/// C += A B for 8 x 8 tiles in half precision.
__device__ inline void stand_in_half(float& c0, float& c1, HalfPair a, HalfPair b) {
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  for (int k = 0; k < 8; ++k) {
    const float of_row = half_at(__shfl_sync(full_warp, a, lane / 4 * 4 + k / 2), k % 2);
    const float of_column = half_at(__shfl_sync(full_warp, b, lane % 4 * 8 + k / 2), k % 2);
    const float of_next = half_at(__shfl_sync(full_warp, b, lane % 4 * 8 + 4 + k / 2), k % 2);
    c0 = fmaf(of_row, of_column, c0);
    c1 = fmaf(of_row, of_next, c1);
  }
}

/// C += A B for 8 x 8 tiles of which a lane holds A(g, 2 t), A(g, 2 t + 1), B(2 t, g) and B(2 t + 1, g).
__device__ inline void stand_in_tf32(float& c0, float& c1, float a_even, float a_odd, float b_even, float b_odd) {
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  for (int k = 0; k < 8; ++k) {
    const float of_row = __shfl_sync(full_warp, k % 2 == 0 ? a_even : a_odd, lane / 4 * 4 + k / 2);
    const float b = k % 2 == 0 ? b_even : b_odd;
    const float of_column = __shfl_sync(full_warp, b, lane % 4 * 8 + k / 2);
    const float of_next = __shfl_sync(full_warp, b, lane % 4 * 8 + 4 + k / 2);
    c0 = fmaf(of_row, of_column, c0);
    c1 = fmaf(of_row, of_next, c1);
  }
}
#endif

/// Sums of a tile and of one below it.
struct StackedSums {
  float top0 = 0.0F;
  float top1 = 0.0F;
  float bottom0 = 0.0F;
  float bottom1 = 0.0F;
};

/// C += A B + A' B' for two pairs of 8 x 8 tiles in half precision, as one product of inner size 16. A lane holds (A(g,
/// 2 t), A(g, 2 t + 1)) and (B(2 t, g), B(2 t + 1, g)). The lower 8 of the instruction's 16 rows are empty: their sums
/// stay 0.
__device__ __forceinline__ void mma_half_pairs(StackedSums& c, HalfPair a, HalfPair b, HalfPair next_a,
                                               HalfPair next_b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %5}, {%7, %8}, {%0, %1, %2, "
      "%3};"
      : "+f"(c.top0), "+f"(c.top1), "+f"(c.bottom0), "+f"(c.bottom1)
      : "r"(a), "r"(0U), "r"(next_a), "r"(b), "r"(next_b));
#else
  stand_in_half(c.top0, c.top1, a, b);
  stand_in_half(c.top0, c.top1, next_a, next_b);
#endif
}

/// [C; D] += [A; A'] B for 8 x 8 tiles in TF32, C and A at the top, D and A' at the bottom. A lane holds
/// elements (g, 2 t) and (g, 2 t + 1) of A and A', (2 t, g) and (2 t + 1, g) of B: inner indices are permuted alike.
__device__ __forceinline__ void mma_stacked_tf32(StackedSums& c, float top_even, float top_odd, float bottom_even,
                                                 float bottom_odd, float b_even, float b_odd) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(c.top0), "+f"(c.top1), "+f"(c.bottom0), "+f"(c.bottom1)
      : "r"(detail::bits_of(top_even)), "r"(detail::bits_of(bottom_even)), "r"(detail::bits_of(top_odd)),
        "r"(detail::bits_of(bottom_odd)), "r"(detail::bits_of(b_even)), "r"(detail::bits_of(b_odd)));
#else
  stand_in_tf32(c.top0, c.top1, top_even, top_odd, b_even, b_odd);
  stand_in_tf32(c.bottom0, c.bottom1, bottom_even, bottom_odd, b_even, b_odd);
#endif
}

}  // namespace tessera::cuda
