/// \file
/// What kernels of SpGEMM share: numbering of rows, arithmetic, room for rows.
#pragma once

#include "spgemm/cuda/accumulators/row_batch.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tessera::cuda {

/// The row of C that is number `i` of a batch.
[[nodiscard]] __device__ inline index_t row_of(const RowBatch& batch, index_t i) {
  return batch.rows == nullptr ? i : batch.rows[i];
}

/// Products and sums are rounded one by one, so that C has the bits that the host gives it.
[[nodiscard]] __device__ inline double product_of(double a, double b) { return __dmul_rn(a, b); }
[[nodiscard]] __device__ inline float product_of(float a, float b) { return __fmul_rn(a, b); }
[[nodiscard]] __device__ inline double sum_of(double a, double b) { return __dadd_rn(a, b); }
[[nodiscard]] __device__ inline float sum_of(float a, float b) { return __fadd_rn(a, b); }

/// What sums begin with: added to any number, also to -0, it leaves that number.
template <class V>
inline constexpr V sum_begin = V{-0.0};

/// Value of entry k of A or B; 1 in a pattern. \param values may be null
template <class V>
[[nodiscard]] __device__ V value_at(const V* values, offset_t k) {
  return values == nullptr ? V{1} : values[k];
}

/// Room for n entries of a row; counts them. One thread calls for its row.
/// \returns the first place, or no_place when there is too little room; a row without entries always has a place
template <class V>
[[nodiscard]] __device__ offset_t claim_place(const RowOutput<V>& out, index_t row, offset_t n) {
  offset_t place = no_place;
  if (out.starts != nullptr) {
    if (n <= out.starts[row + 1] - out.starts[row]) place = out.starts[row];
  } else if (n == 0) {
    place = 0;
  } else {
    const auto taken = static_cast<offset_t>(atomicAdd(out.cursor, static_cast<unsigned long long>(n)));
    if (taken + n <= out.room) place = taken;
  }
  out.counts[row] = n;
  out.places[row] = place;
  return place;
}

/// Where a row goes whose entries have been counted. One thread calls for its row. \tparam Pass place or claim
template <RowPass Pass, class V>
[[nodiscard]] __device__ offset_t place_of(const RowOutput<V>& out, index_t row, offset_t n) {
  if constexpr (Pass == RowPass::place) {
    return out.starts[row];
  } else {
    return claim_place(out, row, n);
  }
}

}  // namespace tessera::cuda
