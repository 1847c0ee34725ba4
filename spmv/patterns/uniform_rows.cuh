/// \file
/// Kernel of row templates and pattern matrices with many uniform slices: a warp whose rows are all on the most
/// frequent list, or on sub-lists, takes columns and values from the parameters of the kernel, in constant memory, and
/// loads x alone. A block of such warps does not load the table. Terms are added in the same order as in
/// patterns_kernel.cuh, with equal bits.
#pragma once

#include "spmv/patterns/patterns_kernel.cuh"
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

/// What the rows of a slice have of the most frequent list.
enum class SliceRows {
  uniform,  ///< all of it
  masked,   ///< some terms of it
  other,
};

/// Every lane must call. \param code of the lane's rows; set \param mask of its rows; set unless uniform
template <int R>
[[nodiscard]] __device__ SliceRows rows_of_slice(const PatternRows& p, const TermMask* masks, unsigned slice,
                                                 int (&code)[R], TermMask (&mask)[R]) {
  load_codes<R>(p, slice, code);
  int any = code[0];
#pragma unroll
  for (int r = 1; r < R; ++r) any |= code[r];
  if (__any_sync(full_warp, any != 0 ? 1 : 0) == 0) return SliceRows::uniform;
  TermMask all = is_sub_list;
#pragma unroll
  for (int r = 0; r < R; ++r) {
    mask[r] = __ldg(masks + code[r]);
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

/// Adds terms K0 ... K0 + Chunk - 1 of the list for R rows, 32 apart: all loads first. Terms that a row lacks are not
/// multiplied. \tparam Weighted whether the list has values \param gather (relative column, distance of the row from
/// row 0)
template <bool Weighted, int K0, int Chunk, int R, class Terms, class T, class Gather>
__device__ void add_uniform_terms(const FrequentList<T>& list, const Terms& terms, const Gather& gather, T (&sums)[R]) {
  static_assert(K0 + Chunk <= most_uniform_terms);
  T source[Chunk][R];
#pragma unroll
  for (int k = 0; k < Chunk; ++k) {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      source[k][r] = Terms::loads_all || terms.has(K0 + k, r) ? gather(list.columns[K0 + k], r * warp_size) : T{0};
    }
  }
#pragma unroll
  for (int k = 0; k < Chunk; ++k) {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      if (!terms.has(K0 + k, r)) continue;
      if constexpr (Weighted) {
        sums[r] += list.values[K0 + k] * source[k][r];
      } else {
        sums[r] += source[k][r];
      }
    }
  }
}

/// All terms from K0 on, in chunks.
template <bool Weighted, class Chunk, int K0 = 0, int R, class Terms, class T, class Gather>
__device__ void add_uniform_rows(const FrequentList<T>& list, const Terms& terms, const Gather& gather, T (&sums)[R]) {
  add_uniform_terms<Weighted, K0, Chunk::terms>(list, terms, gather, sums);
  if constexpr (Chunk::loop && K0 + 2 * Chunk::terms <= most_uniform_terms) {
    constexpr int next = K0 + Chunk::terms;
    if (next < list.length) add_uniform_rows<Weighted, Chunk, next>(list, terms, gather, sums);
  }
}

/// The same for rows on sub-lists.
template <bool Weighted, class Chunk, int R, class T, class Gather>
__device__ void add_masked_rows(const FrequentList<T>& list, const TermMask (&mask)[R], const Gather& gather,
                                T (&sums)[R]) {
  using Word = std::conditional_t<Chunk::loop, TermMask, std::uint32_t>;
  MaskedTerms<Word, R> terms;
#pragma unroll
  for (int r = 0; r < R; ++r) terms.mask[r] = static_cast<Word>(mask[r]);
  add_uniform_rows<Weighted, Chunk>(list, terms, gather, sums);
}

/// \returns whether the slice was multiplied
template <class Chunk, class Values, class T>
[[nodiscard]] __device__ bool multiply_uniform_slice(const PatternRows& p, const FrequentList<T>& list, const T* x,
                                                     const RowSink<T>& out, unsigned slice, PlainSums<2>& dots) {
  constexpr int R = Chunk::rows;
  const auto first = static_cast<index_t>(slice * (warp_size * R) + threadIdx.x % warp_size);
  int code[R];
  TermMask mask[R];
  const SliceRows kind = rows_of_slice(p, list.masks, slice, code, mask);
  if (kind == SliceRows::other) return false;
  T sums[R] = {};
  if (kind == SliceRows::uniform) {
    add_uniform_rows<Values::in_table, Chunk>(list, EveryTerm{list.length}, VectorGather<T>(x, first), sums);
  } else {
    add_masked_rows<Values::in_table, Chunk>(list, mask, VectorGather<T>(x, first), sums);
  }
#pragma unroll
  for (int r = 0; r < R; ++r) {
    if (code[r] != p.lists) out.store(first + r * warp_size, sums[r], dots);
  }
  return true;
}

template <class Chunk, class Values, class Terms, class T>
__global__ void __launch_bounds__(pattern_threads, uniform_min_blocks(Chunk::rows))
    uniform_rows_kernel(PatternRows p, Values values, FrequentList<T> list, Terms terms, const offset_t* row_offsets,
                        RowSink<T> out) {
  static_assert(!Values::in_slices);
  PlainSums<2> dots;
  if (blockIdx.x < p.exception_blocks) {
    multiply_exception(p, row_offsets, terms, out, dots);
  } else {
    unsigned char* const shared = dynamic_shared_memory();
    auto* const table = reinterpret_cast<index_t*>(shared);
    const unsigned slice = list.order.slice(blockIdx.x - p.exception_blocks, threadIdx.x / warp_size);
    bool is_done = true;
    if (slice < p.slices) is_done = multiply_uniform_slice<Chunk, Values>(p, list, terms.x, out, slice, dots);
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
