/// \file
/// Kernel of row templates, pattern matrices and symmetric halves with many uniform rows: a warp whose rows are all on
/// one list, or on sub-lists, takes columns, and values or their places, from the parameters of the kernel, in constant
/// memory, and loads x, of halves also values. Terms are added in the same order as in patterns_kernel.cuh, with equal
/// bits.
#pragma once

#include "core/cuda/prefetch.cuh"
#include "spmv/patterns/patterns_kernel.cuh"
#include "spmv/patterns/symmetric_half.cuh"
#include "spmv/patterns/uniform_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tessera::cuda {

/// Elements of a vector, by their distance from row 0 of a lane.
template <class T>
struct VectorGather {
  const T* at;

  __device__ VectorGather(const T* x, index_t row) : at(base_at(x, row)) {}
  __device__ T operator()(index_t column, int further) const { return __ldg(at + column + further); }
};

/// The value of a term: 1.
struct UnitWeights {
  static constexpr bool weighted = false;
};

/// That of the list.
struct ListWeights {
  static constexpr bool weighted = true;
};

/// In a symmetric half, by the distance from row 0 of a lane; converted where it is multiplied.
template <class V>
struct HalfWeights {
  using Loaded = V;
  const V* at;

  __device__ V operator()(index_t place, int further) const { return __ldg(at + place + further); }
};

[[nodiscard]] __device__ inline UnitWeights weights_at(const NoValues& /*values*/, index_t /*row*/) { return {}; }
template <class V>
[[nodiscard]] __device__ ListWeights weights_at(const TableValues<V>& /*values*/, index_t /*row*/) {
  return {};
}
template <class V>
[[nodiscard]] __device__ HalfWeights<V> weights_at(const HalfValues<V>& half, index_t row) {
  return {base_at(half.values, row)};
}

/// Whether a term has one value, or one place of it, in all rows.
template <class Values>
inline constexpr bool suits_uniform_rows = requires(const Values& values) {
  weights_at(values, index_t{0});
};

/// Whether weights are loaded from memory.
template <class Weights>
inline constexpr bool are_loaded = requires {
  typename Weights::Loaded;
};

/// What a lane loads per term: a weight, else an element of x alone.
template <class Weights, class T>
struct LoadedValue {
  using type = T;
};
template <class Weights, class T>
requires are_loaded<Weights>
struct LoadedValue<Weights, T> {
  using type = typename Weights::Loaded;
};

/// Terms of rows on the list itself.
struct EveryTerm {
  int length;
  [[nodiscard]] __device__ bool has(int k, int /*r*/) const { return k < length; }
};

/// Terms of rows on sub-lists. \tparam Word of a mask
template <class Word, int R>
struct MaskedTerms {
  Word mask[R];
  [[nodiscard]] __device__ bool has(int k, int r) const { return (mask[r] >> k & 1u) != 0; }
};

/// Some terms of the list, of R rows, 32 apart: what a lane loads of them.
template <int Terms, int R, class Weights, class T>
struct LoadedTerms {
  T source[Terms][R];
  typename LoadedValue<Weights, T>::type weight[Terms][R];

  /// From term K0 on, without a branch: also what a row lacks, and the repeated ones beyond the end of the list.
  /// \param gather (relative column, distance of the row from row 0)
  template <int K0, class Gather>
  __device__ void load(const RowStencil<T>& list, const Weights& weights, const Gather& gather) {
    static_assert(K0 + Terms <= most_uniform_terms);
#pragma unroll
    for (int k = 0; k < Terms; ++k) {
#pragma unroll
      for (int r = 0; r < R; ++r) {
        if constexpr (are_loaded<Weights>) weight[k][r] = weights(list.places[K0 + k], r * warp_size);
        source[k][r] = gather(list.columns[K0 + k], r * warp_size);
      }
    }
  }
  /// Terms that a row lacks are not multiplied, since they may meet NaN.
  template <int K0, class Own>
  __device__ void add(const RowStencil<T>& list, const Own& own, T (&sums)[R]) const {
#pragma unroll
    for (int k = 0; k < Terms; ++k) {
#pragma unroll
      for (int r = 0; r < R; ++r) {
        if (!own.has(K0 + k, r)) continue;
        if constexpr (are_loaded<Weights>) {
          sums[r] += static_cast<T>(weight[k][r]) * source[k][r];
        } else if constexpr (Weights::weighted) {
          sums[r] += list.values[K0 + k] * source[k][r];
        } else {
          sums[r] += source[k][r];
        }
      }
    }
  }
};

