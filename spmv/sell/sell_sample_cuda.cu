/// \file
/// A sample for sliced ELL: one block looks at slices of 32 rows and at their lengths, another at values.
#include "core/cuda/launch.cuh"
#include "spmv/sell/sell.hpp"

namespace tessera::cuda {

using namespace detail;

namespace {

constexpr int threads = 256;
constexpr int warps = threads / warp_size;
/// Slices of 32 rows that a warp looks at.
constexpr int slices_per_warp = 16;
constexpr std::int64_t most_slices = std::int64_t{warps} * slices_per_warp;

/// What the rows of a slice add to the sample.
struct Counts {
  unsigned rows = 0;
  unsigned nonzeros = 0;
  unsigned far_rows = 0;
  unsigned long_rows = 0;
  unsigned padded = 0;
};

[[nodiscard]] __device__ unsigned count_lanes(bool holds) {
  return static_cast<unsigned>(__popc(__ballot_sync(full_warp, holds ? 1 : 0)));
}

/// Every lane must call; lane 0 gets the counts.
__device__ void look_at_slice(std::int64_t slice, index_t rows, index_t limit, const offset_t* offsets,
                              const index_t* columns, unsigned* of_length, Counts& counts) {
  const std::int64_t row = slice * warp_size + threadIdx.x % warp_size;
  const bool exists = row < rows;
  const offset_t begin = exists ? __ldg(offsets + row) : 0;
  const offset_t whole = exists ? __ldg(offsets + row + 1) - begin : 0;
  const bool is_long = whole > limit;
  const unsigned length = is_long ? 0 : static_cast<unsigned>(whole);
  bool is_far = false;
  if (length > 0) {
    is_far = row - __ldg(columns + begin) > farthest_relative_column ||
             __ldg(columns + begin + length - 1) - row > farthest_relative_column;
  }
  if (length > 0) atomicAdd(of_length + length, 1u);
  unsigned sum = length;
  unsigned most = length;
  for (int distance = warp_size / 2; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(full_warp, sum, distance);
    const unsigned other = __shfl_xor_sync(full_warp, most, distance);
    most = most > other ? most : other;
  }
  counts.rows += count_lanes(exists);
  counts.nonzeros += sum;
  counts.far_rows += count_lanes(is_far);
  counts.long_rows += count_lanes(is_long);
  counts.padded += warp_size * most;
}

/// Places of sorted rows where every window is like the sample: a slice is as wide as its first row. One slice per
/// thread. \param of_length how many rows have it \param slice_rows of the sample in a slice
__device__ unsigned sorted_places(const unsigned* of_length, index_t limit, unsigned slice_rows) {
  const unsigned first = threadIdx.x * slice_rows;
  unsigned longer = 0;
  for (index_t length = limit; length > 0; --length) {
    longer += of_length[length];
    if (longer > first) return static_cast<unsigned>(length) * slice_rows;
  }
  return 0;
}

/// One block. \param slice_rows,window_slices of the slices of sorted rows
__global__ void __launch_bounds__(threads)
    sample_rows_kernel(index_t rows, index_t limit, unsigned slice_rows, unsigned window_slices,
                       const offset_t* offsets, const index_t* columns, SellSample* to) {
  __shared__ unsigned total[6];
  __shared__ unsigned of_length[longest_row_of_slices + 1];
  if (threadIdx.x < 6) total[threadIdx.x] = 0;
  for (index_t i = static_cast<index_t>(threadIdx.x); i <= limit; i += threads) of_length[i] = 0;
  __syncthreads();
  const std::int64_t slices = (std::int64_t{rows} + warp_size - 1) / warp_size;
  const std::int64_t sampled = slices < most_slices ? slices : most_slices;
  Counts counts;
#pragma unroll 4
  for (int i = 0; i < slices_per_warp; ++i) {
    const std::int64_t number = std::int64_t{i} * warps + threadIdx.x / warp_size;
    if (number >= sampled) break;
    look_at_slice(sampled_position(number, sampled, slices), rows, limit, offsets, columns, of_length, counts);
  }
  if (threadIdx.x % warp_size == 0) {
    atomicAdd(total, counts.rows);
    atomicAdd(total + 1, counts.nonzeros);
    atomicAdd(total + 2, counts.far_rows);
    atomicAdd(total + 3, counts.long_rows);
    atomicAdd(total + 4, counts.padded);
  }
  __syncthreads();
  const unsigned of_window = (total[0] + window_slices - 1) / window_slices;
  atomicAdd(total + 5, sorted_places(of_length, limit, of_window < slice_rows ? slice_rows : of_window));
  __syncthreads();
  if (threadIdx.x != 0) return;
  to->rows = total[0];
  to->nonzeros = total[1];
  to->far_rows = total[2];
  to->long_rows = total[3];
  to->padded_nonzeros = total[4];
  to->sorted_nonzeros = total[5];
}

}  // namespace

template <class T>
SellSample sample_for_sell(const CsrView<T>& on_device, const Device& device) {
  SellSample sample;
  if (on_device.rows == 0 || on_device.nnz() == 0) return sample;
  Array<SellSample> found(1, Init::zero, device);
  const DeviceGuard current(device);
  const double mean = static_cast<double>(on_device.nnz()) / on_device.rows;
  const Context& context = Context::of(device);
  const int of_lane = sell_rows_per_lane(mean <= sell_short_chunk ? sell_short_chunk : sell_long_chunk);
  const auto slice_rows = static_cast<unsigned>(warp_size * of_lane);
  const auto window_rows = static_cast<unsigned>(sell_window_rows(on_device.rows, of_lane, context.multiprocessors()));
  launch("sample of rows", context, Grid{1, threads}, sample_rows_kernel, on_device.rows, longest_sliced_row(mean),
         slice_rows, window_rows / slice_rows, on_device.row_offsets.data(), on_device.columns.data(), found.data());
  if (!on_device.is_pattern()) enqueue_value_sample<T>(device, on_device.values, &found.data()->values);
  copy_bytes(Device{}, &sample, device, found.data(), sizeof(sample));
  return sample;
}

template SellSample sample_for_sell(const CsrView<float>&, const Device&);
template SellSample sample_for_sell(const CsrView<double>&, const Device&);

}  // namespace tessera::cuda
