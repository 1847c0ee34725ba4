/// \file
/// Kernel of row patterns: a thread per row of a slice, one or several rows per thread. The columns and, of templates,
/// the values come from a table in shared memory; other values come from slices, each position of a slice by one load
/// of a warp. Warps of the first blocks multiply exceptions.
#pragma once

#include "core/cuda/reduce.cuh"
#include "core/cuda/shared_memory.cuh"
#include "core/cuda/warp.cuh"
#include "spmv/common/row_sink.cuh"
#include "spmv/common/terms.cuh"
#include "spmv/patterns/patterns_tuning.hpp"

#include <cstdint>
#include <type_traits>

namespace tessera::cuda {

/// The rows of a matrix by their lists.
struct PatternRows {
  index_t rows = 0;
  int lists = 0;
  int width = 0;                        ///< entries of the longest list
  const index_t* table = nullptr;       ///< as RowPatterns::table
  const std::uint8_t* codes = nullptr;  ///< by slices: R codes of a lane follow each other; `lists` beyond the end
  unsigned slices = 0;                  ///< of 32 R rows
  const index_t* exceptions = nullptr;  ///< null: all rows
  unsigned exception_count = 0;
  unsigned exception_blocks = 0;  ///< the first ones of the grid
  unsigned slices_ahead = 0;      ///< from the slice of a warp to the one that it prefetches, where it does
  unsigned whole_slices = 0;      ///< of rows that are columns too: those that may be prefetched

  [[nodiscard]] TESSERA_HOST_DEVICE constexpr int stride() const noexcept { return width + 1; }
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr int places() const noexcept { return (lists + 1) * stride(); }
};

/// The rows of a lane: row r is number 32 r + lane of its slice.
template <int R>
struct RowsOfLane {
  index_t first;  ///< row 0
  int code[R];    ///< its list; PatternRows::lists for none
  int start[R];   ///< of its list in the table
  int length[R];
  index_t origin[R];  ///< added to relative columns; 0 where there are none, so that a load is safe
};

/// The codes of R rows by one load. \tparam WarpsPerSlice that share its rows \param slice number of a warp's share
template <int WarpsPerSlice = 1, int R>
__device__ void load_codes(const PatternRows& p, unsigned slice, int (&code)[R]) {
  static_assert(R == 1 || R == 2 || R == 4);
  constexpr unsigned of_lane = R * WarpsPerSlice;
  const std::uint8_t* const from = p.codes + std::size_t{slice / WarpsPerSlice} * (warp_size * of_lane) +
                                   threadIdx.x % warp_size * of_lane + slice % WarpsPerSlice * R;
  std::uint32_t all = 0;
  if constexpr (R == 4) {
    all = __ldcs(reinterpret_cast<const std::uint32_t*>(from));
  } else if constexpr (R == 2) {
    all = __ldcs(reinterpret_cast<const std::uint16_t*>(from));
  } else {
    all = __ldcs(from);
  }
#pragma unroll
  for (int r = 0; r < R; ++r) code[r] = static_cast<int>(all >> (8 * r) & 0xffu);
}

/// The lists of rows whose codes are known. \param table in shared memory, or in global memory
template <int R>
__device__ void look_up(const PatternRows& p, const index_t* table, unsigned slice, RowsOfLane<R>& own) {
  own.first = static_cast<index_t>(slice * (warp_size * R) + threadIdx.x % warp_size);
#pragma unroll
  for (int r = 0; r < R; ++r) {
    own.start[r] = own.code[r] * p.stride();
    own.length[r] = table[own.start[r]];
    own.origin[r] = own.length[r] > 0 ? own.first + r * warp_size : 0;
  }
}

/// Values in slices padded to the width, stored as V.
template <class V>
struct PaddedValues {
  static constexpr bool weighted = true;
  static constexpr bool in_slices = true;
  static constexpr bool in_table = false;
  static constexpr bool shares = false;
  static constexpr int min_blocks = pattern_min_blocks;
  /// Converted where it is multiplied: a conversion at the load would wait for it.
  using Kept = V;
  const V* values;

