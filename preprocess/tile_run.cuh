/// \file
/// A run of tiles of one tile row, and a warp that meets each of its entries: where it lies among the values of the
/// tiles and where in CSR. Packing and unpacking differ only in what they do with that.
#pragma once

#include "core/bitmap_tile.hpp"
#include "core/cuda/launch.cuh"
#include "core/cuda/warp.cuh"

#include <cstdint>

namespace tessera::cuda {

using namespace detail;

/// Most tiles of a run: their entries per row fit into the 16 bits of TileRowCounts.
inline constexpr int most_tiles_of_run = 512;
/// Threads of the blocks that go through runs, one warp per run.
inline constexpr int run_threads = 128;
inline constexpr int run_warps = run_threads / warp_size;

/// A run, and where it begins. In every lane of a warp.
struct TileRun {
  int tiles = 0;  ///< at most most_tiles_of_run
  const index_t* columns = nullptr;
  const std::uint64_t* bitmaps = nullptr;
  offset_t value = 0;  ///< of the first tile
  offset_t low = 0;    ///< position in CSR of the first entry of the run in row lane / 8 ...
  offset_t high = 0;   ///< ... and in row lane / 8 + 4
};

/// A tile as a warp shares it. Shared memory runs no constructors.
struct TileInRun {
  std::uint64_t bitmap;
  std::uint64_t even_before;  ///< TileRowCounts of the tiles of the run before it
  std::uint64_t odd_before;
  int value;  ///< entries before it
  index_t column;

  [[nodiscard]] __device__ TileRowCounts before() const { return {even_before, odd_before}; }
};

/// Sum of all eight counts, up to 2^16 - 1.
[[nodiscard]] __device__ inline int sum_of(const TileRowCounts& counts) {
  return static_cast<int>((counts.even + counts.odd) * 0x0001000100010001u >> 48);
}

/// The counts of the tiles up to and with that of the lane.
[[nodiscard]] __device__ inline TileRowCounts sum_up_to_lane(const TileRowCounts& own) {
  TileRowCounts sum;
  sum.even = sum_up_to_lane(own.even);
  sum.odd = sum_up_to_lane(own.odd);
  return sum;
}

/// Meets the entries of a tile: lane l that in row l / 8, column l % 8, and that four rows below.
/// \param on_entry called with the position in CSR, that among the values of the tiles, and the column
template <class OnEntry>
__device__ void meet_entries(const TileRun& run, const TileInRun& tile, int lane, const OnEntry& on_entry) {
  const auto low = static_cast<unsigned>(tile.bitmap);
  const auto high = static_cast<unsigned>(tile.bitmap >> 32);
  const unsigned below = (1u << lane) - 1;
  const unsigned below_in_row = below & ~((1u << (lane & ~7)) - 1);
  const index_t column = tile.column * tile_size + lane % tile_size;
  const TileRowCounts before = tile.before();
  if ((low >> lane & 1) != 0) {
    const int in_csr = before.of_row(lane / tile_size) + __popc(low & below_in_row);
    on_entry(run.low + in_csr, run.value + (tile.value + __popc(low & below)), column);
  }
  if ((high >> lane & 1) != 0) {
    const int in_csr = before.of_row(lane / tile_size + 4) + __popc(high & below_in_row);
    on_entry(run.high + in_csr, run.value + (tile.value + __popc(low) + __popc(high & below)), column);
  }
}

/// Goes through a run with the lanes of a warp.
/// \param shared one per lane, of this warp
/// \param on_tile called by the lane of each tile with its number in the run and what is known of it
/// \param on_entry as of meet_entries()
template <class OnTile, class OnEntry>
__device__ void meet_tiles(const TileRun& run, int lane, TileInRun* shared, const OnTile& on_tile,
                           const OnEntry& on_entry) {
  TileRowCounts before;
  for (int t0 = 0; t0 < run.tiles; t0 += warp_size) {
    const int t = t0 + lane;
    const bool exists = t < run.tiles;
    const std::uint64_t bitmap = exists ? run.bitmaps[t] : 0;
    const TileRowCounts own(bitmap);
    const TileRowCounts up_to = sum_up_to_lane(own);
    TileInRun tile{bitmap, before.even + up_to.even - own.even, before.odd + up_to.odd - own.odd, 0,
                   exists ? run.columns[t] : 0};
    tile.value = sum_of(tile.before());
    if (exists) on_tile(t, tile);
    shared[lane] = tile;
    __syncwarp();
    const int here = min(warp_size, run.tiles - t0);
#pragma unroll 4
    for (int i = 0; i < here; ++i) meet_entries(run, shared[i], lane, on_entry);
    __syncwarp();
    before += {__shfl_sync(full_warp, up_to.even, warp_size - 1), __shfl_sync(full_warp, up_to.odd, warp_size - 1)};
  }
}

}  // namespace tessera::cuda
