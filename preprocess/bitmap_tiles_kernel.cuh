/// \file
/// Kernels from CSR to bitmap tiles: blocks find the tiles of tile rows; packing of the tiles that blocks found, and
/// the path of slices for tile rows that a block cannot hold.
#pragma once

#include "preprocess/csr5_descriptor.hpp"
#include "preprocess/find_tiles.cuh"
#include "preprocess/tile_run.cuh"
#include "preprocess/tile_slices.hpp"

#include <cstdint>

namespace tessera::cuda {

using namespace detail;

/// The count of a tile row that a block cannot hold: a sum of counts is as large exactly if one of them is. 2^28 of
/// them, one per tile row, do not overflow.
inline constexpr offset_t too_large = offset_t{1} << 34;

/// Where tiles are written as they are found: from the position of the tile row's first entry on, in room for as many
/// tiles as the matrix has entries.
struct FoundTiles {
  offset_t* counts;  ///< per tile row, and a zero after the last
  index_t* columns;
  std::uint64_t* bitmaps;
};

/// One block per tile row.
__global__ void __launch_bounds__(find_threads)
    find_tiles_kernel(CsrStructurePointers a, index_t tile_rows, FoundTiles out) {
  __shared__ TileRowWindow window;
  const auto tile_row = static_cast<index_t>(blockIdx.x);
  const RowColumns row(a, tile_row, static_cast<int>(threadIdx.x / warp_size),
                       static_cast<int>(threadIdx.x % warp_size));
  if (tile_row == 0 && threadIdx.x == 0) out.counts[tile_rows] = 0;
  const FoundTileRow found = find_tiles(row, window, [](int) {});
  if (threadIdx.x == 0) out.counts[tile_row] = found.fits() ? found.tiles : too_large;
  if (!found.fits()) return;
  const offset_t begin = a.begin_of(tile_row, 0);
  for (int t = static_cast<int>(threadIdx.x); t < found.tiles; t += find_threads) {
    out.columns[begin + t] = window.columns[t];
    out.bitmaps[begin + t] = window.bitmaps[t];
  }
}

/// Where tiles are written.
template <class T>
struct TilePointers {
  const offset_t* tile_row_offsets;
  index_t* columns;
  std::uint64_t* bitmaps;
  offset_t* value_offsets;
  T* values;  ///< null: a pattern
};

/// The tile rows that are cut into slices.
struct SliceTable {
  const offset_t* offsets = nullptr;  ///< slices before each tile row and, last, all; null: none is cut
  offset_t slices = 0;

  [[nodiscard]] __device__ bool cuts(index_t tile_row) const {
    return offsets != nullptr && offsets[tile_row] < offsets[tile_row + 1];
  }
};

/// Packs the tiles that blocks found: one warp per tile row.
template <class T>
__global__ void __launch_bounds__(run_threads)
    pack_tiles_kernel(CsrStructurePointers a, const T* values, index_t tile_rows, FoundTiles found, SliceTable slices,
                      TilePointers<T> out) {
  __shared__ TileInRun shared[run_warps][warp_size];
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const int warp = static_cast<int>(threadIdx.x / warp_size);
  const std::int64_t i = std::int64_t{blockIdx.x} * run_warps + warp;
  if (i == 0 && lane == 0) out.value_offsets[out.tile_row_offsets[tile_rows]] = a.offsets[a.rows];
  if (i >= tile_rows || slices.cuts(static_cast<index_t>(i))) return;
  const auto tile_row = static_cast<index_t>(i);
  const offset_t first = out.tile_row_offsets[tile_row];
  TileRun run;
  run.tiles = static_cast<int>(out.tile_row_offsets[tile_row + 1] - first);
  run.value = a.begin_of(tile_row, 0);
  run.columns = found.columns + run.value;
  run.bitmaps = found.bitmaps + run.value;
  run.low = a.begin_of(tile_row, lane / tile_size);
  run.high = a.begin_of(tile_row, lane / tile_size + 4);
  meet_tiles(
      run, lane, shared[warp],
      [&](int t, const TileInRun& tile) {
        out.columns[first + t] = tile.column;
        out.bitmaps[first + t] = tile.bitmap;
        out.value_offsets[first + t] = run.value + tile.value;
      },
      [&](offset_t in_csr, offset_t in_tiles, index_t /*column*/) {
        if (out.values != nullptr) out.values[in_tiles] = __ldcs(values + in_csr);
      });
}

/// Slice s of all.
struct SliceOfMatrix {
  index_t tile_row;
  TileSlice slice;

  __device__ SliceOfMatrix(const CsrStructurePointers& a, index_t tile_rows, const SliceTable& table, offset_t s)
      : tile_row(row_of_nonzero(table.offsets, tile_rows, s)),
        slice(slice_of(a, tile_row, s - table.offsets[tile_row],
                       table.offsets[tile_row + 1] - table.offsets[tile_row])) {}

  [[nodiscard]] __device__ TileMerge merge(const CsrStructurePointers& a) const {
    return {a, tile_row, slice.first, slice.last};
  }
};

/// Tiles of a slice.
[[nodiscard]] __device__ inline offset_t count_tiles(const CsrStructurePointers& a, const SliceOfMatrix& of) {
  offset_t tiles = 0;
  TileMerge merge = of.merge(a);
  for (index_t column = merge.next(); column != TileMerge::no_tile; column = merge.next()) {
    merge.take(column);
    ++tiles;
  }
  return tiles;
}

/// Writes the tiles of a slice. \param tile the first of them
template <class T>
__device__ void write_slice(const CsrStructurePointers& a, const T* values, const SliceOfMatrix& of, offset_t tile,
                            const TilePointers<T>& out) {
  TileMerge merge = of.merge(a);
  offset_t value = a.begin_of(of.tile_row, 0) + merge.entries_before(a, of.tile_row);
  for (index_t column = merge.next(); column != TileMerge::no_tile; column = merge.next(), ++tile) {
    out.columns[tile] = column;
    out.value_offsets[tile] = value;
    out.bitmaps[tile] = merge.take(column, [&](int /*r*/, offset_t k) {
      if (out.values != nullptr) out.values[value] = values[k];
      ++value;
    });
  }
}

}  // namespace tessera::cuda