  template <int R>
  struct OfSlice {
    const V* at;
    [[nodiscard]] __device__ V value_of(V value) const { return value; }
    /// Of entries k0 ... of all rows. \tparam Whole whether all of them lie within the width
    template <class S, int Chunk, bool Whole>
    __device__ void load(int k0, int width, const RowsOfLane<R>& /*own*/, S (&value)[Chunk][R]) {
#pragma unroll
      for (int k = 0; k < Chunk; ++k) {
        if (!Whole && k0 + k >= width) break;
#pragma unroll
        for (int r = 0; r < R; ++r) {
          value[k][r] = static_cast<S>(__ldcs(at + static_cast<std::size_t>(((k0 + k) * R + r) * warp_size)));
        }
      }
    }
  };
  template <int R>
  [[nodiscard]] __device__ OfSlice<R> slice(unsigned number, int width) const {
    return {base_at(values, static_cast<offset_t>(number) * (offset_t{width} * warp_size * R)) +
            threadIdx.x % warp_size};
  }
};

/// Values in slices of 32 rows without padding: entry k of the rows that have one, then entry k + 1.
template <class V>
struct JaggedValues {
  static constexpr bool weighted = true;
  static constexpr bool in_slices = true;
  static constexpr bool in_table = false;
  static constexpr bool shares = false;
  static constexpr int min_blocks = pattern_min_blocks;
  /// Converted where it is multiplied: a conversion at the load would wait for it.
  using Kept = V;
  const V* values;        ///< and 32 more, since a position that a row lacks is loaded too
  const offset_t* begin;  ///< of each slice of 32 rows

  template <int R>
  struct OfSlice {
    const V* at[R];
    [[nodiscard]] __device__ V value_of(V value) const { return value; }
    template <class S, int Chunk, bool Whole>
    __device__ void load(int k0, int /*width*/, const RowsOfLane<R>& own, S (&value)[Chunk][R]) {
      const unsigned before = (1u << threadIdx.x % warp_size) - 1;
#pragma unroll
      for (int k = 0; k < Chunk; ++k) {
#pragma unroll
        for (int r = 0; r < R; ++r) {
          const unsigned there = __ballot_sync(full_warp, k0 + k < own.length[r] ? 1 : 0);
          value[k][r] = static_cast<S>(__ldcs(at[r] + __popc(there & before)));
          at[r] += __popc(there);
        }
      }
    }
  };
  template <int R>
  [[nodiscard]] __device__ OfSlice<R> slice(unsigned number, int /*width*/) const {
    OfSlice<R> result;
#pragma unroll
    for (int r = 0; r < R; ++r) result.at[r] = base_at(values, __ldg(begin + std::size_t{number} * R + r));
    return result;
  }
};

/// Values of templates: lists + 1 times `width`, in shared memory behind the columns where they are shared.
template <class V>
struct TableValues {
  static constexpr bool weighted = true;
  static constexpr bool in_slices = false;
  static constexpr bool in_table = true;
  static constexpr bool shares = true;
  static constexpr int min_blocks = pattern_min_blocks_without_values;
  const V* values;

  /// In shared memory behind the columns.
  [[nodiscard]] static std::size_t shared_bytes(const PatternRows& p) {
    return sizeof(V) * static_cast<std::size_t>(p.lists + 1) * static_cast<std::size_t>(p.width);
  }
  /// Every thread must call.
  __device__ void share(const PatternRows& p, unsigned char* behind) {
    auto* const shared = reinterpret_cast<V*>(behind);
    const int count = (p.lists + 1) * p.width;
    for (int i = static_cast<int>(threadIdx.x); i < count; i += pattern_threads) shared[i] = __ldg(values + i);
    values = shared;
  }

