/// \file
/// Kernels of row operations: a thread per row for systems of few unknowns, else a warp, or a block.
#pragma once

#include "core/cuda/launch.cuh"
#include "core/cuda/shared_memory.cuh"
#include "solvers/inverse/thread_group.hpp"

#include <algorithm>

namespace tessera::cuda {

/// A warp, or with Threads > warp_size a block.
template <int Threads>
struct RowLanes {
  static constexpr bool is_serial = false;
  [[nodiscard]] __device__ static int rank() { return static_cast<int>(threadIdx.x) % Threads; }
  [[nodiscard]] __device__ static constexpr int size() { return Threads; }
  __device__ static void sync() {
    if constexpr (Threads == warp_size) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }
  // Sums and extrema are those of a warp: operations that a block runs have none.

  [[nodiscard]] __device__ static offset_t sum(offset_t value) {
    for (int distance = warp_size / 2; distance > 0; distance /= 2) {
      value += __shfl_xor_sync(full_warp, value, distance);
    }
    return value;
  }
  [[nodiscard]] __device__ static double largest(double value) {
    for (int distance = warp_size / 2; distance > 0; distance /= 2) {
      const double other = __shfl_xor_sync(full_warp, value, distance);
      if (value < other) value = other;
    }
    return value;
  }
  [[nodiscard]] __device__ static int smallest(int value) {
    for (int distance = warp_size / 2; distance > 0; distance /= 2) {
      const int other = __shfl_xor_sync(full_warp, value, distance);
      if (other < value) value = other;
    }
    return value;
  }
  [[nodiscard]] __device__ static int yes_before(bool yes, int& total) {
    const unsigned votes = __ballot_sync(full_warp, yes ? 1 : 0);
    total = __popc(votes);
    return __popc(votes & ((1u << rank()) - 1u));
  }
  template <class Term>
  [[nodiscard]] __device__ static double sum_terms(offset_t begin, offset_t end, const Term& term) {
    static_assert(Threads == detail::sum_parts);
    double sum = 0.0;
    for (offset_t k = begin + rank(); k < end; k += Threads) sum += term(k);
    for (int distance = warp_size / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(full_warp, sum, distance);
    return sum;
  }
};

inline constexpr int row_threads = 128;
/// Of a system that one thread solves. Scratch memory of an odd number of doubles: threads meet no bank conflicts.
inline constexpr int unknowns_of_thread = 8;
inline constexpr int scratch_of_thread = detail::scratch_size(unknowns_of_thread) + 1;
/// Of systems that a warp solves, in two sizes: smaller ones leave shared memory for more warps.
inline constexpr int unknowns_of_small_warp = 32;
inline constexpr int unknowns_of_warp = 64;

/// The rows of more than `above` and at most `most` unknowns; all rows of an operation that solves nothing.
template <class Group, int Threads, class Op>
__global__ void __launch_bounds__(row_threads) rows_kernel(index_t rows, Op op, int above, int most, int scratch) {
  const std::int64_t number = std::int64_t{blockIdx.x} * (blockDim.x / Threads) + threadIdx.x / Threads;
  if (number >= rows) return;
  const auto row = static_cast<index_t>(number);
  if constexpr (Op::solves) {
    const int unknowns = op.unknowns(row);
    if (unknowns <= above || unknowns > most) return;
  }
  auto* const memory = reinterpret_cast<double*>(dynamic_shared_memory());
  op.run(Group{}, row, memory + threadIdx.x / Threads * scratch);
}

/// One size of systems.
struct SystemBin {
  int above;
  int most;
  int scratch;  ///< doubles per row
  int threads;  ///< of a block
};

template <class Group, int Threads, class Op>
void launch_bin(const Context& context, index_t rows, const Op& op, const SystemBin& bin) {
  const auto kernel = rows_kernel<Group, Threads, Op>;
  const int groups = bin.threads / Threads;
  const std::size_t bytes = static_cast<std::size_t>(groups) * static_cast<std::size_t>(bin.scratch) * sizeof(double);
  if (static_cast<std::int64_t>(bytes) > context.limits().shared_per_block) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(context.limits().largest_shared_per_block)),
          "asking for shared memory");
  }
  launch("rows of an approximate inverse", context, Grid{blocks_for(rows, groups), bin.threads, bytes}, kernel, rows,
         op, bin.above, bin.most, bin.scratch);
}

template <class Op>
void ForRows<Op>::run(const Device& device, index_t rows, const Op& op, int most) {
  if (rows == 0) return;
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  if constexpr (!Op::solves) {
    launch_bin<RowLanes<warp_size>, warp_size>(context, rows, op, {0, 0, 0, row_threads});
  } else {
    using detail::scratch_size;
    launch_bin<detail::SerialGroup, 1>(context, rows, op, {0, unknowns_of_thread, scratch_of_thread, row_threads});
    if (most <= unknowns_of_thread) return;
    launch_bin<RowLanes<warp_size>, warp_size>(
        context, rows, op,
        {unknowns_of_thread, unknowns_of_small_warp, scratch_size(unknowns_of_small_warp), row_threads});
    if (most <= unknowns_of_small_warp) return;
    launch_bin<RowLanes<warp_size>, warp_size>(
        context, rows, op, {unknowns_of_small_warp, unknowns_of_warp, scratch_size(unknowns_of_warp), 2 * warp_size});
    if (most <= unknowns_of_warp) return;
    launch_bin<RowLanes<row_threads>, row_threads>(
        context, rows, op, {unknowns_of_warp, detail::max_unknowns, scratch_size(detail::max_unknowns), row_threads});
  }
}

}  // namespace tessera::cuda
