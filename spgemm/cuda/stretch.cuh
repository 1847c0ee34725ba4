/// \file
/// Rows of B as warps see them that share a row of C, all of it or a stretch of its columns.
#pragma once

#include "core/cuda/launch.cuh"
#include "core/host_device.hpp"
#include "spgemm/cuda/rows.cuh"

#include <cstdint>

namespace tessera::cuda {

/// Beyond all columns.
inline constexpr unsigned beyond_columns = ~0U;

/// Consecutive columns of a row of C. Columns have no sign here: the end of a stretch may lie beyond 2^31.
struct Stretch {
  unsigned first = 0;
  unsigned end = 0;    ///< one past the last
  bool whole = false;  ///< whether the row has no others
};

/// The part of a row of B that lies in a stretch, and the entry of A it is multiplied by.
template <class V>
struct Part {
  offset_t begin = 0;
  int length = 0;
  V factor{};
};

/// The first place in [begin, end) whose column is not below `column`, or end.
[[nodiscard]] __device__ __forceinline__ offset_t first_not_below(const index_t* columns, offset_t begin, offset_t end,
                                                                  unsigned column) {
  while (begin < end) {
    const offset_t middle = begin + (end - begin) / 2;
    if (static_cast<unsigned>(columns[middle]) < column) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

/// What entry k of A takes from a stretch. \param next lowered to the first column of that row of B after the stretch
template <class V>
[[nodiscard]] __device__ __forceinline__ Part<V> part_of(const Factors<V>& factors, offset_t k, const Stretch& stretch,
                                                         unsigned& next) {
  const index_t row = factors.a_columns[k];
  Part<V> part;
  if constexpr (has_values<V>) part.factor = value_at(factors.a_values, k);
  part.begin = factors.b_offsets[row];
  offset_t end = factors.b_offsets[row + 1];
  if (!stretch.whole) {
    part.begin = first_not_below(factors.b_columns, part.begin, end, stretch.first);
    // Columns are distinct.
    const offset_t most = part.begin + (stretch.end - stretch.first);
    const offset_t last = first_not_below(factors.b_columns, part.begin, end < most ? end : most, stretch.end);
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
[[nodiscard]] __device__ Part<V> part_of_lane(const Part<V>& own, int lane) {
  Part<V> part;
  part.begin = __shfl_sync(full_warp, own.begin, lane);
  part.length = __shfl_sync(full_warp, own.length, lane);
  if constexpr (has_values<V>) part.factor = __shfl_sync(full_warp, own.factor, lane);
  return part;
}

/// a_ik b_kj for the entry at place l of B; NoValue where there are no values.
template <class V>
[[nodiscard]] __device__ V product_at(const Factors<V>& factors, const Part<V>& part, offset_t l) {
  if constexpr (has_values<V>) {
    return product_of(part.factor, value_at(factors.b_values, l));
  } else {
    return V{};
  }
}

/// Lanes for a row of B. \param mean_list entries of one
[[nodiscard]] inline unsigned lanes_for(double mean_list) {
  unsigned lanes = 4;
  while (lanes < warp_size && lanes < mean_list) lanes *= 2;
  return lanes;
}

/// Parts that a group of lanes reads at once, so that their loads overlap.
inline constexpr int parts_at_once = 4;

/// body(column, product) for all products of entries [begin, begin + lists) of A in a stretch, in any order; the warps
/// with the same `taken` share the entries. `lanes` neighbouring lanes take an entry. Every lane must call.
/// \param lanes power of two, 4 to 32 \param taken in shared memory, 0: entries that warps have taken
/// \returns the smallest column after the stretch that this thread met
template <class V, class Body>
__device__ unsigned for_products_of_stretch(const Factors<V>& factors, offset_t begin, unsigned lists,
                                            const Stretch& stretch, unsigned lanes, unsigned* taken, Body&& body) {
  const unsigned lane = threadIdx.x % warp_size;
  const unsigned groups = warp_size / lanes;
  const unsigned at_once = groups * parts_at_once;
  unsigned next = beyond_columns;
  for (;;) {
    // Lanes whose rows ended early have gone ahead, some since before a barrier of the block.
    __syncwarp();
    unsigned from = 0;
    if (lane == 0) from = atomicAdd(taken, at_once);
    from = __shfl_sync(full_warp, from, 0);
    if (from >= lists) break;
    Part<V> own;
    if (lane < at_once && from + lane < lists) own = part_of(factors, begin + from + lane, stretch, next);
    Part<V> part[parts_at_once];
    int longest = 0;
#pragma unroll
    for (int u = 0; u < parts_at_once; ++u) {
      part[u] = part_of_lane(own, static_cast<int>(u * groups + lane / lanes));
      if (part[u].length > longest) longest = part[u].length;
    }
    for (int i = static_cast<int>(lane % lanes); i < longest; i += static_cast<int>(lanes)) {
      index_t column[parts_at_once];
      V product[parts_at_once];
#pragma unroll
      for (int u = 0; u < parts_at_once; ++u) {
        column[u] = -1;
        if (i < part[u].length) {
          column[u] = factors.b_columns[part[u].begin + i];
          product[u] = product_at(factors, part[u], part[u].begin + i);
        }
      }
#pragma unroll
      for (int u = 0; u < parts_at_once; ++u) {
        if (column[u] >= 0) body(column[u], product[u]);
      }
    }
  }
  return next;
}

/// The same by this warp alone, entry after entry of A: what one entry did is there before the next. Every lane must
/// call.
template <class V, class Body>
__device__ void for_products_in_order(const Factors<V>& factors, offset_t begin, unsigned lists, const Stretch& stretch,
                                      Body&& body) {
  const unsigned lane = threadIdx.x % warp_size;
  unsigned next = beyond_columns;
  for (unsigned from = 0; from < lists; from += warp_size) {
    Part<V> own;
    if (from + lane < lists) own = part_of(factors, begin + from + lane, stretch, next);
    for (unsigned filled = __ballot_sync(full_warp, own.length > 0); filled != 0; filled &= filled - 1) {
      const Part<V> part = part_of_lane(own, __ffs(static_cast<int>(filled)) - 1);
      for (int i = static_cast<int>(lane); i < part.length; i += warp_size) {
        body(factors.b_columns[part.begin + i], product_at(factors, part, part.begin + i));
      }
      __syncwarp();
    }
  }
}

}  // namespace tessera::cuda
