/// \file
/// Loads of tiles and pairs, and the store of a tile of C into CSR or into tiles, for the numeric kernels in tiles.
#pragma once

#include "core/cuda/launch.cuh"
#include "spgemm/common/factors.hpp"
#include "spgemm/cuda/tiles/row_counts.cuh"
#include "spgemm/cuda/tiles/tile_product.hpp"

namespace tessera::cuda {

/// Shape of the numeric kernels: a block does two tile rows of C, eight tiles of each at a time, a warp per tile.
namespace tiles_by_warps {
inline constexpr int warps = 16;
inline constexpr int rows_of_block = 2;
inline constexpr int tiles_at_once = warps / rows_of_block;
inline constexpr int threads = warps * warp_size;
/// Blocks per multiprocessor that registers must allow.
inline constexpr int resident_blocks = 3;
}  // namespace tiles_by_warps

/// C in CSR. \tparam V NoValue: columns alone
template <class V>
struct CsrTarget {
  const offset_t* offsets;
  index_t* columns;  ///< null: not written
  V* values;
};

/// Nothing: the offsets of CSR are known before.
template <class V>
__device__ void begin_tile_row(const CsrTarget<V>& /*target*/, std::int64_t /*tile_row*/) {}

/// Offsets of a tile row of C; with the last one those behind all tiles. One thread.
template <class V>
__device__ void begin_tile_row(const TileTarget<V>& target, std::int64_t tile_row) {
  target.tile_row_offsets[tile_row] = target.starts[tile_row];
  const std::int64_t end = target.tile_rows;
  if (tile_row + 1 != end) return;
  const offset_t tiles = target.starts[end];
  target.tile_row_offsets[end] = tiles;
  target.value_offsets[tiles] = target.starts[2 * end] - tiles;
}

[[nodiscard]] __device__ __forceinline__ int lane_number() { return static_cast<int>(threadIdx.x % warp_size); }

/// Writes the entries of a tile: 8 consecutive lanes per row, so that stores fill whole sectors.
/// \param value_of callable by all lanes: the value of entry (r, c) where r = lane / 8 + 4 half, c = lane % 8
template <class V, class ValueOf>
__device__ __forceinline__ void store_tile(const CTileArrays& c, int tile, std::int64_t tile_row, index_t column,
                                           const CsrTarget<V>& target, ValueOf value_of) {
  const std::uint64_t bitmap = __ldg(c.bitmaps + tile);
  const int lane = lane_number();
  const int at = lane % tile_size;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int r = lane / tile_size + 4 * half;
    const auto value = value_of(half);
    const unsigned bits = detail::row_bits(bitmap, r);
    if ((bits >> at & 1U) == 0) continue;
    const offset_t place = __ldg(target.offsets + tile_row * tile_size + r) + load_row_count(c.row_ranks + tile, r) +
                           detail::bits_before(bits, at);
    if (target.columns != nullptr) target.columns[place] = column * tile_size + at;
    if constexpr (detail::has_values<V>) target.values[place] = value;
  }
}

/// Writes a tile with its values in the order of their bits, 32 of which are the lanes'. What is known of the tile is
/// loaded again, which leaves registers to the sums.
template <class V, class ValueOf>
__device__ __forceinline__ void store_tile(const CTileArrays& c, int tile, std::int64_t tile_row, index_t /*column*/,
                                           const TileTarget<V>& target, ValueOf value_of) {
  const std::uint64_t bitmap = __ldg(c.bitmaps + tile);
  const offset_t tiles = target.starts[target.tile_rows];
  const offset_t value = target.starts[target.tile_rows + tile_row] - tiles + c.tiles[tile].entries_before;
  const int lane = lane_number();
  if (lane == 0) {
    const offset_t place = target.starts[tile_row] + (tile - c.rows[tile_row].first);
    target.columns[place] = c.tiles[tile].column;
    target.bitmaps[place] = bitmap;
    target.value_offsets[place] = value;
  }
  V* values = target.values + value;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const auto bits = static_cast<unsigned>(bitmap >> (warp_size * half));
    const V entry = value_of(half);
    if ((bits >> lane & 1U) != 0) values[__popc(bits & ((1U << lane) - 1U))] = entry;
    values += __popc(bits);
  }
}

[[nodiscard]] __device__ __forceinline__ TilePair load_pair(const TilePair* pair) {
  const int2 both = __ldg(reinterpret_cast<const int2*>(pair));
  return {both.x, both.y};
}

[[nodiscard]] __device__ __forceinline__ CTile load_tile(const CTile* tile) {
  const int4 all = __ldg(reinterpret_cast<const int4*>(tile));
  return {static_cast<unsigned>(all.x), all.y, all.z, static_cast<unsigned>(all.w)};
}

}  // namespace tessera::cuda
