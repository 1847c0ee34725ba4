/// \file
/// Sorting rows by length inside windows (SELL-C-σ; Kreutzer et al., SIAM J. Sci. Comput. 36, 2014): a block for as
/// many rows as the largest window has, a radix sort bit by bit in shared memory (Blelloch, 1990), which is stable.
#include "core/cuda/launch.cuh"
#include "spmv/sell/sell_rows.cuh"
#include "spmv/sell/sell_slices.hpp"

#include <bit>

namespace tessera::cuda {

using namespace detail;

namespace {

constexpr int threads = 256;
constexpr int rows_of_thread = largest_sell_window / threads;

/// An item, sorted in descending order: a row's window, counted from the last one of the block, its length, and its
/// number in the block, by which nothing is sorted.
constexpr int number_bits = std::bit_width(static_cast<unsigned>(largest_sell_window)) - 1;
constexpr int length_bits = std::bit_width(static_cast<unsigned>(longest_row_of_slices));
static_assert(1 << number_bits == largest_sell_window && number_bits <= 16 && number_bits + length_bits < 28);

/// Where the facts of sorted rows go: as SellSlices.
struct SortedRowFacts {
  int rows_per_lane;
  int window_rows;  ///< a power of two
  std::int64_t places;
  std::uint16_t* lengths;
  std::uint16_t* order;
  std::uint32_t* csr_first;
  offset_t* csr_begin;

  /// \param sorted number of the item among all
  __device__ void store(const SlicedCsr& csr, std::int64_t sorted, std::uint32_t item) const {
    if (sorted >= places) return;
    const std::int64_t window = sorted / window_rows;
    const std::int64_t group = sorted / warp_size;
    const std::int64_t place =
        (group / rows_per_lane * warp_size + sorted % warp_size) * rows_per_lane + group % rows_per_lane;
    const int in_window = static_cast<int>(item) & (window_rows - 1);
    const std::int64_t row = window * window_rows + in_window;
    const offset_t begin = csr.offsets[window * window_rows];
    lengths[place] = static_cast<std::uint16_t>(item >> number_bits & ((1u << length_bits) - 1));
    order[place] = static_cast<std::uint16_t>(in_window);
    csr_first[place] = static_cast<std::uint32_t>(csr.offsets[row < csr.rows ? row : csr.rows] - begin);
    if (sorted % window_rows == 0) csr_begin[window] = begin;
  }
};

/// Items with the bit come first, else the order stays. Every thread must call. \param own consecutive items
__device__ void split_by_bit(int bit, std::uint32_t* items, std::uint32_t (&own)[rows_of_thread]) {
  __shared__ int of_warps[threads / warp_size];
  const int first = static_cast<int>(threadIdx.x) * rows_of_thread;
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

/// Long rows and those beyond the end have length 0. \param bits of a length
__global__ void __launch_bounds__(threads) sort_rows_kernel(SlicedCsr csr, int bits, SortedRowFacts to) {
  __shared__ std::uint32_t items[largest_sell_window];
  const int first = static_cast<int>(threadIdx.x) * rows_of_thread;
  const std::int64_t first_of_all = std::int64_t{blockIdx.x} * largest_sell_window + first;
  const int windows = largest_sell_window / to.window_rows;
  std::uint32_t own[rows_of_thread];
  for (int j = 0; j < rows_of_thread; ++j) {
    offset_t whole = 0;
    const int length = csr.sliced_length(first_of_all + j, whole);
    const int windows_after = windows - 1 - (first + j) / to.window_rows;
    own[j] = static_cast<std::uint32_t>((windows_after << length_bits | length) << number_bits | (first + j));
  }
  for (int bit = 0; bit < bits; ++bit) split_by_bit(number_bits + bit, items, own);
  for (int bit = 0; 1 << bit < windows; ++bit) split_by_bit(number_bits + length_bits + bit, items, own);
  for (int j = 0; j < rows_of_thread; ++j) to.store(csr, first_of_all + j, own[j]);
}

}  // namespace

void sort_sell_rows(const Device& device, std::span<const offset_t> row_offsets, const SellCensus& census,
                    SellSlices& slices) {
  const SellShape& shape = slices.shape;
  const std::int64_t places = shape.slices(slices.rows) * warp_size * shape.rows_per_lane;
  slices.order = Array<std::uint16_t>(places, Init::none, device);
  slices.csr_first = Array<std::uint32_t>(places, Init::none, device);
  slices.csr_begin = Array<offset_t>(places / shape.window_rows, Init::none, device);
  const SortedRowFacts facts{shape.rows_per_lane,    shape.window_rows,   places,
                             slices.lengths.data(),  slices.order.data(), slices.csr_first.data(),
                             slices.csr_begin.data()};
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint32_t>(census.longest)));
  launch("sort of rows by length", Context::of(device), Grid{blocks_for(places, largest_sell_window), threads},
         sort_rows_kernel, SlicedCsr{slices.rows, census.long_rows.limit, row_offsets.data()}, bits, facts);
}

}  // namespace tessera::cuda
