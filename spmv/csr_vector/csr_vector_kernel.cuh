/// \file
/// Kernels of csr-vector: several lanes per row, a warp per part of a long row; and for small matrices the product with
/// parts of its inner products in one kernel.
#pragma once

#include "core/cuda/reduce.cuh"
#include "spmv/common/terms.cuh"
#include "spmv/csr_vector/csr_vector_tuning.hpp"

#include <type_traits>

namespace tessera::cuda {

/// Sum over `Lanes` neighbours, in the first of them.
template <int Lanes, class T>
__device__ T sum_over_lanes(T sum) {
  for (unsigned distance = Lanes / 2; distance > 0; distance /= 2) {
    sum += __shfl_down_sync(full_warp, sum, distance, Lanes);
  }
  return sum;
}

/// `Lanes` threads per row. Long rows are stored as sums of no terms.
template <int Lanes, class Terms, class T>
__global__ void __launch_bounds__(csr_vector_threads)
    csr_vector_rows_kernel(index_t rows, const offset_t* row_offsets, offset_t long_row, Terms terms,
                           UpdateEpilogue<T> epilogue) {
  // Unsigned: rows of the last block may have numbers beyond 2^31.
  const unsigned row = blockIdx.x * (csr_vector_threads / Lanes) + threadIdx.x / Lanes;
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const bool exists = row < static_cast<unsigned>(rows);
  offset_t begin = 0;
  int length = 0;
  if (exists) {
    begin = __ldg(row_offsets + row);
    const offset_t whole = __ldg(row_offsets + row + 1) - begin;
    length = whole > long_row ? 0 : static_cast<int>(whole);
  }
  // Neighbouring rows share lines, and so do the loads of a batch.
  const T sum = sum_over_lanes<Lanes>(
      strided_sum<csr_vector_batch, Lanes, NextUse::soon>(terms.from(begin + lane), length - lane));
  if (lane == 0 && exists) epilogue.store(static_cast<index_t>(row), sum);
}

/// One warp per part of a long row.
template <class Terms, class T>
__global__ void __launch_bounds__(csr_vector_threads)
    csr_vector_parts_kernel(std::int64_t parts, const index_t* part_row, const offset_t* part_begin,
                            const offset_t* row_offsets, Terms terms, T* sums) {
  const std::int64_t part = (std::int64_t{blockIdx.x} * csr_vector_threads + threadIdx.x) / warp_size;
  if (part >= parts) return;
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const offset_t begin = part_begin[part];
  const offset_t rest = row_offsets[part_row[part] + 1] - begin;
  const int length = static_cast<int>(rest < csr_vector_part ? rest : csr_vector_part);
  const T sum = sum_over_lanes<warp_size>(
      strided_sum<csr_vector_part_batch, warp_size, NextUse::never>(terms.from(begin + lane), length - lane));
  if (lane == 0) sums[part] = sum;
}

/// Output of y = A x and of the inner products with w.
template <class T>
struct WholeOutput {
  T* y = nullptr;
  const T* w = nullptr;
  PlainSums<2>* of_block = nullptr;  ///< one per block
};

/// `Lanes` threads per row, also for long rows. The reader adds up the parts: a last block that did so here would wait
/// longer than a kernel takes to start.
template <int Lanes, class Terms, class T>
__global__ void __launch_bounds__(csr_vector_whole_threads)
    csr_vector_whole_kernel(index_t rows, const offset_t* row_offsets, Terms terms, WholeOutput<T> out) {
  const unsigned row = blockIdx.x * (csr_vector_whole_threads / Lanes) + threadIdx.x / Lanes;
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const bool exists = row < static_cast<unsigned>(rows);
  const offset_t begin = exists ? __ldg(row_offsets + row) : 0;
  const int length = exists ? static_cast<int>(__ldg(row_offsets + row + 1) - begin) : 0;
  const double weight = exists && lane == 0 ? static_cast<double>(out.w[row]) : 0.0;
  T sum = strided_sum<csr_vector_batch, Lanes, NextUse::soon>(terms.from(begin + lane), length - lane);
  for (unsigned distance = Lanes / 2; distance > 0; distance /= 2) {
    sum += __shfl_down_sync(full_warp, sum, distance, Lanes);
  }
  PlainSums<2> dots;
  if (lane == 0 && exists) {
    const auto wide = static_cast<double>(sum);
    out.y[row] = sum;
    dots = {{weight * wide, wide * wide}};
  }
  dots = add_up_block<csr_vector_whole_threads>(dots);
  if (threadIdx.x == 0) out.of_block[blockIdx.x] = dots;
}

}  // namespace tessera::cuda
