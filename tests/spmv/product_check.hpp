/// \file
/// Products of a plan against the long-double oracle and its error bound.
#pragma once

#include "spmv/merbit/merbit_tuning.hpp"
#include "tessera/spmv.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/oracle.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
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
    {SpmvAlgorithm::csr5, Determinism::gpu_to_gpu},
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

/// Steps of a tile and of a block with MERBIT's default sigma for T.
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

}  // namespace tessera::testing
