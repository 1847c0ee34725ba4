/// \file
/// Graphs with a few popular columns.
#pragma once

#include "tessera/array.hpp"
#include "tessera/csr.hpp"

#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <vector>

namespace tessera::testing {

/// Columns of a few popular ones and of any, rows of any length.
[[nodiscard]] inline Csr<double> graph(index_t rows, index_t cols, index_t popular, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t i = 0; i < rows; ++i) {
    std::set<index_t> row;
    for (std::uint64_t k = cols > 0 ? generator() % 12 : 0; k > 0; --k) {
      const bool is_popular = popular > 0 && generator() % 2 == 0;
      const std::uint64_t number = generator() % static_cast<std::uint64_t>(is_popular ? popular : cols);
      row.insert(static_cast<index_t>(is_popular ? number * 7919 % static_cast<std::uint64_t>(cols) : number));
    }
    columns.insert(columns.end(), row.begin(), row.end());
    offsets.push_back(std::ssize(columns));
  }
  return Csr<double>::pattern(rows, cols, Array<offset_t>::copy_of(std::span<const offset_t>(offsets)),
                              Array<index_t>::copy_of(std::span<const index_t>(columns)));
}

}  // namespace tessera::testing
