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

/// A warp per 32 rows. Their first nonzero, lengths by slices, and how many are long.
__global__ void __launch_bounds__(threads)
    rows_of_slices_kernel(SlicedCsr csr, int rows_per_lane, std::int64_t groups, std::uint16_t* lengths,
                          offset_t* csr_begin, offset_t* long_rows) {
  const std::int64_t group = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_size;
  if (group >= groups) return;
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  const std::int64_t row = group * warp_size + lane;
  offset_t whole = 0;
  const int length = csr.sliced_length(row, whole);
  const bool is_long = whole > csr.limit;
  const std::int64_t place = (group / rows_per_lane * warp_size + lane) * rows_per_lane + group % rows_per_lane;
  lengths[place] = is_long ? length_of_long_row : static_cast<std::uint16_t>(length);
  const unsigned are_long = __ballot_sync(full_warp, is_long ? 1 : 0);
  if (lane != 0) return;
  csr_begin[group] = csr.offsets[row < csr.rows ? row : csr.rows];
  long_rows[group] = __popc(are_long);
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

/// A warp per slice, or per 32 rows of jagged ones: its places.
__global__ void __launch_bounds__(threads)
    places_kernel(SlicedCsr csr, int groups_per_slice, bool jagged, std::int64_t slices, offset_t* places) {
  const std::int64_t slice = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_size;
  if (slice > slices) return;
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  int width = 0;
  int sum = 0;
  for (int r = 0; r < groups_per_slice; ++r) {
    offset_t whole = 0;
    const std::int64_t row = (slice * groups_per_slice + r) * warp_size + lane;
    const int length = csr.sliced_length(row, whole);
    width = width > length ? width : length;
    sum += length;
  }
  width = most_of_lanes(width);
  sum = sum_over_lanes(sum);
  if (lane == 0) places[slice] = jagged ? sum : offset_t{width} * warp_size * groups_per_slice;
}

/// What fills read of SellSlices.
struct SlicePlaces {
  index_t rows;
  int rows_per_lane;
  bool jagged;
  index_t width;
  const std::uint16_t* lengths;
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
  offset_t base = 0;   ///< first place of the slice, jagged: of the 32 rows
  int width = 0;       ///< of the slice, jagged: of the 32 rows
  int r = 0;           ///< which row of its lane

  /// Every lane must call.
  __device__ LaneOfSlice(const SlicePlaces& p, std::int64_t group) : row(group * warp_size + threadIdx.x % warp_size) {
    const std::int64_t slice = group / p.rows_per_lane;
    r = static_cast<int>(group % p.rows_per_lane);
    const auto lane = static_cast<int>(threadIdx.x % warp_size);
    const std::uint16_t kept = p.lengths[(slice * warp_size + lane) * p.rows_per_lane + r];
    const bool is_long = kept == length_of_long_row;
    length = is_long ? 0 : kept;
    const int whole = is_long ? length_of(p, static_cast<index_t>(row)) : length;
    first = p.csr_begin[group] + sum_up_to_lane(whole) - whole;
    if (p.jagged) {
      base = p.begin[group];
      width = most_of_lanes(length);
    } else if (p.begin == nullptr) {
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

/// Puts entry k of each row where it belongs. Every lane must call.
template <class Store>
__device__ void put(const SlicePlaces& p, const LaneOfSlice& own, int k, const typename Store::From& entry,
                    const Store& store, offset_t& jagged_place) {
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  const bool there = k < own.length;
  if (p.jagged) {
    const unsigned all = __ballot_sync(full_warp, there ? 1 : 0);
    const offset_t place = jagged_place + __popc(all & ((1u << lane) - 1));
    if (there) store.store(place, own.row, entry);
    jagged_place += __popc(all);
    return;
  }
  // Wide entries: row after row of a lane, each by one load of a warp. Narrow ones: the rows of a lane by one load.
  const int within = Store::narrow ? (k * warp_size + lane) * p.rows_per_lane + own.r
                                   : (k * p.rows_per_lane + own.r) * warp_size + lane;
  if (there) {
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
  offset_t jagged_place = own.base;
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
        put(p, own, k0 + k, entry, store, jagged_place);
      }
      __syncwarp();
    }
  } else {
#pragma unroll 4
    for (int k = 0; k < own.width; ++k) {
      const From entry = k < own.length ? from[own.first + k] : From{0};
      put(p, own, k, entry, store, jagged_place);
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
  const SlicePlaces places{slices.rows,
                           slices.shape.rows_per_lane,
                           slices.shape.jagged,
                           slices.shape.width,
                           slices.lengths.data(),
                           slices.csr_begin.data(),
                           slices.begin.data(),
                           slices.long_rows.data(),
                           slices.long_lengths.data(),
                           slices.long_rows.size()};
  const DeviceGuard current(device);
  const Grid grid{blocks_for(groups, warps_per_block), threads};
  const bool staged = static_cast<double>(nnz) >= mean_worth_staging * slices.rows;
  launch("entries by slices", Context::of(device), grid,
         staged ? fill_slices_kernel<Store, true> : fill_slices_kernel<Store, false>, places, groups, from, store);
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
  const Grid of_groups{blocks_for(groups, warps_per_block), threads};
  result.lengths = Array<std::uint16_t>(groups * warp_size, Init::none, device);
  result.csr_begin = Array<offset_t>(groups, Init::none, device);
  Array<offset_t> long_before(groups, Init::none, device);
  launch("rows of slices", context, of_groups, rows_of_slices_kernel, csr, shape.rows_per_lane, groups,
         result.lengths.data(), result.csr_begin.data(), long_before.data());
  if (census.long_rows.count > 0) {
    exclusive_sum_on_device(device, long_before.span());
    result.long_rows = Array<index_t>(census.long_rows.count, Init::none, device);
    result.long_lengths = Array<index_t>(census.long_rows.count, Init::none, device);
    launch("long rows", context, of_groups, collect_long_rows_kernel, csr, groups,
           static_cast<const offset_t*>(long_before.data()), result.long_rows.data(), result.long_lengths.data());
  }
  if (!shape.jagged && shape.width > 0) return result;
  const std::int64_t parts = shape.jagged ? groups : slices;
  result.begin = Array<offset_t>(parts + 1, Init::none, device);
  launch("places of slices", context, Grid{blocks_for(parts + 1, warps_per_block), threads}, places_kernel, csr,
         shape.jagged ? 1 : shape.rows_per_lane, shape.jagged, parts, result.begin.data());
  exclusive_sum_on_device(device, result.begin.span());
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
