/// \file
/// Passes over the nonzeros of a matrix by strips, one per warp, which tell how far from the diagonal a nonzero is.
#pragma once

#include "core/cuda/launch.cuh"
#include "core/host_device.hpp"
#include "core/partition_point.hpp"
#include "spmv/merbit/hub_columns.hpp"
#include "tessera/types.hpp"

#include <cstdint>

namespace tessera::cuda {

/// Nonzeros of a strip, which one warp passes over. Its rows are taken for one, which is near enough to tell far
/// columns.
inline constexpr offset_t strip_nonzeros = 2048;
inline constexpr int strip_threads = 256;

/// Of so many strips a sample has one.
inline constexpr std::int64_t sampled_strips = 16;

/// The strips first, first + one_in, ...
struct StripSample {
  std::int64_t one_in = 1;
  std::int64_t first = 0;
};

/// The strips of a matrix.
struct NonzeroStrips {
  const offset_t* row_offsets = nullptr;
  const index_t* columns = nullptr;
  index_t rows = 0;
  index_t cols = 0;
  offset_t nnz = 0;

  [[nodiscard]] TESSERA_HOST_DEVICE std::int64_t count() const { return (nnz + strip_nonzeros - 1) / strip_nonzeros; }

  /// A warp per strip of a sample.
  [[nodiscard]] Grid grid(const StripSample& sample) const {
    const std::int64_t strips = (count() - sample.first + sample.one_in - 1) / sample.one_in;
    return {blocks_for(strips, strip_threads / warp_size), strip_threads};
  }

  /// The diagonal in the row of nonzero k.
  [[nodiscard]] __device__ index_t diagonal_at(offset_t k) const {
    const index_t after =
        detail::partition_point(index_t{0}, rows, [&](index_t row) { return __ldg(row_offsets + row) <= k; });
    return diagonal_column(after - 1, rows, cols);
  }

  /// function(nonzero, its column, its distance from the diagonal) for the nonzeros of a strip, one per lane at a time.
  /// All lanes call it together: those without a nonzero with -1, 0 and no_distance.
  template <class Function>
  __device__ void for_nonzeros(std::int64_t strip, const Function& function) const {
    const offset_t begin = strip * strip_nonzeros;
    const offset_t end = begin + strip_nonzeros < nnz ? begin + strip_nonzeros : nnz;
    const index_t diagonal = diagonal_at(begin);
#pragma unroll 4
    for (offset_t first = begin; first < end; first += warp_size) {
      const offset_t k = first + threadIdx.x % warp_size;
      const index_t column = k < end ? __ldcs(columns + k) : 0;
      function(k < end ? k : offset_t{-1}, column, k < end ? distance_between(column, diagonal) : no_distance);
    }
  }
};

[[nodiscard]] __device__ inline std::int64_t strip_of_warp(const StripSample& sample) {
  const std::int64_t warp = std::int64_t{blockIdx.x} * (strip_threads / warp_size) + threadIdx.x / warp_size;
  return sample.first + warp * sample.one_in;
}

/// Adds what the lanes of a warp have counted. All lanes call it.
__device__ inline void add_count_of_warp(unsigned mine, unsigned long long* count) {
  const unsigned of_warp = __reduce_add_sync(full_warp, mine);
  if (threadIdx.x % warp_size == 0 && of_warp != 0) atomicAdd(count, static_cast<unsigned long long>(of_warp));
}

}  // namespace tessera::cuda
