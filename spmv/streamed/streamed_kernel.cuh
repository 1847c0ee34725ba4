/// \file
/// Kernels of the streamed product: short rows by a few lanes as in csr-vector, long rows by parts, one warp each.
#pragma once

#include "spmv/common/terms.cuh"
#include "spmv/csr_vector/csr_vector_kernel.cuh"
#include "spmv/streamed/streamed_product.hpp"

#include <cstdint>
#include <type_traits>

namespace tessera::cuda {

/// Column of an entry: as it is stored, or row + what is stored.
template <class C>
__device__ index_t column_at(index_t row, C stored) {
  if constexpr (std::is_same_v<C, index_t>) {
    return stored;
  } else {
    return row + stored;
  }
}

/// The terms of a row of a slice, in S, from values stored as V and columns stored as C.
template <class S, class V, class C>
struct SliceTerms {
  using Sum = S;
  struct Nonzero {
    V value;
    index_t column;
  };
  const V* values;
  const C* columns;
  StridedVector<const S> x;
  index_t row = 0;

  __device__ SliceTerms of_row(index_t of) const { return {values, columns, x, of}; }
  __device__ SliceTerms from(offset_t first) const { return {base_at(values, first), base_at(columns, first), x, row}; }
  template <NextUse Use>
  __device__ Nonzero entry(offset_t k) const {
    return {load_entry<Use>(values + k), column_at(row, load_entry<Use>(columns + k))};
  }
  __device__ S product(const Nonzero& entry) const {
    return static_cast<S>(entry.value) * __ldg(x.data + entry.column * x.stride);
  }
};

/// The same where every value is 1.
template <class S, class C>
struct SlicePatternTerms {
  using Sum = S;
  using Nonzero = index_t;
  const C* columns;
  StridedVector<const S> x;
  index_t row = 0;

  __device__ SlicePatternTerms of_row(index_t of) const { return {columns, x, of}; }
  __device__ SlicePatternTerms from(offset_t first) const { return {base_at(columns, first), x, row}; }
  template <NextUse Use>
  __device__ Nonzero entry(offset_t k) const {
    return column_at(row, load_entry<Use>(columns + k));
  }
  __device__ S product(Nonzero column) const { return __ldg(x.data + column * x.stride); }
};

/// y = α s + β y; the old y is not read when β = 0.
template <class T>
struct SliceUpdate {
  StridedVector<T> y;
  T alpha;
  T beta;
  __device__ void store(index_t row, T sum) const {
    T& element = y.data[row * y.stride];
    element = beta == T{0} ? alpha * sum : alpha * sum + beta * element;
  }
};

/// Rows of a slice on the device.
struct RowsOfSlice {
  const std::uint32_t* offsets;
  index_t first_row;
  std::uint32_t count;
  std::uint32_t long_row;  ///< rows of more entries are left to their parts, as are those that are cut:
  std::uint32_t first_whole;
  std::uint32_t end_whole;
};

/// `Lanes` threads per row; nothing is stored of rows that are summed by parts.
template <int Lanes, class Terms, class T>
__global__ void __launch_bounds__(csr_vector_threads)
    slice_rows_kernel(RowsOfSlice rows, Terms terms, SliceUpdate<T> update) {
  const unsigned row = blockIdx.x * (csr_vector_threads / Lanes) + threadIdx.x / Lanes;
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  bool is_whole = row >= rows.first_whole && row < rows.end_whole;
  std::uint32_t begin = 0;
  int length = 0;
  if (is_whole) {
    begin = __ldg(rows.offsets + row);
    const std::uint32_t whole = __ldg(rows.offsets + row + 1) - begin;
    is_whole = whole <= rows.long_row;
    length = is_whole ? static_cast<int>(whole) : 0;
  }
  const index_t number = rows.first_row + static_cast<index_t>(is_whole ? row : 0);
  const T sum = sum_over_lanes<Lanes>(strided_sum<csr_vector_batch, Lanes, NextUse::soon>(
      terms.of_row(number).from(static_cast<offset_t>(begin) + lane), length - lane));
  if (lane == 0 && is_whole) update.store(number, sum);
}

/// One warp per part of a long row.
template <class Terms, class T>
__global__ void __launch_bounds__(csr_vector_threads)
    slice_parts_kernel(std::uint32_t parts, const SlicePart* part_of, RowsOfSlice rows, Terms terms, T* sums) {
  const std::uint32_t number = blockIdx.x * (csr_vector_threads / warp_size) + threadIdx.x / warp_size;
  if (number >= parts) return;
  const SlicePart part = part_of[number];
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const std::uint32_t rest = rows.offsets[part.row + 1] - part.begin;
  const int length = static_cast<int>(rest < csr_vector_part ? rest : csr_vector_part);
  const T sum = sum_over_lanes<warp_size>(strided_sum<csr_vector_part_batch, warp_size, NextUse::never>(
      terms.of_row(rows.first_row + static_cast<index_t>(part.row)).from(static_cast<offset_t>(part.begin) + lane),
      length - lane));
  if (lane == 0) sums[number] = sum;
}

/// One warp per long row adds its parts, one after the other: their order does not depend on the slices.
template <class T>
__global__ void __launch_bounds__(csr_vector_threads)
    slice_long_rows_kernel(std::uint32_t count, const SliceLongRow* long_rows, RowsOfSlice rows, SliceSums<T> sums,
                           SliceUpdate<T> update) {
  const std::uint32_t number = blockIdx.x * (csr_vector_threads / warp_size) + threadIdx.x / warp_size;
  if (number >= count) return;
  const SliceLongRow row = long_rows[number];
  const unsigned lane = threadIdx.x % warp_size;
  T sum = row.row < rows.first_whole ? *sums.brought : T{0};
  for (std::uint32_t first = 0; first < row.parts; first += warp_size) {
    const std::uint32_t left = row.parts - first;
    const T own = lane < left ? sums.parts[row.first_part + first + lane] : T{0};
    for (unsigned k = 0; k < warp_size && k < left; ++k) sum += __shfl_sync(full_warp, own, k);
  }
  if (lane != 0) return;
  if (row.goes_on != 0) {
    *sums.carried = sum;
  } else {
    update.store(rows.first_row + static_cast<index_t>(row.row), sum);
  }
}

}  // namespace tessera::cuda
