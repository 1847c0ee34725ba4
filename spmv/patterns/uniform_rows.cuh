/// \file
/// Kernel of row templates, pattern matrices and symmetric halves with many uniform slices: a warp whose rows are all
/// on the most frequent list, or on sub-lists, takes columns, and values or their places, from the parameters of the
/// kernel, in constant memory, and loads x, of halves also values. A block of such warps does not load the table. Terms
/// are added in the same order as in patterns_kernel.cuh, with equal bits.
#pragma once

#include "core/cuda/prefetch.cuh"
#include "spmv/patterns/patterns_kernel.cuh"
#include "spmv/patterns/symmetric_half.cuh"
#include "spmv/patterns/uniform_rows.hpp"

#include <type_traits>

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

/// What the rows of a slice have of the most frequent list.
enum class SliceRows {
  uniform,  ///< all of it
  masked,   ///< some terms of it
  other,
};

/// Whether weights are loaded from memory.
template <class Weights>
inline constexpr bool are_loaded = requires {
  typename Weights::Loaded;
};

/// Whether all rows of a slice are on the list itself. One sector of these bits serves 256 slices, so that a warp waits
/// for the second-level cache, where codes would come from memory.
template <class T>
[[nodiscard]] __device__ bool is_uniform_slice(const FrequentList<T>& list, unsigned slice) {
  return (__ldg(list.uniform_slices + slice / 32) >> slice % 32 & 1u) != 0;
}

/// Every lane must call. \param code of the lane's rows; set \param mask of its rows; set unless uniform
template <int R, class T>
[[nodiscard]] __device__ SliceRows rows_of_slice(const PatternRows& p, const FrequentList<T>& list, unsigned slice,
                                                 int (&code)[R], TermMask (&mask)[R]) {
  if (is_uniform_slice(list, slice)) {
#pragma unroll
    for (int r = 0; r < R; ++r) code[r] = 0;
    return SliceRows::uniform;
  }
  load_codes<R>(p, slice, code);
  TermMask all = is_sub_list;
#pragma unroll
  for (int r = 0; r < R; ++r) {
    mask[r] = __ldg(list.masks + code[r]);
    all &= mask[r];
  }
  return __any_sync(full_warp, all == 0 ? 1 : 0) == 0 ? SliceRows::masked : SliceRows::other;
}

/// Terms of rows on the list itself: all are loaded, also the repeated ones beyond its end, without a branch.
struct EveryTerm {
  static constexpr bool loads_all = true;
  int length;
  [[nodiscard]] __device__ bool has(int k, int /*r*/) const { return k < length; }
};

/// Terms of rows on sub-lists: those that a row lacks are not loaded, since they may lie outside of x.
/// \tparam Word of a mask
template <class Word, int R>
struct MaskedTerms {
  static constexpr bool loads_all = false;
  Word mask[R];
  [[nodiscard]] __device__ bool has(int k, int r) const { return (mask[r] >> k & 1u) != 0; }
};

/// What a lane loads per term: a weight, else an element of x alone.
template <class Weights, class T>
struct LoadedOf {
  using type = T;
};
template <class Weights, class T>
requires are_loaded<Weights>
struct LoadedOf<Weights, T> {
  using type = typename Weights::Loaded;
};

/// Adds terms K0 ... K0 + Chunk - 1 of the list for R rows, 32 apart: all loads first. Terms that a row lacks are not
/// multiplied. \param gather (relative column, distance of the row from row 0)
template <int K0, int Chunk, int R, class Weights, class Terms, class T, class Gather>
__device__ void add_uniform_terms(const FrequentList<T>& list, const Weights& weights, const Terms& terms,
                                  const Gather& gather, T (&sums)[R]) {
  static_assert(K0 + Chunk <= most_uniform_terms);
  T source[Chunk][R];
  [[maybe_unused]] typename LoadedOf<Weights, T>::type weight[Chunk][R];
#pragma unroll
  for (int k = 0; k < Chunk; ++k) {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const bool loads = Terms::loads_all || terms.has(K0 + k, r);
      if constexpr (are_loaded<Weights>) {
        weight[k][r] = loads ? weights(list.places[K0 + k], r * warp_size) : typename Weights::Loaded{0};
      }
      source[k][r] = loads ? gather(list.columns[K0 + k], r * warp_size) : T{0};
    }
  }
