/// \file
/// Kernels of products with panels of columns. X is row-major: a strand is so many lanes as load a row of the panel,
/// 16 bytes each, and gathers for eight nonzeros are in flight per strand. Its lanes load nonzeros together and pass
/// them on by shuffles. One kernel reads a column-major X as it is: a lane per nonzero, with a sum per column.
#pragma once

#include "core/cuda/launch.cuh"
#include "spmv/common/carries.cuh"
#include "spmv/multi_vector/strided_vectors.cuh"

#include <cstdint>

namespace tessera::cuda {

inline constexpr int panel_threads = 256;
/// Resident blocks per multiprocessor that the registers of a flight leave room for.
inline constexpr int panel_blocks = 3;

/// Lanes that share the columns of a panel. \tparam Width columns
template <class T, int Width>
struct Strand {
  static constexpr int own = 16 / static_cast<int>(sizeof(T));  ///< columns per lane
  static constexpr int lanes = Width / own;
  static constexpr int per_warp = warp_size / lanes;
  static constexpr int flight = 8;  ///< nonzeros whose rows of X are loaded together
  static constexpr int loads = flight / lanes;
};

/// The nonzeros of a matrix. \tparam Weighted false: every value is 1, and `values` is not read
template <class T, bool Weighted>
struct PanelNonzeros {
  const T* values;
  const index_t* columns;

  __device__ T value(offset_t k) const {
    if constexpr (Weighted) return __ldg(values + k);
    return T{1};
  }
};

/// Rows of X, aligned to 16 bytes.
template <class T>
struct RowPanel {
  const T* first;
  std::int64_t stride;
};

__device__ inline void load_16_bytes(const double* from, double (&to)[2]) {
  const double2 loaded = __ldg(reinterpret_cast<const double2*>(from));
  to[0] = loaded.x;
  to[1] = loaded.y;
}
__device__ inline void load_16_bytes(const float* from, float (&to)[4]) {
  const float4 loaded = __ldg(reinterpret_cast<const float4*>(from));
  to[0] = loaded.x;
  to[1] = loaded.y;
  to[2] = loaded.z;
  to[3] = loaded.w;
}
__device__ inline void store_16_bytes(double* to, const double (&from)[2]) {
  *reinterpret_cast<double2*>(to) = make_double2(from[0], from[1]);
}
__device__ inline void store_16_bytes(float* to, const float (&from)[4]) {
  *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
}

/// Y = α S + β Y of a panel.
template <class T>
struct PanelUpdate {
  StridedUpdate<T> update;
  int columns;         ///< of Y; those of the panel from there on do not exist
  bool stores_groups;  ///< 16 bytes at a time: whole rows, aligned, β = 0

  template <int Own>
  __device__ void store(std::int64_t row, int column, const T (&sum)[Own]) const {
    if constexpr (Own > 1) {
      if (stores_groups) {
        T scaled[Own];
#pragma unroll
        for (int n = 0; n < Own; ++n) scaled[n] = update.alpha * sum[n];
        return store_16_bytes(update.y.at(row, column), scaled);
      }
    }
#pragma unroll
    for (int n = 0; n < Own; ++n) {
      if (column + n < columns) update.store(row, column + n, sum[n]);
    }
  }
  __device__ void add(std::int64_t row, int column, T sum) const { *update.y.at(row, column) += update.alpha * sum; }
};

/// Eight nonzeros of a strand and their rows of X. Those from `end` on count as 0 times 0.
template <class T, bool Weighted, int Width>
class Flight {
  using S = Strand<T, Width>;

 public:
  /// All lanes of the warp must call.
  __device__ Flight(const PanelNonzeros<T, Weighted>& a, const RowPanel<T>& x, offset_t begin, offset_t end) {
    const int lane = static_cast<int>(threadIdx.x) % S::lanes;
    index_t column[S::loads];
    T value[S::loads];
#pragma unroll
    for (int i = 0; i < S::loads; ++i) {
      const offset_t k = begin + i * S::lanes + lane;
      column[i] = k < end ? __ldg(a.columns + k) : -1;
      value[i] = k < end ? a.value(k) : T{0};
    }
    const T* const own = x.first + lane * S::own;
#pragma unroll
    for (int j = 0; j < S::flight; ++j) {
      const index_t from = __shfl_sync(full_warp, column[j / S::lanes], j % S::lanes, S::lanes);
      if (from >= 0) {
        load_16_bytes(own + from * x.stride, x_[j]);
      } else {
#pragma unroll
        for (int n = 0; n < S::own; ++n) x_[j][n] = T{0};
      }
    }
#pragma unroll
    for (int j = 0; j < S::flight; ++j) {
      value_[j] = Weighted ? __shfl_sync(full_warp, value[j / S::lanes], j % S::lanes, S::lanes) : T{1};
    }
  }

  __device__ void add(int j, T (&sum)[S::own]) const {
#pragma unroll
    for (int n = 0; n < S::own; ++n) sum[n] += value_[j] * x_[j][n];
  }

 private:
  T value_[S::flight];
  T x_[S::flight][S::own];
};

/// Whole rows; those longer than long_row count as empty.
template <class T>
struct RowSegments {
  index_t rows;
  const offset_t* row_offsets;
  offset_t long_row;
  PanelUpdate<T> out;

  [[nodiscard]] __device__ std::int64_t count() const { return rows; }
  __device__ offset_t range(std::int64_t row, offset_t& begin) const {
    begin = __ldg(row_offsets + row);
    const offset_t end = __ldg(row_offsets + row + 1);
    return end - begin > long_row ? begin : end;
  }
  template <int Own>
  __device__ void store(std::int64_t row, int column, const T (&sum)[Own]) const {
    out.store(row, column, sum);
  }
};

/// Parts of long rows. Their sums lie column by column.
template <class T>
struct PartSegments {
  std::int64_t parts;
  const index_t* row;
  const offset_t* first;
  const offset_t* row_offsets;
  offset_t part;
  T* sums;

