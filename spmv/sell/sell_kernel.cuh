/// \file
/// Kernel of sliced ELL: a thread for several rows of a slice, 32 apart, all loads of a chunk of their entries under
/// way at once. Columns and values are policies, which read wide entries row by row, and narrow ones of all rows of a
/// thread by one load. Where rows are sorted inside windows, a block multiplies a window, and its sums pass through
/// shared memory to the order of the matrix. Warps of the first blocks multiply long rows, from CSR.
#pragma once

#include "core/cuda/shared_memory.cuh"
#include "core/cuda/warp.cuh"
#include "spmv/common/row_sink.cuh"
#include "spmv/sell/sell_slices.hpp"
#include "spmv/sell/sell_tuning.hpp"

#include <cstdint>
#include <type_traits>

namespace tessera::cuda {

/// The rows of a matrix in slices.
struct SellRows {
  unsigned slices = 0;
  unsigned slices_per_block = 1;  ///< of whole windows, where rows are sorted
  int window_slices_per_warp = 0;
  index_t width = 0;                     ///< of all slices, where there is no `begin`
  const offset_t* begin = nullptr;       ///< as SellSlices::begin, and what follows
  const std::uint16_t* order = nullptr;  ///< of sorted rows
  const std::uint32_t* long_bits = nullptr;
  index_t rows = 0;
  const index_t* long_rows = nullptr;  ///< null, with their number: all rows
  unsigned long_count = 0;
  unsigned long_blocks = 0;  ///< the first ones of the grid

  /// Whether slices hold a row. Rows beyond the end may not fit index_t.
  [[nodiscard]] __device__ bool hold(unsigned row) const {
    if (row >= static_cast<unsigned>(rows)) return false;
    return long_bits == nullptr || (__ldg(long_bits + row / warp_size) >> (row % warp_size) & 1u) == 0;
  }
};

[[nodiscard]] __device__ inline int lane_of_warp() { return static_cast<int>(threadIdx.x % warp_size); }

/// The rows of a lane in the order of the matrix, from its first one on.
struct NeighbourRows {
  [[nodiscard]] __device__ unsigned operator[](int r) const { return static_cast<unsigned>(r * warp_size); }
};

/// The R sorted rows of a lane, from the first of their window on. Taken apart where they are used.
template <int R>
struct SortedRows {
  static_assert(R == 2 || R == 4);
  std::conditional_t<R == 4, unsigned long long, unsigned> word;

  __device__ explicit SortedRows(const std::uint16_t* order)
      : word(__ldcs(reinterpret_cast<const decltype(word)*>(order))) {}
  [[nodiscard]] __device__ unsigned operator[](int r) const {
    return static_cast<unsigned>(word >> (16 * r)) & 0xffffu;
  }
};

/// Columns of 4 bytes; -1 where a row has none.
struct AbsoluteColumns {
  const index_t* columns;

  [[nodiscard]] __device__ AbsoluteColumns from(offset_t place) const { return {base_at(columns, place)}; }
  /// What columns of rows numbered from `first` on are added to.
  template <class T>
  [[nodiscard]] __device__ static const T* origin(const T* x, unsigned /*first*/) {
    return x;
  }
  /// Entry k of the rows of a lane, as loaded.
  template <int R>
  struct Loaded {
    index_t column[R];
    /// x in this column; 0 where there is none. \param row from `first` on
    template <class T>
    [[nodiscard]] __device__ T gather(const T* origin, int r, unsigned /*row*/) const {
      return column[r] < 0 ? T{0} : __ldg(origin + column[r]);
    }
  };
  template <int R>
  __device__ void load(int k, Loaded<R>& to) const {
#pragma unroll
    for (int r = 0; r < R; ++r) to.column[r] = __ldcs(columns + (k * R + r) * warp_size + lane_of_warp());
  }
};

/// Columns relative to the row, of 2 bytes, 32768 more; 0 where a row has none.
struct RelativeColumns {
  const std::uint16_t* columns;
  static constexpr int zero = detail::farthest_relative_column + 1;

