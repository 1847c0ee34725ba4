/// \file
/// Codes and values of row patterns brought into the order of slices.
#include "core/cuda/reduce.cuh"
#include "core/cuda/warp.cuh"
#include "spmv/patterns/pattern_values.hpp"

#include <cstddef>
#include <type_traits>

namespace tessera::cuda {

using namespace detail;

namespace {

constexpr int threads = 128;
constexpr int warps_per_block = threads / warp_size;
/// Rows at least so long pass through shared memory: read by neighbouring lanes, written by neighbouring rows.
constexpr int width_worth_staging = 9;

/// Position of a row among the codes by slices.
[[nodiscard]] __device__ std::size_t code_place(std::int64_t row, int rows_per_lane) {
  const std::int64_t slice = row / (warp_size * rows_per_lane);
  const int within = static_cast<int>(row % (warp_size * rows_per_lane));
  const int place = within % warp_size * rows_per_lane + within / warp_size;
  return static_cast<std::size_t>(slice * (warp_size * rows_per_lane) + place);
}

/// Where entry k of a row of a padded slice stands.
[[nodiscard]] __device__ std::size_t padded_place(const SlicedRows& rows, std::int64_t row, int k) {
  const int slice_rows = warp_size * rows.shape.rows_per_lane;
  const std::int64_t slice = row / slice_rows;
  return static_cast<std::size_t>((slice * rows.width + k) * slice_rows + row % slice_rows);
}

/// The row of a lane, among 32 rows of a warp.
struct LaneRow {
  std::int64_t row;
  int code = 0;
  int length = 0;      ///< of its list; 0 for an exception, and beyond the end
  offset_t begin = 0;  ///< its first nonzero in CSR

  /// Every lane must call.
  __device__ LaneRow(const SlicedRows& rows, std::int64_t group) : row(group * warp_size + threadIdx.x % warp_size) {
    int nonzeros = 0;
    if (row < rows.rows) {
      code = rows.codes[code_place(row, rows.shape.rows_per_lane)];
      length = rows.table[code * (rows.width + 1)];
      nonzeros = code == rows.lists ? length_of_exception(rows, static_cast<index_t>(row)) : length;
    }
    begin = rows.begin[group] + sum_up_to_lane(nonzeros) - nonzeros;
  }

