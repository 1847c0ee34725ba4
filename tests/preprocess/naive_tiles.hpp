/// \file
/// Bitmap tiles by the book: every entry is put into an ordered map of tiles.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/tile_matrix.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/compare.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace tessera::testing {

template <class T>
[[nodiscard]] TileMatrix<T> naive_tiles(const CsrView<T>& a) {
  std::map<std::pair<index_t, index_t>, std::map<int, T>> tiles;
  for (index_t i = 0; i < a.rows; ++i) {
    for (offset_t k = a.row_offsets[static_cast<std::size_t>(i)]; k < a.row_offsets[static_cast<std::size_t>(i) + 1];
         ++k) {
      const index_t j = a.columns[static_cast<std::size_t>(k)];
      tiles[{i / 8, j / 8}][8 * (i % 8) + j % 8] = a.value(k);
    }
  }
  std::vector<offset_t> tile_rows(static_cast<std::size_t>((std::int64_t{a.rows} + 7) / 8) + 1, 0);
  std::vector<index_t> columns;
  std::vector<std::uint64_t> bitmaps;
  std::vector<offset_t> value_offsets{0};
  std::vector<T> values;
  for (const auto& [place, entries] : tiles) {
    ++tile_rows[static_cast<std::size_t>(place.first) + 1];
    columns.push_back(place.second);
    bitmaps.push_back(0);
    for (const auto& [bit, value] : entries) {
      bitmaps.back() |= std::uint64_t{1} << bit;
      values.push_back(value);
    }
    value_offsets.push_back(static_cast<offset_t>(values.size()));
  }
  for (std::size_t i = 1; i < tile_rows.size(); ++i) tile_rows[i] += tile_rows[i - 1];
  if (a.is_pattern()) values.clear();
  return TileMatrix<T>(a.rows, a.cols, a.storage, Array<offset_t>::copy_of(tile_rows), Array<index_t>::copy_of(columns),
                       Array<std::uint64_t>::copy_of(bitmaps), Array<offset_t>::copy_of(value_offsets),
                       Array<T>::copy_of(values));
}

/// Of matrices on the host.
template <class T>
void expect_identical_tiles(const TileView<T>& a, const TileView<T>& b) {
  ASSERT_EQ(a.rows, b.rows);
  ASSERT_EQ(a.cols, b.cols);
  ASSERT_EQ(a.nnz, b.nnz);
  ASSERT_EQ(a.storage, b.storage);
  ASSERT_TRUE(same_bytes(a.tile_row_offsets, b.tile_row_offsets));
  ASSERT_TRUE(same_bytes(a.tile_columns, b.tile_columns));
  ASSERT_TRUE(same_bytes(a.bitmaps, b.bitmaps));
  ASSERT_TRUE(same_bytes(a.value_offsets, b.value_offsets));
  ASSERT_TRUE(same_bytes(a.values, b.values));
}

/// Entries at random, each present with probability `density`, the columns of each group of eight rows in a window of
/// `width` columns.
template <class T>
[[nodiscard]] Csr<T> random_windows(index_t rows, index_t cols, index_t width, double density, ValueStorage storage,
                                    std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  index_t first = 0;
  for (index_t i = 0; i < rows; ++i) {
    if (i % 8 == 0) {
      first = width < cols ? static_cast<index_t>(generator() % static_cast<std::uint64_t>(cols - width + 1)) : 0;
    }
    for (index_t j = first; j < first + width && j < cols; ++j) {
      if (uniform(generator) < density) columns.push_back(j);
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  auto row_offsets = Array<offset_t>::copy_of(offsets);
  auto indices = Array<index_t>::copy_of(columns);
  if (storage == ValueStorage::pattern) {
    return Csr<T>::pattern(rows, cols, std::move(row_offsets), std::move(indices));
  }
  const auto values = random_vector<T>(static_cast<std::int64_t>(columns.size()), seed + 1);
  return Csr<T>(rows, cols, std::move(row_offsets), std::move(indices), Array<T>::copy_of(values));
}

/// Matrices whose tiles are cut at odd places: sizes around multiples of 8, windows, dense blocks, the last column
/// there is.
template <class T>
[[nodiscard]] std::vector<NamedMatrix<T>> matrices_to_tile(ValueStorage storage) {
  std::vector<NamedMatrix<T>> list = adversarial_matrices<T>(storage, {64});
  std::uint64_t seed = 1;
  for (const index_t rows : {1, 7, 8, 9, 63, 64, 65}) {
    for (const index_t cols : {1, 7, 8, 9, 100}) {
      for (const double density : {0.05, 0.5, 1.0}) {
        list.push_back({std::to_string(rows) + " x " + std::to_string(cols) + ", density " + std::to_string(density),
                        random_windows<T>(rows, cols, cols, density, storage, ++seed)});
      }
    }
  }
  list.push_back({"windows", random_windows<T>(300, 5000, 90, 0.4, storage, 5)});
  list.push_back({"wide windows, sparse", random_windows<T>(40, 9000, 9000, 0.02, storage, 6)});
  list.push_back({"more than 512 tiles in a tile row", random_windows<T>(20, 6000, 5000, 0.3, storage, 7)});
  constexpr index_t most = std::numeric_limits<index_t>::max();
  list.push_back({"from the first to the last column there is",
                  Csr<T>::pattern(3, most, Array<offset_t>::copy_of(std::vector<offset_t>{0, 2, 2, 5}),
                                  Array<index_t>::copy_of(std::vector<index_t>{0, most - 1, 1, 1 << 30, most - 2}))});
  return list;
}

}  // namespace tessera::testing
