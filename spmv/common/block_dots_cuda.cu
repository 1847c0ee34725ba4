/// \file
/// Sums of the inner products that the blocks of a product leave.
#include "core/cuda/reduce.cuh"
#include "spmv/common/block_dots.hpp"

namespace tessera::cuda {

namespace {

/// Parts that the operation after a product may add up in each of its blocks.
constexpr std::int64_t most_parts = 1024;

[[nodiscard]] constexpr std::int64_t sums_of(std::int64_t blocks) noexcept {
  return (blocks + sum_threads - 1) / sum_threads;
}

__global__ void __launch_bounds__(sum_threads)
    sums_of_blocks_kernel(unsigned count, const PlainSums<2>* of_block, PlainSums<2>* partial) {
  const unsigned i = blockIdx.x * sum_threads + threadIdx.x;
  PlainSums<2> sum;
  if (i < count) sum = of_block[i];
  sum = add_up_block<sum_threads>(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

}  // namespace

BlockDots::BlockDots(std::int64_t blocks, const Device& device)
    : parts_(blocks + sums_of(blocks) + 1, Init::none, device) {}

std::span<const ProductDots> BlockDots::enqueue_parts(const Context& context, std::int64_t blocks) {
  if (blocks <= most_parts) return {of_blocks(), static_cast<std::size_t>(blocks)};
  ProductDots* const partial = of_blocks() + blocks;
  const std::int64_t sums = sums_of(blocks);
  launch("sums over blocks", context, Grid{static_cast<unsigned>(sums), sum_threads}, sums_of_blocks_kernel,
         static_cast<unsigned>(blocks), reinterpret_cast<const PlainSums<2>*>(of_blocks()),
         reinterpret_cast<PlainSums<2>*>(partial));
  return {partial, static_cast<std::size_t>(sums)};
}

void enqueue_total(const Context& context, std::span<const ProductDots> parts, ProductDots* total) {
  static_assert(sizeof(ProductDots) == sizeof(PlainSums<2>));
  launch("sum over blocks", context, Grid{1, sum_threads}, total_values_kernel<PlainSums<2>>,
         static_cast<int>(parts.size()), reinterpret_cast<const PlainSums<2>*>(parts.data()),
         reinterpret_cast<PlainSums<2>*>(total));
}

}  // namespace tessera::cuda
