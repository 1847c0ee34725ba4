/// \file
/// Transform-reduce on a GPU: updates of vectors fused with sums, the counterpart of host::parallel_sum. A sum has any
/// small type with operator+=: compensated sums, maxima, several sums at once. Own code instead of cub::DeviceReduce,
/// because the order of additions, and so every bit, must be the same on any GPU.
#pragma once

#include "core/cuda/launch.cuh"

#include <array>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <type_traits>

namespace tessera::cuda {

/// Most blocks of a sum: a constant, so that the order of additions is the same on any GPU.
inline constexpr int sum_blocks = 1024;
inline constexpr int sum_threads = 256;
static_assert(sum_blocks + 1 <= SumSpace::values);

/// Blocks that sum n elements: at least two elements per thread, since the last block adds up all others.
[[nodiscard]] inline unsigned blocks_of_sum(std::int64_t n) {
  const unsigned needed = blocks_for(n, 2 * sum_threads);
  return needed < sum_blocks ? needed : sum_blocks;
}

/// A value that another block wrote before a fence. Bypasses the first-level cache, which is not coherent.
template <class Value>
[[nodiscard]] __device__ Value value_of_other_block(const Value* address) {
  static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) % sizeof(double) == 0);
  constexpr int words = sizeof(Value) / sizeof(double);
  double word[words];
#pragma unroll
  for (int k = 0; k < words; ++k) word[k] = __ldcg(reinterpret_cast<const double*>(address) + k);
  Value value;
  memcpy(&value, word, sizeof(Value));
  return value;
}

/// N plain sums.
template <int N>
struct PlainSums {
  double of[N] = {};
  __device__ PlainSums& operator+=(const PlainSums& other) {
    for (int k = 0; k < N; ++k) of[k] += other.of[k];
    return *this;
  }
};

/// The value of the lane `distance` further on in the warp. Every lane must call.
template <class Value>
__device__ Value value_of_lane_after(const Value& value, unsigned distance) {
  static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) % sizeof(int) == 0);
  constexpr int words = sizeof(Value) / sizeof(int);
  int word[words];
  memcpy(word, &value, sizeof(Value));
  for (int k = 0; k < words; ++k) word[k] = __shfl_down_sync(full_warp, word[k], distance);
  Value result;
  memcpy(&result, word, sizeof(Value));
  return result;
}

/// Adds the values of a warp in a fixed order; lane 0 returns the total.
template <class Value>
__device__ Value add_up_warp(Value value) {
  for (unsigned distance = warp_size / 2; distance > 0; distance /= 2) value += value_of_lane_after(value, distance);
  return value;
}

/// Adds the values of all threads of a block in a fixed order; thread 0 returns the total. Every thread must call;
/// __syncthreads() before the next call.
template <int Threads, class Value>
__device__ Value add_up_block(Value value) {
  static_assert(Threads % warp_size == 0 && Threads / warp_size <= warp_size);
  constexpr unsigned warps = Threads / warp_size;
  // Shared memory runs no constructors.
  alignas(Value) __shared__ unsigned char of_warp[warps * sizeof(Value)];
  const unsigned lane = threadIdx.x % warp_size;
  const unsigned warp = threadIdx.x / warp_size;
  value = add_up_warp(value);
  if (lane == 0) memcpy(of_warp + warp * sizeof(Value), &value, sizeof(Value));
  __syncthreads();
  if (warp != 0) return value;
  Value rest{};
  if (lane < warps) memcpy(&rest, of_warp + lane * sizeof(Value), sizeof(Value));
  return add_up_warp(rest);
}

/// partial[block] = sum of step over the indices of the block.
template <class Value, class Step>
__global__ void __launch_bounds__(sum_threads) partial_values_kernel(std::int64_t n, Step step, Value* partial) {
  Value value{};
  const std::int64_t stride = std::int64_t{gridDim.x} * sum_threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * sum_threads + threadIdx.x; i < n; i += stride) step(i, value);
  value = add_up_block<sum_threads>(value);
  if (threadIdx.x == 0) partial[blockIdx.x] = value;
}

/// Adds the values of `count` blocks. One block.
template <class Value>
__global__ void __launch_bounds__(sum_threads) total_values_kernel(int count, const Value* partial, Value* total) {
  Value value{};
  for (int block = static_cast<int>(threadIdx.x); block < count; block += sum_threads) value += partial[block];
  value = add_up_block<sum_threads>(value);
  if (threadIdx.x == 0) *total = value;
}

/// *total on the device = sum of step(i, value) over [0, n), in an order that depends only on n. step may write to
/// element i of its vectors. Neither waits nor allocates. \param step callable on the device, copied there \param
/// partial room for sum_blocks values; work in the same stream may use it afterwards \throws CudaError
template <class Value, class Step>
void enqueue_values(const Context& context, std::int64_t n, const Step& step, Value* partial, Value* total) {
  const unsigned blocks = blocks_of_sum(n);
  launch("sum over a vector", context, Grid{blocks, sum_threads}, partial_values_kernel<Value, Step>, n, step, partial);
  launch("sum over blocks", context, Grid{1, sum_threads}, total_values_kernel<Value>, static_cast<int>(blocks),
         static_cast<const Value*>(partial), total);
}

/// The same, copied to the host. Waits for the result.
template <class Value, class Step>
[[nodiscard]] Value fused_values(const Device& device, std::int64_t n, const Step& step) {
  static_assert(sizeof(Value) <= SumSpace::value_bytes && std::is_trivially_copyable_v<Value>);
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  SumSpace& space = context.sum_space();
  const std::scoped_lock alone(space.mutex);
  auto* const partial = static_cast<Value*>(space.on_device);
  Value* const total = partial + sum_blocks;
  enqueue_values(context, n, step, partial, total);
  check(cudaMemcpyAsync(space.on_host, total, sizeof(Value), cudaMemcpyDeviceToHost, context.stream()),
        "bringing a sum to the host");
  context.synchronize();
  Value result{};
  std::memcpy(&result, space.on_host, sizeof(Value));
  return result;
}

template <int N, class Step>
struct PlainStep {
  Step step;
  __device__ void operator()(std::int64_t i, PlainSums<N>& sums) const { step(i, sums.of); }
};

/// The N sums of step(i, sums) over [0, n): fused_values() of plain doubles.
template <int N, class Step>
[[nodiscard]] std::array<double, N> fused_sum(const Device& device, std::int64_t n, const Step& step) {
  const auto sums = fused_values<PlainSums<N>>(device, n, PlainStep<N, Step>{step});
  std::array<double, N> result{};
  for (int k = 0; k < N; ++k) result[k] = sums.of[k];
  return result;
}

/// body(i) for i in [0, n).
template <class Body>
__global__ void __launch_bounds__(sum_threads) for_each_kernel(std::int64_t n, Body body) {
  const std::int64_t stride = std::int64_t{gridDim.x} * sum_threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * sum_threads + threadIdx.x; i < n; i += stride) body(i);
}

/// Runs body(i) for i in [0, n) in the device's stream. \param body callable on the device, copied there
template <class Body>
void for_each(const Device& device, std::int64_t n, const Body& body) {
  if (n == 0) return;
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  const auto enough = static_cast<unsigned>(context.multiprocessors() * 32);
  const unsigned needed = blocks_for(n, sum_threads);
  launch("pass over a vector", context, Grid{needed < enough ? needed : enough, sum_threads}, for_each_kernel<Body>, n,
         body);
}

}  // namespace tessera::cuda
