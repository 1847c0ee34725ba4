/// \file
/// Small matrices written down in tests.
#pragma once

#include "tessera/csr.hpp"

#include <initializer_list>
#include <span>
#include <vector>

namespace tessera::testing {

template <class T>
[[nodiscard]] Csr<T> make_csr(std::int64_t rows, std::int64_t cols, std::vector<offset_t> offsets,
                              std::vector<index_t> columns, std::vector<T> values) {
  return Csr<T>(rows, cols, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns),
                Array<T>::copy_of(values));
}

template <class T>
[[nodiscard]] Csr<T> make_pattern(std::int64_t rows, std::int64_t cols, std::vector<offset_t> offsets,
                                  std::vector<index_t> columns) {
  return Csr<T>::pattern(rows, cols, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns));
}

/// From dense rows; zeros are not stored.
template <class T>
[[nodiscard]] Csr<T> from_dense(const std::vector<std::vector<T>>& dense, std::int64_t cols) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<T> values;
  for (const auto& row : dense) {
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (row[j] == T{0}) continue;
      columns.push_back(static_cast<index_t>(j));
      values.push_back(row[j]);
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return make_csr<T>(static_cast<std::int64_t>(dense.size()), cols, offsets, columns, values);
}

}  // namespace tessera::testing
