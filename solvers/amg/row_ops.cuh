/// \file
/// The kernels of row operations: a group of lanes per row.
#pragma once

#include "core/cuda/reduce.cuh"
#include "solvers/amg/row_ops.hpp"

#include <algorithm>

namespace tessera::cuda {

inline constexpr int row_op_threads = 256;
/// Blocks per multiprocessor: enough to hide latency, few enough that their totals are soon added.
inline constexpr int row_op_blocks = 16;

/// Adds the sums of a group of lanes; lane 0 of the group returns the total. Every lane of the warp must call.
template <int Lanes, class Sums>
__device__ Sums add_up_group(Sums sums) {
#pragma unroll
  for (unsigned distance = Lanes / 2; distance > 0; distance /= 2) sums += value_of_lane_after(sums, distance);
  return sums;
}

template <int Lanes, class Op>
__global__ void __launch_bounds__(row_op_threads) row_op_kernel(RowSet rows, Op op, typename Op::Total* partial) {
  using Sums = typename Op::Sums;
  using Total = typename Op::Total;
  constexpr int groups = row_op_threads / Lanes;
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const int group = static_cast<int>(threadIdx.x) / Lanes;
  Total total{};
  for (std::int64_t first = std::int64_t{blockIdx.x} * groups; first < rows.rows;
       first += std::int64_t{gridDim.x} * groups) {
    const std::int64_t i = first + group;
    const bool exists = i < rows.rows;
    const index_t row = !exists ? 0 : rows.list == nullptr ? static_cast<index_t>(rows.first + i) : rows.list[i];
    Sums sums{};
    if (exists && op.visits(row)) {
      const offset_t end = op.offsets()[row + 1];
#pragma unroll 4
      for (offset_t k = op.offsets()[row] + lane; k < end; k += Lanes) op.visit(row, k, sums);
    }
    if constexpr (!std::is_empty_v<Sums>) sums = add_up_group<Lanes>(sums);
    if (exists && lane == 0) op.finish(row, sums, total);
  }
  if constexpr (!std::is_empty_v<Total>) {
    total = add_up_block<row_op_threads>(total);
    if (threadIdx.x == 0) partial[blockIdx.x] = total;
  }
}

template <class Op>
void TransformRows<Op>::run(const Device& device, const RowSet& rows, const Op& op, typename Op::Total* total) {
  using Total = typename Op::Total;
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  const auto most = static_cast<unsigned>(context.multiprocessors() * row_op_blocks);
  Array<Total> partial;
  with_lanes(rows.lanes, [&](auto lanes) {
    const unsigned blocks = std::min(blocks_for(rows.rows, row_op_threads / lanes()), most);
    if constexpr (!std::is_empty_v<Total>) partial = Array<Total>(blocks, Init::none, device);
    launch("operation on rows", context, Grid{blocks, row_op_threads}, row_op_kernel<lanes(), Op>, rows, op,
           partial.data());
    if constexpr (!std::is_empty_v<Total>) {
      if (total == nullptr) return;
      launch("total of an operation on rows", context, Grid{1, sum_threads}, total_values_kernel<Total>,
             static_cast<int>(blocks), static_cast<const Total*>(partial.data()), total);
    }
  });
}

}  // namespace tessera::cuda
