/// \file
/// What kernels of SpGEMM share: numbering of rows, arithmetic, allocation of rows in the output buffer.
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

/// Allocates n entries for a row in the output buffer and notes their number. One thread calls for its row.
/// \returns the row's first entry, or no_offset when the buffer is full; a row without entries always has an offset
template <class V>
[[nodiscard]] __device__ offset_t allocate_row(const RowOutput<V>& out, index_t row, offset_t n) {
  offset_t offset = no_offset;
  if (out.starts != nullptr) {
    if (n <= out.starts[row + 1] - out.starts[row]) offset = out.starts[row];
  } else if (n == 0) {
    offset = 0;
  } else {
    const auto taken = static_cast<offset_t>(atomicAdd(out.cursor, static_cast<unsigned long long>(n)));
    if (taken + n <= out.capacity) offset = taken;
  }
  out.counts[row] = n;
  out.buffer_offsets[row] = offset;
  return offset;
}

/// First entry of a row of n entries in its output. One thread calls for its row.
/// \tparam P numeric or numeric_allocating
template <Phase P, class V>
[[nodiscard]] __device__ offset_t output_offset_of(const RowOutput<V>& out, index_t row, offset_t n) {
  if constexpr (P == Phase::numeric) {
    return out.starts[row];
  } else {
    return allocate_row(out, row, n);
  }
}

}  // namespace tessera::cuda
