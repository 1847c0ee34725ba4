/// \file
/// Slices of sliced ELL: the places of rows, and columns and values brought there.
#include "core/cuda/launch.cuh"
#include "core/cuda/scan.hpp"
#include "core/cuda/warp.cuh"
#include "spmv/sell/sell_rows.cuh"
#include "spmv/sell/sell_slices.hpp"

#include <cstddef>
#include <type_traits>

namespace tessera::cuda {

using namespace detail;

namespace {

constexpr int threads = 128;
constexpr int warps_per_block = threads / warp_size;
/// From so many nonzeros per row on, rows pass through shared memory: read by neighbouring lanes, written by
/// neighbouring rows.
constexpr double mean_worth_staging = 9.0;

/// A warp per 32 neighbouring rows: their first nonzero, and lengths by slices.
__global__ void __launch_bounds__(threads) neighbour_rows_kernel(SlicedCsr csr, int rows_per_lane, std::int64_t groups,
                                                                 std::uint16_t* lengths, offset_t* csr_begin) {
  const std::int64_t group = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_size;
  if (group >= groups) return;
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  const std::int64_t row = group * warp_size + lane;
  offset_t whole = 0;
  const int length = csr.sliced_length(row, whole);
  const std::int64_t place = (group / rows_per_lane * warp_size + lane) * rows_per_lane + group % rows_per_lane;
  lengths[place] = whole > csr.limit ? length_of_long_row : static_cast<std::uint16_t>(length);
  if (lane == 0) csr_begin[group] = csr.offsets[row < csr.rows ? row : csr.rows];
}

/// A warp per 32 rows: which of them are long, and how many.
__global__ void __launch_bounds__(threads)
    mark_long_rows_kernel(SlicedCsr csr, std::int64_t groups, std::uint32_t* bits, offset_t* counts) {
  const std::int64_t group = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_size;
  if (group >= groups) return;
  offset_t whole = 0;
  static_cast<void>(csr.sliced_length(group * warp_size + threadIdx.x % warp_size, whole));
  const unsigned are_long = __ballot_sync(full_warp, whole > csr.limit ? 1 : 0);
  if (threadIdx.x % warp_size != 0) return;
  bits[group] = are_long;
  counts[group] = __popc(are_long);
}

__global__ void __launch_bounds__(threads)
    collect_long_rows_kernel(SlicedCsr csr, std::int64_t groups, const offset_t* before, index_t* rows,
                             index_t* lengths) {
  const std::int64_t group = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_size;
  if (group >= groups) return;
  const unsigned lane = threadIdx.x % warp_size;
  const std::int64_t row = group * warp_size + lane;
  offset_t whole = 0;
  static_cast<void>(csr.sliced_length(row, whole));
  const unsigned are_long = __ballot_sync(full_warp, whole > csr.limit ? 1 : 0);
  if (whole <= csr.limit) return;
  const offset_t at = before[group] + __popc(are_long & ((1u << lane) - 1));
  rows[at] = static_cast<index_t>(row);
  lengths[at] = static_cast<index_t>(whole);
}

/// A warp per slice: its places; 0 for the one beyond the end.
__global__ void __launch_bounds__(threads)
    places_kernel(const std::uint16_t* lengths, int rows_per_lane, std::int64_t slices, offset_t* places) {
  const std::int64_t slice = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_size;
  if (slice > slices) return;
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  int width = 0;
  for (int r = 0; r < rows_per_lane && slice < slices; ++r) {
    const std::uint16_t length = lengths[(slice * rows_per_lane + r) * warp_size + lane];
    if (length != length_of_long_row && width < length) width = length;
  }
  width = most_of_lanes(width);
  if (lane == 0) places[slice] = offset_t{width} * warp_size * rows_per_lane;
}

/// What fills read of SellSlices.
struct SlicePlaces {
  index_t rows;
  int rows_per_lane;
  int window_rows;
  index_t width;
  const std::uint16_t* lengths;
  const std::uint16_t* order;
  const std::uint32_t* csr_first;
  const offset_t* csr_begin;
  const offset_t* begin;
  const index_t* long_rows;
  const index_t* long_lengths;
  std::int64_t long_count;
};

/// The row of a lane, among 32 rows of a warp, and where its entries go.
struct LaneOfSlice {
  std::int64_t row;
  int length = 0;      ///< 0 for a long one, and beyond the end
  offset_t first = 0;  ///< its first nonzero in CSR
  offset_t base = 0;   ///< first place of the slice
  int width = 0;
  int r = 0;  ///< which row of its lane

