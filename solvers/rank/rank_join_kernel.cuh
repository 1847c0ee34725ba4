/// \file
/// What ends a step of PageRank: the rows that several tiles share are completed, all sums added up in a fixed order,
/// and the state brought forward.
#pragma once

#include "core/cuda/other_block.cuh"
#include "core/cuda/reduce.cuh"
#include "solvers/rank/rank_commit.cuh"
#include "spmv/merbit/join_kernel.cuh"

namespace tessera::cuda {

/// Where the sums of a step come together.
struct RankJoin {
  unsigned blocks = 1;                   ///< a vector, at most max_join_blocks
  passes::RankSums* of_block = nullptr;  ///< one a block, vector after vector
  unsigned* finished = nullptr;          ///< a vector: blocks that are done; 0 between launches
};

/// What this thread adds to the sums of its vector: the shared rows that it completes, and some slots of the product.
/// \param block number among the `blocks` of the vector
template <class T, int K, class Tiles>
[[nodiscard]] __device__ passes::RankSums join_ranks(const Tiles& tiles, std::int64_t slots, unsigned block,
                                                     unsigned blocks, RankCommit<T, K>& commit) {
  const std::int64_t stride = std::int64_t{blocks} * join_threads;
  const std::int64_t begin = std::int64_t{block} * join_threads;
  const T* const carries = commit.carries();
  for (std::int64_t first = 1 + begin; first < tiles.tiles; first += stride) {
    T sum{0};
    const CarryRun run = add_carries(tiles, carries, first + threadIdx.x, sum);
    if (run.count != 0) commit.store(run.row, commit.ended(run.row) + sum);
  }
  passes::RankSums sums = commit.parts().sums();
  for (std::int64_t i = begin + threadIdx.x; i < slots; i += stride) sums += commit.sums_of(i);
  return sums;
}

/// join.blocks blocks of join_threads for each of the K vectors. The block of a vector that is done last adds the
/// blocks and decides whether there is another step; by then no other one reads the state.
template <class T, int K, class Tiles>
__global__ void __launch_bounds__(join_threads)
    rank_join_kernel(Tiles tiles, RankOutput<T> out, RankJoin join, RankRules rules) {
  __shared__ bool is_last;
  const unsigned vector = K == 1 ? 0 : blockIdx.x / join.blocks;
  const unsigned block = K == 1 ? blockIdx.x : blockIdx.x % join.blocks;
  RankCommit<T, K> commit(out, static_cast<int>(vector));
  if (commit.is_idle()) return;
  passes::RankSums* const of_block = join.of_block + vector * join.blocks;
  const passes::RankSums mine = add_up_block<join_threads>(join_ranks(tiles, out.slots, block, join.blocks, commit));
  if (threadIdx.x == 0) {
    of_block[block] = mine;
    __threadfence();
    is_last = atomicAdd(join.finished + vector, 1u) + 1 == join.blocks;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  passes::RankSums rest;
  if (threadIdx.x < join.blocks) rest = value_of_other_block(of_block + threadIdx.x);
  const passes::RankSums total = add_up_block<join_threads>(rest);
  if (threadIdx.x != 0) return;
  finish_rank_step(rules, out.vectors.state[vector], total);
  join.finished[vector] = 0;
}

}  // namespace tessera::cuda
