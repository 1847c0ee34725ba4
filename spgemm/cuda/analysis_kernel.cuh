/// \file
/// Parts of the analysis kernels: totals per bin, gathered by the threads of a block, and bounds of rows.
#pragma once

#include "core/cuda/launch.cuh"
#include "core/cuda/warp.cuh"
#include "spgemm/cuda/accumulators/row_batch.hpp"
#include "spgemm/cuda/row_bins.hpp"

#include <cstdint>

namespace tessera::cuda {

/// The contribution of one row to the totals.
struct CollectedRow {
  RowBin bin = RowBin::none;
  bool active = false;       ///< the others only take part in the votes
  bool is_follower = false;  ///< of a row group
  unsigned a_row_nnz = 0;
  unsigned products = 0;
  unsigned width = 0;
  unsigned entries = 0;
  unsigned shared_bytes = 0;
  unsigned long long all_products = 0;  ///< of which `products` is the low part, saturated
};

/// Gathers in registers as long as all rows of a warp are of one bin, which is the common case, else in shared memory.
class BinCollector {
 public:
  /// \param totals row_bins of them in shared memory, cleared, shared by the block
  __device__ explicit BinCollector(BinTotals* totals) : totals_(totals) {}

  /// Every lane of the warp must call.
  __device__ void add(const CollectedRow& row) {
    const unsigned active = __ballot_sync(full_warp, row.active);
    if (active == 0) return;
    if (current_ < 0) current_ = __shfl_sync(full_warp, static_cast<int>(row.bin), __ffs(active) - 1);
    const unsigned same = __ballot_sync(full_warp, row.active && static_cast<int>(row.bin) == current_);
    if (row.active && static_cast<int>(row.bin) == current_) add_to_own(row);
    unsigned left = active & ~same;
    while (left != 0) {
      const int bin = __shfl_sync(full_warp, static_cast<int>(row.bin), __ffs(left) - 1);
      const bool member = row.active && static_cast<int>(row.bin) == bin;
      left &= ~__ballot_sync(full_warp, member);
      BinTotals of_lane;
      if (member) of_lane = totals_of(row);
      add_up(of_lane, bin);
    }
  }

  /// At the end; every lane of the warp must call. Complete after the next barrier of the block.
  __device__ void finish() {
    if (current_ >= 0) add_up(own_, current_);
  }

 private:
  __device__ static BinTotals totals_of(const CollectedRow& row) {
    const unsigned followers = row.is_follower ? 1 : 0;
    return {1 - followers,    row.a_row_nnz, row.products,  row.width,        row.entries,
            row.shared_bytes, followers,     row.a_row_nnz, row.all_products, row.entries};
  }

  __device__ void add_to_own(const CollectedRow& row) {
    ++(row.is_follower ? own_.followers : own_.rows);
    own_.max_a_row_nnz = max(own_.max_a_row_nnz, row.a_row_nnz);
    own_.most_products = max(own_.most_products, row.products);
    own_.widest = max(own_.widest, row.width);
    own_.most_entries = max(own_.most_entries, row.entries);
    own_.shared_bytes = max(own_.shared_bytes, row.shared_bytes);
    own_.a_nnz += row.a_row_nnz;
    own_.products += row.all_products;
    own_.entries += row.entries;
  }

  __device__ void add_up(const BinTotals& of_lane, int bin) {
    const unsigned rows = __reduce_add_sync(full_warp, of_lane.rows);
    const unsigned followers = __reduce_add_sync(full_warp, of_lane.followers);
    const unsigned max_a_row_nnz = __reduce_max_sync(full_warp, of_lane.max_a_row_nnz);
    const unsigned most_products = __reduce_max_sync(full_warp, of_lane.most_products);
    const unsigned widest = __reduce_max_sync(full_warp, of_lane.widest);
    const unsigned most_entries = __reduce_max_sync(full_warp, of_lane.most_entries);
    const unsigned shared_bytes = __reduce_max_sync(full_warp, of_lane.shared_bytes);
    const unsigned long long a_nnz = sum_over_lanes(of_lane.a_nnz);
    const unsigned long long products = sum_over_lanes(of_lane.products);
    const unsigned long long entries = sum_over_lanes(of_lane.entries);
    if (threadIdx.x % warp_size != 0) return;
    BinTotals& to = totals_[bin];
    atomicAdd(&to.rows, rows);
    if (followers != 0) atomicAdd(&to.followers, followers);
    atomicMax(&to.max_a_row_nnz, max_a_row_nnz);
    atomicMax(&to.most_products, most_products);
    atomicMax(&to.widest, widest);
    atomicMax(&to.most_entries, most_entries);
    atomicMax(&to.shared_bytes, shared_bytes);
    atomicAdd(&to.a_nnz, a_nnz);
    atomicAdd(&to.products, products);
    atomicAdd(&to.entries, entries);
  }

