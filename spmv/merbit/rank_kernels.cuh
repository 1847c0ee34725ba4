/// \file
/// PageRank on a GPU, the kernels beside those of MERBIT's products: one product of K interleaved vectors, and the end
/// of an iteration.
///
/// Element i of all K vectors lies in one place. The K lanes of a group gather it with one access, each for its own
/// vector, and read a column once for all.
#pragma once

#include "core/cuda/reduce.cuh"
#include "spmv/merbit/merbit_join_kernel.cuh"
#include "spmv/merbit/merbit_tile_sum.cuh"
#include "spmv/merbit/rank_epilogue.cuh"

namespace tessera::cuda {

/// Sizes of multi_rank_kernel.
struct MultiRankPolicy {
  static constexpr int threads = 128;
  static constexpr int min_blocks = 8;
  static constexpr int unroll = 4;       ///< gathers per lane in flight
  static constexpr int long_rounds = 4;  ///< a row gets the whole warp if a group would need this many batches
};

/// The in-links as this kernel reads them: row offsets instead of descriptors.
struct MultiRankMatrix {
  const offset_t* row_offsets = nullptr;
  const index_t* columns = nullptr;
};

/// One tile by one warp. Row offsets count from the start of the tile.
template <class T, int K>
class MultiRankTile {
 public:
  __device__ MultiRankTile(const MultiRankMatrix& a, const TileSpan& tile, const T* source, int lane, bool is_idle)
      : a_(a),
        tile_(tile),
        columns_(a.columns + tile.x),
        source_(source + lane % K),
        group_(lane / K),
        is_idle_(is_idle) {}

  __device__ void sum_rows(RankEpilogue<T, K>& epilogue) const {
    constexpr int long_row = groups * MultiRankPolicy::unroll * MultiRankPolicy::long_rounds;
    if (tile_.nonzeros >= tile_.rows * long_row) {
      row_by_row(epilogue);
    } else {
      row_a_group(epilogue);
    }
    if (!tile_.to_inside) return;
    const T open = sum_over_vector<K>(part(tile_.rows > 0 ? end_of(tile_.rows - 1) : 0, tile_.nonzeros));
    if (group_ == 0 && !is_idle_) epilogue.leave_open(tile_, open);
  }

 private:
  static constexpr int groups = warp_size / K;

  [[nodiscard]] __device__ int end_of(int i) const {
    return static_cast<int>(__ldg(a_.row_offsets + tile_.row + i + 1) - tile_.x);
  }

  /// Every groups-th term of [begin, end), from begin + group on. Lanes of a halted vector read nothing.
  [[nodiscard]] __device__ T part(int begin, int end) const {
    return is_idle_ ? T{0} : sum_strided<MultiRankPolicy::unroll, T>(terms(), begin + group_, end, groups);
  }

  [[nodiscard]] __device__ auto terms() const {
    return
        [columns = columns_, source = source_](int k) { return __ldg(source + std::int64_t{__ldg(columns + k)} * K); };
  }

  __device__ void row_by_row(RankEpilogue<T, K>& epilogue) const {
    int begin = 0;
    for (int i = 0; i < tile_.rows; ++i) {
      const int end = end_of(i);
      const T sum = sum_over_vector<K>(part(begin, end));
      if (group_ == i % groups && !is_idle_) epilogue.store_ended(tile_, i, sum);
      begin = end;
    }
  }

  __device__ void row_a_group(RankEpilogue<T, K>& epilogue) const {
    for (int i = group_; i < tile_.rows && !is_idle_; i += groups) {
      const int begin = i > 0 ? end_of(i - 1) : 0;
      epilogue.store_ended(tile_, i, sum_strided<MultiRankPolicy::unroll, T>(terms(), begin, end_of(i), 1));
    }
  }

