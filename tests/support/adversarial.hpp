/// \file
/// The matrices on which sparse kernels go wrong. Every kernel is tested on all of them.
#pragma once

#include "tessera/csr.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {

template <class T>
struct NamedMatrix {
  std::string name;
  Csr<T> matrix;
};

/// Seeded values in [-1, 1].
template <class T>
[[nodiscard]] std::vector<T> random_vector(std::int64_t size, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::vector<T> result(static_cast<std::size_t>(size));
  for (T& value : result) value = static_cast<T>(uniform(generator));
  return result;
}

/// Distinct ascending columns of a row. \param length at most cols
[[nodiscard]] inline std::vector<index_t> random_columns(index_t cols, index_t length, std::mt19937_64& generator) {
  std::vector<index_t> columns;
  if (2 * std::int64_t{length} >
      cols) {  // dense: every column is kept with the probability that makes `length` of them
    index_t wanted = length;
    for (index_t j = 0; wanted > 0; ++j) {
      if (static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(cols - j)) >= wanted) continue;
      columns.push_back(j);
      --wanted;
    }
    return columns;
  }
  std::set<index_t> chosen;
  while (static_cast<index_t>(chosen.size()) < length) {
    chosen.insert(static_cast<index_t>(generator() % static_cast<std::uint64_t>(cols)));
  }
  columns.assign(chosen.begin(), chosen.end());
  return columns;
}

/// A matrix with rows of given lengths, everything else random.
template <class T>
[[nodiscard]] Csr<T> with_row_lengths(const std::vector<index_t>& lengths, index_t cols, ValueStorage storage,
                                      std::uint64_t seed = 1) {
  std::mt19937_64 generator(seed);
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (const index_t length : lengths) {
    const std::vector<index_t> row = random_columns(cols, length, generator);
    columns.insert(columns.end(), row.begin(), row.end());
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  auto row_offsets = Array<offset_t>::copy_of(offsets);
  auto indices = Array<index_t>::copy_of(columns);
  const auto rows = static_cast<std::int64_t>(lengths.size());
  if (storage == ValueStorage::pattern) {
    return Csr<T>::pattern(rows, cols, std::move(row_offsets), std::move(indices));
  }
  const auto values = random_vector<T>(static_cast<std::int64_t>(columns.size()), seed + 1);
  return Csr<T>(rows, cols, std::move(row_offsets), std::move(indices), Array<T>::copy_of(values));
}

/// `count` lengths, all the same.
[[nodiscard]] inline std::vector<index_t> lengths_of(std::size_t count, index_t length) {
  return std::vector<index_t>(count, length);
}

/// Lengths of a power law with exponent about 2, between 0 and `longest`.
[[nodiscard]] inline std::vector<index_t> power_law_lengths(std::size_t count, index_t longest, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::vector<index_t> lengths(count);
  for (index_t& length : lengths) {
    length = static_cast<index_t>(std::min<double>(longest, 1.0 / std::max(uniform(generator), 1e-9)) - 0.5);
  }
  return lengths;
}

/// Rows of which one, number `place`, holds `length` entries and the others `rest`.
[[nodiscard]] inline std::vector<index_t> one_long_row(std::size_t count, std::size_t place, index_t length,
                                                       index_t rest) {
  std::vector<index_t> lengths(count, rest);
  lengths[place] = length;
  return lengths;
}

/// The list. \param path_units lengths of tiles and blocks of the kernel under test: matrices are made whose paths, and
/// whose long rows, end one step before, at, and one step after these
template <class T>
[[nodiscard]] std::vector<NamedMatrix<T>> adversarial_matrices(ValueStorage storage,
                                                               const std::vector<index_t>& path_units) {
  std::vector<NamedMatrix<T>> list;
  const auto add = [&](std::string name, const std::vector<index_t>& lengths, index_t cols) {
    list.push_back({std::move(name), with_row_lengths<T>(lengths, cols, storage, list.size() + 7)});
  };
  add("empty 0 x 0", {}, 0);
  add("no rows 0 x 5", {}, 5);
  add("no columns 5 x 0", lengths_of(5, 0), 0);
  add("1 x 1 with entry", {1}, 1);
  add("1 x 1 without entry", {0}, 1);
  add("all rows empty", lengths_of(1000, 0), 7);
  add("all rows empty, several segments", lengths_of(40000, 0), 3);
  add("one dense row among empty ones", one_long_row(300, 150, 2000, 0), 2000);
  add("one dense row first", one_long_row(50, 0, 3000, 1), 3000);
  add("one dense row last", one_long_row(50, 49, 3000, 1), 3000);
  add("one row only", {9001}, 12000);
  add("one column only, dense", lengths_of(9000, 1), 1);
  add("first rows empty", one_long_row(400, 399, 5, 0), 9);
  add("last rows empty", one_long_row(400, 0, 5, 0), 9);
  add("tall", lengths_of(5000, 2), 3);
  add("wide", lengths_of(3, 700), 5000);
  add("power law", power_law_lengths(4000, 3000, 5), 3000);
  add("hub row over many blocks", one_long_row(500, 250, 60000, 3), 70000);
  std::vector<index_t> alternating(2001);
  for (std::size_t i = 0; i < alternating.size(); i += 2) alternating[i] = static_cast<index_t>(i % 9);
  add("alternating empty rows", alternating, 40);
  std::vector<index_t> two_hubs = lengths_of(30, 2);
  two_hubs[3] = 20000;
  two_hubs[4] = 20000;
  add("two hub rows next to each other", two_hubs, 30000);
  for (const index_t unit : path_units) {
    for (const index_t shift : {-1, 0, 1}) {
      const std::string where = std::to_string(unit) + (shift < 0 ? " - 1" : shift > 0 ? " + 1" : "");
      add("path of " + where, {unit + shift - 3, 0, 0}, unit + 9);
      add("path of twice " + where, {1, 2 * unit + shift - 6, 1, 0}, 2 * unit + 9);
      add("long row of " + where + " first", {unit + shift, 2, 0, 3}, unit + 9);
      add("long row of 3 x " + where + " after a short one", {2, 3 * unit + shift, 4}, 3 * unit + 9);
      add("row begins at step " + where, {unit + shift - 1, unit, unit, 1}, unit + 9);
    }
  }
  return list;
}

}  // namespace tessera::testing
