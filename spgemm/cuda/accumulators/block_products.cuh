/// \file
/// Products of a row of C, or of a range of its columns, for the warps of a block: each warp gets as many products, not
/// as many rows of B (the balanced expansion of Dalton, Olson & Bell, TOMS 2015).
#pragma once

#include "core/cuda/launch.cuh"
#include "core/cuda/warp.cuh"
#include "core/host_device.hpp"
#include "core/partition_point.hpp"
#include "spgemm/cuda/accumulators/rows.cuh"

#include <cstdint>

namespace tessera::cuda {

/// Beyond all columns.
inline constexpr unsigned beyond_columns = ~0U;

/// Consecutive columns of a row of C. Columns have no sign here: the end of a range may lie beyond 2^31.
struct ColumnRange {
  unsigned first = 0;
  unsigned end = 0;    ///< one past the last
  bool whole = false;  ///< whether the row has no others
};

/// The part of a row of B that lies in a range, and the entry of A it is multiplied by.
template <class V>
struct BRowPart {
  offset_t begin = 0;
  int length = 0;
  V factor{};
};

/// The first offset in [begin, end) whose column is not below `column`, or end.
[[nodiscard]] __device__ __forceinline__ offset_t first_not_below(const index_t* columns, offset_t begin, offset_t end,
                                                                  unsigned column) {
  return detail::partition_point(begin, end, [&](offset_t k) { return static_cast<unsigned>(columns[k]) < column; });
}

/// The part of the row of B of entry k of A within a range. \param next lowered to the first column of that row of B
/// after the range
template <class V>
[[nodiscard]] __device__ __forceinline__ BRowPart<V> part_of(const Factors<V>& factors, offset_t k,
                                                             const ColumnRange& range, unsigned& next) {
  const index_t row = factors.a_columns[k];
  BRowPart<V> part;
  if constexpr (has_values<V>) part.factor = value_at(factors.a_values, k);
  part.begin = factors.b_offsets[row];
  offset_t end = factors.b_offsets[row + 1];
  if (!range.whole) {
    part.begin = first_not_below(factors.b_columns, part.begin, end, range.first);
    // Columns are distinct.
    const offset_t most = part.begin + (range.end - range.first);
    const offset_t last = first_not_below(factors.b_columns, part.begin, end < most ? end : most, range.end);
    if (last < end) {
      const auto column = static_cast<unsigned>(factors.b_columns[last]);
      if (column < next) next = column;
    }
    end = last;
  }
  part.length = static_cast<int>(end - part.begin);
  return part;
}

/// The part that another lane holds. Every lane must call.
template <class V>
[[nodiscard]] __device__ BRowPart<V> part_of_lane(const BRowPart<V>& own, int lane) {
  BRowPart<V> part;
  part.begin = __shfl_sync(full_warp, own.begin, lane);
  part.length = __shfl_sync(full_warp, own.length, lane);
  if constexpr (has_values<V>) part.factor = __shfl_sync(full_warp, own.factor, lane);
  return part;
}

/// a_ik b_kj for the entry at offset l of B; NoValue where there are no values.
template <class V>
[[nodiscard]] __device__ V product_at(const Factors<V>& factors, const BRowPart<V>& part, offset_t l) {
  if constexpr (has_values<V>) {
    return product_of(part.factor, value_at(factors.b_values, l));
  } else {
    return V{};
  }
}

/// Independent loads in flight per thread.
inline constexpr int loads_at_once = 4;

/// body(column, product) for the products of one part, which all lanes of the warp hold, in any order. Loops of a warp
/// here and below have one length for all of its lanes, so that all come to the barrier behind them together
/// (bench/NOTES.md, "A barrier that let a warp through in halves").
template <class V, class Body>
__device__ void for_products_of_part(const Factors<V>& factors, const BRowPart<V>& part, Body&& body) {
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  for (int base = 0; base < part.length; base += warp_size * loads_at_once) {
    index_t column[loads_at_once];
    V product[loads_at_once];
#pragma unroll
    for (int u = 0; u < loads_at_once; ++u) {
      const int i = base + u * warp_size + lane;
      column[u] = -1;
      if (i < part.length) {
        column[u] = factors.b_columns[part.begin + i];
        product[u] = product_at(factors, part, part.begin + i);
      }
    }
#pragma unroll
    for (int u = 0; u < loads_at_once; ++u) {
      if (column[u] >= 0) body(column[u], product[u]);
    }
  }
}

/// body(column, product) for the products of parts of like length, in any order: a group of lanes takes loads_at_once
/// of them. \param lanes of a group: power of two, 4 to 32 \param held lanes from there on hold empty parts
template <class V, class Body>
__device__ void for_products_by_groups(const Factors<V>& factors, const BRowPart<V>& own, unsigned lanes, unsigned held,
                                       Body&& body) {
  const unsigned lane = threadIdx.x % warp_size;
  const unsigned groups = warp_size / lanes;
  for (unsigned from = 0; from < held; from += groups * loads_at_once) {
    BRowPart<V> part[loads_at_once];
    int longest = 0;
#pragma unroll
    for (unsigned u = 0; u < loads_at_once; ++u) {
      part[u] = part_of_lane(own, static_cast<int>(from + u * groups + lane / lanes));
      if (part[u].length > longest) longest = part[u].length;
    }
    longest = __reduce_max_sync(full_warp, longest);
    for (int base = 0; base < longest; base += static_cast<int>(lanes)) {
      const int i = base + static_cast<int>(lane % lanes);
      index_t column[loads_at_once];
      V product[loads_at_once];
#pragma unroll
      for (int u = 0; u < loads_at_once; ++u) {
        column[u] = -1;
        if (i < part[u].length) {
          column[u] = factors.b_columns[part[u].begin + i];
          product[u] = product_at(factors, part[u], part[u].begin + i);
        }
      }
#pragma unroll
      for (int u = 0; u < loads_at_once; ++u) {
        if (column[u] >= 0) body(column[u], product[u]);
      }
    }
  }
}

/// Products from which all lanes of a warp take a part together.
inline constexpr int long_part = 2 * warp_size;

/// body(column, product) for the products of the parts that the lanes of a warp hold, in any order. Every lane must
/// call.
template <class V, class Body>
__device__ void for_products_of_parts(const Factors<V>& factors, BRowPart<V> own, Body&& body) {
  for (unsigned rest = __ballot_sync(full_warp, own.length >= long_part); rest != 0; rest &= rest - 1) {
    for_products_of_part(factors, part_of_lane(own, __ffs(static_cast<int>(rest)) - 1), body);
  }
  if (own.length >= long_part) own.length = 0;
  const unsigned filled = __ballot_sync(full_warp, own.length > 0);
  if (filled == 0) return;
  const unsigned mean = __reduce_add_sync(full_warp, static_cast<unsigned>(own.length)) / __popc(filled);
  unsigned lanes = 4;
  while (lanes < warp_size && lanes < mean) lanes *= 2;
  for_products_by_groups(factors, own, lanes, warp_size - __clz(static_cast<int>(filled)), body);
}

/// body(column, product) for the products of loads_at_once parts, one part after the other: the effects of one are
/// visible to the next. Short parts are loaded together. All lanes hold the same parts.
template <class V, class Body>
__device__ void for_parts_in_order(const Factors<V>& factors, const BRowPart<V> (&part)[loads_at_once], Body&& body) {
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  int longest = 0;
#pragma unroll
  for (int u = 0; u < loads_at_once; ++u) longest = part[u].length > longest ? part[u].length : longest;
  if (longest > warp_size) {
#pragma unroll
    for (int u = 0; u < loads_at_once; ++u) {
      for_products_of_part(factors, part[u], body);
      __syncwarp();
    }
    return;
  }
  index_t column[loads_at_once];
  V product[loads_at_once];
#pragma unroll
  for (int u = 0; u < loads_at_once; ++u) {
    column[u] = -1;
    if (lane < part[u].length) {
      column[u] = factors.b_columns[part[u].begin + lane];
      product[u] = product_at(factors, part[u], part[u].begin + lane);
    }
  }
#pragma unroll
  for (int u = 0; u < loads_at_once; ++u) {
    if (column[u] >= 0) body(column[u], product[u]);
    __syncwarp();
  }
}

/// body(column, product) for all products of entries [begin, begin + b_rows) of A in a range, by a warp, entry after
/// entry: the effects of one are visible to the next. Every lane must call.
template <class V, class Body>
__device__ void for_products_in_order(const Factors<V>& factors, offset_t begin, unsigned b_rows,
                                      const ColumnRange& range, Body&& body) {
  const unsigned lane = threadIdx.x % warp_size;
  unsigned next = beyond_columns;
  for (unsigned from = 0; from < b_rows; from += warp_size) {
    BRowPart<V> own;
    if (from + lane < b_rows) own = part_of(factors, begin + from + lane, range, next);
    unsigned filled = __ballot_sync(full_warp, own.length > 0);
    while (filled != 0) {
      BRowPart<V> part[loads_at_once];
#pragma unroll
      for (int u = 0; u < loads_at_once; ++u) {
        if (filled == 0) continue;
        part[u] = part_of_lane(own, __ffs(static_cast<int>(filled)) - 1);
        filled &= filled - 1;
      }
      for_parts_in_order(factors, part, body);
    }
  }
}

/// Shared memory of ProductShares: one row of B per thread.
template <int Threads>
struct ProductSharesMemory {
  unsigned ends[Threads];    ///< products of the rows of B up to and with this one
  offset_t begins[Threads];  ///< first entry in B within the range
  unsigned of_warps[Threads / warp_size];
};

/// Shares of the products of up to `Threads` entries of a row of A. A row of B has at most one product per column of
/// the range, whose bitmap or table is in shared memory, so all of them have less than 2^32.
template <int Threads>
class ProductShares {
 public:
  __device__ explicit ProductShares(ProductSharesMemory<Threads>& space) : space_(space) {}

