/// \file
/// All-reductions of as many sums as a basis has columns, over the blocks of a persistent kernel. Every sum has a block
/// that adds what all blocks have handed in and hands over the total, so that a block reads a word per sum and not a
/// word per sum and block: two ways through the L2 cache, and sums in a fixed order.
#pragma once

#include "core/cuda/reduce.cuh"
#include "solvers/persistent/grid_reduction.cuh"

#include <cstdint>

namespace tessera::cuda {

class BasisSums {
 public:
  /// Words in the memory of the GPU, 0 at first: of two reductions in turn, as reduction_lines().
  [[nodiscard]] static constexpr std::int64_t words(int most, int blocks) noexcept {
    return 2 * std::int64_t{most} * (blocks + 1);
  }

  /// \param most sums of a reduction
  __device__ BasisSums(NumberedWord* words, int most) : words_(words), most_(most) {}

  /// All threads of all blocks. \param own of the block, in shared memory, complete before the last barrier \param
  /// total in shared memory, seen by the block when this returns \param number of this reduction, one more than that of
  /// the one before \param meanwhile as GridReduction::all_reduce()
  template <class Meanwhile>
  __device__ void all_reduce(const double* own, double* total, int count, std::uint64_t number,
                             const Meanwhile& meanwhile) const {
    const int thread = static_cast<int>(threadIdx.x);
    const int threads = static_cast<int>(blockDim.x);
    for (int k = thread; k < count; k += threads) {
      hand_over(word(number, k, static_cast<int>(blockIdx.x)), own[k], number);
    }
    const int blocks = static_cast<int>(gridDim.x);
    const int warp = thread / warp_size;
    for (int k = static_cast<int>(blockIdx.x) + warp * blocks; k < count; k += threads / warp_size * blocks) {
      add_up(number, k);
    }
    if (warp > 0) meanwhile(number, Share{thread - warp_size, threads - warp_size});
    take_over<1>(
        Share{thread, threads}, count, number, [&](int k) { return word(number, k, blocks); },
        [&](int k, double value) { total[k] = value; });
    __syncthreads();
  }

 private:
  /// Of one block, or behind those of all the total.
  [[nodiscard]] __device__ NumberedWord* word(std::uint64_t number, int k, int block) const {
    const std::int64_t side = static_cast<std::int64_t>(number & 1) * most_;
    return words_ + (side + k) * (static_cast<std::int64_t>(gridDim.x) + 1) + block;
  }

  /// By one warp.
  __device__ void add_up(std::uint64_t number, int k) const {
    constexpr int ahead = 5;  // one turn where the GPU has up to 160 multiprocessors
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const int blocks = static_cast<int>(gridDim.x);
    double sum = 0.0;
    take_over<ahead>(
        Share{lane, warp_size}, blocks, number, [&](int block) { return word(number, k, block); },
        [&](int /*block*/, double value) { sum += value; });
    sum = add_up_warp(sum);
    if (lane == 0) hand_over(word(number, k, blocks), sum, number);
  }

  NumberedWord* words_;
  int most_;
};

}  // namespace tessera::cuda
