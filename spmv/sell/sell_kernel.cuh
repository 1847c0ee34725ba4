/// \file
/// Kernel of sliced ELL: a thread for several rows of a slice, 32 apart, all loads of a chunk of their entries under
/// way at once. Columns and values are policies, which read wide entries row by row, and narrow ones of all rows of a
/// thread by one load. Warps of the first blocks multiply long rows, from CSR.
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
  int slices_per_warp = 1;
  index_t width = 0;                       ///< of all slices, where there is no `begin`
  const offset_t* begin = nullptr;         ///< as SellSlices::begin
  const std::uint16_t* lengths = nullptr;  ///< where slices are jagged or there are long rows
  index_t rows = 0;
  const index_t* long_rows = nullptr;  ///< null, with their number: all rows
  unsigned long_count = 0;
  unsigned long_blocks = 0;  ///< the first ones of the grid
};

[[nodiscard]] __device__ inline int lane_of_warp() { return static_cast<int>(threadIdx.x % warp_size); }

/// R narrow entries of a lane by one load.
template <int R, class E>
struct Together {
  static_assert(R == 2 || R == 4);
  E entry[R];
  __device__ explicit Together(const E* from) {
    if constexpr (sizeof(E) * R == 8) {
      set(__ldcs(reinterpret_cast<const unsigned long long*>(from)));
    } else if constexpr (sizeof(E) * R == 4) {
      set(__ldcs(reinterpret_cast<const unsigned*>(from)));
    } else {
      set(__ldcs(reinterpret_cast<const unsigned short*>(from)));
    }
  }

 private:
  template <class Word>
  __device__ void set(Word word) {
#pragma unroll
    for (int r = 0; r < R; ++r) entry[r] = static_cast<E>(word >> (8 * static_cast<int>(sizeof(E)) * r));
  }
};

/// Columns of 4 bytes; -1 where a padded row has none.
struct AbsoluteColumns {
  const index_t* columns;

  [[nodiscard]] __device__ AbsoluteColumns from(offset_t place) const { return {base_at(columns, place)}; }
  /// What columns of row `first` and those after it are added to.
  template <class T>
  [[nodiscard]] __device__ static const T* origin(const T* x, unsigned /*first*/) {
    return x;
  }
  /// Entry k of the rows of a lane, as loaded.
  template <int R>
  struct Padded {
    index_t column[R];
    /// x in this column; 0 where there is none.
    template <class T>
    [[nodiscard]] __device__ T gather(const T* origin, int r) const {
      return column[r] < 0 ? T{0} : __ldg(origin + column[r]);
    }
  };
  template <int R>
  __device__ void padded(int k, Padded<R>& to) const {
#pragma unroll
    for (int r = 0; r < R; ++r) to.column[r] = __ldcs(columns + (k * R + r) * warp_size + lane_of_warp());
  }
  [[nodiscard]] __device__ index_t jagged(int place, int /*r*/) const { return __ldcs(columns + place); }
};

/// Columns relative to the row, of 2 bytes, 32768 more; 0 where a padded row has none.
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
  struct Padded {
    /// Of R rows, taken apart where they are used.
    std::conditional_t<R == 4, unsigned long long, unsigned> word;
    template <class T>
    [[nodiscard]] __device__ T gather(const T* origin, int r) const {
      const auto relative = static_cast<unsigned>(word >> (16 * r)) & 0xffffu;
      return relative == 0 ? T{0} : __ldg(base_at(origin, static_cast<offset_t>(relative + r * warp_size)));
    }
  };
  template <int R>
  __device__ void padded(int k, Padded<R>& to) const {
    static_assert(R == 2 || R == 4);
    using Word = decltype(to.word);
    to.word = __ldcs(reinterpret_cast<const Word*>(columns + (k * warp_size + lane_of_warp()) * R));
  }
  /// Relative to the origin, as x is read.
  [[nodiscard]] __device__ index_t jagged(int place, int r) const {
    return static_cast<index_t>(__ldcs(columns + place)) + r * warp_size;
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
  /// Entry k of the rows of a lane, as loaded; 0 where a padded row has none.
  template <int R>
  struct Loaded {
    V value[R];
  };
  template <int R>
  using Padded = Loaded<R>;
  template <int R>
  using Jagged = Loaded<R>;
  template <int R>
  __device__ void padded(int k, Loaded<R>& to) const {
#pragma unroll
    for (int r = 0; r < R; ++r) to.value[r] = __ldcs(values + (k * R + r) * warp_size + lane_of_warp());
  }
  template <int R>
  __device__ void jagged(int place, int r, Loaded<R>& to) const {
    to.value[r] = __ldcs(values + place);
  }
  template <class T, int R>
  [[nodiscard]] __device__ T product(const Loaded<R>& loaded, int r, T source, T sum) const {
    return sum + static_cast<T>(loaded.value[r]) * source;
  }
};

