/// \file
/// The rows of B that a row of A names, as a warp reads them. B has fewer than 2^32 entries here.
#pragma once

#include "spgemm/cuda/accumulators/launch.cuh"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tessera::cuda {

/// A row of B and the entries of A that it is multiplied by, one in each of some rows. A load or two from shared memory
/// bring all of it to all lanes.
template <class V, int Rows = 1>
struct alignas(16) List {
  unsigned begin;
  index_t length;
  V factor[Rows];
};
template <int Rows>
struct alignas(8) List<NoValue, Rows> {
  unsigned begin;
  index_t length;
};

/// All of a list in shared memory, by loads of 16 bytes.
template <class V, int Rows>
[[nodiscard]] __device__ List<V, Rows> load_list(const List<V, Rows>* from) {
  using Whole = List<V, Rows>;
  if constexpr (has_values<V>) {
    static_assert(sizeof(Whole) == static_cast<std::size_t>(list_bytes(sizeof(V), Rows)));
    constexpr std::size_t parts = sizeof(Whole) / sizeof(int4);
    int4 words[parts];
#pragma unroll
    for (std::size_t i = 0; i < parts; ++i) words[i] = reinterpret_cast<const int4*>(from)[i];
    Whole list;
    memcpy(&list, words, sizeof(list));
    return list;
  } else {
    return *from;
  }
}

/// The lists of a row of A, 32 at a time in shared memory. A row of no more is brought there once, however often it is
/// gone through. All lanes call. \tparam Rows from this one on, with the same positions
template <class V, int Rows = 1>
class RowLists {
 public:
  /// \param stage room for 32 lists \param members rows that there are, up to Rows; the last stands for those missing
  __device__ RowLists(const Factors<V>& factors, index_t row, List<V, Rows>* stage, int members = Rows)
      : factors_(factors),
        begin_(factors.a_offsets[row]),
        end_(factors.a_offsets[row + 1]),
        members_(members),
        stage_(stage) {}

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
    List<V, Rows> list{};
    if (first + lane < end_) list = list_of(first + lane);
    __syncwarp();  // All have read what was there.
    stage_[lane] = list;
    __syncwarp();
    held_ = first;
  }

  /// Row of B that entry `k` of A names.
  [[nodiscard]] __device__ List<V, Rows> list_of(offset_t k) const {
    const index_t row = __ldg(factors_.a_columns + k);
    const offset_t begin = __ldg(factors_.b_offsets + row);
    List<V, Rows> list{};
    list.begin = static_cast<unsigned>(begin);
    list.length = static_cast<index_t>(__ldg(factors_.b_offsets + row + 1) - begin);
    if constexpr (has_values<V>) {
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        const int member = r < members_ ? r : members_ - 1;
        list.factor[r] = value_at(factors_.a_values, k + member * (end_ - begin_));
      }
    }
    return list;
  }

  const Factors<V>& factors_;
  offset_t begin_;
  offset_t end_;
  int members_;
  offset_t held_ = -1;  ///< first list of the stage
  List<V, Rows>* stage_;
};

/// Lists, or parts of lists, that are loaded together.
inline constexpr int lists_at_once = 4;

/// Calls mark(column) for the column of each product, in any order. \param lanes that read one list: 8, 16 or 32
template <class V, int Rows, class Mark>
__device__ void mark_columns(const Factors<V>& factors, RowLists<V, Rows>& lists, int lanes, Mark mark) {
  const int groups = warp_size / lanes;
  const int group = lane_of_warp() / lanes;
  const int first = lane_of_warp() % lanes;
  lists.for_each_stage([&](const List<V, Rows>* stage, int count) {
    for (int q = group; q < count + group; q += lists_at_once * groups) {
      unsigned begin[lists_at_once];
      index_t length[lists_at_once];
      index_t longest = 0;
#pragma unroll
      for (int u = 0; u < lists_at_once; ++u) {
        const List<V, Rows> list = load_list(stage + q + u * groups);
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
/// \tparam Parts of 32 entries of each list \tparam Sums place_of(column), and add(row, place, column, product) for
/// each of the rows
template <int Lists, int Parts, class V, int Rows, class Sums>
__device__ void add_parts(const Factors<V>& factors, const List<V, Rows>* lists, index_t from, const Sums& sums) {
  index_t column[Lists][Parts];
  V value[Lists][Parts];
  V factor[Lists][Rows];
  int place[Lists][Parts];
#pragma unroll
  for (int l = 0; l < Lists; ++l) {
    const List<V, Rows> list = load_list(lists + l);
#pragma unroll
    for (int r = 0; r < Rows; ++r) factor[l][r] = list.factor[r];
#pragma unroll
    for (int p = 0; p < Parts; ++p) {
      const index_t k = from + p * warp_size + lane_of_warp();
      const unsigned at = list.begin + static_cast<unsigned>(k);
      column[l][p] = k < list.length ? __ldg(factors.b_columns + at) : -1;
      value[l][p] = k < list.length ? value_at(factors.b_values, at) : V{0};
    }
  }
#pragma unroll
  for (int l = 0; l < Lists; ++l) {
#pragma unroll
    for (int p = 0; p < Parts; ++p) {
      place[l][p] = column[l][p] < 0 ? 0 : sums.place_of(column[l][p]);
    }
  }
#pragma unroll
  for (int l = 0; l < Lists; ++l) {
#pragma unroll
    for (int p = 0; p < Parts; ++p) {
      if (column[l][p] < 0) continue;
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        sums.add(r, place[l][p], column[l][p], product_of(factor[l][r], value[l][p]));
      }
    }
    __syncwarp();
  }
}

/// Adds all products of the rows, those of a sum in the order of A's row: a list is complete before the next one
/// begins, so lists are loaded together only as far as they fit whole.
template <class V, int Rows, class Sums>
__device__ void add_products(const Factors<V>& factors, RowLists<V, Rows>& lists, const Sums& sums) {
  static_assert(lists_at_once == 4);
  lists.for_each_stage([&](const List<V, Rows>* stage, int count) {
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
