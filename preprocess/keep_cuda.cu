/// \file
/// Sparsification by rows on a GPU: a warp per row, the limit of a row by radix select (Alabi et al.).
#include "core/cuda/scan.hpp"
#include "core/cuda/warp.cuh"
#include "preprocess/keep_rows.hpp"
#include "preprocess/row_warps.cuh"

#include <cstdint>
#include <utility>

namespace tessera::cuda {

using namespace detail;

namespace {

constexpr int digit_bits = 8;
constexpr int digits = 1 << digit_bits;
constexpr int digits_of_lane = digits / warp_size;

template <class V>
[[nodiscard]] __device__ V largest_of_lanes(V value) {
  for (int distance = warp_size / 2; distance > 0; distance /= 2) {
    const V other = __shfl_xor_sync(full_warp, value, distance);
    if (other > value) value = other;
  }
  return value;
}

/// Number of the highest bit that is set, from 1; 0 for none.
template <class Bits>
[[nodiscard]] __device__ int bit_width_of(Bits bits) {
  int width = 0;
  for (; bits != 0; bits >>= 1) ++width;
  return width;
}

template <class T>
struct RowOfWarp {
  using Bits = MagnitudeBits<T>;

  const KeepRule<T>& rule;
  std::int64_t row;
  int lane;

  /// visit(magnitude, always stays) for the entries of this lane.
  template <class Visit>
  __device__ void visit(const Visit& visit) const {
    const offset_t end = rule.a.offsets[row + 1];
    for (offset_t k = rule.a.offsets[row] + lane; k < end; k += warp_size) {
      const Bits magnitude = rule.bits(k);
      visit(magnitude, rule.always_stays(row, k, magnitude));
    }
  }

  /// The same in every lane.
  [[nodiscard]] __device__ KeepCounts<T> look() const {
    Bits largest = 0;
    visit([&](Bits magnitude, bool /*always*/) {
      if (magnitude < KeepRule<T>::not_finite && magnitude > largest) largest = magnitude;
    });
    largest = largest_of_lanes(largest);
    KeepCounts<T> counts;
    visit([&](Bits magnitude, bool always) {
      if (always) {
        ++counts.always;
      } else if (rule.is_large(magnitude, largest)) {
        counts.add_candidate(magnitude);
      }
    });
    counts.always = sum_over_lanes(counts.always);
    counts.candidates = sum_over_lanes(counts.candidates);
    counts.smallest = ~largest_of_lanes(static_cast<Bits>(~counts.smallest));
    counts.largest = largest_of_lanes(counts.largest);
    return counts;
  }

  /// The cut below which `room` candidates lie, fewer than there are. Digits from the highest bit in which candidates
  /// differ on. \param histogram of this warp, in shared memory
  [[nodiscard]] __device__ RowCut<T> select(const KeepCounts<T>& counts, offset_t room, unsigned* histogram) const {
    int bits = bit_width_of(static_cast<Bits>(counts.smallest ^ counts.largest));
    Bits prefix = counts.largest >> bits;
    while (bits > 0) {
      const int width = bits < digit_bits ? bits : digit_bits;
      const int shift = bits - width;
      for (int d = lane; d < digits; d += warp_size) histogram[d] = 0;
      __syncwarp();
      visit([&](Bits magnitude, bool always) {
        if (always || magnitude < counts.smallest || magnitude >> bits != prefix) return;
        atomicAdd(&histogram[magnitude >> shift & ((Bits{1} << width) - 1)], 1U);
      });
      __syncwarp();
      const DigitCut cut = digit_of(histogram, static_cast<unsigned>(room));
      __syncwarp();
      prefix = prefix << width | static_cast<Bits>(cut.digit);
      room -= cut.above;
      bits = shift;
      if (cut.count == room) break;  // all with this prefix stay; not those of the smallest, as some candidates go
    }
    return {static_cast<Bits>(prefix << bits), room};
  }

 private:
  /// The digit that the room-th largest has.
  struct DigitCut {
    unsigned digit, above, count;
  };