/// Values of a dictionary in shared memory by codes of 1 byte; the last one is 0, for padded rows that have none.
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
  struct Padded {
    std::uint32_t word;
    [[nodiscard]] __device__ std::uint32_t code(int r) const { return word >> (8 * r) & 0xffu; }
  };
  template <int R>
  struct Jagged {
    std::uint32_t own[R];
    [[nodiscard]] __device__ std::uint32_t code(int r) const { return own[r]; }
  };
  template <int R>
  __device__ void padded(int k, Padded<R>& to) const {
    const std::uint8_t* const own = codes + (k * warp_size + lane_of_warp()) * R;
    if constexpr (R == 4) {
      to.word = __ldcs(reinterpret_cast<const std::uint32_t*>(own));
    } else {
      to.word = __ldcs(reinterpret_cast<const std::uint16_t*>(own));
    }
  }
  template <int R>
  __device__ void jagged(int place, int r, Jagged<R>& to) const {
    to.own[r] = __ldcs(codes + place);
  }
  template <class T, class Loaded>
  [[nodiscard]] __device__ T product(const Loaded& loaded, int r, T source, T sum) const {
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
  using Padded = Loaded<R>;
  template <int R>
  using Jagged = Loaded<R>;
  template <int R>
  __device__ void padded(int /*k*/, Loaded<R>& /*to*/) const {}
  template <int R>
  __device__ void jagged(int /*place*/, int /*r*/, Loaded<R>& /*to*/) const {}
  template <class T, int R>
  [[nodiscard]] __device__ T product(const Loaded<R>& /*loaded*/, int /*r*/, T source, T sum) const {
    return sum + source;
  }
};

/// \tparam Terms of a row at once \tparam Jagged whether slices are
template <int Terms, bool Jagged>
struct SellChunk {
  static constexpr int terms = Terms;
  static constexpr bool jagged = Jagged;
  static constexpr int rows = sell_rows_per_lane(Terms);
};

/// Adds entries k0 ... k0 + C - 1 of the rows of a lane: all loads first, without a branch. In a position that a row
/// lacks x is not read, since it may hold NaN: 0 times 0 is added. \tparam Whole whether all of them lie within the
/// width
template <int C, bool Whole, int R, class Columns, class Values, class T>
__device__ void add_padded(int k0, int width, const Columns& columns, const Values& values, const T* origin,
                           T (&sums)[R]) {
  typename Columns::template Padded<R> column[C];
  typename Values::template Padded<R> loaded[C];
  T source[C][R];
#pragma unroll
  for (int k = 0; k < C; ++k) {
    if (!Whole && k0 + k >= width) break;
    columns.padded(k0 + k, column[k]);
    values.padded(k0 + k, loaded[k]);
  }
#pragma unroll
  for (int k = 0; k < C; ++k) {
    if (!Whole && k0 + k >= width) break;
#pragma unroll
    for (int r = 0; r < R; ++r) source[k][r] = column[k].gather(origin, r);
  }
#pragma unroll
  for (int k = 0; k < C; ++k) {
    if (!Whole && k0 + k >= width) break;
#pragma unroll
    for (int r = 0; r < R; ++r) sums[r] = values.product(loaded[k], r, source[k][r], sums[r]);
  }
}

/// The same of jagged slices, where a position that a row lacks holds entries of others, which are not multiplied.
/// \param place of the next entry of each 32 rows
template <int C, int R, class Columns, class Values, class T>
__device__ void add_jagged(int k0, const int (&length)[R], int (&place)[R], const Columns& columns,
                           const Values& values, const T* origin, T (&sums)[R]) {
  const unsigned before = (1u << lane_of_warp()) - 1;
  index_t column[C][R];
  typename Values::template Jagged<R> loaded[C];
  T source[C][R];
#pragma unroll
  for (int k = 0; k < C; ++k) {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const unsigned there = __ballot_sync(full_warp, k0 + k < length[r] ? 1 : 0);
      const int own = place[r] + __popc(there & before);
      column[k][r] = columns.jagged(own, r);
      values.jagged(own, r, loaded[k]);
      place[r] += __popc(there);
    }
  }
#pragma unroll
  for (int k = 0; k < C; ++k) {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      source[k][r] = k0 + k < length[r] ? __ldg(base_at(origin, offset_t{column[k][r]})) : T{0};
    }
  }