  /// Loads entries [begin, begin + b_rows) of A. Every thread of the block must call.
  /// \param b_rows at least 1; only the first Threads count
  /// \returns the smallest column after the range that this thread met, or beyond_columns
  __device__ unsigned take(const Factors<NoValue>& factors, offset_t begin, unsigned b_rows, const ColumnRange& range) {
    begin_ = begin;
    b_rows_ = b_rows < Threads ? b_rows : Threads;
    unsigned next = beyond_columns;
    BRowPart<NoValue> own;
    if (threadIdx.x < b_rows_) own = part_of(factors, begin + threadIdx.x, range, next);
    const auto length = static_cast<unsigned>(own.length);
    // The sum synchronises: the rows of B before these have been used.
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
    for (unsigned b_row = b_row_of(from); b_row < b_rows_ && before(b_row) < to; b_row += warp_size) {
      for_products_of_parts(factors, clipped(factors, b_row + lane(), from, to), body);
    }
  }

 private:
  static constexpr unsigned warps = Threads / warp_size;

  [[nodiscard]] __device__ static unsigned lane() { return threadIdx.x % warp_size; }
  [[nodiscard]] __device__ static unsigned warp() { return threadIdx.x / warp_size; }
  [[nodiscard]] __device__ unsigned before(unsigned b_row) const { return b_row == 0 ? 0 : space_.ends[b_row - 1]; }

  /// The row of B of product number `product`.
  [[nodiscard]] __device__ unsigned b_row_of(unsigned product) const {
    unsigned first = 0;
    for (unsigned step = Threads / 2; step > 0; step /= 2) {
      if (space_.ends[first + step - 1] <= product) first += step;
    }
    return first;
  }

  /// The part of a row of B that products [from, to) cover; empty where there is no such row.
  template <class V>
  [[nodiscard]] __device__ BRowPart<V> clipped(const Factors<V>& factors, unsigned b_row, unsigned from,
                                               unsigned to) const {
    BRowPart<V> part;
    if (b_row >= b_rows_) return part;
    const unsigned first = before(b_row);
    const unsigned begin = first < from ? from : first;
    const unsigned end = space_.ends[b_row] < to ? space_.ends[b_row] : to;
    if (begin >= end) return part;
    part.begin = space_.begins[b_row] + (begin - first);
    part.length = static_cast<int>(end - begin);
    if constexpr (has_values<V>) part.factor = value_at(factors.a_values, begin_ + b_row);
    return part;
  }

  ProductSharesMemory<Threads>& space_;
  offset_t begin_ = 0;
  unsigned b_rows_ = 0;
};

}  // namespace tessera::cuda