  [[nodiscard]] __device__ RelativeColumns from(offset_t place) const { return {base_at(columns, place)}; }
  /// May lie outside x: what is added leads back. As an address, since such a pointer has no meaning.
  template <class T>
  [[nodiscard]] __device__ static const T* origin(const T* x, unsigned first) {
    return base_at(x, static_cast<offset_t>(first) - zero);
  }
  template <int R>
  struct Loaded {
    /// Of R rows, taken apart where they are used.
    std::conditional_t<R == 4, unsigned long long, unsigned> word;
    template <class T>
    [[nodiscard]] __device__ T gather(const T* origin, int r, unsigned row) const {
      const auto relative = static_cast<unsigned>(word >> (16 * r)) & 0xffffu;
      return relative == 0 ? T{0} : __ldg(base_at(origin, static_cast<offset_t>(relative + row)));
    }
  };
  template <int R>
  __device__ void load(int k, Loaded<R>& to) const {
    static_assert(R == 2 || R == 4);
    using Word = decltype(to.word);
    to.word = __ldcs(reinterpret_cast<const Word*>(columns + (k * warp_size + lane_of_warp()) * R));
  }
};

/// Values stored as V.
template <class V>
struct PlainValues {
  static constexpr bool weighted = true;
  static constexpr bool shares = false;
  static constexpr int min_blocks = sell_min_blocks;
  const V* values;

  [[nodiscard]] __device__ PlainValues from(offset_t place) const { return {base_at(values, place)}; }
  /// Entry k of the rows of a lane, as loaded; 0 where a row has none.
  template <int R>
  struct Loaded {
    V value[R];
  };
  template <int R>
  __device__ void load(int k, Loaded<R>& to) const {
#pragma unroll
    for (int r = 0; r < R; ++r) to.value[r] = __ldcs(values + (k * R + r) * warp_size + lane_of_warp());
  }
  template <class T, int R>
  [[nodiscard]] __device__ T product(const Loaded<R>& loaded, int r, T source, T sum) const {
    return sum + static_cast<T>(loaded.value[r]) * source;
  }
};

/// Values of a dictionary in shared memory by codes of 1 byte; the last one is 0, for rows that have none.
template <class V>
struct CodedValues {
  static constexpr bool weighted = true;
  static constexpr bool shares = true;
  static constexpr int min_blocks = sell_min_blocks_of_codes;
  static constexpr int copies = dictionary_copies<V>;
  const std::uint8_t* codes;
  const V* dictionary;  ///< inside a block: its copy for this lane, in shared memory
  int count;

  [[nodiscard]] __device__ CodedValues from(offset_t place) const { return {base_at(codes, place), dictionary, count}; }
  /// Codes of R rows in one word, taken apart where they are used: registers are left to x.
  template <int R>
  struct Loaded {
    std::uint32_t word;
    [[nodiscard]] __device__ std::uint32_t code(int r) const { return word >> (8 * r) & 0xffu; }
  };
  template <int R>
  __device__ void load(int k, Loaded<R>& to) const {
    const std::uint8_t* const own = codes + (k * warp_size + lane_of_warp()) * R;
    if constexpr (R == 4) {
      to.word = __ldcs(reinterpret_cast<const std::uint32_t*>(own));
    } else {
      to.word = __ldcs(reinterpret_cast<const std::uint16_t*>(own));
    }
  }
  template <class T, int R>
  [[nodiscard]] __device__ T product(const Loaded<R>& loaded, int r, T source, T sum) const {
    return sum + dictionary[loaded.code(r) * copies] * source;
  }
  /// Every thread must call, then a barrier.
  [[nodiscard]] __device__ CodedValues share(unsigned char* shared) const {
    auto* const table = reinterpret_cast<V*>(shared);
    for (int i = static_cast<int>(threadIdx.x); i < (count + 1) * copies; i += sell_threads) {
      table[i] = i < count * copies ? __ldg(dictionary + i / copies) : V{0};
    }
    return {codes, table + threadIdx.x % copies, count};
  }
};

/// Every value is 1.
struct UnitValues {
  static constexpr bool weighted = false;
  static constexpr bool shares = false;
  static constexpr int min_blocks = sell_min_blocks_of_codes;

