/// \file
/// Products of a row of C for one warp: the rows of B, staged in shared memory. B has fewer than 2^32 entries.
#pragma once

#include "spgemm/cuda/accumulators/launch.cuh"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tessera::cuda {

/// A row of B and the entries of A that it is multiplied by, one per row of a group. One or two loads from shared
/// memory bring it to all lanes.
template <class V, int Rows = 1>
struct alignas(16) BRow {
  unsigned begin;
  index_t length;
  V factor[Rows];
};
template <int Rows>
struct alignas(8) BRow<NoValue, Rows> {
  unsigned begin;
  index_t length;
};

/// Loads a BRow from shared memory, 16 bytes at a time.
template <class V, int Rows>
[[nodiscard]] __device__ BRow<V, Rows> load_b_row(const BRow<V, Rows>* from) {
  using Whole = BRow<V, Rows>;
  if constexpr (has_values<V>) {
    static_assert(sizeof(Whole) == static_cast<std::size_t>(b_row_bytes(sizeof(V), Rows)));
    constexpr std::size_t parts = sizeof(Whole) / sizeof(int4);
    int4 words[parts];
#pragma unroll
    for (std::size_t i = 0; i < parts; ++i) words[i] = reinterpret_cast<const int4*>(from)[i];
    Whole b_row;
    memcpy(&b_row, words, sizeof(b_row));
    return b_row;
  } else {
    return *from;
  }
}

/// The rows of B of a row of A, 32 at a time in shared memory. A row of A with up to 32 entries is staged once, however
/// often it is traversed. All lanes call. \tparam Rows of A in the group, with the same positions
template <class V, int Rows = 1>
class WarpBRows {
 public:
  /// \param stage room for 32 rows of B \param members rows in the group, up to Rows; the last one stands in for
  /// missing ones
  __device__ WarpBRows(const Factors<V>& factors, index_t row, BRow<V, Rows>* stage, int members = Rows)
      : factors_(factors),
        begin_(factors.a_offsets[row]),
        end_(factors.a_offsets[row + 1]),
        members_(members),
        stage_(stage) {}

  /// Calls body(stage, count) for all rows of B in order, `count` at a time; the rest of the 32 are empty.
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
    BRow<V, Rows> b_row{};
    if (first + lane < end_) b_row = b_row_of(first + lane);
    __syncwarp();  // All have read what was there.
    stage_[lane] = b_row;
    __syncwarp();
    held_ = first;
  }

  /// Row of B that entry `k` of A names.
  [[nodiscard]] __device__ BRow<V, Rows> b_row_of(offset_t k) const {
    const index_t row = __ldg(factors_.a_columns + k);
    const offset_t begin = __ldg(factors_.b_offsets + row);
    BRow<V, Rows> b_row{};
    b_row.begin = static_cast<unsigned>(begin);
    b_row.length = static_cast<index_t>(__ldg(factors_.b_offsets + row + 1) - begin);
    if constexpr (has_values<V>) {
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        const int member = r < members_ ? r : members_ - 1;
        b_row.factor[r] = value_at(factors_.a_values, k + member * (end_ - begin_));
      }
    }
    return b_row;
  }

  const Factors<V>& factors_;
  offset_t begin_;
  offset_t end_;
  int members_;
  offset_t held_ = -1;  ///< first row of B of the stage
  BRow<V, Rows>* stage_;
};

/// Rows of B, or parts of them, that are loaded together.
inline constexpr int b_rows_at_once = 4;