/// Adds terms from K0 on, which are loaded, and those behind them, in chunks. \param own which of them rows have
template <class Chunk, int K0, int R, class Weights, class T, class Own, class Gather>
__device__ void add_terms_from(const LoadedTerms<Chunk::terms, R, Weights, T>& loaded, const RowStencil<T>& list,
                               const Weights& weights, const Gather& gather, const Own& own, T (&sums)[R]) {
  loaded.template add<K0>(list, own, sums);
  constexpr int next = K0 + Chunk::terms;
  constexpr int most = Chunk::uniform_chunks > 0 ? Chunk::uniform_chunks * Chunk::terms : most_uniform_terms;
  if constexpr (Chunk::loop && next + Chunk::terms <= most) {
    if (Chunk::uniform_chunks == 0 && next >= list.length) return;
    LoadedTerms<Chunk::terms, R, Weights, T> following;
    following.template load<next>(list, weights, gather);
    add_terms_from<Chunk, next>(following, list, weights, gather, own, sums);
  }
}

/// Adds all terms of the rows of an interior slice: terms are under way while bits, or codes and masks, are. Every lane
/// must call. \param code of the rows; set, also to 0 for any list \returns whether all rows are on the list or on
/// sub-lists; else sums have no meaning
template <class Chunk, int R, class Weights, class T, class Gather>
[[nodiscard]] __device__ bool add_uniform_rows(const PatternRows& p, const RowStencil<T>& list, unsigned slice,
                                               const Weights& weights, const Gather& gather, int (&code)[R],
                                               T (&sums)[R]) {
  const bool has_bits = list.uniform_slices != nullptr;
  std::uint32_t bits = 0;
  if (has_bits) {
    // One sector of them serves 256 slices, so that they come from the second-level cache.
    bits = __ldg(list.uniform_slices + slice / Chunk::warps_per_slice / 32);
  } else {
    load_codes<Chunk::warps_per_slice>(p, slice, code);
  }
  LoadedTerms<Chunk::terms, R, Weights, T> loaded;
  loaded.template load<0>(list, weights, gather);
  if ((bits >> slice / Chunk::warps_per_slice % 32 & 1u) != 0) {
#pragma unroll
    for (int r = 0; r < R; ++r) code[r] = 0;
    add_terms_from<Chunk, 0>(loaded, list, weights, gather, EveryTerm{list.length}, sums);
    return true;
  }
  if (has_bits) load_codes<Chunk::warps_per_slice>(p, slice, code);
  using Word = std::conditional_t<Chunk::loop, TermMask, std::uint32_t>;
  MaskedTerms<Word, R> own;
  TermMask all = is_sub_list;
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const TermMask mask = __ldg(list.masks + code[r]);
    all &= mask;
    own.mask[r] = static_cast<Word>(mask);
  }
  if (__any_sync(full_warp, all == 0 ? 1 : 0) != 0) return false;
  add_terms_from<Chunk, 0>(loaded, list, weights, gather, own, sums);
  return true;
}

/// Whether a warp prefetches, for one that follows, what that reads for the first time: x at its rows, and values. It
/// pays for short lists in single precision. In double precision constant lists gain nothing, and a half, which keeps
/// the second-level cache busy, loses (H200, 5 points: .247 and .260 ms). Where few slices are uniform, as on a grid
/// with holes, it gains nothing either.
template <class Chunk, class Weights, class T>
inline constexpr bool prefetches_slices = Chunk::terms <= 5 && sizeof(typename LoadedValue<Weights, T>::type) == 4;

