/// \file
/// A step of PageRank for K vectors in one pass over the matrix. Element i of all of them lies in one place, so that
/// the K lanes of a group gather it with one access, each for its own vector, and a column is read once for all.
#pragma once

#include "solvers/rank/rank_commit.cuh"
#include "spmv/merbit/tile_sum.cuh"

namespace tessera::cuda {

/// Sizes of multi_rank_kernel.
struct MultiRankPolicy {
  static constexpr int threads = 128;
  static constexpr int min_blocks = 8;
  static constexpr int unroll = 4;       ///< gathers of a lane that are in flight together
  static constexpr int long_rounds = 4;  ///< rows that would keep a group for so many batches get the whole warp
};

/// The in-links as this kernel reads them: row ends in place of lane words.
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

  __device__ void sum_rows(RankCommit<T, K>& commit) const {
    constexpr int long_row = groups * MultiRankPolicy::unroll * MultiRankPolicy::long_rounds;
    if (tile_.nonzeros >= tile_.rows * long_row) {
      row_by_row(commit);
    } else {
      row_a_group(commit);
    }
    if (!tile_.to_inside) return;
    const T open = sum_over_vector<K>(part(tile_.rows > 0 ? end_of(tile_.rows - 1) : 0, tile_.nonzeros));
    if (group_ == 0 && !is_idle_) commit.leave_open(tile_, open);
  }

 private:
  static constexpr int groups = warp_size / K;

  [[nodiscard]] __device__ int end_of(int i) const {
    return static_cast<int>(__ldg(a_.row_offsets + tile_.row + i + 1) - tile_.x);
  }

  /// Every groups-th term of [begin, end), from the group's own on. Lanes of a vector that has halted read nothing.
  [[nodiscard]] __device__ T part(int begin, int end) const {
    return is_idle_ ? T{0} : sum_strided<MultiRankPolicy::unroll, T>(terms(), begin + group_, end, groups);
  }

  [[nodiscard]] __device__ auto terms() const {
    return
        [columns = columns_, source = source_](int k) { return __ldg(source + std::int64_t{__ldg(columns + k)} * K); };
  }

  __device__ void row_by_row(RankCommit<T, K>& commit) const {
    int begin = 0;
    for (int i = 0; i < tile_.rows; ++i) {
      const int end = end_of(i);
      const T sum = sum_over_vector<K>(part(begin, end));
      if (group_ == i % groups && !is_idle_) commit.store_ended(tile_, i, sum);
      begin = end;
    }
  }

  __device__ void row_a_group(RankCommit<T, K>& commit) const {
    for (int i = group_; i < tile_.rows && !is_idle_; i += groups) {
      const int begin = i > 0 ? end_of(i - 1) : 0;
      commit.store_ended(tile_, i, sum_strided<MultiRankPolicy::unroll, T>(terms(), begin, end_of(i), 1));
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
  const std::int64_t slot = std::int64_t{blockIdx.x} * warps + threadIdx.x / warp_size;
  RankCommit<T, K> commit(out, lane % K);
  const bool is_idle = commit.is_idle();
  if (__ballot_sync(full_warp, !is_idle) == 0) return;
  for (std::int64_t number = slot; number < tiles.tiles; number += std::int64_t{gridDim.x} * warps) {
    const TileSpan tile = span_between(number, tiles.starts[number], tiles.starts[number + 1]);
    MultiRankTile<T, K>(a, tile, commit.source(nullptr), lane, is_idle).sum_rows(commit);
  }
  commit.write_sums(slot, lane);
}

}  // namespace tessera::cuda
