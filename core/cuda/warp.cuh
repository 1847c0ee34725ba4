/// \file
/// Sums over the lanes of a warp, and loads that leave the caches to others. All lanes must call what sums.
#pragma once

#include "core/cuda/launch.cuh"

#include <cstdint>

namespace tessera::cuda {

/// Sum over groups of `lanes` neighbouring lanes, in a fixed order; every lane gets its group's. \param lanes power of
/// two
template <class T>
[[nodiscard]] __device__ inline T sum_over_lanes(T value, int lanes = warp_size) {
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(full_warp, value, distance);
  }
  return value;
}

/// Sum of the values of this lane and the earlier ones.
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

/// What four consecutive entries are loaded into.
template <class T>
struct Four {
  T entry[4];
};

/// Four consecutive entries that are read once only, by 16-byte loads. \param from aligned to 16 bytes
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

/// \param to in shared memory, aligned to 16 bytes
__device__ inline void store_four(float* to, const Four<float>& q) {
  *reinterpret_cast<float4*>(to) = make_float4(q.entry[0], q.entry[1], q.entry[2], q.entry[3]);
}
__device__ inline void store_four(double* to, const Four<double>& q) {
  reinterpret_cast<double2*>(to)[0] = make_double2(q.entry[0], q.entry[1]);
  reinterpret_cast<double2*>(to)[1] = make_double2(q.entry[2], q.entry[3]);
}

}  // namespace tessera::cuda
