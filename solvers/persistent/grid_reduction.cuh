/// \file
/// All-reductions over the blocks of a persistent kernel: every block hands in sums, and gets those of all.
///
/// A block stores its sums, each with the number of the reduction, into a line of the L2 cache of its own; half of the
/// threads of every block poll the lines of all. No barrier of the grid, no fence, one way through the L2 cache. What
/// decides the time is how the words are packed and how many threads poll them (bench/NOTES.md). Sums are added in a
/// tree of fixed order: lanes, warps, blocks.
#pragma once

#include "core/cuda/launch.cuh"
#include "core/cuda/relaxed.cuh"
#include "core/host_device.hpp"
#include "solvers/persistent/parts.hpp"

#include <cstdint>

namespace tessera::cuda {

/// Sums of a reduction, at most.
inline constexpr int most_sums = 4;
/// Blocks of a grid, at most.
inline constexpr int most_parts = 1024;

inline constexpr int most_warps = persistent_threads / warp_size;
/// Warps that poll sums.
inline constexpr int most_polling_warps = most_warps / 2;
static_assert(few_persistent_threads % (2 * warp_size) == 0 && persistent_threads % (2 * warp_size) == 0);

/// The sums of one block.
struct alignas(64) SumLine {
  NumberedWord words[most_sums];
};

/// Lines of reductions: of two in turn, since a block may be one reduction ahead of another.
[[nodiscard]] constexpr std::int64_t reduction_lines(int blocks) noexcept { return 2 * std::int64_t{blocks}; }

/// Threads that share some work.
struct Share {
  int thread;
  int threads;
};

__device__ inline void hand_over(NumberedWord* to, double value, std::uint64_t number) {
  store_relaxed(to, {static_cast<std::uint64_t>(__double_as_longlong(value)), number});
}

/// Waits for the words [0, count) with this number, by whole warps: a thread loads `Ahead` words before it waits for
/// one. \param address_of (i) \param take (i, value)
template <int Ahead, class AddressOf, class Take>
__device__ void take_over(const Share& share, int count, std::uint64_t number, const AddressOf& address_of,
                          const Take& take) {
  for (int base = 0; base < count; base += Ahead * share.threads) {
    const int first = base + share.thread;
    NumberedWord words[Ahead];
#pragma unroll
    for (int j = 0; j < Ahead; ++j) {
      const int i = first + j * share.threads;
      words[j] = i < count ? load_relaxed(address_of(i)) : NumberedWord{0, number};
    }
    const auto is_missing = [&] {
      bool missing = false;
#pragma unroll
      for (int j = 0; j < Ahead; ++j) missing = missing || words[j].number != number;
      return missing;
    };
    while (__any_sync(full_warp, is_missing() ? 1 : 0) != 0) {
      let_others_run();
#pragma unroll
      for (int j = 0; j < Ahead; ++j) {
        if (words[j].number != number) words[j] = load_relaxed(address_of(first + j * share.threads));
      }
    }
#pragma unroll
    for (int j = 0; j < Ahead; ++j) {
      const int i = first + j * share.threads;
      if (i < count) take(i, __longlong_as_double(static_cast<long long>(words[j].value)));
    }
  }
}

/// Lanes that hold N sums, and words of a line.
template <int N>
inline constexpr int slots_of = N <= 2 ? 2 : 4;

/// What the lanes of a warp hold, lane i of sum i % Slots.
template <int Slots>
[[nodiscard]] __device__ double add_up_slots(double sum) {
#pragma unroll
  for (int step = Slots; step < warp_size; step *= 2) sum += __shfl_xor_sync(full_warp, sum, step);
  return sum;
}

/// N sums over a warp; lane i gets sum i % slots_of<N>. The first steps halve what a lane holds, so that four sums take
/// 6 exchanges instead of 20.
template <int N>
[[nodiscard]] __device__ double add_up_lanes(const double (&own)[N]) {
  const bool is_odd = (threadIdx.x & 1) != 0;
  if constexpr (N <= 2) {
    const double second = N == 2 ? own[N - 1] : 0.0;
    const double sum = (is_odd ? second : own[0]) + __shfl_xor_sync(full_warp, is_odd ? own[0] : second, 1);
    return add_up_slots<2>(sum);
  } else {
    const bool is_high = (threadIdx.x & 2) != 0;
    const double fourth = N == 4 ? own[N - 1] : 0.0;
    const double even = (is_high ? own[2] : own[0]) + __shfl_xor_sync(full_warp, is_high ? own[0] : own[2], 2);
    const double odd = (is_high ? fourth : own[1]) + __shfl_xor_sync(full_warp, is_high ? own[1] : fourth, 2);
    const double sum = (is_odd ? odd : even) + __shfl_xor_sync(full_warp, is_odd ? even : odd, 1);
    return add_up_slots<4>(sum);
  }
}

class GridReduction {
 public:
  /// In the shared memory of a block.
  struct TempStorage {
    double of_warps[most_warps * most_sums];
    double of_polling_warps[most_polling_warps * most_sums];
  };

