/// \file
/// Row patterns times eight columns of a multivector: a warp per 32 rows reads their lists and values once. Where the
/// columns of X are contiguous a lane takes a row and all columns, so that neighbouring lanes read neighbouring rows of
/// X; where its rows are, eight lanes share a row, each for its own column, and a lane takes eight rows in turn. Warps
/// of the first blocks multiply exceptions.
#pragma once

#include "spmv/multi_vector/strided_vectors.cuh"
#include "spmv/patterns/patterns_kernel.cuh"

#include <cstdint>

namespace tessera::cuda {

/// Values as a panel reads them: at most one of the pointers is there; none for a pattern matrix.
template <class V, class T>
struct PatternPanelValues {
  const T* of_lists = nullptr;  ///< of templates
  const V* padded = nullptr;
  const V* jagged = nullptr;
  const offset_t* begin = nullptr;  ///< of jagged slices, per 32 rows
};

/// The matrix in CSR, for exceptions.
template <class T>
struct PatternPanelCsr {
  const offset_t* row_offsets = nullptr;
  const index_t* columns = nullptr;
  const T* values = nullptr;  ///< null: every value is 1
};

/// The row of a lane among 32 rows of a warp, and where its values lie.
template <class V, class T>
class PatternPanelRow {
 public:
  /// \param table,list_values in shared memory \param group of 32 rows
  __device__ PatternPanelRow(const PatternRows& p, int rows_per_lane, const PatternPanelValues<V, T>& values,
                             const index_t* table, const T* list_values, unsigned group)
      : lane_(threadIdx.x % warp_size) {
    const unsigned slice = group / static_cast<unsigned>(rows_per_lane);
    const unsigned r = group % static_cast<unsigned>(rows_per_lane);
    const std::size_t slice_rows = std::size_t{warp_size} * static_cast<unsigned>(rows_per_lane);
    const int code = p.codes[slice * slice_rows + lane_ * static_cast<unsigned>(rows_per_lane) + r];
    is_listed_ = code != p.lists;
    list_ = code * p.stride();
    length_ = table[list_];
    if (values.of_lists != nullptr) of_list_ = list_values + code * p.width;
    if (values.padded != nullptr) {
      padded_ = values.padded + slice * slice_rows * static_cast<std::size_t>(p.width) + r * warp_size + lane_;
      stride_ = slice_rows;
    }
    if (values.jagged != nullptr) jagged_ = values.jagged + values.begin[group];
  }

  [[nodiscard]] __device__ bool is_listed() const { return is_listed_; }
  [[nodiscard]] __device__ int list() const { return list_; }
  [[nodiscard]] __device__ int length() const { return length_; }

  /// Value k of the row; anything where it has none. Every lane calls it, for k = 0, 1, ... \param there lanes whose
  /// rows have one
  [[nodiscard]] __device__ T value(int k, unsigned there) {
    const bool has_one = k < length_;
    if (of_list_ != nullptr) return has_one ? of_list_[k] : T{0};
    if (padded_ != nullptr)
      return has_one ? static_cast<T>(__ldcs(padded_ + stride_ * static_cast<unsigned>(k))) : T{0};
    if (jagged_ == nullptr) return T{1};
    const T result = has_one ? static_cast<T>(__ldcs(jagged_ + __popc(there & ((1u << lane_) - 1)))) : T{0};
    jagged_ += __popc(there);
    return result;
  }

