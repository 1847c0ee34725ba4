/// \file
/// MERBIT's layouts `scalar` and `vector`: a warp loads its tile straight into registers, multiplies, and stages the
/// products in shared memory to sum them; long rows are summed in registers. And the layout `exact`: the tiles of
/// MERBIT, §4.1, for any sigma and both descriptor widths.
#pragma once

#include "core/cuda/shared_memory.cuh"
#include "spmv/merbit/hub_columns.cuh"
#include "spmv/merbit/merbit_tile_sum.cuh"
#include "spmv/merbit/merbit_tuning.hpp"

namespace tessera::cuda {

/// The loads of a warp: they begin with the aligned group of nonzeros in which the tile begins.
template <class V, class Column = index_t>
struct LoadWindow {
  const Column* columns;
  const V* values;
  int begin;      ///< first nonzero of the tile, from the start of the window
  int end;        ///< the nonzero after the last of the tile; 0 for a tile without any
  int available;  ///< nonzeros that may be loaded in groups
};

template <int Width, class V, class Column>
[[nodiscard]] __device__ inline LoadWindow<V, Column> load_window(const MatrixArrays<V, Column>& a,
                                                                  const TileSpan& tile) {
  const int begin = static_cast<int>(tile.x & (window_alignment<Width> - 1));
  const offset_t base = tile.x - begin;
  const int end = tile.nonzeros > 0 ? begin + tile.nonzeros : 0;
  const offset_t left = a.nnz - base;
  const int groups_end = end + Width - 1;
  const V* const values = is_ones<V> ? nullptr : a.values + base;
  return {a.columns + base, values, begin, end, left < groups_end ? static_cast<int>(left) : groups_end};
}

/// A batch of nonzeros of a lane, Width neighbours at a time.
template <class T, class V, class Column, int Width, int Batch>
struct LoadedBatch {
  using Window = LoadWindow<V, Column>;
  Column column[Batch][Width];
  T value[Batch][Width];

  /// Position of the first neighbour in round `round`.
  [[nodiscard]] __device__ static int position(int round, int lane) { return (round * warp_size + lane) * Width; }
  /// Whether neighbours from k on, of round i of this batch, are loaded: a group of which one belongs to the tile. A
  /// tile begins in round 0.
  [[nodiscard]] __device__ static bool is_loaded(const Window& window, int k, int i) {
    return k < window.end && (i > 0 || k + Width > window.begin);
  }

