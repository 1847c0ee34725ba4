/// \file
/// Loads of tiles and pairs, and the store of a tile of C into CSR, for the numeric kernels in tiles.
#pragma once

#include "core/cuda/launch.cuh"
#include "spgemm/common/factors.hpp"
#include "spgemm/cuda/tiles/row_counts.cuh"
#include "spgemm/cuda/tiles/tile_product.hpp"

namespace tessera::cuda {

/// C in CSR. \tparam V NoValue: columns alone
template <class V>
struct CsrTarget {
  const offset_t* offsets;
  index_t* columns;
  V* values;
};

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
    target.columns[place] = column * tile_size + at;
    if constexpr (detail::has_values<V>) target.values[place] = value;
  }
}

[[nodiscard]] __device__ __forceinline__ TilePair load_pair(const TilePair* pair) {
  const int2 both = __ldg(reinterpret_cast<const int2*>(pair));
  return {both.x, both.y};
}

[[nodiscard]] __device__ __forceinline__ CTile load_tile(const CTile* tile) {
  const int4 all = __ldg(reinterpret_cast<const int4*>(tile));
  return {static_cast<unsigned>(all.x), all.y, all.z};
}

}  // namespace tessera::cuda
