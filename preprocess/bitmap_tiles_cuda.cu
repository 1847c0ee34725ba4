/// \file
/// CSR to bitmap tiles on a GPU: blocks find the tiles of their tile rows, a scan places them, warps pack them. Tile
/// rows that are too wide, or have too many tiles, for a block are cut into slices that threads merge.
#include "core/cuda/reduce.cuh"
#include "core/cuda/scan.hpp"
#include "preprocess/bitmap_tiles.hpp"
#include "preprocess/bitmap_tiles_kernel.cuh"
#include "tessera/error.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace tessera::cuda {

namespace {

/// Tiles as blocks found them.
struct Found {
  Array<offset_t> counts;  ///< after place(): tile row offsets
  Array<index_t> columns;
  Array<std::uint64_t> bitmaps;

  Found(const Device& device, index_t tile_rows, offset_t nnz)
      : counts(std::int64_t{tile_rows} + 1, Init::none, device),
        columns(nnz, Init::none, device),
        bitmaps(nnz, Init::none, device) {}
  [[nodiscard]] FoundTiles pointers() noexcept { return {counts.data(), columns.data(), bitmaps.data()}; }
};

/// Tile rows cut into slices, and the tiles before each slice.
struct Slices {
  Array<offset_t> offsets;
  Array<offset_t> tiles_before;  ///< of all slices

  [[nodiscard]] SliceTable table() const noexcept {
    return {offsets.empty() ? nullptr : offsets.data(), tiles_before.size() - 1};
  }
};

/// Cuts the tile rows whose count is too_large. \param sums exclusive sums of the counts
Slices cut_slices(const Device& device, const CsrStructurePointers& a, index_t tile_rows, const Array<offset_t>& sums) {
  Slices slices;
  slices.offsets = Array<offset_t>(std::int64_t{tile_rows} + 1, Init::none, device);
  for_each(device, std::int64_t{tile_rows} + 1,
           [=, to = slices.offsets.data(), from = sums.data()] __device__(std::int64_t i) {
             const bool cut = i < tile_rows && from[i + 1] - from[i] >= too_large;
             to[i] = cut ? slices_of(a, static_cast<index_t>(i)) : 0;
           });
  const offset_t count = exclusive_sum(device, slices.offsets.span());
  slices.tiles_before = Array<offset_t>(count + 1, Init::none, device);
  const SliceTable table = slices.table();
  for_each(device, count + 1, [=, to = slices.tiles_before.data()] __device__(std::int64_t s) {
    to[s] = s < count ? count_tiles(a, SliceOfMatrix(a, tile_rows, table, s)) : 0;
  });
  exclusive_sum_on_device(device, slices.tiles_before.span());
  return slices;
}

/// Puts the counts of the tile rows that were cut in place of too_large. \returns the number of tiles
offset_t place_with_slices(const Device& device, index_t tile_rows, const Slices& slices, Array<offset_t>& sums) {
  Array<offset_t> counts(sums.size(), Init::none, device);
  for_each(device, sums.size(),
           [=, to = counts.data(), from = std::as_const(sums).data(), table = slices.table(),
            before = slices.tiles_before.data()] __device__(std::int64_t i) {
             if (i == tile_rows) {
               to[i] = 0;
             } else if (table.cuts(static_cast<index_t>(i))) {
               to[i] = before[table.offsets[i + 1]] - before[table.offsets[i]];
             } else {
               to[i] = from[i + 1] - from[i];
             }
           });
  sums = std::move(counts);
  return exclusive_sum(device, sums.span());
}

template <class T>
void write_slices(const Device& device, const CsrStructurePointers& a, const T* values, index_t tile_rows,
                  const Slices& slices, const TilePointers<T>& out) {
  const SliceTable table = slices.table();
  for_each(device, table.slices, [=, before = slices.tiles_before.data()] __device__(std::int64_t s) {
    const SliceOfMatrix slice(a, tile_rows, table, s);
    const offset_t in_tile_row = before[s] - before[table.offsets[slice.tile_row]];
    write_slice(a, values, slice, out.tile_row_offsets[slice.tile_row] + in_tile_row, out);
  });
}

/// Finds the tiles. \returns their number \param slices gets the tile rows that no block can hold
offset_t find_tiles(const Device& device, const CsrStructurePointers& a, index_t tile_rows, Found& found,
                    Slices& slices) {
  {
    const DeviceGuard current(device);
    launch("search for tiles", Context::of(device), Grid{static_cast<unsigned>(tile_rows), find_threads},
           find_tiles_kernel, a, tile_rows, found.pointers());
  }
  const offset_t tiles = exclusive_sum(device, found.counts.span());
  if (tiles < too_large) return tiles;
  slices = cut_slices(device, a, tile_rows, found.counts);
  return place_with_slices(device, tile_rows, slices, found.counts);
}

/// The arrays of a matrix in tiles.
template <class T>
struct TileStorage {
  Array<index_t> columns;
  Array<std::uint64_t> bitmaps;
  Array<offset_t> value_offsets;
  Array<T> values;