  [[nodiscard]] __device__ UnitValues from(offset_t /*place*/) const { return {}; }
  template <int R>
  struct Loaded {};
  template <int R>
  __device__ void load(int /*k*/, Loaded<R>& /*to*/) const {}
  template <class T, int R>
  [[nodiscard]] __device__ T product(const Loaded<R>& /*loaded*/, int /*r*/, T source, T sum) const {
    return sum + source;
  }
};

/// \tparam Terms of a row at once \tparam Sorted whether rows are, inside windows
template <int Terms, bool Sorted>
struct SellChunk {
  static constexpr int terms = Terms;
  static constexpr bool sorted = Sorted;
  static constexpr int rows = sell_rows_per_lane(Terms);
};

/// Adds entries k0 ... k0 + C - 1 of the rows of a lane: all loads first, without a branch. In a position that a row
/// lacks x is not read, since it may hold NaN: 0 times 0 is added. \tparam Whole whether all of them lie within the
/// width
template <int C, bool Whole, int R, class Rows, class Columns, class Values, class T>
__device__ void add_entries(int k0, int width, const Rows& rows, const Columns& columns, const Values& values,
                            const T* origin, T (&sums)[R]) {
  typename Columns::template Loaded<R> column[C];
  typename Values::template Loaded<R> loaded[C];
  T source[C][R];
#pragma unroll
  for (int k = 0; k < C; ++k) {
    if (!Whole && k0 + k >= width) break;
    columns.load(k0 + k, column[k]);
    values.load(k0 + k, loaded[k]);
  }
#pragma unroll
  for (int k = 0; k < C; ++k) {
    if (!Whole && k0 + k >= width) break;
#pragma unroll
    for (int r = 0; r < R; ++r) source[k][r] = column[k].gather(origin, r, rows[r]);
  }
#pragma unroll
  for (int k = 0; k < C; ++k) {
    if (!Whole && k0 + k >= width) break;
#pragma unroll
    for (int r = 0; r < R; ++r) sums[r] = values.product(loaded[k], r, source[k][r], sums[r]);
  }
}

/// Where the entries of a slice lie.
struct SliceExtent {
  offset_t begin;
  int width;
};

/// Sums of the rows of a lane in a slice.
template <class Chunk, class Rows, class Columns, class Values, class T>
__device__ void sum_slice(const SliceExtent& slice, const Rows& rows, const Columns& columns, const Values& values,
                          const T* origin, T (&sums)[Chunk::rows]) {
  constexpr int C = Chunk::terms;
  const Columns own_columns = columns.from(slice.begin);
  const Values own_values = values.from(slice.begin);
  int k0 = 0;
#pragma unroll 1
  for (; k0 + C <= slice.width; k0 += C) {
    add_entries<C, true>(k0, slice.width, rows, own_columns, own_values, origin, sums);
  }
  if (k0 < slice.width) add_entries<C, false>(k0, slice.width, rows, own_columns, own_values, origin, sums);
}

/// A slice of neighbouring rows, by a warp.
template <class Chunk, class Columns, class Values, class T>
__device__ void multiply_slice(const SellRows& p, unsigned slice, const Columns& columns, const Values& values,
                               const T* x, const RowSink<T>& out, PlainSums<2>& dots) {
  constexpr int R = Chunk::rows;
  constexpr int slice_rows = warp_size * R;
  SliceExtent places{static_cast<offset_t>(slice) * p.width * slice_rows, p.width};
  if (p.begin != nullptr) {
    places.begin = __ldg(p.begin + slice);
    places.width = static_cast<int>((__ldg(p.begin + slice + 1) - places.begin) / slice_rows);
  }
  const unsigned number = slice * slice_rows + threadIdx.x % warp_size;
  T sums[R] = {};
  sum_slice<Chunk>(places, NeighbourRows{}, columns, values, Columns::origin(x, number), sums);
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const unsigned row = number + r * warp_size;
    if (p.hold(row)) out.store(static_cast<index_t>(row), sums[r], dots);
  }
}

/// Slice number i of a warp in a window: long and short ones in turn.
template <int Warps>
[[nodiscard]] __device__ int slice_of_window(int i) {
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  return i * Warps + (i % 2 == 0 ? warp : Warps - 1 - warp);
}

/// Stores `rows` rows from `first` on, those that slices hold; what a few of them read comes before they are stored.
template <class T>
__device__ void store_window(const SellRows& p, unsigned first, int rows, const T* sums, const RowSink<T>& out,
                             PlainSums<2>& dots) {
  constexpr int batch = 2;
#pragma unroll 1
  for (int begin = static_cast<int>(threadIdx.x); begin < rows; begin += batch * sell_threads) {
    typename RowSink<T>::Reads before[batch];
    bool held[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const unsigned row = first + begin + i * sell_threads;
      held[i] = p.hold(row);
      if (held[i]) before[i] = out.reads(static_cast<index_t>(row));
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const int number = begin + i * sell_threads;
      if (held[i]) out.store(static_cast<index_t>(first + number), sums[number], before[i], dots);
    }
  }
}

