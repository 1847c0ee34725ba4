/// \file
/// Matrices of which a part fills tiles: grids with dense blocks on the diagonal.
#pragma once

#include "tests/support/adversarial.hpp"
#include "tests/support/make_csr.hpp"

#include <functional>
#include <set>
#include <utility>
#include <vector>

namespace tessera::testing {

/// Rows [first, last), and columns as well.
using Block = std::pair<index_t, index_t>;

/// Positions row by row, values random. \param columns_of inserts the columns of a row
[[nodiscard]] inline Csr<double> matrix_of(
    index_t rows, index_t cols, const std::function<void(index_t row, std::set<index_t>& columns)>& columns_of) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t i = 0; i < rows; ++i) {
    std::set<index_t> of_row;
    columns_of(i, of_row);
    columns.insert(columns.end(), of_row.begin(), of_row.end());
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto values = random_vector<double>(static_cast<std::int64_t>(columns.size()), 11);
  return make_csr<double>(rows, cols, offsets, columns, values);
}

/// Neighbours on a grid `width` wide, as in a road network.
inline void insert_grid(index_t i, index_t rows, index_t width, std::set<index_t>& columns) {
  for (const index_t j : {i - width, i - 1, i, i + 1, i + width}) {
    if (j >= 0 && j < rows) columns.insert(j);
  }
}

inline void insert_blocks(index_t i, const std::vector<Block>& blocks, std::set<index_t>& columns) {
  for (const auto& [first, last] : blocks) {
    for (index_t j = first; i >= first && i < last && j < last; ++j) columns.insert(j);
  }
}

/// A grid with dense blocks on the diagonal.
[[nodiscard]] inline Csr<double> grid_with_blocks(index_t rows, const std::vector<Block>& blocks) {
  return matrix_of(rows, rows, [&](index_t i, std::set<index_t>& columns) {
    insert_grid(i, rows, 23, columns);
    insert_blocks(i, blocks, columns);
  });
}

}  // namespace tessera::testing