#pragma unroll
  for (int k = 0; k < Chunk; ++k) {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      if (!terms.has(K0 + k, r)) continue;
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

/// All terms from K0 on, in chunks; loaded weights are of one chunk.
template <class Chunk, int K0 = 0, int R, class Weights, class Terms, class T, class Gather>
__device__ void add_uniform_rows(const FrequentList<T>& list, const Weights& weights, const Terms& terms,
                                 const Gather& gather, T (&sums)[R]) {
  add_uniform_terms<K0, Chunk::terms>(list, weights, terms, gather, sums);
  if constexpr (Chunk::loop && !are_loaded<Weights> && K0 + 2 * Chunk::terms <= most_uniform_terms) {
    constexpr int next = K0 + Chunk::terms;
    if (next < list.length) add_uniform_rows<Chunk, next>(list, weights, terms, gather, sums);
  }
}

/// The same for rows on sub-lists.
template <class Chunk, int R, class Weights, class T, class Gather>
__device__ void add_masked_rows(const FrequentList<T>& list, const Weights& weights, const TermMask (&mask)[R],
                                const Gather& gather, T (&sums)[R]) {
  using Word = std::conditional_t<Chunk::loop, TermMask, std::uint32_t>;
  MaskedTerms<Word, R> terms;
#pragma unroll
  for (int r = 0; r < R; ++r) terms.mask[r] = static_cast<Word>(mask[r]);
  add_uniform_rows<Chunk>(list, weights, terms, gather, sums);
}

/// Whether a warp prefetches, for one that follows, what that reads for the first time: x at its rows, and values. It
/// pays for short lists in single precision. In double precision constant lists gain nothing, and a half, which keeps
/// the second-level cache busy, loses (H200, 5 points: .247 and .260 ms).
template <class Chunk, class Weights, class T>
inline constexpr bool prefetches_slices = Chunk::terms <= 5 && sizeof(typename LoadedOf<Weights, T>::type) == 4;

/// \param x at the first row of the slice, as are the weights
template <int R, class Weights, class T>
__device__ void prefetch_slice(const FrequentList<T>& list, const Weights& weights, const T* x) {
  prefetch_by_warp<warp_size * R>(x);
  if constexpr (are_loaded<Weights>) {
    for (int k = 0; k < list.length; ++k) {
      if (list.columns[k] >= 0) prefetch_by_warp<warp_size * R>(weights.at + list.places[k]);
    }
  }
}

/// \returns whether the slice was multiplied
template <class Chunk, class Values, class T>
[[nodiscard]] __device__ bool multiply_uniform_slice(const PatternRows& p, const FrequentList<T>& list,
                                                     const Values& values, const T* x, const RowSink<T>& out,
                                                     unsigned slice, PlainSums<2>& dots) {
  constexpr int R = Chunk::rows;
  using Weights = decltype(weights_at(values, index_t{0}));
  if constexpr (prefetches_slices<Chunk, Weights, T>) {
    const unsigned ahead = slice + p.slices_ahead;
    if (ahead < p.whole_slices) {
      const auto row = static_cast<index_t>(ahead * (warp_size * R));
      prefetch_slice<R>(list, weights_at(values, row), base_at(x, row));
    }
  }
  const auto first = static_cast<index_t>(slice * (warp_size * R) + threadIdx.x % warp_size);
  int code[R];
  TermMask mask[R];
  const SliceRows kind = rows_of_slice(p, list, slice, code, mask);
  if (kind == SliceRows::other) return false;
  T sums[R] = {};
  const VectorGather<T> gather(x, first);
  if (kind == SliceRows::uniform) {
    add_uniform_rows<Chunk>(list, weights_at(values, first), EveryTerm{list.length}, gather, sums);
  } else {
    add_masked_rows<Chunk>(list, weights_at(values, first), mask, gather, sums);
  }
#pragma unroll
  for (int r = 0; r < R; ++r) {
    if (code[r] != p.lists) out.store(first + r * warp_size, sums[r], dots);
  }
  return true;
}

template <class Chunk, class Values, class Terms, class T>
__global__ void __launch_bounds__(pattern_threads, uniform_min_blocks(Chunk::rows, Values::in_slices))
    uniform_rows_kernel(PatternRows p, Values values, FrequentList<T> list, Terms terms, const offset_t* row_offsets,
                        RowSink<T> out) {
  static_assert(suits_uniform_rows<Values>);
  PlainSums<2> dots;
  if (blockIdx.x < p.exception_blocks) {
    multiply_exception(p, row_offsets, terms, out, dots);
  } else {
    unsigned char* const shared = dynamic_shared_memory();
    auto* const table = reinterpret_cast<index_t*>(shared);
    const unsigned slice = list.order.slice(blockIdx.x - p.exception_blocks, threadIdx.x / warp_size);
    bool is_done = true;
    if (slice < p.slices) is_done = multiply_uniform_slice<Chunk>(p, list, values, terms.x, out, slice, dots);
    if (__syncthreads_count(is_done ? 0 : 1) > 0) {
      const Values own_values = share_table(p, values, p.table, table, shared + shared_columns_bytes(p.places()));
      if (!is_done) {
        // Once more, since no register held them.
        RowsOfLane<Chunk::rows> own;
        load_codes<Chunk::rows>(p, slice, own.code);
        multiply_slice<Chunk>(p, table, own_values, terms.x, out, slice, own, dots);
      }
    }
  }
  out.template store_dots<pattern_threads>(dots);
}

}  // namespace tessera::cuda
