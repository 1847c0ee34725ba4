/// \file
/// Sums over the lanes of a warp and the threads of a block, and loads that leave the caches to others. All lanes must
/// call what sums over a warp, all threads what sums over a block.
#pragma once

#include "core/cuda/launch.cuh"

#include <cstdint>

namespace tessera::cuda {

/// Sum over groups of `lanes` neighbouring lanes, in a fixed order; every lane gets the sum of its group.
/// \param lanes a power of two
template <class T>
[[nodiscard]] __device__ inline T sum_over_lanes(T value, int lanes = warp_size) {
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(full_warp, value, distance);
  }
  return value;
}

/// Inclusive sum over the lanes.
template <class T>
[[nodiscard]] __device__ inline T sum_up_to_lane(T value) {
  const unsigned lane = threadIdx.x % warp_size;
#pragma unroll
  for (unsigned distance = 1; distance < warp_size; distance *= 2) {
    const T other = __shfl_up_sync(full_warp, value, distance);
    if (lane >= distance) value += other;
  }
  return value;
}

/// Sums over a block, for one of its threads.
template <class T>
struct BlockSum {
  T before{};  ///< sum over the threads before it
  T total{};   ///< sum over all threads
};

/// Exclusive sum and total over a block. Every thread must call. \param of_warps in shared memory, one element per
/// warp; read until the next barrier \tparam Again whether some thread may still read of_warps
template <int Threads, bool Again = false, class T>
[[nodiscard]] __device__ BlockSum<T> running_sum_in_block(T value, T* of_warps) {
  const unsigned warp = threadIdx.x / warp_size;
  const T up_to = sum_up_to_lane(value);
  if constexpr (Again) __syncthreads();
  if (threadIdx.x % warp_size == warp_size - 1) of_warps[warp] = up_to;
  __syncthreads();
  BlockSum<T> sum{up_to - value, T{}};
  for (unsigned w = 0; w < Threads / warp_size; ++w) {
    if (w < warp) sum.before += of_warps[w];
    sum.total += of_warps[w];
  }
  return sum;
}

/// Four consecutive entries.
template <class T>
struct Four {
  T entry[4];
};

/// Loads four consecutive entries that are read only once, by 16-byte loads. \param from aligned to 16 bytes
[[nodiscard]] __device__ inline Four<std::int32_t> load_four(const std::int32_t* from) {
  const int4 q = __ldcs(reinterpret_cast<const int4*>(from));
  return {{q.x, q.y, q.z, q.w}};
}
[[nodiscard]] __device__ inline Four<float> load_four(const float* from) {
  const float4 q = __ldcs(reinterpret_cast<const float4*>(from));
  return {{q.x, q.y, q.z, q.w}};
}
[[nodiscard]] __device__ inline Four<double> load_four(const double* from) {
  const double2 low = __ldcs(reinterpret_cast<const double2*>(from));
  const double2 high = __ldcs(reinterpret_cast<const double2*>(from) + 1);
  return {{low.x, low.y, high.x, high.y}};
}

/// Four of 16 bits, by one load of 8 bytes. \param from aligned to 8 bytes
[[nodiscard]] __device__ inline Four<std::uint16_t> load_four(const std::uint16_t* from) {
  const uint2 q = __ldcs(reinterpret_cast<const uint2*>(from));
  return {{static_cast<std::uint16_t>(q.x), static_cast<std::uint16_t>(q.x >> 16), static_cast<std::uint16_t>(q.y),
           static_cast<std::uint16_t>(q.y >> 16)}};
}

/// The same without allocation in L1 and with evict-first priority in L2. \param from aligned to 16 bytes
[[nodiscard]] __device__ inline Four<std::int32_t> load_four_once(const std::int32_t* from) {
#ifdef __CUDA_ARCH__
  int4 q;
  asm("{ .reg .b64 once;\n"
      "  createpolicy.fractional.L2::evict_first.b64 once, 1.0;\n"
      "  ld.global.L1::no_allocate.L2::cache_hint.v4.s32 {%0, %1, %2, %3}, [%4], once; }"
      : "=r"(q.x), "=r"(q.y), "=r"(q.z), "=r"(q.w)
      : "l"(from));
  return {{q.x, q.y, q.z, q.w}};
#else
  return load_four(from);
#endif
}

/// \param to in shared memory, aligned to 16 bytes
__device__ inline void store_four(std::int32_t* to, const Four<std::int32_t>& q) {
  *reinterpret_cast<int4*>(to) = make_int4(q.entry[0], q.entry[1], q.entry[2], q.entry[3]);
}
__device__ inline void store_four(float* to, const Four<float>& q) {
  *reinterpret_cast<float4*>(to) = make_float4(q.entry[0], q.entry[1], q.entry[2], q.entry[3]);
}
__device__ inline void store_four(double* to, const Four<double>& q) {
  reinterpret_cast<double2*>(to)[0] = make_double2(q.entry[0], q.entry[1]);
  reinterpret_cast<double2*>(to)[1] = make_double2(q.entry[2], q.entry[3]);
}

}  // namespace tessera::cuda