  template <class Entry>
  __device__ static void load(const Entry* from, int k, const Window& window, Entry (&to)[Width]) {
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

  /// Products of rounds first, first + 1, ... \param gather the entry of x that belongs to a column
  template <class Gather>
  __device__ void multiply(const Window& window, const Gather& gather, int first, int lane) {
#pragma unroll
    for (int i = 0; i < Batch; ++i) {
      const int k = position(first + i, lane);
#pragma unroll
      for (int j = 0; j < Width; ++j) column[i][j] = 0;
      if (is_loaded(window, k, i)) load(window.columns, k, window, column[i]);
    }
    if constexpr (!is_ones<V>) load_values(window, first, lane);
#pragma unroll
    for (int i = 0; i < Batch; ++i) {
      if (!is_loaded(window, position(first + i, lane), i)) continue;
#pragma unroll
      for (int j = 0; j < Width; ++j) {
        const T gathered = gather(column[i][j]);
        value[i][j] = is_ones<V> ? gathered : value[i][j] * gathered;
      }
    }
  }

  __device__ void load_values(const Window& window, int first, int lane) {
#pragma unroll
    for (int i = 0; i < Batch; ++i) {
      const int k = position(first + i, lane);
      if (!is_loaded(window, k, i)) continue;
      V loaded[Width];
      load(window.values, k, window, loaded);
#pragma unroll
      for (int j = 0; j < Width; ++j) value[i][j] = static_cast<T>(loaded[j]);
    }
  }

  /// Up to Width - 1 elements before and past the tile are written too.
  __device__ void stage(const Window& window, int first, int lane, T* staged) const {
#pragma unroll
    for (int i = 0; i < Batch; ++i) {
      const int k = position(first + i, lane);
      if (!is_loaded(window, k, i)) continue;
      if constexpr (Width == 4) {
        store_four(staged + k, Four<T>{{value[i][0], value[i][1], value[i][2], value[i][3]}});
      } else {
        staged[k] = value[i][0];
      }
    }
  }

  /// `total` and the products of the tile, added in an order that does not depend on the size of batches.
  [[nodiscard]] __device__ T add_to(T total, const Window& window, int first, int lane) const {
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

/// One tile, by one warp. \param gather see LoadedBatch \param staged room for its products and row sums
template <class T, class Policy, class V, class Column, class Gather, class Epilogue>
__device__ inline void multiply_tile(const MatrixArrays<V, Column>& a, const TileSpan& tile, const TileStart& start,
                                     std::uint32_t word, const Gather& gather, T* staged, int lane,
                                     Epilogue& epilogue) {
  const LoadWindow<V, Column> window = load_window<Policy::width>(a, tile);
  const bool one_row = start.kind() == TileKind::one_row;
  T sum{0};
#pragma unroll 1
  for (int first = 0; first * warp_size * Policy::width < window.end; first += Policy::batch) {
    LoadedBatch<T, V, Column, Policy::width, Policy::batch> batch;
    batch.multiply(window, gather, first, lane);
    if (one_row) {
      sum = batch.add_to(sum, window, first, lane);
    } else {
      batch.stage(window, first, lane, staged);
    }
  }
  if (one_row) {
    sum = sum_over_lanes(sum);
    if (lane == 0) epilogue.leave_open(tile, sum);
    return;
  }
  __syncwarp();
  T* const products = staged + window.begin;
  const auto terms = [products](int k) { return products[k]; };
  if (!sum_without_walk<staged_unroll>(tile, start, word, terms, lane, epilogue)) {
    sum_by_walk<Policy::sigma>(tile, products, word, lane, epilogue);
  }
}

/// Warp w of all sums tiles w, w + warps, ...; without persistent warps only tile w. Prefetching the start of the next
/// tile would spill registers, which costs more than it gains.
template <class T, class V, class Policy, class Gather, class Epilogue>
__global__ void __launch_bounds__(Policy::threads, Policy::min_blocks - Epilogue::fewer_blocks(Policy::width))
    merbit_direct_kernel(MatrixArrays<V> a, SnappedTileArrays tiles, Gather gather, typename Epilogue::Output out) {
  constexpr int warps = Policy::threads / warp_size;
  alignas(16) __shared__ T staged_by[warps][Policy::staged];
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const int warp = static_cast<int>(threadIdx.x / warp_size);
  const std::int64_t warp_of_grid = std::int64_t{blockIdx.x} * warps + warp;
  const std::int64_t stride = std::int64_t{gridDim.x} * warps;
  Epilogue epilogue(out);
  if (epilogue.is_idle()) return;
  gather.x = epilogue.source(gather.x);
#pragma unroll 1
  for (std::int64_t number = warp_of_grid; number < tiles.tiles; number += stride) {
    const TileStart start = tiles.starts[number];
    const TileSpan tile = span_between(number, start, tiles.starts[number + 1]);
    const std::uint32_t word = __ldcs(tiles.lane_words + number * lanes_per_tile + lane);
    epilogue.expect(tile, lane);
    multiply_tile<T, Policy>(a, tile, start, word, gather, staged_by[warp], lane, epilogue);
    __syncwarp();
  }
  epilogue.write_sums(warp_of_grid, lane);
}

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

[[nodiscard]] __device__ inline LaneItems<std::uint64_t> exact_lane(const ExactTileArrays& tiles, std::int64_t number,
                                                                    int lane) {
  const std::int64_t word = number * lanes_per_tile + lane;
  if (tiles.lane_words_64 != nullptr) return unpack_lane(__ldcs(tiles.lane_words_64 + word), tiles.sigma);
  const LaneItems<std::uint32_t> items = unpack_lane(__ldcs(tiles.lane_words_32 + word), tiles.sigma);
  return {items.down_flags, items.y_offset};
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

/// One warp per tile. Dynamic shared memory: 32 sigma elements per warp.
template <class T, class V, class Epilogue>
__global__ void __launch_bounds__(exact_threads)
    merbit_exact_kernel(MatrixArrays<V> a, ExactTileArrays tiles, const T* __restrict__ x,
                        typename Epilogue::Output out) {
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const int warp = static_cast<int>(threadIdx.x / warp_size);
  const std::int64_t number = std::int64_t{blockIdx.x} * (exact_threads / warp_size) + warp;
  if (number >= tiles.tiles) return;
  Epilogue epilogue(out);
  if (epilogue.is_idle()) return;
  const T* const source = epilogue.source(x);
  const TileSpan tile = exact_span(tiles, number);
  const auto terms = [&](int k) { return product_of<T>(a, source, tile.x + k); };
  if (tile.rows == 0) {
    sum_one_row<staged_unroll>(tile, terms, lane, epilogue);
    epilogue.write_sums(number, lane);
    return;
  }
  const LaneItems<std::uint64_t> items = exact_lane(tiles, number, lane);
  T* const products = reinterpret_cast<T*>(dynamic_shared_memory()) + warp * lanes_per_tile * tiles.sigma;
#pragma unroll 4
  for (int k = lane; k < tile.nonzeros; k += warp_size) products[k] = terms(k);
  __syncwarp();
  const int first_item = lane * tiles.sigma;
  const int left = tile.nonzeros + tile.rows - first_item;
  const int mine = left < 0 ? 0 : left < tiles.sigma ? left : tiles.sigma;
  const auto first_closed = static_cast<int>(items.y_offset);
  T* const row_sums = products + tile.nonzeros;
  T* row_sum = row_sums + first_closed;
  const T* product = products + (first_item - first_closed);
  const auto sum_run = [&product](int length) {
    T sum{0};
    for (int k = 0; k < length; ++k) sum += *product++;
    return sum;
  };
  const int open = for_each_closed_run(items.down_flags, mine, [&](int length) { *row_sum++ = sum_run(length); });
  finish_walk(tile, row_sums, first_closed, items.down_flags != 0, sum_run(open), lane, epilogue);
  epilogue.write_sums(number, lane);
}

}  // namespace tessera::cuda
