/// \file
/// Bitmap tiles on the host: the rows of every tile row are merged by tile column, twice: to count, then to write.
#include "core/bitmap_tile.hpp"
#include "core/tile_rows.hpp"
#include "preprocess/bitmap_tiles.hpp"
#include "preprocess/tile_merge.hpp"

#include <utility>

namespace tessera::host {

namespace {

[[nodiscard]] offset_t count_tiles(const CsrStructurePointers& a, index_t tile_row) {
  offset_t count = 0;
  TileMerge merge(a, tile_row);
  for (index_t column = merge.next(); column != TileMerge::no_tile; column = merge.next()) {
    merge.take(column);
    ++count;
  }
  return count;
}

/// Counts become offsets. \param counts one more than counts: the last gets the sum of all
void exclusive_sum(Array<offset_t>& counts) {
  offset_t sum = 0;
  for (offset_t& count : counts) sum += std::exchange(count, sum);
}

/// Where tiles are written.
template <class T>
struct TileOutput {
  const offset_t* tile_row_offsets;
  index_t* columns;
  std::uint64_t* bitmaps;
  offset_t* value_offsets;
  T* values;  ///< null: a pattern
};

template <class T>
void write_tiles(const CsrStructurePointers& a, const T* values, index_t tile_row, const TileOutput<T>& out) {
  offset_t tile = out.tile_row_offsets[tile_row];
  offset_t value = a.begin_of(tile_row, 0);
  TileMerge merge(a, tile_row);
  for (index_t column = merge.next(); column != TileMerge::no_tile; column = merge.next(), ++tile) {
    out.columns[tile] = column;
    out.value_offsets[tile] = value;
    out.bitmaps[tile] = merge.take(column, [&](int /*r*/, offset_t k) {
      if (out.values != nullptr) out.values[value] = values[k];
      ++value;
    });
  }
}

}  // namespace

template <class T>
TileMatrix<T> build_tiles(const CsrView<T>& matrix, const Device& device) {
  const CsrStructurePointers a{matrix.rows, matrix.row_offsets.data(), matrix.columns.data()};
  const index_t tile_rows = tiles_across(matrix.rows);
  Array<offset_t> tile_row_offsets(std::int64_t{tile_rows} + 1);
  for_tile_rows(device, tile_rows, [&](index_t i) { tile_row_offsets[i] = count_tiles(a, i); });
  exclusive_sum(tile_row_offsets);
  const offset_t tiles = tile_row_offsets[tile_rows];
  Array<index_t> columns(tiles, Init::none);
  Array<std::uint64_t> bitmaps(tiles, Init::none);
  Array<offset_t> value_offsets(tiles + 1, Init::none);
  value_offsets[tiles] = matrix.nnz();
  Array<T> values(matrix.is_pattern() ? 0 : matrix.nnz(), Init::none);
  const TileOutput<T> out{tile_row_offsets.data(), columns.data(), bitmaps.data(), value_offsets.data(), values.data()};
  for_tile_rows(device, tile_rows, [&](index_t i) { write_tiles(a, matrix.values.data(), i, out); });
  return TileMatrix<T>(matrix.rows, matrix.cols, matrix.storage, std::move(tile_row_offsets), std::move(columns),
                       std::move(bitmaps), std::move(value_offsets), std::move(values), Check::trusted);
}

template TileMatrix<float> build_tiles(const CsrView<float>&, const Device&);
template TileMatrix<double> build_tiles(const CsrView<double>&, const Device&);

}  // namespace tessera::host
