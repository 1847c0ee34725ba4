/// \file
/// Sorting rows by length inside windows (SELL-C-σ; Kreutzer et al., SIAM J. Sci. Comput. 36, 2014): a block per
/// window, a radix sort bit by bit in shared memory (Blelloch, 1990), which is stable.
#include "core/cuda/launch.cuh"
#include "spmv/sell/sell_rows.cuh"
#include "spmv/sell/sell_slices.hpp"

#include <bit>

namespace tessera::cuda {

using namespace detail;

namespace {

constexpr int threads = 256;
constexpr int rows_of_thread = sell_window_rows / threads;
static_assert(sell_window_rows <= 0x10000, "a row of a window is named by 16 bits");

/// Where the facts of sorted rows go: as SellSlices.
struct SortedRowFacts {
  int rows_per_lane;
  std::uint16_t* lengths;
  std::uint16_t* order;
  std::uint32_t* csr_first;
  offset_t* csr_begin;

  /// \param number of the row among those of its window, sorted
  __device__ void store(const SlicedCsr& csr, std::int64_t window, int number, std::uint32_t item) const {
    const std::int64_t begin = window * sell_window_rows;
    const std::int64_t group = (begin + number) / warp_size;
    const std::int64_t slice = group / rows_per_lane;
    const std::int64_t place = (slice * warp_size + number % warp_size) * rows_per_lane + group % rows_per_lane;
    const std::int64_t row = begin + (item & 0xffffu);
    lengths[place] = static_cast<std::uint16_t>(item >> 16);
    order[place] = static_cast<std::uint16_t>(item);
    csr_first[place] = static_cast<std::uint32_t>(csr.offsets[row < csr.rows ? row : csr.rows] - csr.offsets[begin]);
  }
};

/// Long rows and those beyond the end have length 0. \param bits of a length
__global__ void __launch_bounds__(threads) sort_window_kernel(SlicedCsr csr, int bits, SortedRowFacts to) {
  __shared__ std::uint32_t items[sell_window_rows];
  __shared__ int of_warps[threads / warp_size];
  const std::int64_t window = blockIdx.x;
  const int first = static_cast<int>(threadIdx.x) * rows_of_thread;
  // The length above the row.
  std::uint32_t own[rows_of_thread];
  for (int j = 0; j < rows_of_thread; ++j) {
    offset_t whole = 0;
    const int length = csr.sliced_length(window * sell_window_rows + first + j, whole);
    own[j] = static_cast<std::uint32_t>(length) << 16 | static_cast<std::uint32_t>(first + j);
  }
  for (int bit = 16; bit < 16 + bits; ++bit) {
    int ones = 0;
    for (const std::uint32_t item : own) ones += static_cast<int>(item >> bit & 1u);
    const BlockSum<int> sum = running_sum_in_block<threads, true>(ones, of_warps);
    int ones_before = sum.before;
    for (int j = 0; j < rows_of_thread; ++j) {
      const bool is_one = (own[j] >> bit & 1u) != 0;
      items[is_one ? ones_before : sum.total + first + j - ones_before] = own[j];
      ones_before += is_one ? 1 : 0;
    }
    __syncthreads();
    for (int j = 0; j < rows_of_thread; ++j) own[j] = items[first + j];
  }
  for (int j = 0; j < rows_of_thread; ++j) to.store(csr, window, first + j, own[j]);
  if (threadIdx.x == 0) to.csr_begin[window] = csr.offsets[window * sell_window_rows];
}

}  // namespace

void sort_sell_rows(const Device& device, std::span<const offset_t> row_offsets, const SellCensus& census,
                    SellSlices& slices) {
  const std::int64_t windows = blocks_for(slices.rows, sell_window_rows);
  const std::int64_t places = windows * sell_window_rows;
  slices.order = Array<std::uint16_t>(places, Init::none, device);
  slices.csr_first = Array<std::uint32_t>(places, Init::none, device);
  slices.csr_begin = Array<offset_t>(windows, Init::none, device);
  const SortedRowFacts facts{slices.shape.rows_per_lane, slices.lengths.data(), slices.order.data(),
                             slices.csr_first.data(), slices.csr_begin.data()};
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint32_t>(census.longest)));
  launch("sort of rows by length", Context::of(device), Grid{static_cast<unsigned>(windows), threads},
         sort_window_kernel, SlicedCsr{slices.rows, census.long_rows.limit, row_offsets.data()}, bits, facts);
}

}  // namespace tessera::cuda
