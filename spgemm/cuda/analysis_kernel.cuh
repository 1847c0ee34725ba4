/// \file
/// Totals of the bins of rows, gathered by the threads of a block.
#pragma once

#include "core/cuda/launch.cuh"
#include "core/cuda/warp.cuh"
#include "spgemm/cuda/accumulators/row_batch.hpp"
#include "spgemm/cuda/row_bins.hpp"

#include <cstdint>

namespace tessera::cuda {

/// One row as the totals see it.
struct CollectedRow {
  RowBin bin = RowBin::none;
  bool active = false;   ///< the others only take part in the votes
  bool besides = false;  ///< done along with another row of the bin
  unsigned lists = 0;
  unsigned products = 0;
  unsigned width = 0;
  unsigned entries = 0;
  unsigned slice = 0;
  unsigned long long all_products = 0;  ///< where `products` is too small a number
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
    const unsigned alike = __ballot_sync(full_warp, row.active && static_cast<int>(row.bin) == current_);
    if (row.active && static_cast<int>(row.bin) == current_) add_to_own(row);
    unsigned left = active & ~alike;
    while (left != 0) {
      const int bin = __shfl_sync(full_warp, static_cast<int>(row.bin), __ffs(left) - 1);
      const bool member = row.active && static_cast<int>(row.bin) == bin;
      left &= ~__ballot_sync(full_warp, member);
      BinTotals of_lane;
      if (member) of_lane = totals_of(row);
      add_up(of_lane, bin);
    }
  }

  /// At the end; every lane of the warp must call. Complete when the block has met.
  __device__ void finish() {
    if (current_ >= 0) add_up(own_, current_);
  }

 private:
  __device__ static BinTotals totals_of(const CollectedRow& row) {
    const unsigned besides = row.besides ? 1 : 0;
    return {1 - besides, row.lists, row.products, row.width,        row.entries,
            row.slice,   besides,   row.lists,    row.all_products, row.entries};
  }

  __device__ void add_to_own(const CollectedRow& row) {
    ++(row.besides ? own_.besides : own_.rows);
    own_.most_lists = max(own_.most_lists, row.lists);
    own_.most_products = max(own_.most_products, row.products);
    own_.widest = max(own_.widest, row.width);
    own_.most_entries = max(own_.most_entries, row.entries);
    own_.slice = max(own_.slice, row.slice);
    own_.lists += row.lists;
    own_.products += row.all_products;
    own_.entries += row.entries;
  }

  __device__ void add_up(const BinTotals& of_lane, int bin) {
    const unsigned rows = __reduce_add_sync(full_warp, of_lane.rows);
    const unsigned besides = __reduce_add_sync(full_warp, of_lane.besides);
    const unsigned most_lists = __reduce_max_sync(full_warp, of_lane.most_lists);
    const unsigned most_products = __reduce_max_sync(full_warp, of_lane.most_products);
    const unsigned widest = __reduce_max_sync(full_warp, of_lane.widest);
    const unsigned most_entries = __reduce_max_sync(full_warp, of_lane.most_entries);
    const unsigned slice = __reduce_max_sync(full_warp, of_lane.slice);
    const unsigned long long lists = sum_over_lanes(of_lane.lists);
    const unsigned long long products = sum_over_lanes(of_lane.products);
    const unsigned long long entries = sum_over_lanes(of_lane.entries);
    if (threadIdx.x % warp_size != 0) return;
    BinTotals& to = totals_[bin];
    atomicAdd(&to.rows, rows);
    if (besides != 0) atomicAdd(&to.besides, besides);
    atomicMax(&to.most_lists, most_lists);
    atomicMax(&to.most_products, most_products);
    atomicMax(&to.widest, widest);
    atomicMax(&to.most_entries, most_entries);
    atomicMax(&to.slice, slice);
    atomicAdd(&to.lists, lists);
    atomicAdd(&to.products, products);
    atomicAdd(&to.entries, entries);
  }

  BinTotals* totals_;
  BinTotals own_;
  int current_ = -1;
};

/// Adds the totals of a block to those of all. Every thread must call, once the block has met.
__device__ inline void publish_totals(const BinTotals* of_block, BinTotals* of_all) {
  const int bin = static_cast<int>(threadIdx.x);
  if (bin >= row_bins || of_block[bin].rows + of_block[bin].besides == 0) return;
  const BinTotals& from = of_block[bin];
  BinTotals& to = of_all[bin];
  atomicAdd(&to.rows, from.rows);
  if (from.besides != 0) atomicAdd(&to.besides, from.besides);
  atomicMax(&to.most_lists, from.most_lists);
  atomicMax(&to.most_products, from.most_products);
  atomicMax(&to.widest, from.widest);
  atomicMax(&to.most_entries, from.most_entries);
  atomicMax(&to.slice, from.slice);
  atomicAdd(&to.lists, from.lists);
  atomicAdd(&to.products, from.products);
  atomicAdd(&to.entries, from.entries);
}

