/// \file
/// The layouts `scalar` and `vector`: a warp loads its tile straight into registers, multiplies, and
/// stages the products in shared memory to sum them. Long rows are summed in registers.
#pragma once

#include "spmv/merbit/merbit_tuning.hpp"
#include "spmv/merbit/tile_sum.cuh"

namespace tessera::cuda {

/// Where a warp's loads begin: with the tile, or with the aligned group of Width nonzeros that it begins in.
template <class V>
struct LoadWindow {
  const index_t* columns;
  const V* values;
  int begin;      ///< first nonzero of the tile, from the start of the window
  int end;        ///< the nonzero after the last of the tile; 0 for a tile without any
  int available;  ///< nonzeros that may be loaded in groups
};

template <int Width, class V>
[[nodiscard]] __device__ inline LoadWindow<V> load_window(const MatrixArrays<V>& a, const TileSpan& tile) {
  const int begin = static_cast<int>(tile.x & (Width - 1));
  const offset_t base = tile.x - begin;
  const int end = tile.nonzeros > 0 ? begin + tile.nonzeros : 0;
  const offset_t left = a.nnz - base;
  const int groups_end = end + Width - 1;
  const V* const values = is_ones<V> ? nullptr : a.values + base;
  return {a.columns + base, values, begin, end, left < groups_end ? static_cast<int>(left) : groups_end};
}

/// Some nonzeros of a lane, Width neighbours at a time.
template <class T, class V, int Width, int Batch>
struct LoadedBatch {
  index_t column[Batch][Width];
  T value[Batch][Width];

  /// Position of the first neighbour in round `round`.
  [[nodiscard]] __device__ static int position(int round, int lane) { return (round * warp_size + lane) * Width; }

  template <class Entry>
  __device__ static void load(const Entry* from, int k, const LoadWindow<V>& window, Entry (&to)[Width]) {
    if constexpr (Width == 4) {
      if (k + Width <= window.available) {
        const Four<Entry> q = load_four(from + k);
#pragma unroll
        for (int j = 0; j < Width; ++j) to[j] = q.entry[j];
        return;
      }
    }
#pragma unroll
    for (int j = 0; j < Width; ++j) to[j] = k + j < window.end ? __ldcs(from + k + j) : Entry{0};
  }

  /// Products of rounds first, first + 1, ...
  __device__ void multiply(const LoadWindow<V>& window, const T* x, int first, int lane) {
#pragma unroll
    for (int i = 0; i < Batch; ++i) {
      const int k = position(first + i, lane);
#pragma unroll
      for (int j = 0; j < Width; ++j) column[i][j] = 0;
      if (k < window.end) load(window.columns, k, window, column[i]);
    }
    if constexpr (!is_ones<V>) load_values(window, first, lane);
#pragma unroll
    for (int i = 0; i < Batch; ++i) {
      if (position(first + i, lane) >= window.end) continue;
#pragma unroll
      for (int j = 0; j < Width; ++j) {
        const T gathered = __ldg(x + column[i][j]);
        value[i][j] = is_ones<V> ? gathered : value[i][j] * gathered;
      }
    }
  }

  __device__ void load_values(const LoadWindow<V>& window, int first, int lane) {
#pragma unroll
    for (int i = 0; i < Batch; ++i) {
      const int k = position(first + i, lane);
      if (k >= window.end) continue;
      V loaded[Width];
      load(window.values, k, window, loaded);
#pragma unroll
      for (int j = 0; j < Width; ++j) value[i][j] = static_cast<T>(loaded[j]);
    }
  }

  /// Up to Width - 1 elements past the tile are written too.
  __device__ void stage(const LoadWindow<V>& window, int first, int lane, T* staged) const {
#pragma unroll
    for (int i = 0; i < Batch; ++i) {
      const int k = position(first + i, lane);
      if (k >= window.end) continue;
      if constexpr (Width == 4) {
        store_four(staged + k, Four<T>{{value[i][0], value[i][1], value[i][2], value[i][3]}});
      } else {
        staged[k] = value[i][0];
      }
    }
  }

  [[nodiscard]] __device__ T sum(const LoadWindow<V>& window, int first, int lane) const {
    T total{0};
#pragma unroll
    for (int i = 0; i < Batch; ++i) {
#pragma unroll
      for (int j = 0; j < Width; ++j) {
        const int k = position(first + i, lane) + j;
        if (k >= window.begin && k < window.end) total += value[i][j];
      }
    }
    return total;
  }
};

/// One tile, by one warp. \param staged room for its products and row sums
template <class T, class V, class Policy, class Commit>
__device__ inline void multiply_tile(const MatrixArrays<V>& a, const TileSpan& tile, const TileStart& start,
                                     std::uint32_t word, const T* x, T* staged, int lane, Commit& commit) {
  const LoadWindow<V> window = load_window<Policy::width>(a, tile);
  const bool one_row = start.kind() == TileKind::one_row;
  T sum{0};
#pragma unroll 1
  for (int first = 0; first * warp_size * Policy::width < window.end; first += Policy::batch) {
    LoadedBatch<T, V, Policy::width, Policy::batch> batch;
    batch.multiply(window, x, first, lane);
    if (one_row) {
      sum += batch.sum(window, first, lane);
    } else {
      batch.stage(window, first, lane, staged);
    }
  }
  if (one_row) {
    sum = sum_over_lanes(sum);
    if (lane == 0) commit.leave_open(tile, sum);
    return;
  }
  __syncwarp();
  T* const products = staged + window.begin;
  const auto terms = [products](int k) { return products[k]; };
  if (!sum_without_walk<staged_unroll>(tile, start, word, terms, lane, commit)) {
    sum_by_walk<Policy::sigma>(tile, products, word, lane, commit);
  }
}

/// Warp w of all sums tiles w, w + warps, ...; without persistent warps just the first. Asking for the place of the
/// next tile while one is summed would spill registers, which costs more than it gains.
template <class T, class V, class Policy, class Commit>
__global__ void __launch_bounds__(Policy::threads, Policy::min_blocks - Commit::fewer_blocks(Policy::width))
    direct_kernel(MatrixArrays<V> a, SnappedTileArrays tiles, const T* __restrict__ x, typename Commit::Output out) {
  constexpr int warps = Policy::threads / warp_size;
  alignas(16) __shared__ T staged_by[warps][Policy::staged];
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const int warp = static_cast<int>(threadIdx.x / warp_size);
  const std::int64_t slot = std::int64_t{blockIdx.x} * warps + warp;
  const std::int64_t stride = std::int64_t{gridDim.x} * warps;
  Commit commit(out);
  if (commit.is_idle()) return;
  const T* const source = commit.source(x);
#pragma unroll 1
  for (std::int64_t number = slot; number < tiles.tiles; number += stride) {
    const TileStart start = tiles.starts[number];
    const TileSpan tile = span_between(number, start, tiles.starts[number + 1]);
    const std::uint32_t word = __ldcs(tiles.lane_words + number * lanes_per_tile + lane);
    commit.expect(tile, lane);
    multiply_tile<T, V, Policy>(a, tile, start, word, source, staged_by[warp], lane, commit);
    __syncwarp();
  }
  commit.write_sums(slot, lane);
}

}  // namespace tessera::cuda
