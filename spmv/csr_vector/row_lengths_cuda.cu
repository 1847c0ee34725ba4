/// \file
/// Row lengths for csr-vector: their sums, and the parts of long rows.
#include "core/cuda/reduce.cuh"
#include "core/cuda/scan.hpp"
#include "core/cuda/warp.cuh"
#include "spmv/csr_vector/csr_vector_tuning.hpp"
#include "spmv/csr_vector/row_lengths.hpp"

namespace tessera::cuda {

namespace {

constexpr int threads = 256;
/// Rows per warp.
constexpr std::int64_t rows_per_warp = 1024;

/// Calls function(row, before, parts) for the rows of this thread's warp: `parts` of that row, `before` in the warp's
/// earlier rows. \returns the parts of all rows of the warp
template <class Function>
__device__ offset_t for_rows_of_warp(std::int64_t rows, const offset_t* row_offsets, offset_t longer_than,
                                     offset_t part, Function function) {
  const std::int64_t warp = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_size;
  const unsigned lane = threadIdx.x % warp_size;
  offset_t total = 0;
  for (std::int64_t first = warp * rows_per_warp; first < (warp + 1) * rows_per_warp; first += warp_size) {
    const std::int64_t row = first + lane;
    const offset_t parts =
        row < rows ? csr_vector_parts(row_offsets[row + 1] - row_offsets[row], longer_than, part) : offset_t{0};
    const offset_t inclusive = sum_up_to_lane(parts);
    function(row, total + inclusive - parts, parts);
    total += __shfl_sync(full_warp, inclusive, warp_size - 1);
  }
  return total;
}

/// counts[warp]: parts of the rows of a warp.
__global__ void __launch_bounds__(threads)
    count_parts_kernel(std::int64_t rows, const offset_t* row_offsets, offset_t longer_than, offset_t part,
                       std::int64_t warps, offset_t* counts) {
  const std::int64_t warp = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_size;
  const offset_t total =
      for_rows_of_warp(rows, row_offsets, longer_than, part, [](std::int64_t, offset_t, offset_t) {});
  if (warp < warps && threadIdx.x % warp_size == 0) counts[warp] = total;
}

/// \param before parts in the rows of earlier warps
__global__ void __launch_bounds__(threads)
    write_parts_kernel(std::int64_t rows, const offset_t* row_offsets, offset_t longer_than, offset_t part,
                       std::int64_t warps, const offset_t* before, index_t* part_row, offset_t* part_begin) {
  const std::int64_t warp = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_size;
  const offset_t first = warp < warps ? before[warp] : 0;
  const unsigned lane = threadIdx.x % warp_size;
  for_rows_of_warp(rows, row_offsets, longer_than, part, [=](std::int64_t row, offset_t place, offset_t parts) {
    // All lanes write the parts of one row after the other: a row may have millions.
    for (unsigned with_parts = __ballot_sync(full_warp, parts > 0); with_parts != 0; with_parts &= with_parts - 1) {
      const int source = __ffs(static_cast<int>(with_parts)) - 1;
      const std::int64_t long_row = __shfl_sync(full_warp, row, source);
      const offset_t target = first + __shfl_sync(full_warp, place, source);
      const offset_t count = __shfl_sync(full_warp, parts, source);
      for (offset_t p = lane; p < count; p += warp_size) {
        part_row[target + p] = static_cast<index_t>(long_row);
        part_begin[target + p] = row_offsets[long_row] + p * part;
      }
    }
  });
}

/// RowLengths over many rows.
struct LengthSums {
  offset_t typical = 0;
  offset_t longest = 0;
  __device__ LengthSums& operator+=(const LengthSums& other) {
    typical += other.typical;
    longest = other.longest > longest ? other.longest : longest;
    return *this;
  }
};

}  // namespace

RowLengths row_lengths(const Device& device, std::span<const offset_t> row_offsets) {
  const offset_t* const offsets = row_offsets.data();
  const auto sums = fused_values<LengthSums>(device, static_cast<std::int64_t>(row_offsets.size()) - 1,
                                             [=] __device__(std::int64_t row, LengthSums & of_thread) {
                                               const offset_t length = offsets[row + 1] - offsets[row];
                                               of_thread += {length <= csr_vector_typical_row ? length : 0, length};
                                             });
  return {sums.typical, sums.longest};
}

double row_length_spread(const Device& device, std::span<const offset_t> row_offsets) {
  const auto rows = static_cast<std::int64_t>(row_offsets.size()) - 1;
  const offset_t* const offsets = row_offsets.data();
  const auto sums = fused_sum<2>(device, rows, [=] __device__(std::int64_t row, double(&sum)[2]) {
    const auto length = static_cast<double>(offsets[row + 1] - offsets[row]);
    sum[0] += length;
    sum[1] += length * length;
  });
  return sums[0] > 0 ? sums[1] * static_cast<double>(rows) / (sums[0] * sums[0]) : 0.0;
}

WholeProduct whole_product(const Device& device, std::span<const offset_t> row_offsets) {
  const auto rows = static_cast<index_t>(row_offsets.size() - 1);
  if (rows == 0) return {};
  const RowLengths lengths = row_lengths(device, row_offsets);
  return {csr_vector_whole_lanes(rows, lengths.typical, lengths.longest), lengths.longest};
}

LongRows find_long_rows(const Device& device, std::span<const offset_t> row_offsets, offset_t longer_than,
                        offset_t part) {
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  const auto rows = static_cast<std::int64_t>(row_offsets.size()) - 1;
  const std::int64_t warps = (rows + rows_per_warp - 1) / rows_per_warp;
  const Grid grid{blocks_for(warps, threads / warp_size), threads};
  Array<offset_t> before(warps, Init::none, device);
  launch("counting the parts of long rows", context, grid, count_parts_kernel, rows, row_offsets.data(), longer_than,
         part, warps, before.data());
  const offset_t parts = exclusive_sum(device, before.span());
  LongRows result{longer_than, Array<index_t>(parts, Init::none, device), Array<offset_t>(parts, Init::none, device)};
  if (parts == 0) return result;
  launch("listing the parts of long rows", context, grid, write_parts_kernel, rows, row_offsets.data(), longer_than,
         part, warps, before.data(), result.row.data(), result.begin.data());
  return result;
}

}  // namespace tessera::cuda
