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

/// Random values that depend on nothing but the set of row and column.
template <class T>
[[nodiscard]] std::vector<T> symmetric_values(const CsrView<T>& a, std::uint64_t seed) {
  const auto random = random_vector<T>(4099, seed);
  std::vector<T> values;
  for (std::int64_t row = 0; row < a.rows; ++row) {
    const auto i = static_cast<std::size_t>(row);
    for (offset_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
      const std::int64_t column = a.columns[static_cast<std::size_t>(k)];
      const std::int64_t pair = std::min(row, column) * 1000003 + std::max(row, column) * 7919;
      values.push_back(random[static_cast<std::size_t>(pair) % random.size()]);
    }
  }
  return values;
}

/// Lists in the order of RepeatingRows, cut off at the ends of the matrix, with symmetric values. \param longer rows
/// that hold far columns besides, and so are on no list
template <class T>
[[nodiscard]] Csr<T> symmetric_rows(const RepeatingRows& spec, const std::vector<index_t>& longer = {}) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t row = 0; row < spec.rows; ++row) {
    std::vector<index_t> own;
    for (const index_t relative : spec.lists[spec.list_of ? spec.list_of(row) : 0]) {
      if (row + relative >= 0 && row + relative < spec.cols) own.push_back(row + relative);
    }
    if (std::find(longer.begin(), longer.end(), row) != longer.end()) {
      const std::size_t length = own.size() + 30;
      for (index_t far = (row * 37 + 11) % spec.cols; own.size() < length; far = (far + 29) % spec.cols) {
        if (std::find(own.begin(), own.end(), far) == own.end()) own.push_back(far);
      }
      std::sort(own.begin(), own.end());
    }
    columns.insert(columns.end(), own.begin(), own.end());
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto pattern =
      Csr<T>::pattern(spec.rows, spec.cols, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns));
  return Csr<T>(spec.rows, spec.cols, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns),
                Array<T>::copy_of(symmetric_values(pattern.view(), spec.seed)));
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

/// Rows of `width` entries, one in 16; others have one.
[[nodiscard]] inline RepeatingRows rows_seldom_of_width(index_t rows, index_t width) {
  RepeatingRows spec{rows, rows + 3 * width + 1, {list_of_width(width), {0}}, {}, {}};
  spec.list_of = [](index_t row) -> std::size_t { return row % 16 == 7 ? 0 : 1; };
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

/// A grid of which every edge is there or not, in both of its rows: jagged lists without a diagonal.
[[nodiscard]] inline RepeatingRows grid_with_holes(index_t side) {
  RepeatingRows spec{side * side, side * side, {}, {}, {}};
  for (unsigned bits = 0; bits < 16; ++bits) {
    std::vector<index_t> list;
    const index_t neighbours[] = {-side, -1, 1, side};
    for (unsigned k = 0; k < 4; ++k) {
      if ((bits >> k & 1U) != 0) list.push_back(neighbours[k]);
    }
    spec.lists.push_back(std::move(list));
  }
  // Whether the edge from a row to the right, or down, is kept.
  const auto kept = [](index_t row, std::uint64_t way) {
    return ((static_cast<std::uint64_t>(row) * 2 + way + 1) * 0x9e3779b97f4a7c15U >> 40 & 3U) == 0 ? 0U : 1U;
  };
  spec.list_of = [side, kept](index_t row) -> std::size_t {
    const bool first = row % side == 0;
    const bool last = row % side == side - 1;
    return (row >= side ? kept(row - side, 1) : 0U) | (first ? 0U : kept(row - 1, 0)) << 1U |
           (last ? 0U : kept(row, 0)) << 2U | (row + side < side * side ? kept(row, 1) : 0U) << 3U;
  };
  return spec;
}

/// 27 points in space: 27 lists, of which some are rare.
[[nodiscard]] inline RepeatingRows box_of_27(index_t side) {
  RepeatingRows spec{side * side * side, side * side * side, {}, {}, {}};
  // Neighbours of the first and last point of a line, and of a plane, lie in other lines.
  for (int kind = 0; kind < 9; ++kind) {
    std::vector<index_t> list;
    for (index_t z = -1; z <= 1; ++z) {
      for (index_t y = -1; y <= 1; ++y) {
        for (index_t x = -1; x <= 1; ++x) {
          const bool out = (kind % 3 == 1 && x < 0) || (kind % 3 == 2 && x > 0) || (kind / 3 == 1 && y < 0) ||
                           (kind / 3 == 2 && y > 0);
          if (!out) list.push_back((z * side + y) * side + x);
        }
      }
    }
    spec.lists.push_back(std::move(list));
  }
  spec.list_of = [side](index_t row) -> std::size_t {
    const auto part = [side](index_t at) { return at == 0 ? 1U : at == side - 1 ? 2U : 0U; };
    return part(row % side) + 3 * part(row / side % side);
  };
  return spec;
}

/// A helix: five points, of which none is missing but at both ends of the matrix.
[[nodiscard]] inline RepeatingRows helix(index_t rows, index_t pitch) {
  return {rows, rows, {{-pitch, -1, 0, 1, pitch}}, {}, {}};
}

/// A helix of lines that are held together by few edges: most rows are on a list of two, few on the longest, of four.
[[nodiscard]] inline RepeatingRows loose_lines(index_t rows, index_t pitch) {
  RepeatingRows spec{rows, rows, {{-1, 1}, {-pitch, -1, 1}, {-1, 1, pitch}, {-pitch, -1, 1, pitch}}, {}, {}};
  const auto kept = [](index_t row) {
    return row >= 0 && (static_cast<std::uint64_t>(row) * 0x9e3779b97f4a7c15U >> 40) % 5 < 2 ? 1U : 0U;
  };
  spec.list_of = [pitch, kept](index_t row) -> std::size_t { return kept(row - pitch) | kept(row) << 1U; };
  return spec;
}

/// The matrix with values that depend on the relative column alone, so that shorter lists are parts of longer ones.
template <class T>
[[nodiscard]] Csr<T> with_values_by_offset(const RepeatingRows& spec) {
  const Csr<T> pattern = with_repeating_rows<T>(spec, Repeating::nothing);
  std::vector<T> values;
  for (index_t row = 0; row < pattern.rows(); ++row) {
    for (offset_t k = pattern.row_offsets()[row]; k < pattern.row_offsets()[row + 1]; ++k) {
      values.push_back(T(1) + static_cast<T>((pattern.columns()[k] - row) % 97) / T(128));
    }
  }
  return Csr<T>(pattern.rows(), pattern.cols(), pattern.row_offsets().to(Device{}), pattern.columns().to(Device{}),
                Array<T>::copy_of(values));
}

/// Mostly list 0, but on runs of rows that begin and end within warps.
[[nodiscard]] inline RepeatingRows mostly_uniform(index_t rows, index_t width) {
  RepeatingRows spec = rows_of_width(rows, width);
  spec.lists.push_back(list_of_width(width > 1 ? width - 1 : 1, 1, 2));
  spec.list_of = [](index_t row) -> std::size_t { return row % 1000 >= 700 && row % 1000 < 716 ? 1 : 0; };
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
