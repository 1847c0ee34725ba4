/// \file
/// Matrices for sliced ELL: values of every layout, columns near and far.
#pragma once

#include "tests/spmv/repeating_matrices.hpp"

#include <limits>
#include <utility>
#include <vector>

namespace tessera::testing {

/// What values allow.
enum class Kept {
  nothing,  ///< a pattern matrix
  codes,    ///< few distinct values, of which no float holds some
  floats,   ///< many values that float holds
  in_full,
};
inline constexpr Kept all_kept[] = {Kept::nothing, Kept::codes, Kept::floats, Kept::in_full};

template <class T>
[[nodiscard]] std::vector<T> values_that_allow(Kept kept, offset_t nnz, int distinct = 200) {
  auto values = random_vector<T>(nnz, 77);
  for (offset_t k = 0; k < nnz; ++k) {
    T& value = values[static_cast<std::size_t>(k)];
    if (kept == Kept::codes) {
      // Every one of them appears where there are enough nonzeros.
      const offset_t number = k < distinct ? k : k * 7919 % distinct;
      value = static_cast<T>(static_cast<double>(number + 1) / 49.0 - 2.0);
    }
    if (kept == Kept::floats) value = static_cast<T>(static_cast<float>(value));
  }
  return values;
}

template <class T>
[[nodiscard]] Csr<T> with_values_that_allow(const Csr<T>& matrix, Kept kept, int distinct = 200) {
  auto offsets = Array<offset_t>::copy_of(matrix.row_offsets().span());
  auto columns = Array<index_t>::copy_of(matrix.columns().span());
  if (kept == Kept::nothing)
    return Csr<T>::pattern(matrix.rows(), matrix.cols(), std::move(offsets), std::move(columns));
  return Csr<T>(matrix.rows(), matrix.cols(), std::move(offsets), std::move(columns),
                Array<T>::copy_of(values_that_allow<T>(kept, matrix.nnz(), distinct)));
}

/// Rows of given lengths with columns within `reach` of the row's own.
template <class T>
[[nodiscard]] Csr<T> rows_near_diagonal(const std::vector<index_t>& lengths, index_t reach, std::uint64_t seed = 5) {
  std::mt19937_64 generator(seed);
  const auto rows = static_cast<index_t>(lengths.size());
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t row = 0; row < rows; ++row) {
    const index_t first = std::max<index_t>(0, row - reach);
    const index_t count = std::min(rows, row + reach + 1) - first;
    const index_t length = std::min(lengths[static_cast<std::size_t>(row)], count);
    for (const index_t column : random_columns(count, length, generator)) columns.push_back(first + column);
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto nnz = static_cast<std::int64_t>(columns.size());
  return Csr<T>(rows, rows, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns),
                Array<T>::copy_of(random_vector<T>(nnz, seed)));
}

/// Lengths 0 to `longest`, irregularly.
[[nodiscard]] inline std::vector<index_t> irregular_lengths(index_t rows, index_t longest) {
  std::vector<index_t> lengths;
  for (index_t row = 0; row < rows; ++row) {
    lengths.push_back(static_cast<index_t>(static_cast<std::size_t>(row) * 2654435761U / 1024 %
                                           static_cast<std::size_t>(longest + 1)));
  }
  return lengths;
}

/// Row i is row order[i] of the matrix.
template <class T>
[[nodiscard]] Csr<T> rows_in_order(const Csr<T>& matrix, const std::vector<index_t>& order) {
  const CsrView<T> a = matrix.view();
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<T> values;
  for (const index_t row : order) {
    const auto begin = a.row_offsets[static_cast<std::size_t>(row)];
    const auto end = a.row_offsets[static_cast<std::size_t>(row) + 1];
    columns.insert(columns.end(), a.columns.begin() + begin, a.columns.begin() + end);
    if (!a.is_pattern()) values.insert(values.end(), a.values.begin() + begin, a.values.begin() + end);
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto rows = static_cast<index_t>(order.size());
  auto kept_offsets = Array<offset_t>::copy_of(offsets);
  auto kept_columns = Array<index_t>::copy_of(columns);
  if (a.is_pattern()) return Csr<T>::pattern(rows, a.cols, std::move(kept_offsets), std::move(kept_columns));
  return Csr<T>(rows, a.cols, std::move(kept_offsets), std::move(kept_columns), Array<T>::copy_of(values));
}

/// One entry in each row, on the diagonal, but for one that lies `distance` after its row, or before if negative.
template <class T>
[[nodiscard]] Csr<T> one_column_at(index_t distance) {
  const index_t size = 40000;
  const index_t row = distance > 0 ? 100 : size - 100;
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t i = 0; i < size; ++i) {
    if (i == row && distance < 0) columns.push_back(i + distance);
    columns.push_back(i);
    if (i == row && distance > 0) columns.push_back(i + distance);
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto nnz = static_cast<std::int64_t>(columns.size());
  return Csr<T>(size, size, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns),
                Array<T>::copy_of(random_vector<T>(nnz, 3)));
}

}  // namespace tessera::testing
