/// \file
/// Matrices whose rows repeat, for products by row patterns.
#pragma once

#include "tests/support/adversarial.hpp"

#include <cstdint>
#include <functional>
#include <random>
#include <utility>
#include <vector>

namespace tessera::testing {

/// What the rows of a matrix have in common.
enum class Repeating {
  nothing,             ///< a pattern matrix: positions alone
  columns,             ///< random values
  columns_and_values,  ///< every list has its values
};

/// A matrix from lists of relative columns; those outside the matrix are left out.
struct RepeatingRows {
  index_t rows = 0;
  index_t cols = 0;
  std::vector<std::vector<index_t>> lists;
  std::function<std::size_t(index_t)> list_of;  ///< of a row
  std::vector<index_t> others;                  ///< rows on no list, with random columns
  index_t length_of_others = 20;
  std::uint64_t seed = 1;
};

template <class T>
[[nodiscard]] Csr<T> with_repeating_rows(const RepeatingRows& spec, Repeating repeating) {
  std::mt19937_64 generator(spec.seed);
  std::vector<std::vector<T>> list_values;
  for (const auto& list : spec.lists) {
    list_values.push_back(random_vector<T>(static_cast<std::int64_t>(list.size()), generator()));
  }
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<T> values;
  const auto random = random_vector<T>(4096, spec.seed + 1);
  for (index_t row = 0; row < spec.rows; ++row) {
    const bool other = std::find(spec.others.begin(), spec.others.end(), row) != spec.others.end();
    if (other) {
      for (const index_t column : random_columns(spec.cols, std::min(spec.cols, spec.length_of_others), generator)) {
        columns.push_back(column);
      }
    } else if (!spec.lists.empty()) {
      const std::size_t number = spec.list_of ? spec.list_of(row) : 0;
      for (std::size_t k = 0; k < spec.lists[number].size(); ++k) {
        const std::int64_t column = std::int64_t{row} + spec.lists[number][k];
        if (column < 0 || column >= spec.cols) continue;
        columns.push_back(static_cast<index_t>(column));
        if (repeating == Repeating::columns_and_values) values.push_back(list_values[number][k]);
      }
    }
    while (values.size() < columns.size()) values.push_back(random[values.size() * 7919 % random.size()]);
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  auto row_offsets = Array<offset_t>::copy_of(offsets);
  auto indices = Array<index_t>::copy_of(columns);
  if (repeating == Repeating::nothing) {
    return Csr<T>::pattern(spec.rows, spec.cols, std::move(row_offsets), std::move(indices));
  }
  return Csr<T>(spec.rows, spec.cols, std::move(row_offsets), std::move(indices), Array<T>::copy_of(values));
}

/// `width` relative columns, ascending, from `first` on.
[[nodiscard]] inline std::vector<index_t> list_of_width(index_t width, index_t first = 0, index_t step = 3) {
  std::vector<index_t> list;
  list.reserve(static_cast<std::size_t>(width));
  for (index_t k = 0; k < width; ++k) list.push_back(first + step * k);
  return list;
}

/// Rows of one list, none of which is cut off at the end of the matrix.
[[nodiscard]] inline RepeatingRows rows_of_width(index_t rows, index_t width) {
  return {rows, rows + 3 * width + 1, {list_of_width(width)}, {}, {}};
}

/// Rows of 0 to `width` entries in turn, irregularly.
[[nodiscard]] inline RepeatingRows rows_up_to_width(index_t rows, index_t width) {
  RepeatingRows spec{rows, rows + 3 * width + 1, {}, {}, {}};
  for (index_t length = 0; length <= width; ++length) spec.lists.push_back(list_of_width(length, length % 4, 2));
  const auto count = static_cast<std::size_t>(width) + 1;
  spec.list_of = [count](index_t row) { return static_cast<std::size_t>(row) * 2654435761U / 1024 % count; };
  return spec;
}

/// Five points on a grid: nine lists, of which some are rare.
[[nodiscard]] inline RepeatingRows five_points(index_t side) {
  RepeatingRows spec{side * side, side * side, {}, {}, {}};
  // Neighbours of the left and right columns of the grid lie in other rows of it.
  spec.lists = {{-side, -1, 0, 1, side}, {-side, 0, 1, side}, {-side, -1, 0, side}};
  spec.list_of = [side](index_t row) -> std::size_t { return row % side == 0 ? 1 : row % side == side - 1 ? 2 : 0; };
  return spec;
}

/// More lists than a byte names, all equally frequent.
[[nodiscard]] inline RepeatingRows too_many_lists(index_t rows, index_t lists) {
  RepeatingRows spec{rows, rows + lists + 1, {}, {}, {}};
  for (index_t list = 0; list < lists; ++list) spec.lists.push_back({0, list + 1});
  spec.list_of = [lists](index_t row) { return static_cast<std::size_t>(row % lists); };
  return spec;
}

}  // namespace tessera::testing
