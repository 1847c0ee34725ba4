/// \file
/// Row sink: what a kernel on a GPU that forms whole rows does with them: y = α A x + β y, and the inner products of CG
/// and BiCGSTAB in the same pass.
#pragma once

#include "core/cuda/reduce.cuh"
#include "core/cuda/warp.cuh"
#include "spmv/common/terms.cuh"

namespace tessera::cuda {

/// y = α A x + β y and, with of_block, the inner products of the new y with w and with itself.
template <class T>
struct RowSink {
  UpdateEpilogue<T> y;
  const T* w = nullptr;
  PlainSums<2>* of_block = nullptr;  ///< one per block

  __device__ void store(index_t row, T sum, PlainSums<2>& dots) const {
    y.store(row, sum);
    if (of_block != nullptr) add_dots(sum, w[row], dots);
  }

  /// What storing a row reads, for those who store several: all loads come first.
  struct Reads {
    T old;
    T weight;
  };
  [[nodiscard]] __device__ Reads reads(index_t row) const {
    return {y.beta == T{0} ? T{0} : y.y[row], of_block == nullptr ? T{0} : w[row]};
  }
  __device__ void store(index_t row, T sum, const Reads& before, PlainSums<2>& dots) const {
    y.store(row, sum, before.old);
    if (of_block != nullptr) add_dots(sum, before.weight, dots);
  }

  /// Every thread must call, at the end.
  template <int Threads>
  __device__ void store_dots(PlainSums<2> dots) const {
    if (of_block == nullptr) return;
    dots = add_up_block<Threads>(dots);
    if (threadIdx.x == 0) of_block[blockIdx.x] = dots;
  }

 private:
  __device__ static void add_dots(T sum, T weight, PlainSums<2>& dots) {
    const auto wide = static_cast<double>(sum);
    dots.of[0] += static_cast<double>(weight) * wide;
    dots.of[1] += wide * wide;
  }
};

/// A row of a matrix in CSR, by a warp. Every lane must call.
template <class Terms, class T>
__device__ void multiply_row_by_warp(index_t row, const offset_t* row_offsets, const Terms& terms,
                                     const RowSink<T>& out, PlainSums<2>& dots) {
  constexpr int batch = 8;
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const offset_t begin = row_offsets[row];
  const int length = static_cast<int>(row_offsets[row + 1] - begin);
  const T sum = sum_over_lanes(strided_sum<batch, warp_size, NextUse::never>(terms.from(begin + lane), length - lane));
  if (lane == 0) out.store(row, sum, dots);
}

}  // namespace tessera::cuda
