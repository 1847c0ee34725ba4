/// \file
/// The rows of B that make up a row of C, shared out among the warps of a block so that each has as many products.
/// optimized-esc-spgemm.txt balances its expansion in the same way: over products, not over rows.
#pragma once

#include "core/cuda/warp.cuh"
#include "spgemm/cuda/stretch.cuh"

namespace tessera::cuda {

/// What the threads of a block know of their lists: one each.
template <int Threads>
struct ListSpace {
  unsigned ends[Threads];    ///< products of the lists up to and with this one
  offset_t begins[Threads];  ///< first place in B of what the stretch takes
  unsigned of_warps[Threads / warp_size];
};

/// As many entries of a row of A as a block has threads. A list has at most one product a column of the stretch, whose
/// bitmap or table is in shared memory, so all of them have less than 2^32.
template <int Threads>
class ListShares {
 public:
  __device__ explicit ListShares(ListSpace<Threads>& space) : space_(space) {}

  /// Looks at entries [begin, begin + lists) of A. Every thread of the block must call.
  /// \param lists at least 1; only the first Threads count
  /// \returns the smallest column after the stretch that this thread met, or beyond_columns
  __device__ unsigned take(const Factors<NoValue>& factors, offset_t begin, unsigned lists, const Stretch& stretch) {
    begin_ = begin;
    lists_ = lists < Threads ? lists : Threads;
    unsigned next = beyond_columns;
    Part<NoValue> own;
    if (threadIdx.x < lists_) own = part_of(factors, begin + threadIdx.x, stretch, next);
    const auto length = static_cast<unsigned>(own.length);
    // When it returns, the lists before these have been used.
    space_.ends[threadIdx.x] = running_sum_in_block<Threads, true>(length, space_.of_warps).before + length;
    space_.begins[threadIdx.x] = own.begin;
    __syncthreads();
    return next;
  }

  /// body(column, product) for this warp's share of the products, in any order, after take(). Every lane must call.
  template <class V, class Body>
  __device__ void for_products(const Factors<V>& factors, Body&& body) const {
    const unsigned long long all = space_.ends[Threads - 1];
    const auto from = static_cast<unsigned>(all * warp() / warps);
    const auto to = static_cast<unsigned>(all * (warp() + 1) / warps);
    if (from == to) return;
    for (unsigned list = list_of(from); list < lists_ && before(list) < to; list += warp_size) {
      for_products_of_parts(factors, clipped(factors, list + lane(), from, to), body);
    }
  }

 private:
  static constexpr unsigned warps = Threads / warp_size;

  [[nodiscard]] __device__ static unsigned lane() { return threadIdx.x % warp_size; }
  [[nodiscard]] __device__ static unsigned warp() { return threadIdx.x / warp_size; }
  [[nodiscard]] __device__ unsigned before(unsigned list) const { return list == 0 ? 0 : space_.ends[list - 1]; }

  /// The list of product number `product`.
  [[nodiscard]] __device__ unsigned list_of(unsigned product) const {
    unsigned first = 0;
    for (unsigned step = Threads / 2; step > 0; step /= 2) {
      if (space_.ends[first + step - 1] <= product) first += step;
    }
    return first;
  }

  /// What products [from, to) have of a list; nothing of one that does not exist.
  template <class V>
  [[nodiscard]] __device__ Part<V> clipped(const Factors<V>& factors, unsigned list, unsigned from, unsigned to) const {
    Part<V> part;
    if (list >= lists_) return part;
    const unsigned first = before(list);
    const unsigned begin = first < from ? from : first;
    const unsigned end = space_.ends[list] < to ? space_.ends[list] : to;
    if (begin >= end) return part;
    part.begin = space_.begins[list] + (begin - first);
    part.length = static_cast<int>(end - begin);
    if constexpr (has_values<V>) part.factor = value_at(factors.a_values, begin_ + list);
    return part;
  }

  ListSpace<Threads>& space_;
  offset_t begin_ = 0;
  unsigned lists_ = 0;
};

}  // namespace tessera::cuda
