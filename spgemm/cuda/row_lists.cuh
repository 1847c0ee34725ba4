/// \file
/// The rows of B that a row of A names, as a warp reads them. B has fewer than 2^32 entries here.
#pragma once

#include "spgemm/cuda/slice_launch.cuh"

#include <cstdint>
#include <cstring>

namespace tessera::cuda {

/// A row of B and the entry of A that it is multiplied by. One load from shared memory brings all of it to all lanes.
template <class V>
struct alignas(16) List {
  unsigned begin;
  index_t length;
  V factor;
};
template <>
struct alignas(8) List<NoValue> {
  unsigned begin;
  index_t length;
};

/// One load for all of a list in shared memory.
template <class V>
[[nodiscard]] __device__ List<V> load_list(const List<V>* from) {
  if constexpr (sizeof(List<V>) == sizeof(int4)) {
    const int4 words = *reinterpret_cast<const int4*>(from);
    List<V> list;
    memcpy(&list, &words, sizeof(list));
    return list;
  } else {
    return *from;
  }
}

/// Row of B that entry `k` of A names.
template <class V>
[[nodiscard]] __device__ List<V> list_of(const Factors<V>& factors, offset_t k) {
  const index_t row = __ldg(factors.a_columns + k);
  const offset_t begin = __ldg(factors.b_offsets + row);
  const auto length = static_cast<index_t>(__ldg(factors.b_offsets + row + 1) - begin);
  if constexpr (has_values<V>) {
    return {static_cast<unsigned>(begin), length, value_at(factors.a_values, k)};
  } else {
    return {static_cast<unsigned>(begin), length};
  }
}

/// The lists of a row of A, 32 at a time in shared memory. A row of no more is brought there once, however often it is
/// gone through. All lanes call.
template <class V>
class RowLists {
 public:
  /// \param stage room for 32 lists
  __device__ RowLists(const Factors<V>& factors, index_t row, List<V>* stage)
      : factors_(factors), begin_(factors.a_offsets[row]), end_(factors.a_offsets[row + 1]), stage_(stage) {}

  /// Calls body(lists, count) for all lists in order, `count` of them at a time; those up to 32 are empty.
  template <class Body>
  __device__ void for_each_stage(Body body) {
    for (offset_t first = begin_; first < end_; first += warp_size) {
      if (first != held_) bring(first);
      body(stage_, static_cast<int>(end_ - first < warp_size ? end_ - first : warp_size));
    }
  }

 private:
  __device__ void bring(offset_t first) {
    const int lane = lane_of_warp();
    List<V> list{};
    if (first + lane < end_) list = list_of(factors_, first + lane);
    __syncwarp();  // All have read what was there.
    stage_[lane] = list;
    __syncwarp();
    held_ = first;
  }

  const Factors<V>& factors_;
  offset_t begin_;
  offset_t end_;
  offset_t held_ = -1;  ///< first list of the stage
  List<V>* stage_;
};

/// Lists, or parts of lists, that are loaded together.
inline constexpr int lists_at_once = 4;

/// Calls mark(column) for the column of each product, in any order. \param lanes that read one list: 8, 16 or 32
template <class V, class Mark>
__device__ void mark_columns(const Factors<V>& factors, RowLists<V>& lists, int lanes, Mark mark) {
  const int groups = warp_size / lanes;
  const int group = lane_of_warp() / lanes;
  const int first = lane_of_warp() % lanes;
  lists.for_each_stage([&](const List<V>* stage, int count) {
    for (int q = group; q < count + group; q += lists_at_once * groups) {
      unsigned begin[lists_at_once];
      index_t length[lists_at_once];
      index_t longest = 0;
#pragma unroll
      for (int u = 0; u < lists_at_once; ++u) {
        const List<V> list = load_list(stage + q + u * groups);
        begin[u] = list.begin;
        length[u] = list.length;
        longest = length[u] > longest ? length[u] : longest;
      }
      for (index_t k = first; k < longest; k += lanes) {
        index_t column[lists_at_once];
#pragma unroll
        for (int u = 0; u < lists_at_once; ++u) {
          column[u] = k < length[u] ? __ldg(factors.b_columns + (begin[u] + static_cast<unsigned>(k))) : -1;
        }
#pragma unroll
        for (int u = 0; u < lists_at_once; ++u) {
          if (column[u] >= 0) mark(column[u]);
        }
      }
    }
  });
}

/// Adds the products of entries from, from + 1, ... of some lists: all loads are under way before the first sum is
/// touched. The columns of a list differ, so that only the next list has to wait for it. All lanes call.
/// \tparam Parts of 32 entries of each list \tparam Sums place_of(column), and add(place, column, product)
template <int Lists, int Parts, class V, class Sums>
__device__ void add_parts(const Factors<V>& factors, const List<V>* lists, index_t from, const Sums& sums) {
  index_t column[Lists][Parts];
  V factor[Lists];
  V term[Lists][Parts];
  int place[Lists][Parts];
#pragma unroll
  for (int l = 0; l < Lists; ++l) {
    const List<V> list = load_list(lists + l);
    factor[l] = list.factor;
#pragma unroll
    for (int p = 0; p < Parts; ++p) {
      const index_t k = from + p * warp_size + lane_of_warp();
      const unsigned at = list.begin + static_cast<unsigned>(k);
      column[l][p] = k < list.length ? __ldg(factors.b_columns + at) : -1;
      term[l][p] = k < list.length ? value_at(factors.b_values, at) : V{0};
    }
  }
#pragma unroll
  for (int l = 0; l < Lists; ++l) {
#pragma unroll
    for (int p = 0; p < Parts; ++p) {
      place[l][p] = column[l][p] < 0 ? 0 : sums.place_of(column[l][p]);
      term[l][p] = product_of(factor[l], term[l][p]);
    }
  }
#pragma unroll
  for (int l = 0; l < Lists; ++l) {
#pragma unroll
    for (int p = 0; p < Parts; ++p) {
      if (column[l][p] >= 0) sums.add(place[l][p], column[l][p], term[l][p]);
    }
    __syncwarp();
  }
}

/// Adds all products of a row, those of a sum in the order of A's row: a list is complete before the next one begins,
/// so lists are loaded together only as far as they fit whole.
template <class V, class Sums>
__device__ void add_products(const Factors<V>& factors, RowLists<V>& lists, const Sums& sums) {
  static_assert(lists_at_once == 4);
  lists.for_each_stage([&](const List<V>* stage, int count) {
    for (int q = 0; q < count; q += lists_at_once) {
      index_t longest = 0;
#pragma unroll
      for (int u = 0; u < lists_at_once; ++u) {
        const index_t length = stage[q + u].length;
        longest = length > longest ? length : longest;
      }
      if (longest <= warp_size) {
        add_parts<4, 1>(factors, stage + q, 0, sums);
      } else if (longest <= 2 * warp_size) {
        add_parts<2, 2>(factors, stage + q, 0, sums);
        add_parts<2, 2>(factors, stage + q + 2, 0, sums);
      } else {
        for (int u = q; u < q + lists_at_once; ++u) {
          const index_t length = stage[u].length;
          for (index_t from = 0; from < length; from += 4 * warp_size) {
            add_parts<1, 4>(factors, stage + u, from, sums);
          }
        }
      }
    }
  });
}

}  // namespace tessera::cuda
