/// \file
/// Bitonic sorting networks (K. E. Batcher, "Sorting networks and their applications", 1968) with keys in registers: by
/// the threads of a warp or block, which exchange keys by shuffles and shared memory, and by a warp alone.
#pragma once

#include "core/cuda/launch.cuh"
#include "core/cuda/warp.cuh"
#include "spgemm/cuda/accumulators/hash_tuning.hpp"

#include <cstdint>

namespace tessera::cuda {

/// The threads of a warp, or of a block. \tparam Threads a power of two
template <int Threads>
struct ThreadGroup {
  static constexpr bool is_warp = Threads == warp_size;
  [[nodiscard]] __device__ static unsigned thread() { return threadIdx.x % Threads; }
  /// Every thread must call.
  __device__ static void sync() {
    if constexpr (is_warp) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }
};

/// Puts two keys in order.
template <class Key>
__device__ void put_in_order(Key& one, Key& other, bool ascending) {
  if ((one > other) != ascending) return;
  const Key kept = one;
  one = other;
  other = kept;
}

/// Keys of one thread that are `Distance`, Distance / 2, ... 1 apart are put in order, by blocks of `block` keys up or
/// down. \param first number of the thread's first key
template <unsigned Distance, int Each, class Key>
__device__ void merge_within(Key (&keys)[Each], unsigned first, unsigned block) {
#pragma unroll
  for (unsigned i = 0; i < Each; ++i) {
    if ((i & Distance) == 0) put_in_order(keys[i], keys[i | Distance], ((first | i) & block) == 0);
  }
  if constexpr (Distance > 1) merge_within<Distance / 2>(keys, first, block);
}

/// Sorts blocks of 2, 4, ... Each keys of a thread.
template <unsigned Block, int Each, class Key>
__device__ void sort_within(Key (&keys)[Each], unsigned first) {
  merge_within<Block / 2>(keys, first, Block);
  if constexpr (Block < Each) sort_within<2 * Block>(keys, first);
}

/// Keys of different threads, `distance` apart.
template <int Each, int Threads, class Key>
__device__ void merge_threads(Key (&keys)[Each], unsigned first, unsigned block, unsigned distance, Key* exchange) {
  const bool takes_less = ((first & distance) == 0) == ((first & block) == 0);
  if (distance < warp_size * Each) {
#pragma unroll
    for (unsigned i = 0; i < Each; ++i) {
      const Key other = __shfl_xor_sync(full_warp, keys[i], static_cast<int>(distance / Each));
      if ((other < keys[i]) == takes_less) keys[i] = other;
    }
  } else {
    ThreadGroup<Threads>::sync();
#pragma unroll
    for (unsigned i = 0; i < Each; ++i) exchange[spread(first | i)] = keys[i];
    ThreadGroup<Threads>::sync();
#pragma unroll
    for (unsigned i = 0; i < Each; ++i) {
      const Key other = exchange[spread((first ^ distance) | i)];
      if ((other < keys[i]) == takes_less) keys[i] = other;
    }
  }
}

/// Sorts the keys of a group, `Each` per thread, in the order of the threads. Every thread must call. Keys are
/// distinct, save for those after the first `size`, which are as large as any and stay where they are. \param size a
/// power of two \param exchange memory for all keys at spread() offsets; unused by a warp
template <int Each, int Threads, class Key>
__device__ void sort_group(Key (&keys)[Each], unsigned size, Key* exchange) {
  const unsigned first = ThreadGroup<Threads>::thread() * Each;
  sort_within<2>(keys, first);
#pragma unroll 1
  for (unsigned block = 2 * Each; block <= size; block *= 2) {
#pragma unroll 1
    for (unsigned distance = block / 2; distance >= Each; distance /= 2) {
      merge_threads<Each, Threads>(keys, first, block, distance, exchange);
    }
    merge_within<Each / 2>(keys, first, block);
  }
}

template <class Key>
__device__ void put_in_order(Key& first, Key& second) {
  const Key smaller = first < second ? first : second;
  second = first < second ? second : first;
  first = smaller;
}

/// Last merge steps, inside the lanes: distances of `longest`, longest / 2, ... 1.
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

/// Sorts the keys of each lane.
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