  const MultiRankMatrix& a_;
  const TileSpan& tile_;
  const index_t* columns_;
  const T* source_;
  int group_;
  bool is_idle_;
};

/// Warp w of all sums tiles w, w + warps, ...
template <class T, int K>
__global__ void __launch_bounds__(MultiRankPolicy::threads, MultiRankPolicy::min_blocks)
    multi_rank_kernel(MultiRankMatrix a, SnappedTileArrays tiles, RankOutput<T> out) {
  constexpr int warps = MultiRankPolicy::threads / warp_size;
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const std::int64_t warp_of_grid = std::int64_t{blockIdx.x} * warps + threadIdx.x / warp_size;
  RankEpilogue<T, K> epilogue(out, lane % K);
  const bool is_idle = epilogue.is_idle();
  if (__ballot_sync(full_warp, !is_idle) == 0) return;
  for (std::int64_t number = warp_of_grid; number < tiles.tiles; number += std::int64_t{gridDim.x} * warps) {
    const TileSpan tile = span_between(number, tiles.starts[number], tiles.starts[number + 1]);
    MultiRankTile<T, K>(a, tile, epilogue.source(nullptr), lane, is_idle).sum_rows(epilogue);
  }
  epilogue.write_sums(warp_of_grid, lane);
}

/// Blocks are small: compensated sums take registers.
inline constexpr int rank_join_threads = 256;
inline constexpr int max_rank_join_blocks = 512;
/// Up to this many parts one block sums all, which saves waiting for the last block.
inline constexpr int parts_of_one_block = 8 * rank_join_threads;

/// Shared rows to complete, and storage for the sums of an iteration.
struct RankJoin {
  const CarryRun* runs = nullptr;  ///< carries per shared row
  std::int64_t run_count = 0;
  unsigned blocks = 1;                   ///< per vector, at most max_rank_join_blocks
  detail::RankSums* of_block = nullptr;  ///< one per block, vector after vector
  unsigned* finished = nullptr;          ///< per vector: finished blocks; 0 between launches
  detail::RankSums* total = nullptr;     ///< receives the sums where the iteration ends elsewhere; else null
};

/// Blocks per vector.
[[nodiscard]] inline unsigned rank_join_blocks(std::int64_t runs, std::int64_t part_count) {
  const std::int64_t items = runs > part_count ? runs : part_count;
  if (items <= parts_of_one_block) return 1;
  const unsigned needed = blocks_for(items, rank_join_threads);
  return needed < max_rank_join_blocks ? needed : max_rank_join_blocks;
}

/// Completes some shared rows and adds some parts of the sums. \returns the sums of this thread
/// \param block number among the blocks of the vector
template <class T, int K>
[[nodiscard]] __device__ detail::RankSums join_ranks(const RankJoin& join, std::int64_t part_count, unsigned block,
                                                     RankEpilogue<T, K>& epilogue) {
  const std::int64_t stride = std::int64_t{join.blocks} * rank_join_threads;
  const std::int64_t begin = std::int64_t{block} * rank_join_threads;
  const T* const carries = epilogue.carries();
  for (std::int64_t first = begin; first < join.run_count; first += stride) {
    const std::int64_t i = first + threadIdx.x;
    const CarryRun run = i < join.run_count ? join.runs[i] : CarryRun{};
    const T sum = sum_of_run<rank_join_threads>(carries, run);
    if (run.count != 0) epilogue.store(run.row, epilogue.ended(run.row) + sum);
  }
  detail::RankSums sums = epilogue.sums();
  for (std::int64_t i = begin + threadIdx.x; i < part_count; i += stride) sums += epilogue.sums_of(i);
  return sums;
}

/// Adds the sums of the blocks of a vector. \returns whether this is the last block; its thread 0 gets the total
[[nodiscard]] __device__ inline bool add_up_rank_blocks(const RankJoin& join, unsigned vector, unsigned block,
                                                        detail::RankSums& sums) {
  __shared__ bool is_last;
  if (join.blocks == 1) return true;
  detail::RankSums* const of_block = join.of_block + vector * join.blocks;
  if (threadIdx.x == 0) {
    of_block[block] = sums;
    __threadfence();
    is_last = atomicAdd(join.finished + vector, 1u) + 1 == join.blocks;
  }
  __syncthreads();
  if (!is_last) return false;
  __threadfence();
  detail::RankSums rest;
  for (unsigned b = threadIdx.x; b < join.blocks; b += rank_join_threads) rest += value_of_other_block(of_block + b);
  sums = add_up_block<rank_join_threads>(rest);
  return true;
}

/// Ends an iteration, with join.blocks blocks of rank_join_threads per vector. The last block of a vector adds the
/// blocks and decides whether to iterate on; by then no other block reads the state.
template <class T, int K>
__global__ void __launch_bounds__(rank_join_threads)
    rank_join_kernel(RankOutput<T> out, RankJoin join, detail::RankRules rules) {
  const unsigned vector = K == 1 ? 0 : blockIdx.x / join.blocks;
  const unsigned block = K == 1 ? blockIdx.x : blockIdx.x % join.blocks;
  RankEpilogue<T, K> epilogue(out, static_cast<int>(vector));
  if (epilogue.is_idle()) return;
  detail::RankSums sums = add_up_block<rank_join_threads>(join_ranks(join, out.part_count, block, epilogue));
  if (!add_up_rank_blocks(join, vector, block, sums) || threadIdx.x != 0) return;
  if (join.total != nullptr) {
    *join.total = sums;
  } else {
    detail::finish_iteration(rules, out.vectors.state[vector], sums);
  }
  join.finished[vector] = 0;
}

}  // namespace tessera::cuda
