/// \file
/// Bitmap tiles times a multivector on the host: the eight rows of X that a tile meets are brought together, eight
/// columns each; an entry then adds to eight sums.
#include "spmv/tiles/tiles_panels_host.hpp"

#include "preprocess/merge_search.hpp"
#include "spmv/common/chunks.hpp"
#include "spmv/multi_vector/csr_product.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tessera::host {

namespace {

constexpr auto width = static_cast<std::size_t>(detail::panel_columns);

/// Eight rows of eight columns.
template <class T>
using Panel = std::array<std::array<T, width>, tile_size>;

/// Some columns of X, at most eight.
template <class T>
struct PanelSource {
  MultiVectorView<const T> x;
  std::int64_t first_column;
  std::size_t columns;

  /// What lies outside of X is never multiplied: a tile has no entry there, and its columns are not stored.
  void gather(std::int64_t first_row, Panel<T>& panel) const noexcept {
    const auto rows = static_cast<std::size_t>(std::min<std::int64_t>(tile_size, x.rows() - first_row));
    for (std::size_t r = 0; r < rows; ++r) {
      const T* const from = &x(first_row + static_cast<std::int64_t>(r), first_column);
      for (std::size_t n = 0; n < columns; ++n) panel[r][n] = from[static_cast<std::int64_t>(n) * x.column_stride()];
    }
  }
};

/// Adds a tile's entries, row by row. \param value of the first; null for a pattern
template <class T>
void add_tile(std::uint64_t bitmap, const T* value, const Panel<T>& x, Panel<T>& sums) noexcept {
  for (std::uint64_t rest = bitmap; rest != 0; rest &= rest - 1) {
    const auto bit = static_cast<std::size_t>(std::countr_zero(rest));
    const std::array<T, width>& source = x[bit % tile_size];
    std::array<T, width>& target = sums[bit / tile_size];
    const T factor = value == nullptr ? T{1} : *value++;
    for (std::size_t n = 0; n < width; ++n) target[n] += factor * source[n];
  }
}

template <class T>
void multiply_tile_row(const TileView<T>& tiles, std::int64_t tile_row, const PanelSource<T>& source, T alpha, T beta,
                       const MultiVectorView<T>& y) {
  Panel<T> sums{};
  Panel<T> x{};
  const auto end = static_cast<std::size_t>(tiles.tile_row_offsets[static_cast<std::size_t>(tile_row) + 1]);
  for (auto t = static_cast<std::size_t>(tiles.tile_row_offsets[static_cast<std::size_t>(tile_row)]); t < end; ++t) {
    source.gather(std::int64_t{tiles.tile_columns[t]} * tile_size, x);
    add_tile(tiles.bitmaps[t], tiles.is_pattern() ? nullptr : tiles.values.data() + tiles.value_offsets[t], x, sums);
  }
  const std::int64_t first_row = tile_row * tile_size;
  const auto rows = static_cast<std::size_t>(std::min<std::int64_t>(tile_size, tiles.rows - first_row));
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t n = 0; n < source.columns; ++n) {
      T& target = y(first_row + static_cast<std::int64_t>(r), source.first_column + static_cast<std::int64_t>(n));
      target = beta == T{0} ? alpha * sums[r][n] : alpha * sums[r][n] + beta * target;
    }
  }
}

}  // namespace

template <class T>
void multiply_panels(const Device& device, const TileView<T>& tiles, T alpha, const MultiVectorView<const T>& x, T beta,
                     const MultiVectorView<T>& y) {
  const offset_t* const offsets = tiles.tile_row_offsets.data();
  const offset_t length = path_length(tiles.tile_rows(), tiles.tiles());
  const std::int64_t chunks = std::min(length, chunk_count(path_length(tiles.rows, tiles.nnz)));
  for_each_chunk(device, chunks, [&](std::int64_t s) {
    const Range path = part_of(length, chunks, s);
    const std::int64_t end = merge_search(offsets, tiles.tile_rows(), tiles.tiles(), path.end).y;
    for (std::int64_t tile_row = merge_search(offsets, tiles.tile_rows(), tiles.tiles(), path.begin).y; tile_row < end;
         ++tile_row) {
      for (std::int64_t column = 0; column < y.columns(); column += detail::panel_columns) {
        const std::int64_t columns = std::min<std::int64_t>(detail::panel_columns, y.columns() - column);
        multiply_tile_row(tiles, tile_row, {x, column, static_cast<std::size_t>(columns)}, alpha, beta, y);
      }
    }
  });
}

template void multiply_panels(const Device&, const TileView<float>&, float, const MultiVectorView<const float>&, float,
                              const MultiVectorView<float>&);
template void multiply_panels(const Device&, const TileView<double>&, double, const MultiVectorView<const double>&,
                              double, const MultiVectorView<double>&);

}  // namespace tessera::host
