/// \file
/// All-reductions over the blocks of a persistent kernel: every block hands in sums, and gets those of all.
///
/// A block stores its sums with the number of the reduction and polls the words of all others: no barrier of the grid,
/// no fence, one way through the L2 cache. Words lie apart, since 132 blocks that poll one line wait for each other
/// (bench/NOTES.md). Sums are added in a tree of fixed order: lanes, warps, blocks.
#pragma once

#include "core/cuda/launch.cuh"
#include "core/cuda/relaxed.cuh"
#include "core/host_device.hpp"

#include <cstdint>

namespace tessera::cuda {

/// Sums of a reduction, at most.
inline constexpr int most_sums = 4;
inline constexpr int most_warps = 32;
/// Blocks of a grid, at most.
inline constexpr int most_parts = 1024;

/// A word that no other shares a line of the L2 cache with.
struct alignas(64) LoneWord {
  NumberedWord word;
};

/// Words of reductions: of two in turn, since a block may be one reduction ahead of another.
[[nodiscard]] constexpr std::int64_t reduction_words(int blocks) noexcept {
  return 2 * most_sums * std::int64_t{blocks};
}

__device__ inline void hand_over(NumberedWord* to, double value, std::uint64_t number) {
  store_relaxed(to, {static_cast<std::uint64_t>(__double_as_longlong(value)), number});
}

/// Waits for the value with this number.
[[nodiscard]] __device__ inline double take_over(const NumberedWord* from, std::uint64_t number) {
  NumberedWord word = load_relaxed(from);
  while (word.number != number) {
    let_others_run();
    word = load_relaxed(from);
  }
  return __longlong_as_double(static_cast<long long>(word.value));
}

/// N sums at once, in every lane.
template <int N>
__device__ void add_up_lanes(double (&sums)[N], int lanes = warp_size) {
  for (int step = lanes / 2; step > 0; step /= 2) {
#pragma unroll
    for (int k = 0; k < N; ++k) sums[k] += __shfl_xor_sync(full_warp, sums[k], step);
  }
}

class GridReduction {
 public:
  /// In the shared memory of a block.
  struct TempStorage {
    double of_warps[most_sums][most_warps];
    double of_blocks[most_sums][most_parts / warp_size];
  };

  /// \param words reduction_words() of the grid \param number of the reduction before the first
  __device__ GridReduction(LoneWord* words, std::uint64_t number, TempStorage& temp_storage)
      : words_(words), number_(number), temp_storage_(temp_storage) {}

  [[nodiscard]] __device__ std::uint64_t next_number() const { return number_ + 1; }

  /// All threads of all blocks. \param own of the thread \param meanwhile (number of this reduction) called after the
  /// sums were handed in \param decide (const double (&sums)[N]) called by thread 0 of every block; what it writes to
  /// shared memory is seen by the block when this returns
  template <int N, class Meanwhile, class Decide>
  __device__ void all_reduce(const double (&own)[N], const Meanwhile& meanwhile, const Decide& decide) {
    static_assert(N <= most_sums);
    ++number_;
    hand_in(own);
    meanwhile(number_);
    collect<N>();
    __syncthreads();
    if (threadIdx.x == 0) {
      double sums[N];
      const int groups = static_cast<int>(gridDim.x + warp_size - 1) / warp_size;
#pragma unroll
      for (int k = 0; k < N; ++k) {
        sums[k] = temp_storage_.of_blocks[k][0];
        for (int group = 1; group < groups; ++group) sums[k] += temp_storage_.of_blocks[k][group];
      }
      decide(sums);
    }
    __syncthreads();
  }

 private:
  [[nodiscard]] __device__ NumberedWord* word(int sum, int block) const {
    const auto side = static_cast<int>(number_ & 1);
    return &words_[(side * most_sums + sum) * static_cast<int>(gridDim.x) + block].word;
  }

  template <int N>
  __device__ void hand_in(const double (&own)[N]) {
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
    double sums[N];
#pragma unroll
    for (int k = 0; k < N; ++k) sums[k] = own[k];
    add_up_lanes(sums);
    if (lane == 0) {
#pragma unroll
      for (int k = 0; k < N; ++k) temp_storage_.of_warps[k][warp] = sums[k];
    }
    __syncthreads();
    if (warp >= N) return;
    const int warps = static_cast<int>(blockDim.x) / warp_size;
    double sum[1] = {lane < warps ? temp_storage_.of_warps[warp][lane] : 0.0};
    add_up_lanes(sum, most_warps);
    if (lane == 0) hand_over(word(warp, static_cast<int>(blockIdx.x)), sum[0], number_);
  }

  /// A thread per word.
  template <int N>
  __device__ void collect() {
    const int blocks = static_cast<int>(gridDim.x);
    const int stride = (blocks + warp_size - 1) / warp_size * warp_size;
    for (int i = static_cast<int>(threadIdx.x); i < N * stride; i += static_cast<int>(blockDim.x)) {
      const int sum = i / stride;
      const int block = i % stride;
      double value[1] = {block < blocks ? take_over(word(sum, block), number_) : 0.0};
      add_up_lanes(value);
      if (i % warp_size == 0) temp_storage_.of_blocks[sum][block / warp_size] = value[0];
    }
  }

  LoneWord* words_;
  std::uint64_t number_;
  TempStorage& temp_storage_;
};

}  // namespace tessera::cuda
