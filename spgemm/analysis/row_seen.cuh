/// \file
/// What the rows of B that a row of A names tell of the row of C.
#pragma once

#include "core/cuda/launch.cuh"
#include "spgemm/analysis/row_bins.hpp"
#include "spgemm/cuda/row_batch.hpp"

#include <cstdint>

namespace tessera::cuda {

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