  [[nodiscard]] __device__ std::int64_t count() const { return parts; }
  __device__ offset_t range(std::int64_t i, offset_t& begin) const {
    begin = first[i];
    const offset_t end = row_offsets[row[i] + 1];
    return end - begin < part ? end : begin + part;
  }
  template <int Own>
  __device__ void store(std::int64_t i, int column, const T (&sum)[Own]) const {
#pragma unroll
    for (int n = 0; n < Own; ++n) sums[(column + n) * parts + i] = sum[n];
  }
};

/// \param strands per segment, a power of two, at most a warp of them
template <int Width, bool Weighted, class T, class Segments>
__global__ void __launch_bounds__(panel_threads, panel_blocks)
    panel_segments_kernel(Segments segments, PanelNonzeros<T, Weighted> a, RowPanel<T> x, int strands) {
  using S = Strand<T, Width>;
  const std::int64_t strand = (std::int64_t{blockIdx.x} * panel_threads + threadIdx.x) / S::lanes;
  const std::int64_t segment = strand / strands;
  const int number = static_cast<int>(strand % strands);
  offset_t begin = 0;
  offset_t end = 0;
  if (segment < segments.count()) end = segments.range(segment, begin);
  T sum[S::own] = {};
  for (begin += number * S::flight; __any_sync(full_warp, begin < end); begin += strands * S::flight) {
    const Flight<T, Weighted, Width> flight(a, x, begin, end);
#pragma unroll
    for (int j = 0; j < S::flight; ++j) flight.add(j, sum);
  }
  for (int distance = S::lanes; distance < S::lanes * strands; distance *= 2) {
#pragma unroll
    for (int n = 0; n < S::own; ++n) sum[n] += __shfl_xor_sync(full_warp, sum[n], distance);
  }
  if (number == 0 && segment < segments.count()) {
    segments.store(segment, static_cast<int>(threadIdx.x) % S::lanes * S::own, sum);
  }
}

/// The same from a column-major X. \param lanes per segment, a power of two up to 32 \param columns at most Width
template <int Width, bool Weighted, class T, class Segments>
__global__ void __launch_bounds__(panel_threads, panel_blocks)
    column_segments_kernel(Segments segments, PanelNonzeros<T, Weighted> a, StridedVectors<const T> x, int columns,
                           int lanes) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * panel_threads + threadIdx.x;
  const std::int64_t segment = thread / lanes;
  const int lane = static_cast<int>(thread % lanes);
  offset_t begin = 0;
  offset_t end = 0;
  if (segment < segments.count()) end = segments.range(segment, begin);
  T sum[Width] = {};
#pragma unroll 2
  for (offset_t k = begin + lane; k < end; k += lanes) {
    const T* const from = x.first + __ldg(a.columns + k);
    const T value = a.value(k);
#pragma unroll
    for (int n = 0; n < Width; ++n) {
      if (n < columns) sum[n] += value * __ldg(from + n * x.column_stride);
    }
  }
  for (int distance = 1; distance < lanes; distance *= 2) {
#pragma unroll
    for (int n = 0; n < Width; ++n) sum[n] += __shfl_xor_sync(full_warp, sum[n], distance);
  }
  if (segment >= segments.count()) return;
#pragma unroll
  for (int n = 0; n < Width; ++n) {
    const T of_column[1] = {sum[n]};
    if (n % lanes == lane && n < columns) segments.store(segment, n, of_column);
  }
}

/// Adds carries to their rows, as join_carries_kernel(), for every column: blocks of one column follow each other.
/// \param sums one per column and carry, column by column \param blocks per column
template <class RowOf, class T>
__global__ void __launch_bounds__(carries_per_block)
    join_panel_carries_kernel(std::int64_t count, RowOf row_of, const T* sums, index_t rows, PanelUpdate<T> out,
                              unsigned blocks, index_t* open_rows, T* open_sums) {
  const unsigned block = blockIdx.x % blocks;
  const auto column = static_cast<int>(blockIdx.x / blocks);
  const std::int64_t i = std::int64_t{block} * carries_per_block + threadIdx.x;
  const std::int64_t last = count - 1;
  const index_t row = row_of(i < last ? i : last);
  const T sum = sum_of_equal_rows(row, i < count ? sums[column * count + i] : T{0});
  const bool complete = i >= last || row_of(i + 1) != row;
  if (i < count && complete && row < rows && sum != T{0}) out.add(row, column, sum);
  if (threadIdx.x == carries_per_block - 1 && open_rows != nullptr) {
    open_rows[block] = row;
    open_sums[std::int64_t{column} * blocks + block] = complete ? T{0} : sum;
  }
}

/// Rows of X to a panel of Width columns; those that X lacks are 0.
template <int Width, class T>
__global__ void __launch_bounds__(panel_threads)
    pack_panel_kernel(std::int64_t rows, StridedVectors<const T> x, int columns, T* panel) {
  using S = Strand<T, Width>;
  const std::int64_t thread = std::int64_t{blockIdx.x} * panel_threads + threadIdx.x;
  const std::int64_t row = thread / S::lanes;
  if (row >= rows) return;
  const int column = static_cast<int>(thread % S::lanes) * S::own;
  T own[S::own];
#pragma unroll
  for (int n = 0; n < S::own; ++n) own[n] = column + n < columns ? __ldg(x.at(row, column + n)) : T{0};
  store_16_bytes(panel + row * Width + column, own);
}

}  // namespace tessera::cuda
