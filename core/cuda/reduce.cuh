/// \file
/// Passes over vectors that update and sum at once, on a GPU: the counterpart of host::fused_sum.
#pragma once

#include "core/cuda/launch.cuh"
#include "tessera/array.hpp"

#include <array>
#include <cstdint>

namespace tessera::cuda {

/// Blocks of a sum: a constant, so that its order, and with it every bit of the result, is the same on any GPU.
inline constexpr int sum_blocks = 1024;
inline constexpr int sum_threads = 256;

/// Adds the N sums of all threads of a block; thread 0 returns the totals. The order is fixed. Every thread must call.
template <int N, int Threads>
__device__ void block_sum(double (&sums)[N]) {
  static_assert(Threads % warp_size == 0 && Threads / warp_size <= warp_size);
  __shared__ double of_warp[N][Threads / warp_size];
  const unsigned lane = threadIdx.x % warp_size;
  const unsigned warp = threadIdx.x / warp_size;
  for (int k = 0; k < N; ++k) {
    for (int distance = warp_size / 2; distance > 0; distance /= 2) {
      sums[k] += __shfl_down_sync(full_warp, sums[k], static_cast<unsigned>(distance));
    }
    if (lane == 0) of_warp[k][warp] = sums[k];
  }
  __syncthreads();
  if (warp != 0) return;
  for (int k = 0; k < N; ++k) {
    sums[k] = lane < Threads / warp_size ? of_warp[k][lane] : 0.0;
    for (int distance = warp_size / 2; distance > 0; distance /= 2) {
      sums[k] += __shfl_down_sync(full_warp, sums[k], static_cast<unsigned>(distance));
    }
  }
}

/// partial[block * N + k]: what the block's indices add to sum k.
template <int N, class Step>
__global__ void __launch_bounds__(sum_threads) partial_sums_kernel(std::int64_t n, Step step, double* partial) {
  double sums[N] = {};
  const std::int64_t stride = std::int64_t{gridDim.x} * sum_threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * sum_threads + threadIdx.x; i < n; i += stride) step(i, sums);
  block_sum<N, sum_threads>(sums);
  if (threadIdx.x != 0) return;
  for (int k = 0; k < N; ++k) partial[std::int64_t{blockIdx.x} * N + k] = sums[k];
}

/// Adds the partial sums of `count` blocks. One block.
template <int N>
__global__ void __launch_bounds__(sum_threads) total_sums_kernel(int count, const double* partial, double* totals) {
  double sums[N] = {};
  for (int block = static_cast<int>(threadIdx.x); block < count; block += sum_threads) {
    for (int k = 0; k < N; ++k) sums[k] += partial[std::int64_t{block} * N + k];
  }
  block_sum<N, sum_threads>(sums);
  if (threadIdx.x != 0) return;
  for (int k = 0; k < N; ++k) totals[k] = sums[k];
}

/// The N sums of step(i, sums) over [0, n), in an order that depends on n alone. step may write to element i of its
/// vectors. Waits for the result. \param step callable on the device, copied there \throws CudaError, OutOfMemory
template <int N, class Step>
[[nodiscard]] std::array<double, N> fused_sum(const Device& device, std::int64_t n, const Step& step) {
  const Context& context = Context::of(device);
  const CurrentDevice current(device);
  const unsigned needed = blocks_for(n, sum_threads);
  const unsigned blocks = needed < sum_blocks ? needed : sum_blocks;
  Array<double> partial(std::int64_t{blocks} * N + N, Init::none, device);
  double* const totals = partial.data() + std::int64_t{blocks} * N;
  launch("sum over a vector", context, Grid{blocks, sum_threads}, partial_sums_kernel<N, Step>, n, step,
         partial.data());
  launch("sum over blocks", context, Grid{1, sum_threads}, total_sums_kernel<N>, static_cast<int>(blocks),
         static_cast<const double*>(partial.data()), totals);
  std::array<double, N> result{};
  detail::copy_bytes(Device{}, result.data(), device, totals, sizeof(result));
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
  const CurrentDevice current(device);
  const auto enough = static_cast<unsigned>(context.multiprocessors() * 32);
  const unsigned needed = blocks_for(n, sum_threads);
  launch("pass over a vector", context, Grid{needed < enough ? needed : enough, sum_threads}, for_each_kernel<Body>, n,
         body);
}

}  // namespace tessera::cuda
