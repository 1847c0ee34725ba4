/// \file
/// Passes over the rows of a matrix by a warp per row, so that long rows are read at full width.
#pragma once

#include "core/cuda/launch.cuh"
#include "tessera/types.hpp"

#include <cstdint>

namespace tessera::cuda {

inline constexpr int row_threads = 256;
inline constexpr int rows_of_block = row_threads / warp_size;

/// pass(row, lane) by all lanes of a warp, for every row.
template <class Pass>
__global__ void __launch_bounds__(row_threads) rows_kernel(index_t rows, Pass pass) {
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const std::int64_t first = std::int64_t{blockIdx.x} * rows_of_block + threadIdx.x / warp_size;
  const std::int64_t stride = std::int64_t{gridDim.x} * rows_of_block;
  for (std::int64_t row = first; row < rows; row += stride) pass(row, lane);
}

/// Runs pass(row, lane) for every row in the device's stream. \param pass callable on the device, copied there
template <class Pass>
void for_each_row(const Device& device, index_t rows, const Pass& pass) {
  if (rows == 0) return;
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  const auto enough = static_cast<unsigned>(context.multiprocessors() * 64);
  const unsigned needed = blocks_for(rows, rows_of_block);
  launch("pass over rows", context, Grid{needed < enough ? needed : enough, row_threads}, rows_kernel<Pass>, rows,
         pass);
}

/// Sum of term(k), a double, over [begin, end) from left to right, as a loop of the host adds: the lanes of a warp
/// load, then all of them add alike.
template <class Term>
[[nodiscard]] __device__ double sum_in_order(offset_t begin, offset_t end, int lane, const Term& term) {
  double total = 0.0;
  for (offset_t k = begin; k < end; k += warp_size) {
    const double mine = k + lane < end ? term(k + lane) : 0.0;
    const int count = end - k < warp_size ? static_cast<int>(end - k) : warp_size;
    for (int from = 0; from < count; ++from) total += __shfl_sync(full_warp, mine, from);
  }
  return total;
}

}  // namespace tessera::cuda
