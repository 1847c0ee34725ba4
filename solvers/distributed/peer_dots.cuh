/// \file
/// <w, y> and <y, y> over all ranks of GPUs that reach each other's memory, put into the stream.
#pragma once

#include "core/cuda/launch.cuh"
#include "core/cuda/memory.hpp"
#include "core/cuda/peer_exchange.cuh"
#include "core/group_rank.hpp"
#include "solvers/distributed/peer_halo.cuh"
#include "tessera/array.hpp"
#include "tessera/fused_operator.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

namespace tessera::cuda {

/// \param of_blocks room for the grid \param finished blocks; 0 between launches. The last block sums over ranks.
template <class T>
__global__ void __launch_bounds__(sum_threads)
    peer_dots_kernel(std::int64_t n, const T* w, const T* y, PlainSums<2>* of_blocks, unsigned* finished,
                     ProductDots* sums, PeerExchange* exchange, const std::int32_t* halted) {
  __shared__ bool is_last;
  if (is_over(*exchange, halted)) return;
  PlainSums<2> sum;
  const std::int64_t stride = std::int64_t{gridDim.x} * sum_threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * sum_threads + threadIdx.x; i < n; i += stride) {
    const auto value = static_cast<double>(y[i]);
    sum += {{static_cast<double>(w[i]) * value, value * value}};
  }
  sum = add_up_block<sum_threads>(sum);
  if (threadIdx.x == 0) {
    of_blocks[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicAdd(finished, 1u) + 1 == gridDim.x;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  PlainSums<2> total;
  for (unsigned block = threadIdx.x; block < gridDim.x; block += sum_threads) {
    total += value_of_other_block(of_blocks + block);
  }
  total = add_up_block<sum_threads>(total);
  if (threadIdx.x >= warp_size) return;
  const PlainSums<2> own = total;
  static_cast<void>(sum_over_peers(*exchange, own, total));
  if (threadIdx.x != 0) return;
  *finished = 0;
  *sums = {total.of[0], total.of[1]};
}

/// Of one rank.
class PeerDots {
 public:
  /// \param device of the rank
  explicit PeerDots(const Device& device)
      : device_(device),
        of_blocks_(std::int64_t{2} * most_blocks(), Init::zero, detail::alone(device)),
        finished_(1, Init::zero, detail::alone(device)) {}

  /// The device is current.
  template <class T>
  void enqueue(std::span<const T> w, std::span<const T> y, ProductDots* sums, const std::int32_t* halted) const {
    const auto n = static_cast<std::int64_t>(y.size());
    const Grid grid{std::min(blocks_for(n, sum_threads), most_blocks()), sum_threads};
    launch("inner products over ranks", Context::of(device_), grid, peer_dots_kernel<T>, n, w.data(), y.data(),
           reinterpret_cast<PlainSums<2>*>(of_blocks_.data()), finished_.data(), sums,
           detail::rank_of(device_)->exchange, halted);
  }

 private:
  [[nodiscard]] unsigned most_blocks() const {
    return static_cast<unsigned>(blocks_per_multiprocessor * Context::of(device_).multiprocessors());
  }
  static constexpr int blocks_per_multiprocessor = 4;

  Device device_;
  mutable Array<double> of_blocks_;
  mutable Array<unsigned> finished_;
};

}  // namespace tessera::cuda
