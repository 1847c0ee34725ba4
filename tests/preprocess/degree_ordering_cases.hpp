/// \file
/// Degree-based grouping by its definition: a stable sort of the columns by floor(log2(degree / mean)), clamped.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/statistics.hpp"
#include "tests/support/adversarial.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {

/// In long double: 0 for 32 means and more, 5 for the mean to twice of it, 6 from half of it on, 7 below.
template <class T>
[[nodiscard]] std::vector<index_t> degree_oracle(const CsrView<T>& a) {
  std::vector<long double> degree(static_cast<std::size_t>(a.cols), 0);
  for (const index_t j : a.columns) ++degree[static_cast<std::size_t>(j)];
  const long double mean = static_cast<long double>(a.nnz()) / static_cast<long double>(std::max(a.cols, 1));
  const auto group = [&](index_t j) {
    long double least = 32 * mean;
    for (int g = 0; g < 7; ++g, least /= 2) {
      if (degree[static_cast<std::size_t>(j)] >= least) return g;
    }
    return 7;
  };
  std::vector<index_t> order(static_cast<std::size_t>(a.cols));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](index_t i, index_t j) { return group(i) < group(j); });
  return order;
}

/// Square: rows and columns of many lengths, among them rows beyond all that are sorted by counting.
template <class T>
[[nodiscard]] std::vector<NamedMatrix<T>> square_matrices(ValueStorage storage) {
  std::vector<NamedMatrix<T>> list;
  const auto add = [&](std::string name, const std::vector<index_t>& lengths) {
    const auto n = static_cast<index_t>(lengths.size());
    list.push_back({std::move(name), with_row_lengths<T>(lengths, n, storage, list.size() + 3)});
  };
  add("empty 0 x 0", {});
  add("1 x 1 with entry", {1});
  add("1 x 1 without entry", {0});
  add("all rows empty", lengths_of(300, 0));
  add("short rows", lengths_of(700, 3));
  add("rows of 63 to 65, short in the mean", [] {
    std::vector<index_t> lengths = lengths_of(900, 2);
    for (std::size_t i = 0; i < 30; ++i) lengths[31 * i] = static_cast<index_t>(63 + i % 3);
    return lengths;
  }());
  add("rows of 127 to 129 among 8", [] {
    std::vector<index_t> lengths = lengths_of(800, 8);
    for (std::size_t i = 0; i < 15; ++i) lengths[51 * i] = static_cast<index_t>(127 + i % 3);
    return lengths;
  }());
  add("rows of 511 to 513 among 40", [] {
    std::vector<index_t> lengths = lengths_of(600, 40);
    for (std::size_t i = 0; i < 6; ++i) lengths[97 * i] = static_cast<index_t>(511 + i % 3);
    return lengths;
  }());
  add("two long rows, several tiles of keys", [] {
    std::vector<index_t> lengths = lengths_of(9000, 1);
    lengths[4000] = 8999;
    lengths[4001] = 4097;
    return lengths;
  }());
  add("power law", power_law_lengths(1500, 1400, 5));
  // Hubs among the columns: the transpose of rows of many lengths.
  const Csr<T> rows = with_row_lengths<T>(power_law_lengths(1000, 900, 9), 1000, storage, 2);
  list.push_back({"hub columns", transpose(rows.view())});
  return list;
}

}  // namespace tessera::testing
