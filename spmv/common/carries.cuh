/// \file
/// Carry fix-up: sums of row parts that several blocks leave open, added to the rows in a fixed order.
#pragma once

#include "core/cuda/launch.cuh"
#include "spmv/common/terms.cuh"
#include "tessera/array.hpp"
#include "tessera/types.hpp"

#include <cstdint>

namespace tessera::cuda {

/// Carries per block.
inline constexpr int carries_per_block = 256;

/// The row of carry number i; rows ascend with i.
struct RowArray {
  const index_t* rows;
  __device__ index_t operator()(std::int64_t i) const { return rows[i]; }
};

/// Sum of the values with the same row of this thread and the earlier ones of its block, in the order of the threads.
/// Rows ascend. Every thread must call.
template <class T>
__device__ T sum_of_equal_rows(index_t row, T sum) {
  constexpr int warps = carries_per_block / warp_size;
  __shared__ index_t last_row[warps];
  __shared__ T last_sum[warps];
  const unsigned lane = threadIdx.x % warp_size;
  const unsigned warp = threadIdx.x / warp_size;
  for (unsigned distance = 1; distance < warp_size; distance *= 2) {
    const T other = __shfl_up_sync(full_warp, sum, distance);
    const index_t other_row = __shfl_up_sync(full_warp, row, distance);
    if (lane >= distance && other_row == row) sum += other;
  }
  if (lane == warp_size - 1) {
    last_row[warp] = row;
    last_sum[warp] = sum;
  }
  __syncthreads();
  T before{0};
  for (unsigned w = 0; w < warp; ++w) {
    if (last_row[w] == row) before += last_sum[w];
  }
  return before + sum;
}

/// Adds the carries of this block to their rows. A row that continues in the next block is left to it: its sum becomes
/// the block's own carry. At most one block adds to a row.
template <class RowOf, class T>
__global__ void __launch_bounds__(carries_per_block)
    join_carries_kernel(std::int64_t count, RowOf row_of, const T* sums, index_t rows, UpdateEpilogue<T> epilogue,
                        index_t* open_rows, T* open_sums) {
  const std::int64_t i = std::int64_t{blockIdx.x} * carries_per_block + threadIdx.x;
  const std::int64_t last = count - 1;
  const index_t row = row_of(i < last ? i : last);
  const T sum = sum_of_equal_rows(row, i < count ? sums[i] : T{0});
  const bool complete = i >= last || row_of(i + 1) != row;
  // Most parts that begin a row leave a sum of zero, which changes nothing.
  if (i < count && complete && row < rows && sum != T{0}) epilogue.add(row, sum);
  if (threadIdx.x == carries_per_block - 1 && open_rows != nullptr) {
    open_rows[blockIdx.x] = row;
    open_sums[blockIdx.x] = complete ? T{0} : sum;
  }
}

/// Memory for the carries of blocks that join carries, level by level, until one block joins all.
template <class T>
class CarryTree {
 public:
  /// \param count carries to join
  CarryTree(std::int64_t count, const Device& device)
      : count_(count), rows_(carries_above(count), Init::none, device), sums_(rows_.size(), Init::none, device) {}

  [[nodiscard]] std::uint64_t bytes() const noexcept { return rows_.bytes() + sums_.bytes(); }

  /// Adds α times carry i to row row_of(i) of y, for all carries. The order depends on their number alone. Rows from
  /// `rows` on do not exist. Not concurrent with itself.
  template <class RowOf>
  void join(const Context& context, RowOf row_of, const T* sums, index_t rows, const UpdateEpilogue<T>& epilogue) {
    if (count_ == 0) return;
    std::int64_t first = 0;
    std::int64_t blocks = launch_level(context, count_, row_of, sums, rows, epilogue, first);
    while (blocks > 1) {
      const RowArray level_rows{rows_.data() + first};
      const T* level_sums = sums_.data() + first;
      first += blocks;
      blocks = launch_level(context, blocks, level_rows, level_sums, rows, epilogue, first);
    }
  }

 private:
  [[nodiscard]] static std::int64_t carries_above(std::int64_t count) {
    std::int64_t above = 0;
    while (count > carries_per_block) {
      count = blocks_for(count, carries_per_block);
      above += count;
    }
    return above;
  }

  /// \param first index of the blocks' own carries \returns the number of blocks
  template <class RowOf>
  std::int64_t launch_level(const Context& context, std::int64_t count, RowOf row_of, const T* sums, index_t rows,
                            const UpdateEpilogue<T>& epilogue, std::int64_t first) {
    const unsigned blocks = blocks_for(count, carries_per_block);
    launch("adding carries to rows", context, Grid{blocks, carries_per_block}, join_carries_kernel<RowOf, T>, count,
           row_of, sums, rows, epilogue, blocks > 1 ? rows_.data() + first : nullptr,
           blocks > 1 ? sums_.data() + first : nullptr);
    return blocks;
  }

  std::int64_t count_;
  Array<index_t> rows_;
  Array<T> sums_;
};

}  // namespace tessera::cuda
