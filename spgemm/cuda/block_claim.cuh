/// \file
/// Room for all rows of a block at once: one atomic addition a block, however short its rows are.
#pragma once

#include "core/cuda/warp.cuh"
#include "spgemm/cuda/rows.cuh"

namespace tessera::cuda {

/// Entries of the rows of a block's threads.
using BlockEntries = BlockSum<offset_t>;

/// Every thread of the block calls, once a kernel. \param n entries of this thread's row, 0 without one
template <int Threads>
[[nodiscard]] __device__ BlockEntries entries_in_block(offset_t n) {
  __shared__ offset_t of_warps[Threads / warp_size];
  return running_sum_in_block<Threads>(n, of_warps);
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
