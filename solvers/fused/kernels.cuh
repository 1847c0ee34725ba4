/// \file
/// The kernels of element operations and of fused operations.
#pragma once

#include "core/cuda/device_clock.cuh"
#include "core/cuda/peer_exchange.cuh"
#include "core/cuda/reduce.cuh"
#include "solvers/fused/enqueued_loops.hpp"
#include "solvers/fused/graph_loop.hpp"
#include "solvers/fused/ops.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <type_traits>

namespace tessera::cuda {

/// Entries per run.
inline constexpr std::int64_t loop_entries = 1024;

/// Least number of resident blocks per multiprocessor, so that enough loads are in flight.
inline constexpr int blocks_per_multiprocessor = 4;

/// What a GraphLoop keeps on the device beside the state of its method.
struct LoopControlBlock {
  std::int64_t chunk = 0;                  ///< iterations of the next run; set by the host
  std::int64_t first = 0;                  ///< completed when this run began
  std::int64_t pause_at = 0;               ///< completed when it should end
  std::uint64_t began = 0;                 ///< nanoseconds
  cudaGraphConditionalHandle goes_on = 0;  ///< 0: there is no graph
  unsigned finished = 0;                   ///< blocks of the current operation that are done; 0 between operations
  fused::LoopEntry entries[loop_entries];
};

/// Records the completed iteration, and ends the run where nothing is left to do. One thread.
inline __device__ void close_operation(const fused::LoopControl& control, std::int64_t before,
                                       LoopControlBlock& block) {
  if (control.iteration != before && control.iteration - block.first <= loop_entries) {
    const double seconds = static_cast<double>(device_nanoseconds() - block.began) * 1e-9;
    block.entries[control.iteration - block.first - 1] = {control.iteration, control.norm, seconds};
  }
  const bool ends = control.halted() || control.iteration >= block.pause_at;
  if (ends && block.goes_on != 0) cudaGraphSetConditional(block.goes_on, 0);
}

/// Copies words by the threads of a block.
inline __device__ void copy_words(int* to, const int* from, int count) {
  for (int k = static_cast<int>(threadIdx.x); k < count; k += sum_threads) to[k] = from[k];
}

/// Inner products from their parts, in every block: cheaper than a kernel for it. Thread 0 returns them.
inline __device__ PlainSums<2> sum_of_parts(const ProductDots* parts, int count) {
  PlainSums<2> sum;
  for (int k = static_cast<int>(threadIdx.x); k < count; k += sum_threads) sum += {{parts[k].wy, parts[k].yy}};
  return add_up_block<sum_threads>(sum);
}

/// Whether an operation has elements, or scalars alone.
template <class Op>
inline constexpr bool has_elements = !std::is_base_of_v<fused::ScalarOp, Op>;

template <class Op>
inline constexpr bool has_sums = !std::is_empty_v<typename Op::Sums>;

/// The first two elements of a thread.
template <class Op, bool HasElements = has_elements<Op>>
struct EarlyLoads {
  typename Op::Loaded one{};
  typename Op::Loaded other{};

  __device__ EarlyLoads(const Op& op, std::int64_t n, std::int64_t i, std::int64_t stride) {
    if (i < n) one = op.load(i);
    if (i + stride < n) other = op.load(i + stride);
  }
};
template <class Op>
struct EarlyLoads<Op, false> {
  __device__ EarlyLoads(const Op& /*op*/, std::int64_t /*n*/, std::int64_t /*i*/, std::int64_t /*stride*/) {}
};

/// Applies the operation to the elements of a thread. \returns its sums
template <class Op, class State>
__device__ typename Op::Sums apply_to_elements(const Op& op, const State& state, const EarlyLoads<Op>& early,
                                               std::int64_t n, std::int64_t i, std::int64_t stride) {
  typename Op::Sums sums{};
  const auto scalars = op.scalars(state);
  if (i < n) op.apply(i, early.one, scalars, sums);
  if (i + stride < n) op.apply(i + stride, early.other, scalars, sums);
  i += 2 * stride;
  // The loads of two elements at a time.
  for (; i + stride < n; i += 2 * stride) {
    const auto one = op.load(i);
    const auto other = op.load(i + stride);
    op.apply(i, one, scalars, sums);
    op.apply(i + stride, other, scalars, sums);
  }
  for (; i < n; i += stride) op.apply(i, op.load(i), scalars, sums);
  return sums;
}

/// A block of threads among those of its operation.
struct BlockRank {
  unsigned index;
  unsigned count;

