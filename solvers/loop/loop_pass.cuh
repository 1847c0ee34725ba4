/// \file
/// The kernels of a loop that a GPU runs by itself.
#pragma once

#include "core/cuda/device_clock.cuh"
#include "core/cuda/reduce.cuh"
#include "solvers/loop/resident_loop.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <type_traits>

namespace tessera::cuda {

/// Entries that one run may note.
inline constexpr std::int64_t loop_entries = 1024;

/// Blocks of a pass that a multiprocessor should have room for, so that enough loads are under way.
inline constexpr int blocks_at_a_time = 4;

/// What a resident loop keeps beside the state of its method.
struct LoopHead {
  std::int64_t chunk = 0;                  ///< iterations of the next run; set by the host
  std::int64_t first = 0;                  ///< completed when this run began
  std::int64_t pause_at = 0;               ///< completed when it should end
  std::uint64_t began = 0;                 ///< nanoseconds
  cudaGraphConditionalHandle goes_on = 0;  ///< 0: there is no graph
  unsigned finished = 0;                   ///< blocks of the present pass that are done; 0 between passes
  loop::LoopEntry entries[loop_entries];
};

/// Notes the iteration that has been completed, and ends the run where nothing is left to do. One thread.
inline __device__ void close_pass(const loop::LoopControl& control, std::int64_t before, LoopHead& head) {
  if (control.iteration != before && control.iteration - head.first <= loop_entries) {
    const double seconds = static_cast<double>(device_nanoseconds() - head.began) * 1e-9;
    head.entries[control.iteration - head.first - 1] = {control.iteration, control.norm, seconds};
  }
  const bool ends = control.halted() || control.iteration >= head.pause_at;
  if (ends && head.goes_on != 0) cudaGraphSetConditional(head.goes_on, 0);
}

/// Copies words by the threads of a block.
inline __device__ void copy_words(int* to, const int* from, int count) {
  for (int k = static_cast<int>(threadIdx.x); k < count; k += sum_threads) to[k] = from[k];
}

/// Inner products from their parts, in every block: less than a kernel of its own takes. Thread 0 returns them.
inline __device__ PlainSums<2> sum_of_parts(const ProductDots* parts, int count) {
  PlainSums<2> sum;
  for (int k = static_cast<int>(threadIdx.x); k < count; k += sum_threads) sum += {{parts[k].wy, parts[k].yy}};
  return add_up_block<sum_threads>(sum);
}

/// What a step that adds up loads of two indices.
template <class Step, bool AddsUp = !std::is_empty_v<typename Step::Body::Sums>>
struct EarlyLoads {
  typename Step::Body::Loaded one{};
  typename Step::Body::Loaded other{};

  __device__ EarlyLoads(const Step& step, std::int64_t n, std::int64_t i, std::int64_t stride) {
    if (i < n) one = step.body.load(i);
    if (i + stride < n) other = step.body.load(i + stride);
  }
};
template <class Step>
struct EarlyLoads<Step, false> {
  __device__ EarlyLoads(const Step& /*step*/, std::int64_t /*n*/, std::int64_t /*i*/, std::int64_t /*stride*/) {}
};

/// One pass of a loop. Every block works out the scalars for itself; the one that is done last adds up and makes them
/// known. The scalars are in shared memory, where they cost the loop over the vectors no registers.
template <class Step>
__global__ void __launch_bounds__(sum_threads, blocks_at_a_time)
    loop_pass_kernel(std::int64_t n, Step step, typename Step::State* state, LoopHead* head,
                     typename Step::Body::Sums* partial, const ProductDots* dot_parts, int dot_count) {
  using State = typename Step::State;
  using Sums = typename Step::Body::Sums;
  constexpr bool adds_up = !std::is_empty_v<Sums>;
  static_assert(std::is_trivially_copyable_v<State> && sizeof(State) % sizeof(int) == 0);
  constexpr int words = sizeof(State) / sizeof(int);
  // Its constructor does not run.
  alignas(State) __shared__ int copy[words];
  __shared__ bool is_last;
  State& scalars = *reinterpret_cast<State*>(copy);
  const std::int64_t stride = std::int64_t{gridDim.x} * sum_threads;
  std::int64_t i = std::int64_t{blockIdx.x} * sum_threads + threadIdx.x;
  // The loads of the first two indices are under way while the scalars are worked out.
  [[maybe_unused]] const EarlyLoads<Step> early(step, n, i, stride);
  copy_words(copy, reinterpret_cast<const int*>(state), words);
  PlainSums<2> dots;
  if (dot_count > 0) dots = sum_of_parts(dot_parts, dot_count);
  __syncthreads();
  if (scalars.halted()) return;
  const std::int64_t before = scalars.iteration;
  __syncthreads();
  if (threadIdx.x == 0) {
    if (dot_count > 0) scalars.dots = {dots.of[0], dots.of[1]};
    step.begin(scalars);
  }
  __syncthreads();
  Sums sums{};
  if (!scalars.halted()) {
    const auto body = step.bind(scalars);
    if constexpr (adds_up) {
      if (i < n) body(i, early.one, sums);
      if (i + stride < n) body(i + stride, early.other, sums);
      i += 2 * stride;
      // The loads of two indices at a time.
      for (; i + stride < n; i += 2 * stride) {
        const auto one = body.load(i);
        const auto other = body.load(i + stride);
        body(i, one, sums);
        body(i + stride, other, sums);
      }
    }
    for (; i < n; i += stride) body(i, sums);
  }
  if constexpr (adds_up) sums = add_up_block<sum_threads>(sums);
  if (threadIdx.x == 0) {
    if constexpr (adds_up) partial[blockIdx.x] = sums;
    __threadfence();
    is_last = atomicAdd(&head->finished, 1u) + 1 == gridDim.x;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  Sums rest{};
  if constexpr (adds_up) {
    for (unsigned block = threadIdx.x; block < gridDim.x; block += sum_threads) {
      rest += value_of_other_block(partial + block);
    }
    rest = add_up_block<sum_threads>(rest);
  }
  if (threadIdx.x == 0) {
    if (!scalars.halted()) step.finish(scalars, rest);
    head->finished = 0;
    close_pass(scalars, before, *head);
  }
  __syncthreads();
  copy_words(reinterpret_cast<int*>(state), copy, words);
}

template <class Step>
void LoopPass<Step>::record(const Device& device, const LoopFrame& frame, std::int64_t n, const Step& step,
                            std::span<const ProductDots> dot_parts) {
  using Sums = typename Step::Body::Sums;
  static_assert(sizeof(Sums) <= SumSpace::value_bytes && std::is_trivially_copyable_v<Sums>);
  static_assert(std::is_base_of_v<loop::LoopControl, typename Step::State>);
  const Context& context = Context::of(device);
  const CurrentDevice current(device);
  launch("pass of a loop", context, Grid{blocks_of_sum(n), sum_threads}, loop_pass_kernel<Step>, n, step,
         static_cast<typename Step::State*>(frame.state), static_cast<LoopHead*>(frame.head),
         static_cast<Sums*>(context.sum_space().on_device), dot_parts.data(), static_cast<int>(dot_parts.size()));
}

}  // namespace tessera::cuda