  template <int R>
  struct OfSlice {
    const V* values;
    /// Read where it is multiplied: registers are left to x.
    [[nodiscard]] __device__ V at(const RowsOfLane<R>& own, int width, int entry, int r) const {
      return values[own.code[r] * width + entry];
    }
  };
  template <int R>
  [[nodiscard]] __device__ OfSlice<R> slice(unsigned /*number*/, int /*width*/) const {
    return {values};
  }
};

/// Every value is 1.
struct NoValues {
  static constexpr bool weighted = false;
  static constexpr bool in_slices = false;
  static constexpr bool in_table = false;
  static constexpr bool shares = false;
  static constexpr int min_blocks = pattern_min_blocks_without_values;

  template <int R>
  struct OfSlice {};
  template <int R>
  [[nodiscard]] __device__ OfSlice<R> slice(unsigned /*number*/, int /*width*/) const {
    return {};
  }
};

/// What a lane keeps of a value between its load and the product: Values::Kept, else the value.
template <class Values, class T, class = void>
struct KeptOf {
  using type = T;
};
template <class Values, class T>
struct KeptOf<Values, T, std::void_t<typename Values::Kept>> {
  using type = typename Values::Kept;
};

/// Adds entries k0 ... k0 + Chunk - 1 of the rows of a lane: all loads first, without a branch. A position that a row
/// lacks repeats its last column; it is loaded but not multiplied, since it may meet NaN.
template <class Values, int Chunk, bool Whole, int R, class T>
__device__ void add_chunk(int k0, int width, const index_t* table, const T* x, const RowsOfLane<R>& own,
                          typename Values::template OfSlice<R>& values, T (&sums)[R]) {
  using Kept = typename KeptOf<Values, T>::type;
  Kept value[Chunk][R];
  T source[Chunk][R];
  if constexpr (Values::in_slices) values.template load<Kept, Chunk, Whole>(k0, width, own, value);
#pragma unroll
  for (int k = 0; k < Chunk; ++k) {
    if (!Whole && k0 + k >= width) break;
#pragma unroll
    for (int r = 0; r < R; ++r) source[k][r] = __ldg(x + own.origin[r] + table[own.start[r] + 1 + k0 + k]);
  }
#pragma unroll
  for (int k = 0; k < Chunk; ++k) {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      if (k0 + k >= own.length[r]) continue;
      if constexpr (Values::in_table) {
        sums[r] += values.at(own, width, k0 + k, r) * source[k][r];
      } else if constexpr (!std::is_same_v<Kept, T>) {
        sums[r] += static_cast<T>(values.value_of(value[k][r])) * source[k][r];
      } else if constexpr (Values::in_slices) {
        sums[r] += value[k][r] * source[k][r];
      } else {
        sums[r] += source[k][r];
      }
    }
  }
}

/// The longest list of the rows of a warp. Every lane must call.
template <int R>
[[nodiscard]] __device__ bool any_beyond(int k0, const RowsOfLane<R>& own) {
  int longest = own.length[0];
#pragma unroll
  for (int r = 1; r < R; ++r) longest = longest > own.length[r] ? longest : own.length[r];
  return __any_sync(full_warp, longest > k0 ? 1 : 0) != 0;
}

/// How the entries of rows are taken. \tparam Terms at once \tparam Exact whether the width is that number \tparam Loop
/// whether lists may be longer \tparam UniformChunks of the list of uniform rows; 0: any number \tparam
/// WarpsPerSlice that share the rows of a slice, as if each had a slice; more than one for uniform rows alone \tparam
/// RowsPerLane of a slice
template <int Terms, bool Exact, bool Loop, int UniformChunks = 0, int WarpsPerSlice = 1,
          int RowsPerLane = pattern_rows_per_lane(Terms)>
struct PatternChunk {
  static constexpr int terms = Terms;
  static constexpr bool exact = Exact;
  static constexpr bool loop = Loop;
  static constexpr int uniform_chunks = UniformChunks;
  static constexpr int warps_per_slice = WarpsPerSlice;
  static constexpr int rows = RowsPerLane / WarpsPerSlice;
};
/// Of long lists, in slices with a row per lane.
using SingleRowChunk = PatternChunk<most_terms_at_once, false, true, 0, 1, 1>;

