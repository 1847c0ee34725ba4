/// \file
/// Bitmap tiles on the host: the rows of every tile row are merged by tile column, twice: to count, then to write.
#include "core/bitmap_tile.hpp"
#include "core/parallel.hpp"
#include "preprocess/bitmap_tiles.hpp"
#include "preprocess/tile_merge.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace tessera::host {

namespace {

constexpr std::int64_t tile_rows_per_task = 32;

/// body(tile row) for all of them.
template <class Body>
void for_tile_rows(const Device& device, index_t tile_rows, const Body& body) {
  const std::int64_t tasks = (std::int64_t{tile_rows} + tile_rows_per_task - 1) / tile_rows_per_task;
  parallel_tasks(
      device, tasks,
      [&](std::int64_t task) {
        const std::int64_t end = std::min<std::int64_t>((task + 1) * tile_rows_per_task, tile_rows);
        for (std::int64_t i = task * tile_rows_per_task; i < end; ++i) body(static_cast<index_t>(i));
      },
      4);
}

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

template TileMatrix<float> build_tiles(const CsrView<float>&, const Device&);
template TileMatrix<double> build_tiles(const CsrView<double>&, const Device&);
template Csr<float> csr_of(const TileView<float>&, const Device&);
template Csr<double> csr_of(const TileView<double>&, const Device&);

}  // namespace tessera::host
