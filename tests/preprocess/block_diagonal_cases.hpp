/// \file
/// Block-diagonal matrices against Eigen's assembly of moved triplets, on the host and on a GPU.
#pragma once

#include "tessera/block_diagonal.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/eigen_bridge.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {

template <class T>
[[nodiscard]] EigenSparse<T> assembled(const std::vector<Csr<T>>& parts) {
  std::vector<Eigen::Triplet<T, int>> entries;
  int rows = 0;
  int cols = 0;
  for (const Csr<T>& part : parts) {
    const EigenSparse<T> own = to_eigen(part.view());
    for (int i = 0; i < own.rows(); ++i) {
      for (typename EigenSparse<T>::InnerIterator entry(own, i); entry; ++entry) {
        entries.emplace_back(rows + i, cols + static_cast<int>(entry.col()), entry.value());
      }
    }
    rows += part.rows();
    cols += part.cols();
  }
  EigenSparse<T> result(rows, cols);
  result.setFromTriplets(entries.begin(), entries.end());
  return result;
}

/// \param parts on the host; joined on `device`
template <class T>
void expect_joined(const std::vector<Csr<T>>& parts, const Device& device) {
  std::vector<Csr<T>> there;
  there.reserve(parts.size());
  for (const Csr<T>& part : parts) there.push_back(part.to(device));
  const Csr<T> joined = block_diagonal<T>(there);
  EXPECT_TRUE(parts.empty() || joined.device() == device);
  const Csr<T> found = joined.to(Device{});
  const EigenSparse<T> expected = assembled(parts);
  ASSERT_EQ(found.rows(), expected.rows());
  ASSERT_EQ(found.cols(), expected.cols());
  ASSERT_EQ(found.nnz(), expected.nonZeros());
  const bool all_patterns =
      !parts.empty() && std::all_of(parts.begin(), parts.end(), [](const auto& part) { return part.is_pattern(); });
  ASSERT_EQ(found.is_pattern(), all_patterns);
  validate(found.view());
  for (std::int64_t i = 0; i <= found.rows(); ++i) ASSERT_EQ(found.row_offsets()[i], expected.outerIndexPtr()[i]);
  for (std::int64_t k = 0; k < found.nnz(); ++k) {
    ASSERT_EQ(found.columns()[k], expected.innerIndexPtr()[k]) << "entry " << k;
    ASSERT_EQ(found.view().value(k), expected.valuePtr()[k]) << "entry " << k;
  }
}

/// Random rows of up to `longest` entries.
template <class T>
[[nodiscard]] Csr<T> random_part(index_t rows, index_t cols, index_t longest, std::uint64_t seed,
                                 ValueStorage storage = ValueStorage::weighted) {
  std::mt19937_64 generator(seed);
  std::vector<index_t> lengths(static_cast<std::size_t>(rows));
  for (index_t& length : lengths) length = static_cast<index_t>(generator() % static_cast<unsigned>(longest + 1));
  return with_row_lengths<T>(lengths, cols, storage, seed);
}

/// Sets of parts with names. \param small leaves the many and the long ones out
template <class T>
[[nodiscard]] std::vector<std::pair<std::string, std::vector<Csr<T>>>> sets_of_parts(ValueStorage storage,
                                                                                     bool small = false) {
  std::vector<std::pair<std::string, std::vector<Csr<T>>>> sets;
  const auto add = [&sets](std::string name) -> std::vector<Csr<T>>& {
    return sets.emplace_back(std::move(name), std::vector<Csr<T>>()).second;
  };
  add("none");
  add("one").push_back(random_part<T>(7, 5, 4, 1, storage));
  auto& empty = add("empty 0 x 0 and without entries");
  for (const index_t n : {0, 3, 0}) empty.push_back(with_row_lengths<T>(lengths_of(n == 0 ? 0 : 2, 0), n, storage));
  std::uint64_t seed = 0;
  auto& rectangles = add("rectangles, empty ones first, between and last");
  for (const auto& [rows, cols] : {std::pair{0, 4}, {3, 7}, {5, 0}, {0, 0}, {9, 2}, {1, 1}, {4, 0}, {0, 3}}) {
    rectangles.push_back(random_part<T>(rows, cols, cols, ++seed, storage));
  }
  auto& hub = add("a hub row in one part");
  hub.push_back(random_part<T>(40, 40, 3, 4, storage));
  hub.push_back(with_row_lengths<T>(one_long_row(50, 20, 900, 2), 1000, storage));
  hub.push_back(random_part<T>(40, 40, 3, 5, storage));
  auto& equal = add("equal structures");
  for (std::uint64_t p = 0; p < 9; ++p) {
    equal.push_back(with_row_lengths<T>(lengths_of(30, 4), 30, ValueStorage::pattern));
    if (storage == ValueStorage::pattern) continue;
    equal.back() = equal.back().with_values(Array<T>::copy_of(random_vector<T>(equal.back().nnz(), p)));
  }
  if (small) return sets;
  auto& many = add("10^4 of 1 x 1, some without an entry");
  for (int i = 0; i < 10000; ++i) many.push_back(with_row_lengths<T>({i % 7 == 3 ? 0 : 1}, 1, storage));
  auto& all = add("adversarial matrices");
  for (auto& [name, matrix] : adversarial_matrices<T>(storage, {})) all.push_back(std::move(matrix));
  return sets;
}

}  // namespace tessera::testing