/// A window of sorted rows, by a block, whose sums are stored in the order of the matrix.
/// \param sums_of_window in shared memory, one per row; others may still read it
template <class Chunk, class Columns, class Values, class T>
__device__ void multiply_window(const SellRows& p, unsigned window, const Columns& columns, const Values& values,
                                const T* x, const RowSink<T>& out, T* sums_of_window, PlainSums<2>& dots) {
  constexpr int R = Chunk::rows;
  constexpr int warps = sell_threads / warp_size;
  const int of_warp = p.window_slices_per_warp;
  const int slices = warps * of_warp;
  const unsigned first = window * (slices * warp_size * R);
  const T* const origin = Columns::origin(x, first);
  // The first and the last place of all slices of the warp, which would be a wait each.
  const int looked_up = lane_of_warp() < 2 * of_warp ? lane_of_warp() : 0;
  const offset_t* const begins = p.begin + std::size_t{window} * slices;
  const offset_t place = __ldg(begins + slice_of_window<warps>(looked_up / 2) + looked_up % 2);
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < of_warp; ++i) {
    const std::size_t slice = std::size_t{window} * slices + slice_of_window<warps>(i);
    const SortedRows<R> rows(p.order + (slice * warp_size + lane_of_warp()) * R);
    const offset_t begin = __shfl_sync(full_warp, place, 2 * i);
    const offset_t end = __shfl_sync(full_warp, place, 2 * i + 1);
    const SliceExtent places{begin, static_cast<int>(end - begin) / (warp_size * R)};
    T sums[R] = {};
    sum_slice<Chunk>(places, rows, columns, values, origin, sums);
#pragma unroll
    for (int r = 0; r < R; ++r) sums_of_window[rows[r]] = sums[r];
  }
  __syncthreads();
  store_window(p, first, slices * warp_size * R, sums_of_window, out, dots);
}

/// Dynamic shared memory for the sums of a window, before the dictionary.
template <class T, int R>
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::size_t sell_window_bytes(int slices_per_warp) noexcept {
  return sizeof(T) * static_cast<std::size_t>(sell_threads * R * slices_per_warp);
}

/// Blocks per multiprocessor that registers are bounded for.
template <class Chunk, class Values>
[[nodiscard]] TESSERA_HOST_DEVICE constexpr int sell_blocks_at_once() noexcept {
  if (Chunk::sorted && Chunk::rows > 2) return sell_min_blocks_of_sorted;
  return Values::shares && Chunk::rows > 2 ? sell_min_blocks : Values::min_blocks;
}

/// \param terms of the matrix in CSR
template <class Chunk, class Columns, class Values, class Terms, class T>
__global__ void __launch_bounds__(sell_threads, (sell_blocks_at_once<Chunk, Values>()))
    sell_kernel(SellRows p, Columns columns, Values values, Terms terms, const offset_t* row_offsets, RowSink<T> out) {
  constexpr unsigned warps = sell_threads / warp_size;
  const unsigned warp = threadIdx.x / warp_size;
  PlainSums<2> dots;
  if (blockIdx.x < p.long_blocks) {
    const unsigned number = blockIdx.x * warps + warp;
    if (number < p.long_count) {
      const auto row = static_cast<index_t>(p.long_rows == nullptr ? number : p.long_rows[number]);
      multiply_row_by_warp(row, row_offsets, terms, out, dots);
    }
  } else {
    if constexpr (Values::shares) {
      values = values.share(dynamic_shared_memory() + sell_window_bytes<T, Chunk::rows>(p.window_slices_per_warp));
      __syncthreads();
    }
    const unsigned first = (blockIdx.x - p.long_blocks) * p.slices_per_block;
    const unsigned end = first + p.slices_per_block < p.slices ? first + p.slices_per_block : p.slices;
    if constexpr (Chunk::sorted) {
      const unsigned of_window = warps * p.window_slices_per_warp;
#pragma unroll 1
      for (unsigned slice = first; slice < end; slice += of_window) {
        multiply_window<Chunk>(p, slice / of_window, columns, values, terms.x, out,
                               reinterpret_cast<T*>(dynamic_shared_memory()), dots);
      }
    } else {
#pragma unroll 1
      for (unsigned slice = first + warp; slice < end; slice += warps) {
        multiply_slice<Chunk>(p, slice, columns, values, terms.x, out, dots);
      }
    }
  }
  out.template store_dots<sell_threads>(dots);
}

}  // namespace tessera::cuda
