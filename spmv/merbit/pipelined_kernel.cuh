/// \file
/// Persistent warps, each with two private buffers. While a warp sums one tile, the copy engine brings its next. In the
/// layouts `pipelined` and `rows`, rows are summed straight from the buffers, with neighbouring lanes in neighbouring
/// rows, so that on a mesh the reads of x coalesce; only tiles that have to be walked stage their products. In the
/// layout `staged` all tiles do that end rows.
#pragma once

#include "core/cuda/bulk_copy.cuh"
#include "core/cuda/shared_memory.cuh"
#include "spmv/merbit/policy_cuda.hpp"
#include "spmv/merbit/tile_sum.cuh"

namespace tessera::cuda {

/// Copies begin and end at multiples of so many nonzeros: 16 bytes of columns.
inline constexpr int copy_group = bulk_copy_granule / static_cast<int>(sizeof(index_t));

/// Sizes of a warp's buffers, in bytes. \tparam Steps of the longest tile
template <class T, class V, int Steps>
struct PipelineBuffers {
  static constexpr int entries = Steps + 2 * copy_group;
  static constexpr int column_bytes = entries * static_cast<int>(sizeof(index_t));
  static constexpr int value_bytes = is_ones<V> ? 0 : entries * static_cast<int>(sizeof(V));
  /// Products overwrite the values where they have their size.
  static constexpr bool in_place = std::is_same_v<T, V>;
  static constexpr int product_bytes = in_place ? 0 : entries * static_cast<int>(sizeof(T));
  static constexpr int warp_bytes = 2 * (column_bytes + value_bytes) + product_bytes;
  static_assert(column_bytes % bulk_copy_granule == 0 && value_bytes % bulk_copy_granule == 0);

  [[nodiscard]] static constexpr int block_bytes(int warps) { return warps * warp_bytes; }

