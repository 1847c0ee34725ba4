/// \file
/// Matrices with a given number of 8 x 8 tiles per tile row, for products with bitmap tiles.
#pragma once

#include "tests/support/adversarial.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace tessera::testing {

/// How the tiles are filled, and where the matrix ends.
struct TileFilling {
  double fill = 0.5;     ///< part of a tile's positions that hold an entry; every tile holds one
  index_t cut_rows = 0;  ///< rows that the last tile row lacks
  index_t cut_cols = 0;  ///< columns that the last tile column lacks
};

/// \param tiles of each tile row, at most tile_cols
template <class T>
[[nodiscard]] Csr<T> with_tiles(const std::vector<index_t>& tiles, index_t tile_cols, ValueStorage storage,
                                const TileFilling& filling = {}, std::uint64_t seed = 1) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  const auto rows = static_cast<index_t>(8 * tiles.size()) - filling.cut_rows;
  const index_t cols = 8 * tile_cols - filling.cut_cols;
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (std::size_t tile_row = 0; tile_row < tiles.size(); ++tile_row) {
    const index_t height = std::min<index_t>(8, rows - static_cast<index_t>(8 * tile_row));
    std::vector<std::vector<index_t>> lists(static_cast<std::size_t>(height));
    for (const index_t tile : random_columns(tile_cols, tiles[tile_row], generator)) {
      const index_t width = std::min<index_t>(8, cols - 8 * tile);
      const auto sure = static_cast<index_t>(generator() % static_cast<std::uint64_t>(height * width));
      for (index_t position = 0; position < height * width; ++position) {
        if (position != sure && uniform(generator) >= filling.fill) continue;
        lists[static_cast<std::size_t>(position / width)].push_back(8 * tile + position % width);
      }
    }
    for (const std::vector<index_t>& list : lists) {
      columns.insert(columns.end(), list.begin(), list.end());
      offsets.push_back(static_cast<offset_t>(columns.size()));
    }
  }
  auto row_offsets = Array<offset_t>::copy_of(offsets);
  auto indices = Array<index_t>::copy_of(columns);
  if (storage == ValueStorage::pattern) {
    return Csr<T>::pattern(rows, cols, std::move(row_offsets), std::move(indices));
  }
  const auto values = random_vector<T>(static_cast<std::int64_t>(columns.size()), seed + 1);
  return Csr<T>(rows, cols, std::move(row_offsets), std::move(indices), Array<T>::copy_of(values));
}

/// Full tiles but for one column, in which a tile of 8 rows holds one entry: row 8 I + 3 of tile column 1.
template <class T>
[[nodiscard]] Csr<T> with_one_entry_in_column(index_t tile_rows, index_t column) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t row = 0; row < 8 * tile_rows; ++row) {
    for (index_t j = 0; j < 24; ++j) {
      if (j != column || row % 8 == 3) columns.push_back(j);
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto values = random_vector<T>(static_cast<std::int64_t>(columns.size()), 5);
  return Csr<T>(8 * tile_rows, 24, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns),
                Array<T>::copy_of(values));
}

}  // namespace tessera::testing
