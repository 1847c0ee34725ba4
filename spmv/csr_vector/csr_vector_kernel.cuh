/// \file
/// A product and parts of its inner products in one kernel, for small matrices.
#pragma once

#include "core/cuda/reduce.cuh"
#include "spmv/common/terms.cuh"
#include "spmv/csr_vector/csr_vector_tuning.hpp"

#include <type_traits>

namespace tessera::cuda {

/// Where y = A x and the inner products with w go.
template <class T>
struct WholeOutput {
  T* y = nullptr;
  const T* w = nullptr;
  PlainSums<2>* of_block = nullptr;  ///< one a block
};

/// Lanes threads a row, long ones too. Parts are added up by whoever reads them: a last block that did so here would
/// wait longer than a kernel takes to start.
template <int Lanes, class Terms, class T>
__global__ void __launch_bounds__(csr_vector_whole_threads)
    whole_product_kernel(index_t rows, const offset_t* row_offsets, Terms terms, WholeOutput<T> out) {
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
