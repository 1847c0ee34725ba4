/// \file
/// Sorting in the registers of a warp: bitonic merges of runs that lie blocked, E keys a lane (K. E. Batcher, "Sorting
/// networks and their applications", 1968). Every comparison puts the smaller key first: two ascending runs are merged
/// by comparing the first with the mirror image of the second, then halves of halves.
#pragma once

#include "core/cuda/warp.cuh"

#include <cstdint>

namespace tessera::cuda {

template <class Key>
__device__ void put_in_order(Key& first, Key& second) {
  const Key smaller = first < second ? first : second;
  second = first < second ? second : first;
  first = smaller;
}

/// Merges inside the lanes: E keys of which every half of a half ... is in place.
template <int E, class Key>
__device__ void merge_in_lanes(Key (&keys)[E], int longest = E / 2) {
#pragma unroll
  for (int distance = longest; distance > 0; distance /= 2) {
#pragma unroll
    for (int i = 0; i < E; ++i) {
      if ((i & distance) == 0) put_in_order(keys[i], keys[i + distance]);
    }
  }
}

/// Each lane's keys ascend.
template <int E, class Key>
__device__ void sort_in_lanes(Key (&keys)[E]) {
#pragma unroll
  for (int run = 1; run < E; run *= 2) {
#pragma unroll
    for (int i = 0; i < E; ++i) {
      if ((i & run) == 0) put_in_order(keys[i], keys[i ^ (2 * run - 1)]);
    }
    merge_in_lanes(keys, run / 2);
  }
}

/// Keeps the smaller or the larger one.
[[nodiscard]] __device__ inline std::uint32_t keep(std::uint32_t mine, std::uint32_t other, bool smaller) {
  const std::uint32_t least = mine < other ? mine : other;
  const std::uint32_t most = mine < other ? other : mine;
  return smaller ? least : most;
}

/// Sorts 32 E keys: lane l ends with keys l E ... l E + E - 1 of the ascending order. All lanes must call.
template <int E>
__device__ void sort_in_warp(std::uint32_t (&keys)[E]) {
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  sort_in_lanes(keys);
#pragma unroll
  for (int run = 1; run < warp_size; run *= 2) {  // lanes that hold an ascending run
    std::uint32_t mirrored[E];
#pragma unroll
    for (int i = 0; i < E; ++i) mirrored[i] = __shfl_xor_sync(full_warp, keys[E - 1 - i], 2 * run - 1);
#pragma unroll
    for (int i = 0; i < E; ++i) keys[i] = keep(keys[i], mirrored[i], (lane & run) == 0);
#pragma unroll
    for (int distance = run / 2; distance > 0; distance /= 2) {
#pragma unroll
      for (int i = 0; i < E; ++i) {
        keys[i] = keep(keys[i], __shfl_xor_sync(full_warp, keys[i], distance), (lane & distance) == 0);
      }
    }
    merge_in_lanes(keys);
  }
}

}  // namespace tessera::cuda
