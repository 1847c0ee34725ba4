/// \file
/// Merge-based product with a panel of columns: equal shares of the merge path of rows and nonzeros, one per strand
/// (D. Merrill, M. Garland, Merge-Based Parallel Sparse Matrix-Vector Multiplication, SC 2016).
#pragma once

#include "preprocess/merge_search.hpp"
#include "spmv/multi_vector/panel_kernels.cuh"

#include <cstdint>

namespace tessera::cuda {

/// first_rows[s]: rows finished where share s begins; one entry beyond the last share.
inline __global__ void __launch_bounds__(panel_threads)
    share_starts_kernel(index_t rows, offset_t nnz, const offset_t* row_offsets, std::int64_t shares, int items,
                        index_t* first_rows) {
  const std::int64_t share = std::int64_t{blockIdx.x} * panel_threads + threadIdx.x;
  if (share > shares) return;
  const offset_t length = detail::path_length(rows, nnz);
  const offset_t diagonal = share < shares ? share * items : length;
  first_rows[share] = detail::merge_search(row_offsets, rows, nnz, diagonal).y;
}

/// Equal shares of the merge path, one per strand.
struct PathShares {
  index_t rows;
  offset_t length;  ///< of the path
  const offset_t* row_offsets;
  const index_t* first_rows;  ///< of each share, and beyond the last
  std::int64_t count;
  int items;  ///< per share
};

/// Walks a share: the first row that ends in it, which may have begun before, stays here; later ones are stored.
template <class T, bool Weighted, int Width>
class ShareWalk {
  using S = Strand<T, Width>;

 public:
  __device__ ShareWalk(const PathShares& shares, std::int64_t share, const PanelUpdate<T>& out)
      : shares_(shares), out_(out), column_(static_cast<int>(threadIdx.x) % S::lanes * S::own) {
    if (share >= shares.count) return;
    row_ = __ldg(shares.first_rows + share);
    end_row_ = __ldg(shares.first_rows + share + 1);
    first_row_ = row_;
    const offset_t begin = share * shares.items;
    const offset_t end = begin + shares.items < shares.length ? begin + shares.items : shares.length;
    begin_ = begin - row_;
    end_ = end - end_row_;
    if (row_ < shares.rows) row_end_ = __ldg(shares.row_offsets + row_ + 1);
    next_end_ = end_of(row_ + 1);
  }

  /// All lanes of the warp must call.
  __device__ void walk(const PanelNonzeros<T, Weighted>& a, const RowPanel<T>& x) {
    for (offset_t k = begin_; __any_sync(full_warp, k < end_); k += S::flight) {
      const Flight<T, Weighted, Width> flight(a, x, k, end_);
#pragma unroll
      for (int j = 0; j < S::flight; ++j) {
        if (k + j >= end_) continue;
        while (k + j == row_end_) close_row();
        flight.add(j, sum_);
      }
    }
    while (row_ < end_row_) close_row();
  }

  /// Joins the open sums of the strands of a warp, in their order, and stores the first rows. All lanes of the warp
  /// must call. \param carry one per column, column by column: of the row open after the warp
  __device__ void join(std::int64_t warps, T* carry) {
    const int strand = static_cast<int>(threadIdx.x) % warp_size / S::lanes;
    int closed = row_ != first_row_ ? 1 : 0;
    const bool stores = closed != 0;
#pragma unroll
    for (int distance = 1; distance < S::per_warp; distance *= 2) {
      const int earlier_closed = __shfl_up_sync(full_warp, closed, static_cast<unsigned>(distance * S::lanes));
#pragma unroll
      for (int n = 0; n < S::own; ++n) {
        const T earlier = __shfl_up_sync(full_warp, sum_[n], static_cast<unsigned>(distance * S::lanes));
        if (strand >= distance && closed == 0) sum_[n] += earlier;
      }
      if (strand >= distance) closed |= earlier_closed;
    }
#pragma unroll
    for (int n = 0; n < S::own; ++n) {
      const T before = __shfl_up_sync(full_warp, sum_[n], static_cast<unsigned>(S::lanes));
      if (strand > 0) first_sum_[n] += before;
      if (strand == S::per_warp - 1) carry[(column_ + n) * warps] = sum_[n];
    }
    if (stores) out_.store(first_row_, column_, first_sum_);
  }

 private:
  [[nodiscard]] __device__ offset_t end_of(index_t row) const {
    return row < shares_.rows ? __ldg(shares_.row_offsets + row + 1) : 0;
  }

  __device__ void close_row() {
    if (row_ == first_row_) {
#pragma unroll
      for (int n = 0; n < S::own; ++n) first_sum_[n] = sum_[n];
    } else {
      out_.store(row_, column_, sum_);
    }
#pragma unroll
    for (int n = 0; n < S::own; ++n) sum_[n] = T{0};
    ++row_;
    row_end_ = next_end_;
    next_end_ = end_of(row_ + 1);
  }

  const PathShares& shares_;
  const PanelUpdate<T>& out_;
  int column_;
  index_t row_ = 0;
  index_t end_row_ = 0;
  index_t first_row_ = 0;
  offset_t begin_ = 0;
  offset_t end_ = 0;
  offset_t row_end_ = -1;
  offset_t next_end_ = -1;
  T sum_[S::own] = {};
  T first_sum_[S::own] = {};
};

/// \param carries Width x warps, column by column
template <int Width, bool Weighted, class T>
__global__ void __launch_bounds__(panel_threads, panel_blocks)
    panel_path_kernel(PathShares shares, PanelNonzeros<T, Weighted> a, RowPanel<T> x, PanelUpdate<T> out,
                      std::int64_t warps, T* carries) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * panel_threads + threadIdx.x;
  const std::int64_t warp = thread / warp_size;
  if (warp >= warps) return;
  ShareWalk<T, Weighted, Width> walk(shares, thread / Strand<T, Width>::lanes, out);
  walk.walk(a, x);
  walk.join(warps, carries + warp);
}

/// The row that is open after a warp of shares.
struct RowAfterShares {
  const index_t* first_rows;
  std::int64_t count;
  int per_warp;
  __device__ index_t operator()(std::int64_t warp) const {
    const std::int64_t next = (warp + 1) * per_warp;
    return first_rows[next < count ? next : count];
  }
};

}  // namespace tessera::cuda
