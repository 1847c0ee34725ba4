/// \file
/// Small systems and independent residuals for the tests of the solvers.
#pragma once

#include "tessera/generators.hpp"
#include "tessera/solvers.hpp"
#include "tests/support/make_csr.hpp"
#include "tests/support/oracle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace tessera::testing {

/// ‖b - A x‖₂ in long double, and the error bound of a reported residual norm: the norm of the row-wise bounds
/// (Higham §3.1) for sums in double, which plans use for both types, the sum of squares, and the rounding of the
/// result.
struct ResidualOracle {
  long double norm = 0;
  long double bound = 0;
};

template <class T>
[[nodiscard]] ResidualOracle residual_oracle(const CsrView<T>& a, const std::vector<T>& b, const std::vector<T>& x) {
  const ProductOracle product = multiply_oracle<T>(T{-1}, a, x, T{1}, b);
  long double squares = 0;
  long double bound_squares = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    squares += product.y[i] * product.y[i];
    bound_squares += product.bound[i] * product.bound[i];
  }
  const long double norm = std::sqrt(squares);
  const auto n = static_cast<long double>(b.size());
  // The oracle's row bounds are those of sums in T, and are proportional to its epsilon.
  constexpr long double to_double =
      static_cast<long double>(std::numeric_limits<double>::epsilon()) / std::numeric_limits<T>::epsilon();
  bound_squares *= to_double * to_double;
  return {norm, std::sqrt(bound_squares) + norm * (n + 4) * std::numeric_limits<double>::epsilon()};
}

/// What every report promises: x is finite, the true residual is that of x, and converged if and only if it is small.
/// \returns the error bound of the residual norm
template <class T>
long double expect_honest(const SolveReport& report, const CsrView<T>& a, const std::vector<T>& b,
                          const std::vector<T>& x) {
  EXPECT_TRUE(std::all_of(x.begin(), x.end(), [](T value) { return std::isfinite(value); })) << report.reason;
  const ResidualOracle oracle = residual_oracle(a, b, x);
  EXPECT_NEAR(report.true_residual, static_cast<double>(oracle.norm), static_cast<double>(oracle.bound))
      << report.reason;
  EXPECT_EQ(report.converged(), report.true_residual <= report.target) << report.reason;
  EXPECT_FALSE(report.reason.empty());
  return oracle.bound;
}

template <class T>
[[nodiscard]] std::vector<T> random_values(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::vector<T> result(size);
  for (T& value : result) value = static_cast<T>(uniform(generator));
  return result;
}

/// Tridiagonal Toeplitz matrix.
template <class T>
[[nodiscard]] Csr<T> tridiagonal(index_t n, T lower, T diagonal, T upper) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<T> values;
  const auto add = [&](index_t j, T value) {
    columns.push_back(j);
    values.push_back(value);
  };
  for (index_t i = 0; i < n; ++i) {
    if (i > 0) add(i - 1, lower);
    add(i, diagonal);
    if (i + 1 < n) add(i + 1, upper);
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return make_csr<T>(n, n, offsets, columns, values);
}

/// Neumann's problem in one dimension: singular, with the constants as its null space.
[[nodiscard]] inline Csr<double> path_laplacian(index_t n) {
  const Csr<double> inner = tridiagonal<double>(n, -1.0, 2.0, -1.0);
  std::vector<double> values(inner.values().begin(), inner.values().end());
  values.front() = values.back() = 1.0;
  return Csr<double>(n, n, inner.row_offsets().to(Device{}), inner.columns().to(Device{}),
                     Array<double>::copy_of(values));
}

template <class T>
[[nodiscard]] Csr<T> diagonal_matrix(const std::vector<T>& entries) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    columns.push_back(static_cast<index_t>(i));
    offsets.push_back(static_cast<offset_t>(i) + 1);
  }
  const auto n = static_cast<std::int64_t>(entries.size());
  return make_csr<T>(n, n, offsets, columns, entries);
}

/// Every value times `factor`.
template <class T>
[[nodiscard]] Csr<T> scaled(const Csr<T>& a, T factor) {
  std::vector<T> values(a.values().begin(), a.values().end());
  for (T& value : values) value *= factor;
  return Csr<T>(a.rows(), a.cols(), a.row_offsets().to(Device{}), a.columns().to(Device{}), Array<T>::copy_of(values));
}

template <class T>
[[nodiscard]] std::vector<T> product(const CsrView<T>& a, const std::vector<T>& x) {
  const std::vector<T> zero(static_cast<std::size_t>(a.rows));
  const ProductOracle oracle = multiply_oracle<T>(T{1}, a, x, T{0}, zero);
  std::vector<T> y;
  y.reserve(oracle.y.size());
  for (const long double value : oracle.y) y.push_back(static_cast<T>(value));
  return y;
}

/// A and its image of ones, solved by any method from a given guess.
template <class T>
struct System {
  explicit System(Csr<T> matrix)
      : plan(std::move(matrix)), b(product(plan.matrix(), std::vector<T>(size(), T{1}))), x(size()) {}

  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(plan.rows()); }
  SolveReport cg(const SolverOptions& options = {}) { return tessera::cg<T>(plan, b, x, options); }
  SolveReport bicgstab(const SolverOptions& options = {}) { return tessera::bicgstab<T>(plan, b, x, options); }
  SolveReport gmres(const SolverOptions& options = {}) { return tessera::gmres<T>(plan, b, x, options); }
  SolveReport idr(const SolverOptions& options = {}) {
    return tessera::idr<T>(plan, IdentityOperator<T>(plan.rows()), b, x, options);
  }
  void expect_honest(const SolveReport& report) const { testing::expect_honest(report, plan.matrix(), b, x); }

  SpmvPlan<T> plan;
  std::vector<T> b;
  std::vector<T> x;
};

/// Forwards to another operator and counts.
template <class T>
[[nodiscard]] FunctionOperator<T> counting(const LinearOperator<T>& a, std::int64_t& count) {
  return FunctionOperator<T>(a.rows(), a.cols(), [&a, &count](std::span<const T> x, std::span<T> y) {
    ++count;
    a.apply(x, y);
  });
}

}  // namespace tessera::testing