 private:
  unsigned lane_;
  bool is_listed_;
  int list_;
  int length_;
  const T* of_list_ = nullptr;
  const V* padded_ = nullptr;
  std::size_t stride_ = 0;
  const V* jagged_ = nullptr;
};

/// A lane per row.
template <class V, class T>
__device__ void multiply_panel_by_columns(const index_t* table, index_t first, const StridedVectors<const T>& x,
                                          int columns, const StridedUpdate<T>& y, PatternPanelRow<V, T>& own) {
  const auto row = first + static_cast<index_t>(threadIdx.x % warp_size);
  T sums[detail::panel_columns] = {};
  for (int k = 0;; ++k) {
    const bool has_one = k < own.length();
    const unsigned there = __ballot_sync(full_warp, has_one ? 1 : 0);
    if (there == 0) break;
    const T value = own.value(k, there);
    if (!has_one) continue;
    const T* const from = x.at(std::int64_t{row} + table[own.list() + 1 + k], 0);
#pragma unroll
    for (int c = 0; c < detail::panel_columns; ++c) {
      if (c < columns) sums[c] += value * __ldg(from + c * x.column_stride);
    }
  }
  if (!own.is_listed()) return;
#pragma unroll
  for (int c = 0; c < detail::panel_columns; ++c) {
    if (c < columns) y.store(row, c, sums[c]);
  }
}

/// Eight lanes per row, eight rows per lane.
template <class V, class T>
__device__ void multiply_panel_by_rows(const index_t* table, index_t first, const StridedVectors<const T>& x,
                                       int columns, const StridedUpdate<T>& y, PatternPanelRow<V, T>& own) {
  constexpr int width = detail::panel_columns;
  constexpr int strands = warp_size / width;
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const int column = lane % width;
  const bool is_wanted = column < columns;
  const int strand = lane / width;
  int list[width];
  int length[width];
#pragma unroll
  for (int p = 0; p < width; ++p) {
    list[p] = __shfl_sync(full_warp, own.list(), p * strands + strand);
    length[p] = __shfl_sync(full_warp, own.length(), p * strands + strand);
  }
  T sums[width] = {};
  for (int k = 0;; ++k) {
    const unsigned there = __ballot_sync(full_warp, k < own.length() ? 1 : 0);
    if (there == 0) break;
    const T of_row = own.value(k, there);
#pragma unroll
    for (int p = 0; p < width; ++p) {
      const T value = __shfl_sync(full_warp, of_row, p * strands + strand);
      if (k >= length[p] || !is_wanted) continue;
      const std::int64_t row = std::int64_t{first} + p * strands + strand;
      sums[p] += value * __ldg(x.at(row + table[list[p] + 1 + k], column));
    }
  }
  const unsigned listed = __ballot_sync(full_warp, own.is_listed() ? 1 : 0);
#pragma unroll
  for (int p = 0; p < width; ++p) {
    const int local = p * strands + strand;
    if (is_wanted && (listed >> local & 1u) != 0) y.store(std::int64_t{first} + local, column, sums[p]);
  }
}

/// A row on no list, by a warp: eight columns, the entries in strands that are added by halves.
template <class T>
__device__ void multiply_panel_exception(const PatternRows& p, const PatternPanelCsr<T>& a,
                                         const StridedVectors<const T>& x, int columns, const StridedUpdate<T>& y) {
  constexpr int width = detail::panel_columns;
  const unsigned number = blockIdx.x * (pattern_threads / warp_size) + threadIdx.x / warp_size;
  if (number >= p.exception_count) return;
  const auto row = static_cast<index_t>(p.exceptions == nullptr ? number : p.exceptions[number]);
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const int column = lane % width < columns ? lane % width : columns - 1;
  const offset_t end = a.row_offsets[row + 1];
  T sum{0};
#pragma unroll 4
  for (offset_t k = a.row_offsets[row] + lane / width; k < end; k += warp_size / width) {
    const T source = __ldg(x.at(__ldg(a.columns + k), column));
    sum += a.values == nullptr ? source : __ldg(a.values + k) * source;
  }
  for (int distance = width; distance < warp_size; distance *= 2) {
    sum += __shfl_xor_sync(full_warp, sum, distance);
  }
  if (lane < columns) y.store(row, lane, sum);
}

/// \tparam ByRows whether the rows of X are contiguous
template <bool ByRows, class V, class T>
__global__ void __launch_bounds__(pattern_threads)
    pattern_panel_kernel(PatternRows p, int rows_per_lane, PatternPanelValues<V, T> values, PatternPanelCsr<T> a,
                         StridedVectors<const T> x, int columns, StridedUpdate<T> y) {
  constexpr unsigned warps = pattern_threads / warp_size;
  if (blockIdx.x < p.exception_blocks) return multiply_panel_exception(p, a, x, columns, y);
  unsigned char* const shared = dynamic_shared_memory();
  auto* const table = reinterpret_cast<index_t*>(shared);
  auto* const list_values = reinterpret_cast<T*>(shared + shared_columns_bytes(p.places()));
  for (int i = static_cast<int>(threadIdx.x); i < p.places(); i += pattern_threads) table[i] = __ldg(p.table + i);
  if (values.of_lists != nullptr) {
    const int count = (p.lists + 1) * p.width;
    for (int i = static_cast<int>(threadIdx.x); i < count; i += pattern_threads) {
      list_values[i] = __ldg(values.of_lists + i);
    }
  }
  __syncthreads();
  const unsigned group = (blockIdx.x - p.exception_blocks) * warps + threadIdx.x / warp_size;
  if (group >= p.slices * static_cast<unsigned>(rows_per_lane)) return;
  PatternPanelRow<V, T> own(p, rows_per_lane, values, table, list_values, group);
  const auto first = static_cast<index_t>(group * warp_size);
  if constexpr (ByRows) {
    multiply_panel_by_rows(table, first, x, columns, y, own);
  } else {
    multiply_panel_by_columns(table, first, x, columns, y, own);
  }
}

}  // namespace tessera::cuda