  /// Of a kernel that is one operation.
  [[nodiscard]] static __device__ BlockRank of_kernel() { return {blockIdx.x, gridDim.x}; }
};

/// Adds the sums of all ranks to thread 0's `total`; halts the loop where one does not answer. All threads of one
/// block.
template <class Sums, class State>
__device__ void add_up_ranks(PeerExchange& peers, Sums& total, State& scalars) {
  if (threadIdx.x < warp_size) {
    const Sums own = total;
    const bool is_whole = sum_over_peers(peers, own, total);
    if (threadIdx.x == 0 && !is_whole) scalars.halt = fused::Halt::lost;
  }
  __syncthreads();
}

/// One operation of a loop, by all its blocks of threads. Every block computes the scalars for itself. The last block
/// to finish adds the sums and stores the state. The state is in shared memory, where it costs the loop over the
/// elements no registers. \param finished blocks that are done \param peers null where the GPU works alone \param body
/// (const State&) -> sums of a thread \param finish (const State&), by the last block, before scalars_after() \param
/// close (const State&, iterations before), by one thread, at the end \returns whether this is the last block
template <class Op, class Body, class Finish, class Close>
__device__ bool run_operation(const Op& op, const BlockRank& rank, typename Op::State* state, unsigned* finished,
                              typename Op::Sums* partial, const ProductDots* dot_parts, int dot_count,
                              PeerExchange* peers, const Body& body, const Finish& finish, const Close& close) {
  using State = typename Op::State;
  using Sums = typename Op::Sums;
  static_assert(std::is_trivially_copyable_v<State> && sizeof(State) % sizeof(int) == 0);
  static_assert(std::is_base_of_v<fused::LoopControl, State>);
  constexpr int words = sizeof(State) / sizeof(int);
  // Its constructor does not run.
  alignas(State) __shared__ int copy[words];
  __shared__ bool is_last;
  State& scalars = *reinterpret_cast<State*>(copy);
  copy_words(copy, reinterpret_cast<const int*>(state), words);
  PlainSums<2> dots;
  if (dot_count > 0) dots = sum_of_parts(dot_parts, dot_count);
  __syncthreads();
  if (scalars.halted()) return false;
  const std::int64_t before = scalars.iteration;
  __syncthreads();
  if (threadIdx.x == 0) {
    if (dot_count > 0) scalars.dots = {dots.of[0], dots.of[1]};
    op.scalars_before(scalars);
  }
  __syncthreads();
  Sums sums{};
  if (!scalars.halted()) sums = body(scalars);
  if constexpr (has_sums<Op>) sums = add_up_block<sum_threads>(sums);
  if (threadIdx.x == 0) {
    if constexpr (has_sums<Op>) partial[rank.index] = sums;
    __threadfence();
    is_last = atomicAdd(finished, 1u) + 1 == rank.count;
  }
  __syncthreads();
  if (!is_last) return false;
  __threadfence();
  Sums total{};
  if constexpr (has_sums<Op>) {
    for (unsigned other = threadIdx.x; other < rank.count; other += sum_threads) {
      total += value_of_other_block(partial + other);
    }
    total = add_up_block<sum_threads>(total);
    if (peers != nullptr && !scalars.halted()) add_up_ranks(*peers, total, scalars);
  }
  if (!scalars.halted()) finish(scalars);
  __syncthreads();
  if (threadIdx.x == 0) {
    if constexpr (requires { op.scalars_after(scalars, total); }) {
      if (!scalars.halted()) op.scalars_after(scalars, total);
    }
    *finished = 0;
    close(scalars, before);
  }
  __syncthreads();
  copy_words(reinterpret_cast<int*>(state), copy, words);
  return true;
}

/// The end of an operation of a loop.
inline __device__ auto closing(LoopControlBlock* block) {
  return [block](const fused::LoopControl& control, std::int64_t before) { close_operation(control, before, *block); };
}

/// One fused operation of a loop.
template <class Op>
__global__ void __launch_bounds__(sum_threads, blocks_per_multiprocessor)
    loop_op_kernel(std::int64_t n, Op op, typename Op::State* state, LoopControlBlock* block,
                   typename Op::Sums* partial, const ProductDots* dot_parts, int dot_count, PeerExchange* peers) {
  const std::int64_t stride = std::int64_t{gridDim.x} * sum_threads;
  const std::int64_t i = std::int64_t{blockIdx.x} * sum_threads + threadIdx.x;
  // The loads of the first two elements are in flight while the scalars are computed.
  [[maybe_unused]] const EarlyLoads<Op> early(op, n, i, stride);
  run_operation(
      op, BlockRank::of_kernel(), state, &block->finished, partial, dot_parts, dot_count, peers,
      [&]([[maybe_unused]] const typename Op::State& scalars) {
        if constexpr (has_elements<Op>) {
          return apply_to_elements(op, scalars, early, n, i, stride);
        } else {
          return typename Op::Sums{};
        }
      },
      [](const typename Op::State& /*scalars*/) {}, closing(block));
}

template <class Op>
void LoopOp<Op>::record(const Device& device, const LoopFrame& frame, std::int64_t n, const Op& op,
                        std::span<const ProductDots> dot_parts) {
  using Sums = typename Op::Sums;
  static_assert(sizeof(Sums) <= SumSpace::value_bytes && std::is_trivially_copyable_v<Sums>);
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  launch("fused operation of a loop", context, Grid{blocks_of_sum(n), sum_threads}, loop_op_kernel<Op>, n, op,
         static_cast<typename Op::State*>(frame.state), static_cast<LoopControlBlock*>(frame.control_block),
         static_cast<Sums*>(context.sum_space().on_device), dot_parts.data(), static_cast<int>(dot_parts.size()),
         frame.peers);
}

/// An operation on the state alone, by one thread.
template <class Op>
__global__ void state_op_kernel(Op op, typename Op::State* state) {
  op(*state);
}

template <class Op>
void StateOp<Op>::enqueue(const Device& device, const LoopFrame& frame, const Op& op) {
  const DeviceGuard current(device);
  launch("operation on the state of a solve", Context::of(device), Grid{1, 1}, state_op_kernel<Op>, op,
         static_cast<typename Op::State*>(frame.state));
}

/// An operation without sums, as a loop body.
template <class Op>
struct WriteOnly {
  Op op;
  __device__ void operator()(std::int64_t i) const {
    typename Op::Sums none;
    op(i, none);
  }
};

template <class Op>
typename Op::Sums TransformReduce<Op>::run(const Device& device, std::int64_t n, const Op& op) {
  using Sums = typename Op::Sums;
  if constexpr (std::is_empty_v<Sums>) {
    for_each(device, n, WriteOnly<Op>{op});
    return Sums{};
  } else {
    return fused_values<Sums>(device, n, op);
  }
}

}  // namespace tessera::cuda