/// Calls mark(column) for the column of each product, in any order. \param lanes that read one row of B: 8, 16 or 32
template <class V, int Rows, class Mark>
__device__ void mark_columns(const Factors<V>& factors, WarpBRows<V, Rows>& b_rows, int lanes, Mark mark) {
  const int groups = warp_size / lanes;
  const int group = lane_of_warp() / lanes;
  const int first = lane_of_warp() % lanes;
  b_rows.for_each_stage([&](const BRow<V, Rows>* stage, int count) {
    for (int q = group; q < count + group; q += b_rows_at_once * groups) {
      unsigned begin[b_rows_at_once];
      index_t length[b_rows_at_once];
      index_t longest = 0;
#pragma unroll
      for (int u = 0; u < b_rows_at_once; ++u) {
        const BRow<V, Rows> b_row = load_b_row(stage + q + u * groups);
        begin[u] = b_row.begin;
        length[u] = b_row.length;
        longest = length[u] > longest ? length[u] : longest;
      }
      for (index_t k = first; k < longest; k += lanes) {
        index_t column[b_rows_at_once];
#pragma unroll
        for (int u = 0; u < b_rows_at_once; ++u) {
          column[u] = k < length[u] ? __ldg(factors.b_columns + (begin[u] + static_cast<unsigned>(k))) : -1;
        }
#pragma unroll
        for (int u = 0; u < b_rows_at_once; ++u) {
          if (column[u] >= 0) mark(column[u]);
        }
      }
    }
  });
}

/// Adds the products of entries from, from + 1, ... of some rows of B: all loads are in flight before the first sum is
/// touched. The columns of a row of B differ, so only the next row of B has to wait for it. All lanes call. \tparam
/// Parts of 32 entries of each row of B \tparam Sums offset_of(column), and add(row, offset, column, product) for each
/// of the rows
template <int Lists, int Parts, class V, int Rows, class Sums>
__device__ void add_b_rows(const Factors<V>& factors, const BRow<V, Rows>* b_rows, index_t from, const Sums& sums) {
  index_t column[Lists][Parts];
  V value[Lists][Parts];
  V factor[Lists][Rows];
  int offset[Lists][Parts];
#pragma unroll
  for (int l = 0; l < Lists; ++l) {
    const BRow<V, Rows> b_row = load_b_row(b_rows + l);
#pragma unroll
    for (int r = 0; r < Rows; ++r) factor[l][r] = b_row.factor[r];
#pragma unroll
    for (int p = 0; p < Parts; ++p) {
      const index_t k = from + p * warp_size + lane_of_warp();
      const unsigned at = b_row.begin + static_cast<unsigned>(k);
      column[l][p] = k < b_row.length ? __ldg(factors.b_columns + at) : -1;
      value[l][p] = k < b_row.length ? value_at(factors.b_values, at) : V{0};
    }
  }
#pragma unroll
  for (int l = 0; l < Lists; ++l) {
#pragma unroll
    for (int p = 0; p < Parts; ++p) {
      offset[l][p] = column[l][p] < 0 ? 0 : sums.offset_of(column[l][p]);
    }
  }
#pragma unroll
  for (int l = 0; l < Lists; ++l) {
#pragma unroll
    for (int p = 0; p < Parts; ++p) {
      if (column[l][p] < 0) continue;
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        sums.add(r, offset[l][p], column[l][p], product_of(factor[l][r], value[l][p]));
      }
    }
    __syncwarp();
  }
}

/// Adds all products of the rows, those of a sum in the order of A's row: a row of B is complete before the next one
/// begins, so rows of B are loaded together only as far as they fit whole.
template <class V, int Rows, class Sums>
__device__ void add_products(const Factors<V>& factors, WarpBRows<V, Rows>& b_rows, const Sums& sums) {
  static_assert(b_rows_at_once == 4);
  b_rows.for_each_stage([&](const BRow<V, Rows>* stage, int count) {
    for (int q = 0; q < count; q += b_rows_at_once) {
      index_t longest = 0;
#pragma unroll
      for (int u = 0; u < b_rows_at_once; ++u) {
        const index_t length = stage[q + u].length;
        longest = length > longest ? length : longest;
      }
      if (longest <= warp_size) {
        add_b_rows<4, 1>(factors, stage + q, 0, sums);
      } else if (longest <= 2 * warp_size) {
        add_b_rows<2, 2>(factors, stage + q, 0, sums);
        add_b_rows<2, 2>(factors, stage + q + 2, 0, sums);
      } else {
        for (int u = q; u < q + b_rows_at_once; ++u) {
          const index_t length = stage[u].length;
          for (index_t from = 0; from < length; from += 4 * warp_size) {
            add_b_rows<1, 4>(factors, stage + u, from, sums);
          }
        }
      }
    }
  });
}

}  // namespace tessera::cuda