  unsigned char* base;
  [[nodiscard]] __device__ index_t* columns(int stage) const {
    return reinterpret_cast<index_t*>(base + stage * column_bytes);
  }
  [[nodiscard]] __device__ V* values(int stage) const {
    return reinterpret_cast<V*>(base + 2 * column_bytes + stage * value_bytes);
  }
  [[nodiscard]] __device__ T* products(int stage) const {
    if constexpr (in_place) {
      return values(stage);
    } else {
      return reinterpret_cast<T*>(base + 2 * (column_bytes + value_bytes));
    }
  }
};

/// The part of a tile that whole groups cover; the last tile of a matrix may have a few nonzeros beyond.
struct CopyWindow {
  offset_t base;  ///< first nonzero that is copied
  int begin;      ///< first nonzero of the tile, from `base`
  int end;        ///< after its last; 0 for a tile without any
  int copied;     ///< nonzeros that come by bulk copy
};

[[nodiscard]] __device__ inline CopyWindow copy_window(offset_t x, int nonzeros, offset_t nnz) {
  const int begin = static_cast<int>(x & (copy_group - 1));
  const offset_t base = x - begin;
  const int end = nonzeros > 0 ? begin + nonzeros : 0;
  const int wanted = (end + copy_group - 1) / copy_group * copy_group;
  const offset_t left = (nnz - base) / copy_group * copy_group;
  return {base, begin, end, left < wanted ? static_cast<int>(left) : wanted};
}

/// Starts the copies of a tile into one stage. One lane.
template <class V, class Buffers>
__device__ inline void start_copies(const MatrixArrays<V>& a, const PendingTile& tile, const Buffers& buffers,
                                    int stage, CopyBarrier* barrier) {
  const CopyWindow window = copy_window(tile.start.x, tile.nonzeros(), a.nnz);
  const auto count = static_cast<std::uint32_t>(window.copied);
  const std::uint32_t value_bytes = is_ones<V> ? 0 : count * static_cast<std::uint32_t>(sizeof(V));
  expect_bytes(barrier, count * static_cast<std::uint32_t>(sizeof(index_t)) + value_bytes);
  if (count == 0) return;
  bulk_copy(buffers.columns(stage), a.columns + window.base, count * static_cast<std::uint32_t>(sizeof(index_t)),
            barrier);
  if constexpr (!is_ones<V>) bulk_copy(buffers.values(stage), a.values + window.base, value_bytes, barrier);
}

/// Loads what the bulk copy had to leave out, and fills its group up with zeros.
template <class V, class Buffers>
__device__ inline void load_rest(const MatrixArrays<V>& a, const CopyWindow& window, const Buffers& buffers, int stage,
                                 int lane) {
  if (window.copied >= window.end) return;
  if (lane < copy_group) {
    const int k = window.copied + lane;
    const bool exists = k < window.end;
    buffers.columns(stage)[k] = exists ? a.columns[window.base + k] : 0;
    if constexpr (!is_ones<V>) buffers.values(stage)[k] = exists ? a.values[window.base + k] : V{0};
  }
  __syncwarp();
}

/// Products straight from a buffer.
template <class T, class V>
struct BufferedTerms {
  const index_t* columns;
  const V* values;
  const T* x;
  [[nodiscard]] __device__ T operator()(int k) const {
    const T gathered = __ldg(x + columns[k]);
    if constexpr (is_ones<V>) {
      return gathered;
    } else {
      return static_cast<T>(values[k]) * gathered;
    }
  }
};

/// Products of a whole tile side by side, four neighbours a lane. Up to copy_group - 1 elements beyond are written too.
/// As many reads of x are under way together as registers allow: any that were spilled would cost more.
/// \param end nonzeros from the start of the buffers, which the tile begins in
template <int Steps, class T, class V>
__device__ inline void stage_products(const index_t* columns, const V* values, const T* x, int end, int lane,
                                      T* products) {
  constexpr int round = copy_group * warp_size;
  constexpr int rounds = (Steps + copy_group - 1 + round - 1) / round;
  constexpr int together = sizeof(T) == 8 ? 1 : rounds;
#pragma unroll
  for (int first = 0; first < rounds; first += together) {
    T product[together][copy_group];
#pragma unroll
    for (int i = 0; i < together; ++i) {
      const int k = (first + i) * round + lane * copy_group;
      if (k >= end) continue;
      const Four<index_t> column = read_four(columns + k);
#pragma unroll
      for (int j = 0; j < copy_group; ++j) product[i][j] = __ldg(x + column.entry[j]);
    }
#pragma unroll
    for (int i = 0; i < together; ++i) {
      const int k = (first + i) * round + lane * copy_group;
      if (k >= end) continue;
      if constexpr (!is_ones<V>) {
        const Four<V> value = read_four(values + k);
#pragma unroll
        for (int j = 0; j < copy_group; ++j) product[i][j] *= static_cast<T>(value.entry[j]);
      }
      store_four(products + k, Four<T>{{product[i][0], product[i][1], product[i][2], product[i][3]}});
    }
  }
  __syncwarp();
}

/// Sums of a tile whose columns and values have arrived. \param end as stage_products() wants it
template <class T, class V, class Policy, bool WithDots, class Buffers>
__device__ inline void sum_buffered_tile(const TileSpan& tile, const TileStart& start, std::uint32_t word,
                                         const CopyWindow& window, const Buffers& buffers, int stage, const T* x,
                                         int lane, TileCommit<T, WithDots>& commit) {
  const V* const values = is_ones<V> ? nullptr : buffers.values(stage);
  const index_t* const columns = buffers.columns(stage);
  if (!Policy::staged || start.kind() == TileKind::one_row) {
    const V* const tile_values = is_ones<V> ? nullptr : values + window.begin;
    const BufferedTerms<T, V> terms{columns + window.begin, tile_values, x};
    if (sum_without_walk<Policy::unroll>(tile, start, word, terms, lane, commit)) return;
  }
  if constexpr (Policy::sigma > 0) {
    T* const staged = buffers.products(stage);
    stage_products<Policy::steps>(columns, values, x, window.end, lane, staged);
    T* const products = staged + window.begin;
    if constexpr (Policy::staged) {
      const auto terms = [products](int k) { return products[k]; };
      if (sum_without_walk<staged_unroll>(tile, start, word, terms, lane, commit)) return;
    }
    sum_by_walk<Policy::sigma>(tile, products, word, lane, commit);
  }
}

/// Every block sums a stretch of neighbouring tiles, its warps in turn: what they read of x they share in the
/// first-level cache.
template <class T, class V, class Policy, bool WithDots>
__global__ void __launch_bounds__(Policy::threads, Policy::min_blocks)
    pipelined_kernel(MatrixArrays<V> a, SnappedTileArrays tiles, const T* __restrict__ x, ProductOutput<T> out) {
  using Buffers = PipelineBuffers<T, V, Policy::steps>;
  constexpr int warps = Policy::threads / warp_size;
  __shared__ CopyBarrier barriers_of[warps][2];
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const int warp = static_cast<int>(threadIdx.x / warp_size);
  const Buffers buffers{dynamic_shared_memory() + warp * Buffers::warp_bytes};
  CopyBarrier* const barriers = barriers_of[warp];
  if (lane == 0) {
    init_barrier(barriers);
    init_barrier(barriers + 1);
    make_barriers_visible();
  }
  __syncwarp();
  const std::int64_t stride = std::int64_t{gridDim.x} * warps;
  const std::int64_t slot = std::int64_t{blockIdx.x} * warps + warp;
  const std::int64_t end = tiles.tiles;
  TileCommit<T, WithDots> commit(out);
  PendingTile current = PendingTile::load(tiles, slot, end);
  PendingTile next = PendingTile::load(tiles, slot + stride, end);
  std::uint32_t word = load_word(tiles, slot, end, lane);
  if (lane == 0 && slot < end) start_copies(a, current, buffers, 0, barriers);
  if (lane == 0 && slot + stride < end) start_copies(a, next, buffers, 1, barriers + 1);
  std::uint32_t round = 0;
  for (std::int64_t number = slot; number < end; number += stride, ++round) {
    const int stage = static_cast<int>(round % 2);
    const PendingTile after = PendingTile::load(tiles, number + 2 * stride, end);
    const std::uint32_t next_word = load_word(tiles, number + stride, end, lane);
    const TileSpan tile = current.span(number);
    const CopyWindow window = copy_window(tile.x, tile.nonzeros, a.nnz);
    wait_for_copies(barriers + stage, round / 2 % 2);
    __syncwarp();
    load_rest(a, window, buffers, stage, lane);
    sum_buffered_tile<T, V, Policy>(tile, current.start, word, window, buffers, stage, x, lane, commit);
    release_to_bulk_copies();
    __syncwarp();
    if (lane == 0 && number + 2 * stride < end) start_copies(a, after, buffers, stage, barriers + stage);
    current = next;
    next = after;
    word = next_word;
  }
  commit.write_dots(slot, lane);
}

}  // namespace tessera::cuda