  BinTotals* totals_;
  BinTotals own_;
  int current_ = -1;
};

/// Adds the totals of a block to those of all. Every thread must call, after a barrier.
__device__ inline void publish_totals(const BinTotals* of_block, BinTotals* of_all) {
  const int bin = static_cast<int>(threadIdx.x);
  if (bin >= row_bins || of_block[bin].rows + of_block[bin].followers == 0) return;
  const BinTotals& from = of_block[bin];
  BinTotals& to = of_all[bin];
  atomicAdd(&to.rows, from.rows);
  if (from.followers != 0) atomicAdd(&to.followers, from.followers);
  atomicMax(&to.max_a_row_nnz, from.max_a_row_nnz);
  atomicMax(&to.most_products, from.most_products);
  atomicMax(&to.widest, from.widest);
  atomicMax(&to.most_entries, from.most_entries);
  atomicMax(&to.shared_bytes, from.shared_bytes);
  atomicAdd(&to.a_nnz, from.a_nnz);
  atomicAdd(&to.products, from.products);
  atomicAdd(&to.entries, from.entries);
}

/// Clears totals in shared memory. Every thread must call; a barrier must follow.
__device__ inline void clear_totals(BinTotals* of_block) {
  if (static_cast<int>(threadIdx.x) >= row_bins) return;
  BinTotals& to = of_block[threadIdx.x];
  to.rows = to.max_a_row_nnz = to.most_products = to.widest = to.most_entries = to.shared_bytes = to.followers = 0;
  to.a_nnz = to.products = to.entries = 0;
}

/// Upper bound of nnz, and column range, of a row of C.
struct RowBounds {
  unsigned long long products = 0;
  unsigned col_begin = 0x7fffffffu;  ///< first column
  unsigned col_end = 0;              ///< one past the last column
};

__device__ inline void extend_bounds(const index_t* b_columns, offset_t begin, offset_t end, RowBounds& bounds) {
  if (begin == end) return;
  bounds.products += static_cast<unsigned long long>(end - begin);
  bounds.col_begin = min(bounds.col_begin, static_cast<unsigned>(b_columns[begin]));
  bounds.col_end = max(bounds.col_end, static_cast<unsigned>(b_columns[end - 1]) + 1);
}

/// Entries and column range of a row of B side by side, so that an entry of A costs one read instead of three.
struct alignas(16) BRowBounds {
  unsigned entries;
  unsigned col_begin;  ///< first column
  unsigned col_end;    ///< one past the last column
  unsigned unused;
};

/// The factors, and the bounds of all rows of B where they were computed first.
struct AnalysisFactors {
  Factors<NoValue> positions;
  const BRowBounds* b_row_bounds = nullptr;  ///< null: to be looked up in B
};

/// Bounds over every `step`-th entry of A from `k` on.
__device__ inline RowBounds bounds_of_b_rows(const AnalysisFactors& factors, offset_t k, offset_t end, int step) {
  RowBounds bounds;
  const Factors<NoValue>& positions = factors.positions;
  for (; k < end; k += step) {
    const index_t row = positions.a_columns[k];
    if (factors.b_row_bounds != nullptr) {
      const auto of_b_row = reinterpret_cast<const uint4*>(factors.b_row_bounds)[row];
      bounds.products += of_b_row.x;
      bounds.col_begin = min(bounds.col_begin, of_b_row.y);
      bounds.col_end = max(bounds.col_end, of_b_row.z);
    } else {
      extend_bounds(positions.b_columns, positions.b_offsets[row], positions.b_offsets[row + 1], bounds);
    }
  }
  return bounds;
}

/// The same without columns, so that nothing has to wait for these.
__device__ inline RowBounds products_of_b_rows(const Factors<NoValue>& factors, offset_t k, offset_t end, int step) {
  RowBounds bounds;
  for (; k < end; k += step) {
    const index_t row = factors.a_columns[k];
    bounds.products += static_cast<unsigned long long>(factors.b_offsets[row + 1] - factors.b_offsets[row]);
  }
  return bounds;
}

/// Joins the bounds of groups of neighbouring lanes.
template <int Lanes>
__device__ RowBounds reduce_lanes(RowBounds bounds) {
  for (int distance = Lanes / 2; distance > 0; distance /= 2) {
    bounds.products += __shfl_xor_sync(full_warp, bounds.products, distance);
    bounds.col_begin = min(bounds.col_begin, __shfl_xor_sync(full_warp, bounds.col_begin, distance));
    bounds.col_end = max(bounds.col_end, __shfl_xor_sync(full_warp, bounds.col_end, distance));
  }
  return bounds;
}

/// Bounds of a row by `Lanes` lanes, of which this is number `lane`. Every lane of the warp must call. Rows that will
/// be merged need no range: theirs begins at 0 and has a column for every product.
template <int Lanes>
__device__ RowBounds row_bounds(const AnalysisFactors& factors, const RowPolicy& policy, offset_t begin, offset_t end,
                                unsigned lane) {
  const bool short_row = policy.merges() && end - begin <= merge_b_rows;
  RowBounds bounds = reduce_lanes<Lanes>(short_row && factors.b_row_bounds == nullptr
                                             ? products_of_b_rows(factors.positions, begin + lane, end, Lanes)
                                             : bounds_of_b_rows(factors, begin + lane, end, Lanes));
  const bool merged = short_row && policy.merges(bounds.products);
  if (merged && bounds.products > 0) {
    bounds.col_begin = 0;
    bounds.col_end = static_cast<unsigned>(bounds.products < 0x7fffffffull ? bounds.products : 0x7fffffffull);
  }
  const bool again = short_row && !merged && factors.b_row_bounds == nullptr;
  if (__ballot_sync(full_warp, again) == 0) return bounds;
  RowBounds ranged;
  if (again) ranged = bounds_of_b_rows(factors, begin + lane, end, Lanes);
  ranged = reduce_lanes<Lanes>(ranged);
  return again ? ranged : bounds;
}

}  // namespace tessera::cuda
