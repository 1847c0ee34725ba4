/// \file
/// The layout `exact`: the tiles of merbit-spmv.txt, §4.1, as they are, for any sigma and both descriptor widths.
#pragma once

#include "core/cuda/shared_memory.cuh"
#include "spmv/merbit/merbit_tuning.hpp"
#include "spmv/merbit/tile_sum.cuh"

namespace tessera::cuda {

[[nodiscard]] __device__ inline TileSpan exact_span(const ExactTileArrays& tiles, std::int64_t number) {
  const offset_t x = tiles.tile_x[number];
  const index_t row = tiles.first_row(number);
  const index_t end_row = tiles.first_row(number + 1);
  return {number,
          x,
          row,
          static_cast<int>(tiles.tile_x[number + 1] - x),
          static_cast<int>(end_row - row),
          number > 0,
          end_row < tiles.rows};
}

[[nodiscard]] __device__ inline LaneSteps<std::uint64_t> exact_lane(const ExactTileArrays& tiles, std::int64_t number,
                                                                    int lane) {
  const std::int64_t word = number * lanes_per_tile + lane;
  if (tiles.lane_words_64 != nullptr) return unpack_lane(__ldcs(tiles.lane_words_64 + word), tiles.sigma);
  const LaneSteps<std::uint32_t> steps = unpack_lane(__ldcs(tiles.lane_words_32 + word), tiles.sigma);
  return {steps.down_flags, steps.y_offset};
}

/// Product number k of a matrix.
template <class T, class V>
[[nodiscard]] __device__ inline T product_of(const MatrixArrays<V>& a, const T* x, offset_t k) {
  const T gathered = __ldg(x + __ldcs(a.columns + k));
  if constexpr (is_ones<V>) {
    return gathered;
  } else {
    return static_cast<T>(__ldcs(a.values + k)) * gathered;
  }
}

/// One tile a warp. Dynamic shared memory: 32 sigma elements a warp.
template <class T, class V, class Commit>
__global__ void __launch_bounds__(exact_threads)
    exact_kernel(MatrixArrays<V> a, ExactTileArrays tiles, const T* __restrict__ x, typename Commit::Output out) {
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const int warp = static_cast<int>(threadIdx.x / warp_size);
  const std::int64_t number = std::int64_t{blockIdx.x} * (exact_threads / warp_size) + warp;
  if (number >= tiles.tiles) return;
  Commit commit(out);
  if (commit.is_idle()) return;
  const T* const source = commit.source(x);
  const TileSpan tile = exact_span(tiles, number);
  const auto terms = [&](int k) { return product_of<T>(a, source, tile.x + k); };
  if (tile.rows == 0) {
    sum_one_row<staged_unroll>(tile, terms, lane, commit);
    commit.write_sums(number, lane);
    return;
  }
  const LaneSteps<std::uint64_t> steps = exact_lane(tiles, number, lane);
  T* const products = reinterpret_cast<T*>(dynamic_shared_memory()) + warp * lanes_per_tile * tiles.sigma;
#pragma unroll 4
  for (int k = lane; k < tile.nonzeros; k += warp_size) products[k] = terms(k);
  __syncwarp();
  const int first_step = lane * tiles.sigma;
  const int left = tile.nonzeros + tile.rows - first_step;
  const int mine = left < 0 ? 0 : left < tiles.sigma ? left : tiles.sigma;
  const auto first_closed = static_cast<int>(steps.y_offset);
  T* const row_sums = products + tile.nonzeros;
  T* row_sum = row_sums + first_closed;
  const T* product = products + (first_step - first_closed);
  const auto sum_run = [&product](int length) {
    T sum{0};
    for (int k = 0; k < length; ++k) sum += *product++;
    return sum;
  };
  const int open = for_each_closed_run(steps.down_flags, mine, [&](int length) { *row_sum++ = sum_run(length); });
  commit_walk(tile, row_sums, first_closed, steps.down_flags != 0, sum_run(open), lane, commit);
  commit.write_sums(number, lane);
}

}  // namespace tessera::cuda
