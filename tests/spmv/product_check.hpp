/// \file
/// Products of a plan against the long-double oracle and its error bound.
#pragma once

#include "spmv/merbit/merbit_tuning.hpp"
#include "tessera/spmv.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/oracle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace tessera::testing {

using namespace detail;

/// A kernel with the determinism class asked of it; for MERBIT that decides the commit.
struct KernelCase {
  SpmvAlgorithm algorithm;
  Determinism determinism;
};

inline constexpr KernelCase all_kernel_cases[] = {
    {SpmvAlgorithm::csr, Determinism::gpu_to_gpu},        {SpmvAlgorithm::merge, Determinism::gpu_to_gpu},
    {SpmvAlgorithm::merbit, Determinism::not_guaranteed}, {SpmvAlgorithm::merbit, Determinism::gpu_to_gpu},
    {SpmvAlgorithm::csr5, Determinism::gpu_to_gpu},       {SpmvAlgorithm::tiles, Determinism::gpu_to_gpu},
    {SpmvAlgorithm::blocked, Determinism::gpu_to_gpu},    {SpmvAlgorithm::streamed, Determinism::gpu_to_gpu},
};

[[nodiscard]] inline std::string name_of(const KernelCase& kernel) {
  return std::string(to_string(kernel.algorithm)) + " " + std::string(to_string(kernel.determinism));
}

[[nodiscard]] inline SpmvOptions options_of(const KernelCase& kernel, int threads = 2) {
  SpmvOptions options;
  options.algorithm = kernel.algorithm;
  options.determinism = kernel.determinism;
  options.device = Device::host(threads);
  return options;
}

/// Path items of a tile and of a block with MERBIT's default sigma for T.
template <class T>
[[nodiscard]] std::vector<index_t> default_path_units() {
  constexpr MerbitPolicy policy = host_merbit_policy<T>;
  const index_t tile = lanes_per_tile * policy.sigma_32;
  return {tile, tile * policy.tiles_per_block};
}

/// Fails with the first element that is farther from the oracle than its bound; NaN is never near.
template <class T>
[[nodiscard]] ::testing::AssertionResult near(const ProductOracle& oracle, std::span<const T> y) {
  if (y.size() != oracle.y.size()) return ::testing::AssertionFailure() << "size " << y.size();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const long double error = std::fabs(static_cast<long double>(y[i]) - oracle.y[i]);
    if (error <= oracle.bound[i]) continue;
    return ::testing::AssertionFailure() << "row " << i << ": " << y[i] << " instead of " << oracle.y[i] << ", error "
                                         << error << " beyond the bound " << oracle.bound[i];
  }
  return ::testing::AssertionSuccess();
}

/// y = A x.
template <class T>
[[nodiscard]] ProductOracle product_oracle(const CsrView<T>& a, std::span<const T> x) {
  return multiply_oracle<T>(T{1}, a, x, T{0}, {});
}

/// The sums that come with a product, from the y that it returned: double sums of n terms in any order, whose products
/// are rounded once.
template <class T>
[[nodiscard]] ::testing::AssertionResult dots_match(const ProductDots& dots, std::span<const T> y,
                                                    std::span<const T> w) {
  long double wy = 0;
  long double yy = 0;
  long double wy_magnitude = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto value = static_cast<long double>(y[i]);
    wy += static_cast<long double>(w[i]) * value;
    wy_magnitude += std::fabs(static_cast<long double>(w[i]) * value);
    yy += value * value;
  }
  const long double gamma =
      static_cast<long double>(y.size() + 2) * static_cast<long double>(std::numeric_limits<double>::epsilon());
  if (!(std::fabs(static_cast<long double>(dots.wy) - wy) <= gamma * wy_magnitude)) {
    return ::testing::AssertionFailure() << "<w, y> is " << dots.wy << " instead of " << wy;
  }
  if (!(std::fabs(static_cast<long double>(dots.yy) - yy) <= gamma * yy)) {
    return ::testing::AssertionFailure() << "<y, y> is " << dots.yy << " instead of " << yy;
  }
  return ::testing::AssertionSuccess();
}

template <class T>
[[nodiscard]] std::span<const T> constant(const std::vector<T>& vector) {
  return vector;
}

/// ‖r‖₂² and every r_i of r = 2^exponent b - A x, where r is rounded to T only once. The oracle's bound is that of sums
/// in T; sums in double have one smaller by the ratio of the epsilons.
template <class T>
[[nodiscard]] ::testing::AssertionResult residual_matches(const CsrView<T>& a, int exponent, std::span<const T> b,
                                                          std::span<const T> x, std::span<const T> r, double squares) {
  std::vector<T> scaled_b(b.begin(), b.end());
  for (T& value : scaled_b) value = std::ldexp(value, exponent);
  const ProductOracle oracle = multiply_oracle<T>(T{-1}, a, x, T{1}, scaled_b);
  constexpr auto epsilon = static_cast<long double>(std::numeric_limits<T>::epsilon());
  constexpr auto double_epsilon = static_cast<long double>(std::numeric_limits<double>::epsilon());
  long double expected = 0;
  long double slack = 0;
  for (std::size_t i = 0; i < r.size(); ++i) {
    const long double bound = oracle.bound[i] * (double_epsilon / epsilon);
    const long double rounding = std::fabs(oracle.y[i]) * epsilon / 2;
    const long double error = std::fabs(static_cast<long double>(r[i]) - oracle.y[i]);
    if (!(error <= bound + rounding + static_cast<long double>(std::numeric_limits<T>::denorm_min()))) {
      return ::testing::AssertionFailure() << "row " << i << ": error " << error << " beyond the bound " << bound;
    }
    expected += oracle.y[i] * oracle.y[i];
    slack += 2 * std::fabs(oracle.y[i]) * bound + bound * bound;
  }
  const auto terms = static_cast<long double>(r.size() + 4);
  if (!(std::fabs(static_cast<long double>(squares) - expected) <= slack + terms * double_epsilon * expected)) {
    return ::testing::AssertionFailure() << "sum of squares " << squares << " instead of " << expected;
  }
  return ::testing::AssertionSuccess();
}

/// Row lengths of one of four kinds: short rows below `typical`; with some of up to `long_row`; mostly empty; with some
/// full rows.
[[nodiscard]] inline std::vector<index_t> random_lengths(std::mt19937_64& generator, std::uint64_t typical,
                                                         index_t rows, index_t cols) {
  const std::uint64_t long_row = typical < 20 ? 2000 : 3000;
  std::vector<index_t> lengths(static_cast<std::size_t>(rows));
  const auto kind = generator() % 4;
  const auto longest = generator() % typical;
  for (index_t& length : lengths) {
    length = static_cast<index_t>(generator() % (longest + 1));
    if (kind == 1 && generator() % 50 == 0) length = static_cast<index_t>(generator() % long_row);
    if (kind == 2 && generator() % 3 != 0) length = 0;
    if (kind == 3 && generator() % 400 == 0) length = cols;
    length = std::min(length, cols);
  }
  return lengths;
}

}  // namespace tessera::testing
