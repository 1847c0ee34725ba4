// Bitmap tiles to CSR on the host: the bits of each tile row are counted per row, then its entries are scattered.
#include "core/tiles_to_csr.hpp"

#include "core/bitmap_tile.hpp"
#include "core/tile_rows.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

namespace tessera::host {

namespace {

/// The rows of a tile row, in CSR.
template <class T>
class RowsOfTiles {
 public:
  RowsOfTiles(const TileView<T>& a, index_t tile_row)
      : a_(a),
        tile_row_(tile_row),
        begin_(a.tile_row_offsets[static_cast<std::size_t>(tile_row)]),
        end_(a.tile_row_offsets[static_cast<std::size_t>(tile_row) + 1]) {}

  void write(offset_t* row_offsets, index_t* columns, T* values) const {
    offset_t position[tile_size];
    start_rows(position);
    const index_t rows = std::min<index_t>(tile_size, a_.rows - tile_row_ * tile_size);
    std::copy_n(position, rows, row_offsets + std::int64_t{tile_row_} * tile_size);
    for (offset_t t = begin_; t < end_; ++t) {
      const auto tile = static_cast<std::size_t>(t);
      offset_t value = a_.value_offsets[tile];
      for (std::uint64_t bits = a_.bitmaps[tile]; bits != 0; bits &= bits - 1, ++value) {
        const int bit = std::countr_zero(bits);
        const offset_t k = position[bit / tile_size]++;
        columns[k] = a_.tile_columns[tile] * tile_size + bit % tile_size;
        if (values != nullptr) values[k] = a_.values[static_cast<std::size_t>(value)];
      }
    }
  }

 private:
  /// Where each row begins.
  void start_rows(offset_t* position) const {
    offset_t counts[tile_size] = {};
    for (offset_t t = begin_; t < end_; ++t) {
      const TileRowCounts of_tile(a_.bitmaps[static_cast<std::size_t>(t)]);
      for (int r = 0; r < tile_size; ++r) counts[r] += of_tile.of_row(r);
    }
    offset_t sum = a_.value_offsets[static_cast<std::size_t>(begin_)];
    for (int r = 0; r < tile_size; ++r) {
      position[r] = sum;
      sum += counts[r];
    }
  }

  const TileView<T>& a_;
  index_t tile_row_;
  offset_t begin_;
  offset_t end_;
};

}  // namespace

template <class T>
Csr<T> csr_of(const TileView<T>& tiles, const Device& device) {
  Array<offset_t> row_offsets(std::int64_t{tiles.rows} + 1, Init::none);
  row_offsets[tiles.rows] = tiles.nnz;
  Array<index_t> columns(tiles.nnz, Init::none);
  Array<T> values(tiles.is_pattern() ? 0 : tiles.nnz, Init::none);
  for_tile_rows(device, tiles.tile_rows(),
                [&](index_t i) { RowsOfTiles<T>(tiles, i).write(row_offsets.data(), columns.data(), values.data()); });
  if (tiles.is_pattern()) {
    return Csr<T>::pattern(tiles.rows, tiles.cols, std::move(row_offsets), std::move(columns), Check::trusted);
  }
  return Csr<T>(tiles.rows, tiles.cols, std::move(row_offsets), std::move(columns), std::move(values), Check::trusted);
}

template Csr<float> csr_of(const TileView<float>&, const Device&);
template Csr<double> csr_of(const TileView<double>&, const Device&);

}  // namespace tessera::host