  [[nodiscard]] __device__ static int length_of_exception(const SlicedRows& rows, index_t row) {
    std::int64_t first = 0;
    for (std::int64_t count = rows.exception_count; count > 1;) {
      const std::int64_t half = count / 2;
      if (rows.exceptions[first + half] <= row) first += half;
      count -= half;
    }
    return rows.exception_lengths[first];
  }
};

/// A warp per 32 rows, a lane per row.
template <class From, class To>
__global__ void __launch_bounds__(threads)
    fill_by_lanes_kernel(SlicedRows rows, std::int64_t groups, const From* from, To* to) {
  const std::int64_t group = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_size;
  if (group >= groups) return;
  const unsigned lane = threadIdx.x % warp_size;
  const LaneRow of_lane(rows, group);
  const int length = of_lane.length;
  const From* const own = from + of_lane.begin;
  if (!rows.shape.jagged) {
#pragma unroll 4
    for (int k = 0; k < rows.width; ++k) {
      to[padded_place(rows, of_lane.row, k)] = k < length ? static_cast<To>(own[k]) : To{0};
    }
    return;
  }
  offset_t at = rows.begin[group];
  for (int k = 0;; ++k) {
    const unsigned there = __ballot_sync(full_warp, k < length ? 1 : 0);
    if (there == 0) return;
    if (k < length) to[at + __popc(there & ((1u << lane) - 1))] = static_cast<To>(own[k]);
    at += __popc(there);
  }
}

/// A warp per 32 rows of padded slices, 32 entries of each at a time through shared memory.
template <class From, class To>
__global__ void __launch_bounds__(threads)
    fill_staged_kernel(SlicedRows rows, std::int64_t groups, const From* from, To* to) {
  __shared__ To staged[warps_per_block][warp_size][warp_size + 1];
  const std::int64_t group = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_size;
  if (group >= groups) return;
  auto& tile = staged[threadIdx.x / warp_size];
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const LaneRow of_lane(rows, group);
  for (int k0 = 0; k0 < rows.width; k0 += warp_size) {
#pragma unroll 8
    for (int r = 0; r < warp_size; ++r) {
      const int of_row = __shfl_sync(full_warp, of_lane.length, r);
      const offset_t first = __shfl_sync(full_warp, of_lane.begin, r);
      tile[r][lane] = k0 + lane < of_row ? static_cast<To>(from[first + k0 + lane]) : To{0};
    }
    __syncwarp();
    const int count = rows.width - k0 < warp_size ? rows.width - k0 : warp_size;
    for (int k = 0; k < count; ++k) to[padded_place(rows, of_lane.row, k0 + k)] = tile[lane][k];
    __syncwarp();
  }
}

}  // namespace

Array<std::uint8_t> arrange_codes(const Device& device, const Array<std::uint8_t>& codes, const SliceShape& shape,
                                  int none) {
  const std::int64_t rows = codes.size();
  const int per_lane = shape.rows_per_lane;
  const std::int64_t places = shape.slices(static_cast<index_t>(rows)) * 32 * per_lane;
  Array<std::uint8_t> result(places, Init::none, device);
  const std::uint8_t* const from = codes.data();
  std::uint8_t* const to = result.data();
  for_each(device, places, [=] __device__(std::int64_t row) {
    to[code_place(row, per_lane)] = row < rows ? from[row] : static_cast<std::uint8_t>(none);
  });
  return result;
}

Array<offset_t> slice_begins(const Device& device, std::span<const offset_t> row_offsets, const SliceShape& shape) {
  const auto rows = static_cast<std::int64_t>(row_offsets.size()) - 1;
  const std::int64_t count = shape.slices(static_cast<index_t>(rows)) * shape.rows_per_lane;
  Array<offset_t> result(count, Init::none, device);
  const offset_t* const offsets = row_offsets.data();
  offset_t* const to = result.data();
  for_each(device, count, [=] __device__(std::int64_t slice) {
    const std::int64_t row = slice * warp_size;
    to[slice] = offsets[row < rows ? row : rows];
  });
  return result;
}

Array<index_t> lengths_of(const Device& device, std::span<const offset_t> row_offsets, const Array<index_t>& rows) {
  Array<index_t> result(rows.size(), Init::none, device);
  const offset_t* const offsets = row_offsets.data();
  const index_t* const row = rows.data();
  index_t* const to = result.data();
  for_each(device, rows.size(),
           [=] __device__(std::int64_t i) { to[i] = static_cast<index_t>(offsets[row[i] + 1] - offsets[row[i]]); });
  return result;
}

std::int64_t value_places(index_t rows, offset_t nnz, int width, const SliceShape& shape) noexcept {
  if (shape.jagged) return nnz + warp_size;
  return shape.slices(rows) * warp_size * shape.rows_per_lane * width;
}

template <class From, class To>
void fill_pattern_values(const Device& device, const SlicedRows& rows, std::span<const From> from, std::span<To> to) {
  const std::int64_t groups = rows.shape.slices(rows.rows) * rows.shape.rows_per_lane;
  if (groups == 0 || rows.width == 0) return;
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  const Grid grid{blocks_for(groups, warps_per_block), threads};
  if (!rows.shape.jagged && rows.width >= width_worth_staging) {
    launch("values of rows by slices", context, grid, fill_staged_kernel<From, To>, rows, groups, from.data(),
           to.data());
  } else {
    launch("values of rows by slices", context, grid, fill_by_lanes_kernel<From, To>, rows, groups, from.data(),
           to.data());
  }
}

template void fill_pattern_values(const Device&, const SlicedRows&, std::span<const float>, std::span<float>);
template void fill_pattern_values(const Device&, const SlicedRows&, std::span<const double>, std::span<double>);
template void fill_pattern_values(const Device&, const SlicedRows&, std::span<const double>, std::span<float>);

template <class T>
bool templates_hold(const Device& device, const SlicedRows& rows, std::span<const T> values, const T* list_values) {
  using Source = RowSource<T, true>;
  const T* const from = values.data();
  // Whole warps, whose lanes find the beginnings of their rows together.
  const std::int64_t groups = rows.shape.slices(rows.rows) * rows.shape.rows_per_lane;
  const auto other = fused_sum<1>(device, groups * warp_size, [=] __device__(std::int64_t i, double* sums) {
    const LaneRow own(rows, i / warp_size);
    for (int k = 0; k < own.length; ++k) {
      const T kept = list_values[static_cast<std::int64_t>(own.code) * rows.width + k];
      if (Source::bits_of(from[own.begin + k]) == Source::bits_of(kept)) continue;
      sums[0] += 1.0;
      return;
    }
  });
  return other[0] == 0.0;
}

template bool templates_hold(const Device&, const SlicedRows&, std::span<const float>, const float*);
template bool templates_hold(const Device&, const SlicedRows&, std::span<const double>, const double*);

}  // namespace tessera::cuda