  TileStorage(const Device& device, offset_t tiles, offset_t values_needed)
      : columns(tiles, Init::none, device),
        bitmaps(tiles, Init::none, device),
        value_offsets(tiles + 1, Init::none, device),
        values(values_needed, Init::none, device) {}
};

template <class T>
TileMatrix<T> without_tiles(const CsrView<T>& matrix, const Device& device) {
  return TileMatrix<T>(matrix.rows, matrix.cols, matrix.storage,
                       Array<offset_t>(std::int64_t{tiles_across(matrix.rows)} + 1, Init::zero, device),
                       Array<index_t>(0, Init::none, device), Array<std::uint64_t>(0, Init::none, device),
                       Array<offset_t>(1, Init::zero, device), Array<T>(0, Init::none, device), Check::trusted);
}

}  // namespace

template <class T>
TileMatrix<T> build_tiles(const CsrView<T>& matrix, const Device& device) {
  const offset_t nnz = matrix.nnz();
  if (nnz == 0) return without_tiles(matrix, device);
  if (nnz >= too_large) {
    throw NotSupported("no bitmap tiles on " + device.name() + " of a matrix of " + std::to_string(nnz) +
                       " entries: fewer than 2^34 are needed");
  }
  const CsrStructurePointers a{matrix.rows, matrix.row_offsets.data(), matrix.columns.data()};
  const index_t tile_rows = tiles_across(matrix.rows);
  Found found(device, tile_rows, nnz);
  Slices slices;
  const offset_t tiles = find_tiles(device, a, tile_rows, found, slices);
  TileStorage<T> arrays(device, tiles, matrix.is_pattern() ? 0 : nnz);
  const TilePointers<T> out{found.counts.data(), arrays.columns.data(), arrays.bitmaps.data(),
                            arrays.value_offsets.data(), arrays.values.data()};
  {
    const DeviceGuard current(device);
    const SliceTable none;
    launch("packing of tiles", Context::of(device), Grid{blocks_for(tile_rows, run_warps), run_threads},
           pack_tiles_kernel<T>, a, matrix.values.data(), tile_rows, found.pointers(),
           slices.offsets.empty() ? none : slices.table(), out);
  }
  if (!slices.offsets.empty()) write_slices(device, a, matrix.values.data(), tile_rows, slices, out);
  return TileMatrix<T>(matrix.rows, matrix.cols, matrix.storage, std::move(found.counts), std::move(arrays.columns),
                       std::move(arrays.bitmaps), std::move(arrays.value_offsets), std::move(arrays.values),
                       Check::trusted);
}

template TileMatrix<float> build_tiles(const CsrView<float>&, const Device&);
template TileMatrix<double> build_tiles(const CsrView<double>&, const Device&);

}  // namespace tessera::cuda
