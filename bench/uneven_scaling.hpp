/// \file
/// Scaling of a system from both sides by random numbers: rows no longer repeat, and a symmetric matrix stays bitwise
/// symmetric.
#pragma once

#include "tessera/csr.hpp"

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace tessera::bench {

/// D A D with a diagonal D of random numbers from 1/2 to 2.
[[nodiscard]] inline Csr<double> scaled_unevenly(const Csr<double>& matrix) {
  std::mt19937_64 generator(42);
  std::uniform_real_distribution<double> exponent(-1.0, 1.0);
  std::vector<double> d(static_cast<std::size_t>(matrix.rows()));
  for (double& entry : d) entry = std::exp2(exponent(generator));
  const CsrView<double> a = matrix.view();
  std::vector<double> values(a.values.begin(), a.values.end());
  for (std::size_t i = 0; i < d.size(); ++i) {
    for (auto k = static_cast<std::size_t>(a.row_offsets[i]); k < static_cast<std::size_t>(a.row_offsets[i + 1]); ++k) {
      values[k] *= d[i] * d[static_cast<std::size_t>(a.columns[k])];
    }
  }
  return matrix.with_values(Array<double>::copy_of(values));
}

}  // namespace tessera::bench