#pragma unroll
  for (int k = 0; k < C; ++k) {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      if (k0 + k < length[r]) sums[r] = values.product(loaded[k], r, source[k][r], sums[r]);
    }
  }
}

/// Sums of the rows of a lane in a padded slice.
template <class Chunk, class Columns, class Values, class T>
__device__ void sum_padded(const SellRows& p, unsigned slice, const Columns& columns, const Values& values,
                           const T* origin, T (&sums)[Chunk::rows]) {
  constexpr int C = Chunk::terms;
  constexpr int slice_rows = warp_size * Chunk::rows;
  int width = p.width;
  offset_t begin = static_cast<offset_t>(slice) * width * slice_rows;
  if (p.begin != nullptr) {
    begin = __ldg(p.begin + slice);
    width = static_cast<int>((__ldg(p.begin + slice + 1) - begin) / slice_rows);
  }
  const Columns own_columns = columns.from(begin);
  const Values own_values = values.from(begin);
  int k0 = 0;
#pragma unroll 1
  for (; k0 + C <= width; k0 += C) add_padded<C, true>(k0, width, own_columns, own_values, origin, sums);
  if (k0 < width) add_padded<C, false>(k0, width, own_columns, own_values, origin, sums);
}

/// The same of 32 rows each without padding.
template <class Chunk, class Columns, class Values, class T>
__device__ void sum_jagged(const SellRows& p, unsigned slice, const int (&length)[Chunk::rows], const Columns& columns,
                           const Values& values, const T* origin, T (&sums)[Chunk::rows]) {
  constexpr int R = Chunk::rows;
  const offset_t* const begins = p.begin + std::size_t{slice} * R;
  const offset_t begin = __ldg(begins);
  int place[R];
  int longest = 0;
#pragma unroll
  for (int r = 0; r < R; ++r) {
    place[r] = static_cast<int>(__ldg(begins + r) - begin);
    longest = longest > length[r] ? longest : length[r];
  }
  const Columns own_columns = columns.from(begin);
  const Values own_values = values.from(begin);
#pragma unroll 1
  for (int k0 = 0; __any_sync(full_warp, longest > k0 ? 1 : 0) != 0; k0 += Chunk::terms) {
    add_jagged<Chunk::terms>(k0, length, place, own_columns, own_values, origin, sums);
  }
}

template <class Chunk, class Columns, class Values, class T>
__device__ void multiply_slice(const SellRows& p, unsigned slice, const Columns& columns, const Values& values,
                               const T* x, const RowSink<T>& out, PlainSums<2>& dots) {
  constexpr int R = Chunk::rows;
  // Rows beyond the end may not fit index_t.
  const unsigned number = slice * (warp_size * R) + threadIdx.x % warp_size;
  const T* const origin = Columns::origin(x, number);
  T sums[R] = {};
  int length[R] = {};
  if (p.lengths != nullptr) {
    const Together<R, std::uint16_t> all(p.lengths + std::size_t{slice} * (warp_size * R) + lane_of_warp() * R);
#pragma unroll
    for (int r = 0; r < R; ++r) length[r] = all.entry[r] == length_of_long_row ? -1 : all.entry[r];
  }
  if constexpr (Chunk::jagged) {
    sum_jagged<Chunk>(p, slice, length, columns, values, origin, sums);
  } else {
    sum_padded<Chunk>(p, slice, columns, values, origin, sums);
  }
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const unsigned row = number + r * warp_size;
    if (length[r] >= 0 && row < static_cast<unsigned>(p.rows)) out.store(static_cast<index_t>(row), sums[r], dots);
  }
}

/// Blocks per multiprocessor that registers are bounded for. Columns and codes of jagged slices take a register each.
template <class Chunk, class Values>
inline constexpr int sell_blocks_at_once = Chunk::jagged || (Values::shares && Chunk::rows > 2) ? sell_min_blocks
                                                                                                : Values::min_blocks;

/// \param terms of the matrix in CSR
template <class Chunk, class Columns, class Values, class Terms, class T>
__global__ void __launch_bounds__(sell_threads, sell_blocks_at_once<Chunk, Values>)
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
      values = values.share(dynamic_shared_memory());
      __syncthreads();
    }
    unsigned slice = (blockIdx.x - p.long_blocks) * warps * p.slices_per_warp + warp;
#pragma unroll 1
    for (int i = 0; i < p.slices_per_warp && slice < p.slices; ++i, slice += warps) {
      multiply_slice<Chunk>(p, slice, columns, values, terms.x, out, dots);
    }
  }
  out.template store_dots<sell_threads>(dots);
}

}  // namespace tessera::cuda
