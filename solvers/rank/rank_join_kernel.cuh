/// \file
/// What ends a step of PageRank: the rows that several tiles share are completed, all sums added up in a fixed order,
/// and the state brought forward.
#pragma once

#include "core/cuda/reduce.cuh"
#include "solvers/rank/rank_commit.cuh"
#include "spmv/merbit/join_kernel.cuh"

#include <cstring>

namespace tessera::cuda {

/// Where the sums of a step come together.
struct RankJoin {
  std::int64_t slots = 0;                ///< of RankOutput::parts
  passes::RankSums* of_block = nullptr;  ///< one a block
  unsigned* finished = nullptr;          ///< blocks that are done; 0 between launches
};

/// Past the first cache level, which knows nothing of what other blocks write.
[[nodiscard]] __device__ inline passes::RankSums load_sums(const passes::RankSums* from) {
  constexpr int words = sizeof(passes::RankSums) / sizeof(double);
  static_assert(words * sizeof(double) == sizeof(passes::RankSums));
  double word[words];
#pragma unroll
  for (int k = 0; k < words; ++k) word[k] = __ldcg(reinterpret_cast<const double*>(from) + k);
  passes::RankSums sums;
  memcpy(&sums, word, sizeof(sums));
  return sums;
}

/// What this thread adds to the sums: the shared rows that it completes, and some slots of the product.
template <class T, class Tiles>
[[nodiscard]] __device__ passes::RankSums join_ranks(const Tiles& tiles, const RankOutput<T>& out, std::int64_t slots,
                                                     RankCommit<T>& commit) {
  const std::int64_t stride = std::int64_t{gridDim.x} * join_threads;
  const std::int64_t begin = std::int64_t{blockIdx.x} * join_threads;
  for (std::int64_t first = 1 + begin; first < tiles.tiles; first += stride) {
    T sum{0};
    const CarryRun run = add_carries(tiles, static_cast<const T*>(out.carries), first + threadIdx.x, sum);
    if (run.count != 0) commit.store(run.row, commit.ended(run.row) + sum);
  }
  passes::RankSums sums = commit.parts().sums();
  for (std::int64_t i = begin + threadIdx.x; i < slots; i += stride) sums += out.parts[i].sums();
  return sums;
}

/// At most max_join_blocks blocks of join_threads. The block that is done last adds the blocks and decides whether
/// there is another step; by then no other one reads the state.
template <class T, class Tiles>
__global__ void __launch_bounds__(join_threads)
    rank_join_kernel(Tiles tiles, RankOutput<T> out, RankJoin join, RankRules rules) {
  __shared__ bool is_last;
  RankCommit<T> commit(out);
  if (commit.is_idle()) return;
  const passes::RankSums of_block = add_up_block<join_threads>(join_ranks(tiles, out, join.slots, commit));
  if (threadIdx.x == 0) {
    join.of_block[blockIdx.x] = of_block;
    __threadfence();
    is_last = atomicAdd(join.finished, 1u) + 1 == gridDim.x;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  passes::RankSums rest;
  if (threadIdx.x < gridDim.x) rest = load_sums(join.of_block + threadIdx.x);
  const passes::RankSums total = add_up_block<join_threads>(rest);
  if (threadIdx.x != 0) return;
  finish_rank_step(rules, *out.vectors.state, total);
  *join.finished = 0;
}

}  // namespace tessera::cuda
