/// \file
/// Matrices for sparse approximate inverses.
#pragma once

#include "tests/solvers/systems.hpp"

#include <cstddef>
#include <random>
#include <vector>

namespace tessera::testing {

/// Diagonally dominant, row i with entries left of the diagonal in the `widths[i]` columns before it, or all of them
/// where there are fewer, and the same right of it. Entries scatter over three powers of ten.
template <class T>
[[nodiscard]] Csr<T> skyline_matrix(const std::vector<int>& widths, bool symmetric, std::uint64_t seed = 5) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  const std::size_t n = widths.size();
  std::vector<std::vector<T>> dense(n, std::vector<T>(n));
  const auto entry = [&] { return static_cast<T>(uniform(generator) * std::pow(10.0, 1.5 * uniform(generator))); };
  for (std::size_t i = 0; i < n; ++i) {
    for (int k = 1; k <= widths[i] && k <= static_cast<int>(i); ++k) {
      const std::size_t j = i - static_cast<std::size_t>(k);
      dense[i][j] = entry();
      dense[j][i] = symmetric ? dense[i][j] : entry();
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    T sum = T(0.25);
    for (const T value : dense[i]) sum += std::abs(value);
    dense[i][i] = sum;
  }
  return from_dense<T>(dense, static_cast<std::int64_t>(n));
}

}  // namespace tessera::testing