  /// Lane l holds the digits below digits - 8 l.
  [[nodiscard]] __device__ DigitCut digit_of(const unsigned* histogram, unsigned room) const {
    const int first = digits - 1 - lane * digits_of_lane;
    unsigned mine = 0;
    for (int d = 0; d < digits_of_lane; ++d) mine += histogram[first - d];
    unsigned above = sum_up_to_lane(mine) - mine;
    const bool holds = above < room && room <= above + mine;
    DigitCut cut{0, 0, 0};
    if (holds) {
      int d = first;
      while (above + histogram[d] < room) above += histogram[d--];
      cut = {static_cast<unsigned>(d), above, histogram[d]};
    }
    const int owner = __ffs(static_cast<int>(__ballot_sync(full_warp, holds))) - 1;
    return {__shfl_sync(full_warp, cut.digit, owner), __shfl_sync(full_warp, cut.above, owner),
            __shfl_sync(full_warp, cut.count, owner)};
  }
};

/// The cut of every row, and how many of its entries stay.
template <class T>
__global__ void __launch_bounds__(row_threads)
    cut_rows_kernel(index_t rows, KeepRule<T> rule, RowCut<T>* cuts, offset_t* kept) {
  __shared__ unsigned histograms[rows_of_block][digits];
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const int warp = static_cast<int>(threadIdx.x / warp_size);
  const std::int64_t stride = std::int64_t{gridDim.x} * rows_of_block;
  for (std::int64_t row = std::int64_t{blockIdx.x} * rows_of_block + warp; row < rows; row += stride) {
    const RowOfWarp<T> of_warp{rule, row, lane};
    const KeepCounts<T> counts = of_warp.look();
    const offset_t room = counts.room(rule.most);
    RowCut<T> cut{counts.smallest, room};
    if (room == 0) {
      cut.least = ~MagnitudeBits<T>{0};
    } else if (room < counts.candidates) {
      cut = of_warp.select(counts, room, histograms[warp]);
    }
    if (lane == 0) {
      cuts[row] = cut;
      kept[row] = counts.always + room;
    }
  }
}

template <class T>
void enqueue_cuts(const Device& device, index_t rows, const KeepRule<T>& rule, RowCut<T>* cuts, offset_t* kept) {
  if (rows == 0) return;
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  const auto enough = static_cast<unsigned>(context.multiprocessors() * 64);
  const unsigned needed = blocks_for(rows, rows_of_block);
  launch("cuts of rows", context, Grid{needed < enough ? needed : enough, row_threads}, cut_rows_kernel<T>, rows, rule,
         cuts, kept);
}

/// The entries that stay. \param offsets of the rows of the result
template <class T>
void enqueue_kept(const Device& device, index_t rows, const KeepRule<T>& rule, const RowCut<T>* cuts,
                  const offset_t* offsets, index_t* columns, T* values) {
  for_each_row(device, rows, [=] __device__(std::int64_t row, int lane) {
    const RowCut<T> cut = cuts[row];
    const unsigned before = (1U << lane) - 1;
    offset_t ties = 0;
    offset_t target = offsets[row];
    const offset_t end = rule.a.offsets[row + 1];
    for (offset_t first = rule.a.offsets[row]; first < end; first += warp_size) {
      const offset_t k = first + lane;
      const MagnitudeBits<T> magnitude = k < end ? rule.bits(k) : 0;
      const bool always = k < end && rule.always_stays(row, k, magnitude);
      const unsigned tied = __ballot_sync(full_warp, k < end && !always && magnitude == cut.least);
      const bool stays = always || (k < end && KeepRule<T>::stays(magnitude, cut, ties + __popc(tied & before)));
      const unsigned kept = __ballot_sync(full_warp, stays);
      if (stays) {
        const offset_t mine = target + __popc(kept & before);
        columns[mine] = rule.a.columns[k];
        if (values != nullptr) values[mine] = rule.a.values[k];
      }
      ties += __popc(tied);
      target += __popc(kept);
    }
  });
}

}  // namespace

template <class T>
Csr<T> keep_entries(const CsrView<T>& a, const Keep& keep, index_t first_row, const Device& device) {
  const KeepRule<T> rule{pointers_of(a), keep.tolerance, keep.most, keep.diagonal, first_row};
  Array<RowCut<T>> cuts(a.rows, Init::none, device);
  Array<offset_t> offsets(std::int64_t{a.rows} + 1, Init::zero, device);
  enqueue_cuts(device, a.rows, rule, cuts.data(), offsets.data());
  const offset_t kept = exclusive_sum(device, offsets.span());
  Array<index_t> columns(kept, Init::none, device);
  Array<T> values(a.is_pattern() ? 0 : kept, Init::none, device);
  enqueue_kept(device, a.rows, rule, cuts.data(), offsets.data(), columns.data(), values.data());
  if (a.is_pattern()) return Csr<T>::pattern(a.rows, a.cols, std::move(offsets), std::move(columns), Check::trusted);
  return Csr<T>(a.rows, a.cols, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

template Csr<float> keep_entries(const CsrView<float>&, const Keep&, index_t, const Device&);
template Csr<double> keep_entries(const CsrView<double>&, const Keep&, index_t, const Device&);

}  // namespace tessera::cuda
