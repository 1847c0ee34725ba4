/// \file
/// The end of an iteration of PageRank on several GPUs: every rank writes the new scaled ranks that others need into
/// their vectors, a whole vector in one piece, then its sums into their mailboxes. Who has received all sums has
/// received all ranks, since a fence lies between.
///
/// Iteration i reads vectors i % 2 and writes the others, so that a rank may be a whole product ahead: what it writes
/// into, others read in the iteration before, whose sums it has.
#pragma once

#include "core/cuda/peer_exchange.cuh"
#include "core/cuda/reduce.cuh"
#include "spmv/common/pagerank_iteration.hpp"
#include "tessera/types.hpp"

#include <cstdint>

namespace tessera::cuda {

/// What a rank sends to another one.
template <class T>
struct RankSend {
  index_t count = 0;              ///< elements
  const index_t* rows = nullptr;  ///< own vertices, in the order of the other's halo; null: all, in their order
  T* to[2] = {};                  ///< where they go in the two vectors of the other
};

/// Kernel argument.
template <class T>
struct RankSends {
  const T* own[2] = {};
  RankSend<T> to[detail::most_ranks];
  int ranks = 0;
};

/// Orders all memory before it, of other GPUs too, before all after it.
inline __device__ void fence_system() {
#ifdef __CUDA_ARCH__
  __threadfence_system();
#endif
}

/// Loads in flight per thread.
inline constexpr int rank_sends_at_once = 4;

/// All threads of the grid. \param side the vectors that the iteration has written
template <class T>
__device__ void send_ranks(const RankSends<T>& sends, int side) {
  const T* const own = sends.own[side];
  const auto first = static_cast<std::int64_t>(blockIdx.x) * sum_threads + threadIdx.x;
  const std::int64_t stride = std::int64_t{gridDim.x} * sum_threads;
  for (int rank = 0; rank < sends.ranks; ++rank) {
    const RankSend<T>& send = sends.to[rank];
    for (std::int64_t i = first; i < send.count; i += rank_sends_at_once * stride) {
      T values[rank_sends_at_once];
#pragma unroll
      for (int k = 0; k < rank_sends_at_once; ++k) {
        const std::int64_t at = i + k * stride;
        if (at < send.count) values[k] = own[send.rows == nullptr ? at : send.rows[at]];
      }
#pragma unroll
      for (int k = 0; k < rank_sends_at_once; ++k) {
        const std::int64_t at = i + k * stride;
        if (at < send.count) send.to[side][at] = values[k];
      }
    }
  }
}

/// \param own sums over the vertices of the rank \param finished blocks; 0 between launches. The last block to finish
/// sums over ranks and decides whether to iterate on; by then no other block reads the state.
template <class T>
__global__ void __launch_bounds__(sum_threads)
    end_rank_iteration_kernel(RankSends<T> sends, detail::RankRules rules, detail::RankState* state,
                              const detail::RankSums* own, PeerExchange* exchange, unsigned* finished) {
  __shared__ bool is_last;
  if (state->halt != 0) return;
  send_ranks(sends, static_cast<int>((state->iteration + 1) % 2));
  fence_system();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(finished, 1u) + 1 == gridDim.x;
  __syncthreads();
  if (!is_last || threadIdx.x >= warp_size) return;
  fence_system();
  detail::RankSums total;
  const bool is_whole = sum_over_peers(*exchange, *own, total);
  fence_system();
  if (threadIdx.x != 0) return;
  *finished = 0;
  if (is_whole) return detail::finish_iteration(rules, *state, total);
  detail::halt(*state, Status::not_finite);  // the host finds out that a rank was lost
}

}  // namespace tessera::cuda
