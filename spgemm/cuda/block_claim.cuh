/// \file
/// Room for all rows of a block at once: one atomic addition a block, however short its rows are.
#pragma once

#include "core/cuda/warp.cuh"
#include "spgemm/cuda/rows.cuh"

namespace tessera::cuda {

/// Entries of a thread's row among those of its block.
struct BlockEntries {
  offset_t before = 0;  ///< of the threads before it
  offset_t total = 0;   ///< of all threads
};

/// Every thread of the block calls, once a kernel. \param n entries of this thread's row, 0 without one
template <int Threads>
[[nodiscard]] __device__ BlockEntries entries_in_block(offset_t n) {
  __shared__ offset_t of_warps[Threads / warp_size];
  const unsigned lane = threadIdx.x % warp_size;
  const unsigned warp = threadIdx.x / warp_size;
  const offset_t up_to = sum_up_to_lane(n);
  if (lane == warp_size - 1) of_warps[warp] = up_to;
  __syncthreads();
  BlockEntries result{up_to - n, 0};
  for (unsigned w = 0; w < Threads / warp_size; ++w) {
    if (w < warp) result.before += of_warps[w];
    result.total += of_warps[w];
  }
  return result;
}

/// Takes `total` entries of the common room for a block, all of them or none. Every thread of the block calls, once a
/// kernel. \returns the first place, or no_place when there is too little room
template <class V>
[[nodiscard]] __device__ offset_t claim_for_block(const RowOutput<V>& out, offset_t total) {
  __shared__ offset_t first;
  if (threadIdx.x == 0) {
    const auto taken = static_cast<offset_t>(atomicAdd(out.cursor, static_cast<unsigned long long>(total)));
    first = taken + total <= out.room ? taken : no_place;
  }
  __syncthreads();
  return first;
}

/// Says how many entries a row has and where it lies in what its block took. One thread calls for its row.
/// \param first what claim_for_block() returned \returns the row's first place, or no_place
template <class V>
__device__ offset_t take_of_block(const RowOutput<V>& out, index_t row, offset_t n, offset_t first, offset_t before) {
  const offset_t place = first == no_place ? no_place : first + before;
  out.counts[row] = n;
  out.places[row] = n == 0 ? 0 : place;  // nothing fits anywhere
  return place;
}

}  // namespace tessera::cuda