  /// Every lane must call.
  __device__ LaneOfSlice(const SlicePlaces& p, std::int64_t group)
      : row(group * warp_size + threadIdx.x % warp_size), r(static_cast<int>(group % p.rows_per_lane)) {
    const std::int64_t slice = group / p.rows_per_lane;
    const std::int64_t own = (slice * warp_size + threadIdx.x % warp_size) * p.rows_per_lane + r;
    const std::uint16_t kept = p.lengths[own];
    length = kept == length_of_long_row ? 0 : kept;
    if (p.order != nullptr) {
      const std::int64_t window = group * warp_size / p.window_rows;
      row = window * p.window_rows + p.order[own];
      first = p.csr_begin[window] + p.csr_first[own];
    } else {
      const int whole = kept == length_of_long_row ? length_of(p, static_cast<index_t>(row)) : length;
      first = p.csr_begin[group] + sum_up_to_lane(whole) - whole;
    }
    if (p.begin == nullptr) {
      width = p.width;
      base = slice * width * (warp_size * p.rows_per_lane);
    } else {
      base = p.begin[slice];
      width = static_cast<int>((p.begin[slice + 1] - base) / (warp_size * p.rows_per_lane));
    }
  }

  [[nodiscard]] __device__ static int length_of(const SlicePlaces& p, index_t row) {
    std::int64_t first = 0;
    for (std::int64_t count = p.long_count; count > 1;) {
      const std::int64_t half = count / 2;
      if (p.long_rows[first + half] <= row) first += half;
      count -= half;
    }
    return p.long_lengths[first];
  }
};

/// Puts entry k of the row of a lane where it belongs.
template <class Store>
__device__ void put(const SlicePlaces& p, const LaneOfSlice& own, int k, const typename Store::From& entry,
                    const Store& store) {
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  // Wide entries: row after row of a lane, each by one load of a warp. Narrow ones: the rows of a lane by one load.
  const int within = Store::narrow ? (k * warp_size + lane) * p.rows_per_lane + own.r
                                   : (k * p.rows_per_lane + own.r) * warp_size + lane;
  if (k < own.length) {
    store.store(own.base + within, own.row, entry);
  } else {
    store.pad(own.base + within);
  }
}

/// A warp per 32 rows. \tparam Staged whether 32 entries of each row at a time pass through shared memory
template <class Store, bool Staged>
__global__ void __launch_bounds__(threads)
    fill_slices_kernel(SlicePlaces p, std::int64_t groups, const typename Store::From* from, Store store) {
  using From = typename Store::From;
  __shared__ From staged[Staged ? warps_per_block : 1][Staged ? warp_size : 1][warp_size + 1];
  const std::int64_t group = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_size;
  if (group >= groups) return;
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  const LaneOfSlice own(p, group);
  if constexpr (Staged) {
    auto& tile = staged[threadIdx.x / warp_size];
    for (int k0 = 0; k0 < own.width; k0 += warp_size) {
#pragma unroll 8
      for (int r = 0; r < warp_size; ++r) {
        const int length = __shfl_sync(full_warp, own.length, r);
        const offset_t first = __shfl_sync(full_warp, own.first, r);
        if (k0 + lane < length) tile[r][lane] = from[first + k0 + lane];
      }
      __syncwarp();
      const int count = own.width - k0 < warp_size ? own.width - k0 : warp_size;
      for (int k = 0; k < count; ++k) {
        const From entry = k0 + k < own.length ? tile[lane][k] : From{0};
        put(p, own, k0 + k, entry, store);
      }
      __syncwarp();
    }
  } else {
#pragma unroll 4
    for (int k = 0; k < own.width; ++k) {
      const From entry = k < own.length ? from[own.first + k] : From{0};
      put(p, own, k, entry, store);
    }
  }
}

struct StoreColumn {
  using From = index_t;
  static constexpr bool narrow = false;
  index_t* to;
  __device__ void store(offset_t place, std::int64_t /*row*/, index_t column) const { to[place] = column; }
  __device__ void pad(offset_t place) const { to[place] = -1; }
};
struct StoreRelativeColumn {
  using From = index_t;
  static constexpr bool narrow = true;
  std::uint16_t* to;
  __device__ void store(offset_t place, std::int64_t row, index_t column) const {
    to[place] = static_cast<std::uint16_t>(column - row + farthest_relative_column + 1);
  }
  __device__ void pad(offset_t place) const { to[place] = 0; }
};
template <class FromValue, class To>
struct StoreValue {
  using From = FromValue;
  static constexpr bool narrow = false;
  To* to;
  __device__ void store(offset_t place, std::int64_t /*row*/, From value) const { to[place] = static_cast<To>(value); }
  __device__ void pad(offset_t place) const { to[place] = To{0}; }
};
template <class T>
struct StoreCode {
  using From = T;
  static constexpr bool narrow = true;
  std::uint8_t* to;
  ValueCoder<T> coder;
  std::uint8_t none;
  __device__ void store(offset_t place, std::int64_t /*row*/, T value) const {
    to[place] = static_cast<std::uint8_t>(coder.code(value));
  }
  __device__ void pad(offset_t place) const { to[place] = none; }
};

template <class Store>
void fill(const Device& device, const SellSlices& slices, const typename Store::From* from, std::size_t nnz,
          const Store& store) {
  const std::int64_t groups = slices.shape.slices(slices.rows) * slices.shape.rows_per_lane;
  if (groups == 0 || slices.shape.places == 0) return;
  const SlicePlaces places{
      slices.rows,           slices.shape.rows_per_lane, slices.shape.window_rows,   slices.shape.width,
      slices.lengths.data(), slices.order.data(),        slices.csr_first.data(),    slices.csr_begin.data(),
      slices.begin.data(),   slices.long_rows.data(),    slices.long_lengths.data(), slices.long_rows.size()};
  const DeviceGuard current(device);
  const Grid grid{blocks_for(groups, warps_per_block), threads};
  const bool staged = static_cast<double>(nnz) >= mean_worth_staging * slices.rows;
  launch("entries by slices", Context::of(device), grid,
         staged ? fill_slices_kernel<Store, true> : fill_slices_kernel<Store, false>, places, groups, from, store);
}

/// Numbers, lengths and bits of long rows.
void find_long_rows(const Device& device, const SlicedCsr& csr, std::int64_t count, SellSlices& to) {
  const Context& context = Context::of(device);
  const std::int64_t groups = to.shape.slices(to.rows) * to.shape.rows_per_lane;
  const Grid grid{blocks_for(groups, warps_per_block), threads};
  to.long_bits = Array<std::uint32_t>(groups, Init::none, device);
  Array<offset_t> before(groups, Init::none, device);
  launch("bits of long rows", context, grid, mark_long_rows_kernel, csr, groups, to.long_bits.data(), before.data());
  exclusive_sum_on_device(device, before.span());
  to.long_rows = Array<index_t>(count, Init::none, device);
  to.long_lengths = Array<index_t>(count, Init::none, device);
  launch("long rows", context, grid, collect_long_rows_kernel, csr, groups, static_cast<const offset_t*>(before.data()),
         to.long_rows.data(), to.long_lengths.data());
}

}  // namespace

SellSlices make_sell_slices(const Device& device, std::span<const offset_t> row_offsets, const SellCensus& census,
                            const SellShape& shape) {
  SellSlices result;
  result.rows = static_cast<index_t>(row_offsets.size() - 1);
  result.shape = shape;
  const std::int64_t slices = shape.slices(result.rows);
  const std::int64_t groups = slices * shape.rows_per_lane;
  if (groups == 0) return result;
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  const SlicedCsr csr{result.rows, census.long_rows.limit, row_offsets.data()};
  result.lengths = Array<std::uint16_t>(groups * warp_size, Init::none, device);
  if (shape.sorted()) {
    sort_sell_rows(device, row_offsets, census, result);
  } else {
    result.csr_begin = Array<offset_t>(groups, Init::none, device);
    launch("rows of slices", context, Grid{blocks_for(groups, warps_per_block), threads}, neighbour_rows_kernel, csr,
           shape.rows_per_lane, groups, result.lengths.data(), result.csr_begin.data());
  }
  if (census.long_rows.count > 0) find_long_rows(device, csr, census.long_rows.count, result);
  if (shape.width > 0) return result;
  result.begin = Array<offset_t>(slices + 1, Init::none, device);
  launch("places of slices", context, Grid{blocks_for(slices + 1, warps_per_block), threads}, places_kernel,
         static_cast<const std::uint16_t*>(result.lengths.data()), shape.rows_per_lane, slices, result.begin.data());
  if (shape.sorted()) {
    result.shape.places = exclusive_sum(device, result.begin.span());
  } else {
    exclusive_sum_on_device(device, result.begin.span());
  }
  return result;
}

void fill_sell_columns(const Device& device, const SellSlices& slices, std::span<const index_t> columns,
                       std::span<index_t> to) {
  fill(device, slices, columns.data(), columns.size(), StoreColumn{to.data()});
}
void fill_sell_columns(const Device& device, const SellSlices& slices, std::span<const index_t> columns,
                       std::span<std::uint16_t> to) {
  fill(device, slices, columns.data(), columns.size(), StoreRelativeColumn{to.data()});
}
template <class From, class To>
void fill_sell_values(const Device& device, const SellSlices& slices, std::span<const From> values, std::span<To> to) {
  fill(device, slices, values.data(), values.size(), StoreValue<From, To>{to.data()});
}
template <class T>
void fill_sell_codes(const Device& device, const SellSlices& slices, std::span<const T> values,
                     const ValueDictionary<T>& dictionary, std::span<std::uint8_t> to) {
  fill(device, slices, values.data(), values.size(),
       StoreCode<T>{to.data(), dictionary.coder(), static_cast<std::uint8_t>(dictionary.count())});
}

template void fill_sell_values(const Device&, const SellSlices&, std::span<const float>, std::span<float>);
template void fill_sell_values(const Device&, const SellSlices&, std::span<const double>, std::span<double>);
template void fill_sell_values(const Device&, const SellSlices&, std::span<const double>, std::span<float>);
template void fill_sell_codes(const Device&, const SellSlices&, std::span<const float>, const ValueDictionary<float>&,
                              std::span<std::uint8_t>);
template void fill_sell_codes(const Device&, const SellSlices&, std::span<const double>, const ValueDictionary<double>&,
                              std::span<std::uint8_t>);

}  // namespace tessera::cuda
