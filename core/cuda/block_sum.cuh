/// \file
/// Running sums over the threads of a block.
#pragma once

#include "core/cuda/warp.cuh"

namespace tessera::cuda {

/// What a thread of a block is told.
template <class T>
struct BlockSum {
  T before{};  ///< sum over the threads before it
  T total{};   ///< sum over all threads
};

/// Every thread of the block must call. \param of_warps in shared memory, as many as the block has warps; read until
/// the next barrier \tparam Again whether some thread may still be reading it
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

}  // namespace tessera::cuda
