/// \file
/// Passes over vectors that update and sum at once, where the sums are of any small type with operator+=: compensated
/// sums, largest values, several at a time.
#pragma once

#include "core/cuda/reduce.cuh"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tessera::cuda {

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

/// Adds the values of a block of sum_threads threads in a fixed order; thread 0 returns the total. Every thread must
/// call.
template <class Value>
__device__ Value add_up_block(Value value) {
  constexpr unsigned warps = sum_threads / warp_size;
  // Values have constructors, which shared memory does not run.
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

/// partial[block]: what the indices of the block add.
template <class Value, class Step>
__global__ void __launch_bounds__(sum_threads) partial_values_kernel(std::int64_t n, Step step, Value* partial) {
  Value value{};
  const std::int64_t stride = std::int64_t{gridDim.x} * sum_threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * sum_threads + threadIdx.x; i < n; i += stride) step(i, value);
  value = add_up_block(value);
  if (threadIdx.x == 0) partial[blockIdx.x] = value;
}

/// Adds the values of `count` blocks. One block.
template <class Value>
__global__ void __launch_bounds__(sum_threads) total_values_kernel(int count, const Value* partial, Value* total) {
  Value value{};
  for (int block = static_cast<int>(threadIdx.x); block < count; block += sum_threads) value += partial[block];
  value = add_up_block(value);
  if (threadIdx.x == 0) *total = value;
}

/// The sum of step(i, value) over [0, n), in an order that depends on n alone. step may write to element i of its
/// vectors. Waits for the result. \param step callable on the device, copied there \throws CudaError, OutOfMemory
template <class Value, class Step>
[[nodiscard]] Value fused_values(const Device& device, std::int64_t n, const Step& step) {
  const Context& context = Context::of(device);
  const CurrentDevice current(device);
  const unsigned needed = blocks_for(n, sum_threads);
  const unsigned blocks = needed < sum_blocks ? needed : sum_blocks;
  Array<Value> partial(std::int64_t{blocks} + 1, Init::none, device);
  Value* const total = partial.data() + blocks;
  launch("sum over a vector", context, Grid{blocks, sum_threads}, partial_values_kernel<Value, Step>, n, step,
         partial.data());
  launch("sum over blocks", context, Grid{1, sum_threads}, total_values_kernel<Value>, static_cast<int>(blocks),
         static_cast<const Value*>(partial.data()), total);
  Value result{};
  detail::copy_bytes(Device{}, &result, device, total, sizeof(result));
  return result;
}

}  // namespace tessera::cuda