/// Blocks per multiprocessor that registers are bounded for: one row has half as many terms in flight as two.
template <class Chunk, class Values>
inline constexpr int patterns_min_blocks =
    Chunk::rows == 1 && Values::min_blocks < pattern_min_blocks_of_single_rows ? pattern_min_blocks_of_single_rows
                                                                               : Values::min_blocks;

template <class Chunk, class Values, class T>
__device__ void multiply_slice(const PatternRows& p, const index_t* table, const Values& values, const T* x,
                               const RowSink<T>& out, unsigned slice, RowsOfLane<Chunk::rows>& own,
                               PlainSums<2>& dots) {
  constexpr int R = Chunk::rows;
  constexpr int C = Chunk::terms;
  look_up<R>(p, table, slice, own);
  auto own_values = values.template slice<R>(slice, p.width);
  T sums[R] = {};
  if constexpr (!Chunk::loop) {
    add_chunk<Values, C, Chunk::exact>(0, Chunk::exact ? C : p.width, table, x, own, own_values, sums);
  } else {
    int k0 = 0;
#pragma unroll 1
    for (; k0 + C <= p.width && any_beyond(k0, own); k0 += C) {
      add_chunk<Values, C, true>(k0, p.width, table, x, own, own_values, sums);
    }
    if (k0 < p.width && any_beyond(k0, own)) {
      add_chunk<Values, C, false>(k0, p.width, table, x, own, own_values, sums);
    }
  }
#pragma unroll
  for (int r = 0; r < R; ++r) {
    if (own.code[r] != p.lists) out.store(own.first + r * warp_size, sums[r], dots);
  }
}

/// A row on no list, by a warp. \param terms of the matrix in CSR
template <class Terms, class T>
__device__ void multiply_exception(const PatternRows& p, const offset_t* row_offsets, const Terms& terms,
                                   const RowSink<T>& out, PlainSums<2>& dots) {
  const unsigned number = blockIdx.x * (pattern_threads / warp_size) + threadIdx.x / warp_size;
  if (number >= p.exception_count) return;
  const auto row = static_cast<index_t>(p.exceptions == nullptr ? number : p.exceptions[number]);
  multiply_row_by_warp(row, row_offsets, terms, out, dots);
}

/// The table in shared memory; then what the values share. Every thread must call.
template <class Values>
[[nodiscard]] __device__ Values share_table(const PatternRows& p, const Values& values, const index_t* table,
                                            index_t* shared, unsigned char* behind) {
  for (int i = static_cast<int>(threadIdx.x); i < p.places(); i += pattern_threads) shared[i] = __ldg(table + i);
  Values result = values;
  if constexpr (Values::shares) result.share(p, behind);
  __syncthreads();
  return result;
}

/// Bytes of the table in shared memory before what the values share.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::size_t shared_columns_bytes(int places) noexcept {
  return (static_cast<std::size_t>(places) * sizeof(index_t) + 15) / 16 * 16;
}

template <class Chunk, class Values, class Terms, class T>
__global__ void __launch_bounds__(pattern_threads, (patterns_min_blocks<Chunk, Values>))
    patterns_kernel(PatternRows p, Values values, Terms terms, const offset_t* row_offsets, RowSink<T> out) {
  PlainSums<2> dots;
  if (blockIdx.x < p.exception_blocks) {
    multiply_exception(p, row_offsets, terms, out, dots);
  } else {
    unsigned char* const shared = dynamic_shared_memory();
    auto* const table = reinterpret_cast<index_t*>(shared);
    const unsigned slice = (blockIdx.x - p.exception_blocks) * (pattern_threads / warp_size) + threadIdx.x / warp_size;
    // Codes are under way while the table is shared.
    RowsOfLane<Chunk::rows> own;
    if (slice < p.slices) load_codes(p, slice, own.code);
    const Values own_values = share_table(p, values, p.table, table, shared + shared_columns_bytes(p.places()));
    if (slice < p.slices) multiply_slice<Chunk>(p, table, own_values, terms.x, out, slice, own, dots);
  }
  out.template store_dots<pattern_threads>(dots);
}

}  // namespace tessera::cuda