/// Clears totals in shared memory. Every thread must call, and meet the others before the totals are used.
__device__ inline void clear_totals(BinTotals* of_block) {
  if (static_cast<int>(threadIdx.x) >= row_bins) return;
  BinTotals& to = of_block[threadIdx.x];
  to.rows = to.most_lists = to.most_products = to.widest = to.most_entries = to.slice = to.besides = 0;
  to.lists = to.products = to.entries = 0;
}

/// What a thread has seen of the rows of B that a row of A names.
struct RowSeen {
  unsigned long long products = 0;
  unsigned first = 0x7fffffffu;  ///< column
  unsigned behind = 0;           ///< one past the last column
};

__device__ inline void see_list(const index_t* b_columns, offset_t begin, offset_t end, RowSeen& seen) {
  if (begin == end) return;
  seen.products += static_cast<unsigned long long>(end - begin);
  seen.first = min(seen.first, static_cast<unsigned>(b_columns[begin]));
  seen.behind = max(seen.behind, static_cast<unsigned>(b_columns[end - 1]) + 1);
}

/// What the analysis needs of a row of B, in one place, so that an entry of A costs one read and not three.
struct alignas(16) ListDigest {
  unsigned entries;
  unsigned first;   ///< column
  unsigned behind;  ///< one past the last column
  unsigned unused;
};

/// The factors, and what has been made of the rows of B.
struct AnalysedFactors {
  Factors<NoValue> positions;
  const ListDigest* digests = nullptr;  ///< null: to be looked up in B
};

/// Every `step`-th entry of A from `k` on.
__device__ inline RowSeen see_lists(const AnalysedFactors& factors, offset_t k, offset_t end, int step) {
  RowSeen seen;
  const Factors<NoValue>& positions = factors.positions;
  for (; k < end; k += step) {
    const index_t row = positions.a_columns[k];
    if (factors.digests != nullptr) {
      const auto digest = reinterpret_cast<const uint4*>(factors.digests)[row];
      seen.products += digest.x;
      seen.first = min(seen.first, digest.y);
      seen.behind = max(seen.behind, digest.z);
    } else {
      see_list(positions.b_columns, positions.b_offsets[row], positions.b_offsets[row + 1], seen);
    }
  }
  return seen;
}

/// The same without columns, which would have to be waited for.
__device__ inline RowSeen count_lists(const Factors<NoValue>& factors, offset_t k, offset_t end, int step) {
  RowSeen seen;
  for (; k < end; k += step) {
    const index_t row = factors.a_columns[k];
    seen.products += static_cast<unsigned long long>(factors.b_offsets[row + 1] - factors.b_offsets[row]);
  }
  return seen;
}

/// Over groups of neighbouring lanes.
template <int Lanes>
__device__ RowSeen join_lanes(RowSeen seen) {
  for (int distance = Lanes / 2; distance > 0; distance /= 2) {
    seen.products += __shfl_xor_sync(full_warp, seen.products, distance);
    seen.first = min(seen.first, __shfl_xor_sync(full_warp, seen.first, distance));
    seen.behind = max(seen.behind, __shfl_xor_sync(full_warp, seen.behind, distance));
  }
  return seen;
}

/// A row by `Lanes` lanes, part-th of which calls; every lane of the warp must call. Rows that will be merged need no
/// range: theirs begins at 0 and has a column for every product.
template <int Lanes>
__device__ RowSeen see_row(const AnalysedFactors& factors, const RowPolicy& policy, offset_t begin, offset_t end,
                           unsigned part) {
  const bool short_row = policy.merges() && end - begin <= merge_lists;
  RowSeen seen = join_lanes<Lanes>(short_row && factors.digests == nullptr
                                       ? count_lists(factors.positions, begin + part, end, Lanes)
                                       : see_lists(factors, begin + part, end, Lanes));
  const bool merged = short_row && policy.merges(seen.products);
  if (merged && seen.products > 0) {
    seen.first = 0;
    seen.behind = static_cast<unsigned>(seen.products < 0x7fffffffull ? seen.products : 0x7fffffffull);
  }
  const bool again = short_row && !merged && factors.digests == nullptr;
  if (__ballot_sync(full_warp, again) == 0) return seen;
  RowSeen ranged;
  if (again) ranged = see_lists(factors, begin + part, end, Lanes);
  ranged = join_lanes<Lanes>(ranged);
  return again ? ranged : seen;
}

}  // namespace tessera::cuda