  /// \param lines reduction_lines() of the grid \param number of the reduction before the first
  __device__ GridReduction(SumLine* lines, std::uint64_t number, TempStorage& temp_storage)
      : lines_(lines), number_(number), temp_storage_(temp_storage) {}

  [[nodiscard]] __device__ std::uint64_t next_number() const { return number_ + 1; }

  /// For a reduction by other means. \returns its number
  __device__ std::uint64_t advance() { return ++number_; }

  /// All threads of all blocks, 256 or 384 of each. \param own of the thread \param meanwhile (number of this
  /// reduction, Share) called by those threads that do not poll, after the sums were handed in \param decide (const
  /// double (&sums)[N]) called by thread 0 of every block; what it writes to shared memory is seen by the block when
  /// this returns
  template <int N, class Meanwhile, class Decide>
  __device__ void all_reduce(const double (&own)[N], const Meanwhile& meanwhile, const Decide& decide) {
    static_assert(N <= most_sums);
    ++number_;
    hand_in(own);
    const int thread = static_cast<int>(threadIdx.x);
    const int polling = static_cast<int>(blockDim.x) / 2;
    if (thread < polling) {
      collect<N>({thread, polling});
    } else {
      meanwhile(number_, Share{thread - polling, static_cast<int>(blockDim.x) - polling});
    }
    __syncthreads();
    if (thread == 0) {
      double sums[N];
      add_up_block(sums, polling / warp_size);
      decide(sums);
    }
    __syncthreads();
  }

 private:
  [[nodiscard]] __device__ NumberedWord* word(int block, int slot) const {
    const auto side = static_cast<int>(number_ & 1);
    return &lines_[side * static_cast<int>(gridDim.x) + block].words[slot];
  }

  /// The sums of the block.
  template <int N>
  __device__ void hand_in(const double (&own)[N]) {
    constexpr int slots = slots_of<N>;
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
    const double of_warp = add_up_lanes(own);
    if (lane < slots) temp_storage_.of_warps[warp * slots + lane] = of_warp;
    __syncthreads();
    if (warp > 0) return;
    const int parts = static_cast<int>(blockDim.x) / warp_size * slots;
    double sum = 0.0;
#pragma unroll
    for (int base = 0; base < most_warps * slots; base += warp_size) {
      if (base + lane < parts) sum += temp_storage_.of_warps[base + lane];
    }
    sum = add_up_slots<slots>(sum);
    if (lane < slots) hand_over(word(static_cast<int>(blockIdx.x), lane), sum, number_);
  }

  /// The sums of all blocks: what each polling warp has seen, into shared memory.
  template <int N>
  __device__ void collect(const Share& share) {
    constexpr int slots = slots_of<N>;
    constexpr int ahead = slots + 1;  // one turn where the GPU has up to 160 multiprocessors
    double sum = 0.0;
    take_over<ahead>(
        share, static_cast<int>(gridDim.x) * slots, number_, [&](int i) { return word(i / slots, i % slots); },
        [&](int /*i*/, double value) { sum += value; });
    sum = add_up_slots<slots>(sum);
    const int lane = share.thread % warp_size;
    if (lane < slots) temp_storage_.of_polling_warps[share.thread / warp_size * slots + lane] = sum;
  }

  template <int N>
  __device__ void add_up_block(double (&sums)[N], int polling_warps) const {
#pragma unroll
    for (int k = 0; k < N; ++k) {
      sums[k] = 0.0;
#pragma unroll
      for (int warp = 0; warp < most_polling_warps; ++warp) {
        if (warp < polling_warps) sums[k] += temp_storage_.of_polling_warps[warp * slots_of<N> + k];
      }
    }
  }

  SumLine* lines_;
  std::uint64_t number_;
  TempStorage& temp_storage_;
};

}  // namespace tessera::cuda
