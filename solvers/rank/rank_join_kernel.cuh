/// \file
/// What ends a step of PageRank: the rows that several tiles share are completed, all sums added up in a fixed order,
/// and the state brought forward.
#pragma once

#include "core/cuda/reduce.cuh"
#include "solvers/rank/rank_commit.cuh"
#include "spmv/merbit/join_kernel.cuh"

namespace tessera::cuda {

/// Sums of several compensated numbers take registers, so that blocks are small.
inline constexpr int rank_join_threads = 256;
inline constexpr int max_rank_join_blocks = 512;
/// Slots that a thread adds up where one block does all: that saves the wait for the last block.
inline constexpr int slots_of_one_block = 8 * rank_join_threads;

/// What is joined, and where the sums of a step come together.
struct RankJoin {
  const CarryRun* runs = nullptr;  ///< of the rows that several tiles share
  std::int64_t run_count = 0;
  unsigned blocks = 1;                   ///< a vector, at most max_rank_join_blocks
  passes::RankSums* of_block = nullptr;  ///< one a block, vector after vector
  unsigned* finished = nullptr;          ///< a vector: blocks that are done; 0 between launches
};

/// Blocks a vector.
[[nodiscard]] inline unsigned rank_join_blocks(std::int64_t runs, std::int64_t slots) {
  const std::int64_t items = runs > slots ? runs : slots;
  if (items <= slots_of_one_block) return 1;
  const unsigned needed = blocks_for(items, rank_join_threads);
  return needed < max_rank_join_blocks ? needed : max_rank_join_blocks;
}

/// What this thread adds to the sums of its vector: the shared rows that it completes, and some slots of the product.
/// \param block number among the blocks of the vector
template <class T, int K>
[[nodiscard]] __device__ passes::RankSums join_ranks(const RankJoin& join, std::int64_t slots, unsigned block,
                                                     RankCommit<T, K>& commit) {
  const std::int64_t stride = std::int64_t{join.blocks} * rank_join_threads;
  const std::int64_t begin = std::int64_t{block} * rank_join_threads;
  const T* const carries = commit.carries();
  for (std::int64_t first = begin; first < join.run_count; first += stride) {
    const std::int64_t i = first + threadIdx.x;
    const CarryRun run = i < join.run_count ? join.runs[i] : CarryRun{};
    const T sum = sum_of_run<rank_join_threads>(carries, run);
    if (run.count != 0) commit.store(run.row, commit.ended(run.row) + sum);
  }
  passes::RankSums sums = commit.sums();
  for (std::int64_t i = begin + threadIdx.x; i < slots; i += stride) sums += commit.sums_of(i);
  return sums;
}

/// Adds what the blocks of a vector have. \returns whether this is the last of them, whose thread 0 gets the total
[[nodiscard]] __device__ inline bool add_up_rank_blocks(const RankJoin& join, unsigned vector, unsigned block,
                                                        passes::RankSums& sums) {
  __shared__ bool is_last;
  if (join.blocks == 1) return true;
  passes::RankSums* const of_block = join.of_block + vector * join.blocks;
  if (threadIdx.x == 0) {
    of_block[block] = sums;
    __threadfence();
    is_last = atomicAdd(join.finished + vector, 1u) + 1 == join.blocks;
  }
  __syncthreads();
  if (!is_last) return false;
  __threadfence();
  passes::RankSums rest;
  for (unsigned b = threadIdx.x; b < join.blocks; b += rank_join_threads) rest += value_of_other_block(of_block + b);
  sums = add_up_block<rank_join_threads>(rest);
  return true;
}

/// join.blocks blocks of rank_join_threads for each of the K vectors. The block of a vector that is done last adds the
/// blocks and decides whether there is another step; by then no other one reads the state.
template <class T, int K>
__global__ void __launch_bounds__(rank_join_threads)
    rank_join_kernel(RankOutput<T> out, RankJoin join, RankRules rules) {
  const unsigned vector = K == 1 ? 0 : blockIdx.x / join.blocks;
  const unsigned block = K == 1 ? blockIdx.x : blockIdx.x % join.blocks;
  RankCommit<T, K> commit(out, static_cast<int>(vector));
  if (commit.is_idle()) return;
  passes::RankSums sums = add_up_block<rank_join_threads>(join_ranks(join, out.slots, block, commit));
  if (!add_up_rank_blocks(join, vector, block, sums) || threadIdx.x != 0) return;
  finish_rank_step(rules, out.vectors.state[vector], sums);
  join.finished[vector] = 0;
}

}  // namespace tessera::cuda