/// \param x at the first row of the slice, as are the weights
template <int R, class Weights, class T>
__device__ void prefetch_slice(const RowStencil<T>& list, const Weights& weights, const T* x) {
  prefetch_by_warp<warp_size * R>(x);
  if constexpr (are_loaded<Weights>) {
    for (int k = 0; k < list.length; ++k) {
      if (list.columns[k] >= 0) prefetch_by_warp<warp_size * R>(weights.at + list.places[k]);
    }
  }
}

/// \returns whether the slice was multiplied
template <class Chunk, class Values, class T>
[[nodiscard]] __device__ bool multiply_uniform_slice(const PatternRows& p, const RowStencil<T>& list,
                                                     const Values& values, const T* x, const RowSink<T>& out,
                                                     unsigned slice, PlainSums<2>& dots) {
  constexpr int R = Chunk::rows;
  using Weights = decltype(weights_at(values, index_t{0}));
  if constexpr (prefetches_slices<Chunk, Weights, T>) {
    static_assert(Chunk::warps_per_slice == 1);
    const unsigned ahead = slice + p.slices_ahead;
    if (list.uniform_slices != nullptr && ahead < p.whole_slices) {
      const auto row = static_cast<index_t>(ahead * (warp_size * R));
      prefetch_slice<R>(list, weights_at(values, row), base_at(x, row));
    }
  }
  if (!list.interior.has(slice / Chunk::warps_per_slice)) return false;
  const auto first = static_cast<index_t>(slice * (warp_size * R) + threadIdx.x % warp_size);
  int code[R];
  T sums[R] = {};
  const VectorGather<T> gather(x, first);
  if (!add_uniform_rows<Chunk>(p, list, slice, weights_at(values, first), gather, code, sums)) return false;
#pragma unroll
  for (int r = 0; r < R; ++r) {
    if (code[r] != p.lists) out.store(first + r * warp_size, sums[r], dots);
  }
  return true;
}

template <class Chunk, class Values, class T>
inline constexpr int min_blocks_of = [] {
  using Weights = decltype(weights_at(std::declval<const Values&>(), index_t{0}));
  constexpr std::size_t of_term =
      sizeof(T) + (are_loaded<Weights> ? sizeof(typename LoadedValue<Weights, T>::type) : 0);
  if (Chunk::rows == 1) return uniform_min_blocks_of_one_row;
  return uniform_min_blocks(of_term * Chunk::terms * Chunk::rows, are_loaded<Weights>);
}();

/// Slices with rows on other lists read the table from global memory: to share it, all warps of a block would have to
/// wait for each other.
template <class Chunk, class Values, class Terms, class T>
__global__ void __launch_bounds__(pattern_threads, min_blocks_of<Chunk, Values, T>)
    uniform_rows_kernel(PatternRows p, Values values, RowStencil<T> list, Terms terms, const offset_t* row_offsets,
                        RowSink<T> out) {
  static_assert(suits_uniform_rows<Values>);
  PlainSums<2> dots;
  if (blockIdx.x < p.exception_blocks) {
    multiply_exception(p, row_offsets, terms, out, dots);
  } else {
    const unsigned slice = list.order.slice(blockIdx.x - p.exception_blocks, threadIdx.x / warp_size);
    if (slice < p.slices && !multiply_uniform_slice<Chunk>(p, list, values, terms.x, out, slice, dots)) {
      // Codes once more, since no register held them.
      RowsOfLane<Chunk::rows> own;
      load_codes<Chunk::warps_per_slice>(p, slice, own.code);
      multiply_slice<Chunk>(p, p.table, values, terms.x, out, slice, own, dots);
    }
  }
  out.template store_dots<pattern_threads>(dots);
}

}  // namespace tessera::cuda
