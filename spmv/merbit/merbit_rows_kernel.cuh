/// \file
/// MERBIT's layout `rows`, for pattern matrices: persistent warps, each with two private buffers. While a warp sums one
/// tile, the copy engine brings the columns of its next. Neighbouring lanes sum neighbouring rows straight from the
/// buffer, so that on a mesh the reads of x coalesce. Compute capability 9.0.
#pragma once

#include "core/cuda/bulk_copy.cuh"
#include "core/cuda/shared_memory.cuh"
#include "spmv/merbit/merbit_tile_sum.cuh"
#include "spmv/merbit/merbit_tuning.hpp"

namespace tessera::cuda {

/// Copies begin and end at multiples of so many columns: 16 bytes.
inline constexpr int copy_group = bulk_copy_granule / static_cast<int>(sizeof(index_t));

/// The two buffers of a warp.
template <class Policy>
struct ColumnBuffers {
  static_assert(Policy::buffer == Policy::max_items + 2 * copy_group);
  static_assert(Policy::buffer % copy_group == 0);

  index_t* base;
  [[nodiscard]] __device__ index_t* columns(int stage) const { return base + stage * Policy::buffer; }
};

/// The part of a tile that consists of whole groups; the last tile of a matrix may have a few nonzeros beyond it.
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

/// A tile whose columns are in flight, in few registers.
struct PendingTile {
  TileStart start;
  std::uint32_t extent = 0;  ///< 12 bits nonzeros, 12 bits rows, then whether the tile ends inside a row

  [[nodiscard]] __device__ int nonzeros() const { return static_cast<int>(extent & 0xfff); }
  [[nodiscard]] __device__ TileSpan span(std::int64_t number) const {
    const auto rows = static_cast<int>(extent >> 12 & 0xfff);
    return {number, start.x, start.y(), nonzeros(), rows, start.inside_row(), (extent >> 24) != 0};
  }

  [[nodiscard]] __device__ static PendingTile load(const SnappedTileArrays& tiles, std::int64_t number) {
    if (number >= tiles.tiles) return {};
    const TileStart from = tiles.starts[number];
    const TileStart to = tiles.starts[number + 1];
    const auto nonzeros = static_cast<std::uint32_t>(to.x - from.x);
    const auto rows = static_cast<std::uint32_t>(to.y() - from.y());
    return {from, nonzeros | rows << 12 | (to.inside_row() ? 1u << 24 : 0u)};
  }
};
static_assert(max_tile_items <= 0xfff);

[[nodiscard]] __device__ inline std::uint32_t load_word(const SnappedTileArrays& tiles, std::int64_t number, int lane) {
  return number < tiles.tiles ? __ldcs(tiles.lane_words + number * lanes_per_tile + lane) : 0;
}

/// Starts the copy of a tile's columns. One lane.
__device__ inline void start_copy(const MatrixArrays<Ones>& a, const PendingTile& tile, index_t* columns,
                                  CopyBarrier* barrier) {
  const CopyWindow window = copy_window(tile.start.x, tile.nonzeros(), a.nnz);
  const auto bytes = static_cast<std::uint32_t>(window.copied) * static_cast<std::uint32_t>(sizeof(index_t));
  expect_bytes(barrier, bytes);
  if (bytes > 0) bulk_copy(columns, a.columns + window.base, bytes, barrier);
}

/// Loads the nonzeros beyond the bulk copy.
__device__ inline void load_rest(const MatrixArrays<Ones>& a, const CopyWindow& window, index_t* columns, int lane) {
  if (window.copied >= window.end) return;
  const int k = window.copied + lane;
  if (k < window.end) columns[k] = a.columns[window.base + k];
  __syncwarp();
}

/// Warp w of all sums tiles w, w + warps, ... No tile may have to be walked.
template <class T, class Policy, class Epilogue>
__global__ void __launch_bounds__(Policy::threads, Policy::min_blocks)
    merbit_rows_kernel(MatrixArrays<Ones> a, SnappedTileArrays tiles, const T* __restrict__ x,
                       typename Epilogue::Output out) {
  using Buffers = ColumnBuffers<Policy>;
  constexpr int warps = Policy::threads / warp_size;
  __shared__ CopyBarrier barriers_of[warps][2];
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const int warp = static_cast<int>(threadIdx.x / warp_size);
  const Buffers buffers{reinterpret_cast<index_t*>(dynamic_shared_memory() + warp * Policy::buffer_bytes)};
  CopyBarrier* const barriers = barriers_of[warp];
  Epilogue epilogue(out);
  if (epilogue.is_idle()) return;
  const T* const source = epilogue.source(x);
  if (lane == 0) {
    init_barrier(barriers);
    init_barrier(barriers + 1);
    make_barriers_visible();
  }
  __syncwarp();
  const std::int64_t stride = std::int64_t{gridDim.x} * warps;
  const std::int64_t warp_of_grid = std::int64_t{blockIdx.x} * warps + warp;
  PendingTile current = PendingTile::load(tiles, warp_of_grid);
  PendingTile next = PendingTile::load(tiles, warp_of_grid + stride);
  std::uint32_t word = load_word(tiles, warp_of_grid, lane);
  if (lane == 0 && warp_of_grid < tiles.tiles) start_copy(a, current, buffers.columns(0), barriers);
  if (lane == 0 && warp_of_grid + stride < tiles.tiles) start_copy(a, next, buffers.columns(1), barriers + 1);
  std::uint32_t round = 0;
  for (std::int64_t number = warp_of_grid; number < tiles.tiles; number += stride, ++round) {
    const int stage = static_cast<int>(round % 2);
    const PendingTile after = PendingTile::load(tiles, number + 2 * stride);
    const std::uint32_t next_word = load_word(tiles, number + stride, lane);
    const TileSpan tile = current.span(number);
    epilogue.expect(tile, lane);
    const CopyWindow window = copy_window(tile.x, tile.nonzeros, a.nnz);
    wait_for_copies(barriers + stage, round / 2 % 2);
    __syncwarp();
    load_rest(a, window, buffers.columns(stage), lane);
    const index_t* const columns = buffers.columns(stage) + window.begin;
    const auto terms = [columns, source](int k) { return __ldg(source + columns[k]); };
    sum_without_walk<Policy::unroll>(tile, current.start, word, terms, lane, epilogue);
    release_to_bulk_copies();
    __syncwarp();
    if (lane == 0 && number + 2 * stride < tiles.tiles) {
      start_copy(a, after, buffers.columns(stage), barriers + stage);
    }
    current = next;
    next = after;
    word = next_word;
  }
  epilogue.write_sums(warp_of_grid, lane);
}

}  // namespace tessera::cuda
