/// \file
/// Small least squares problems, their solution by Eigen, and what every report promises.
#pragma once

#include "tessera/least_squares.hpp"
#include "tessera/spmv.hpp"
#include "tests/solvers/systems.hpp"

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace tessera::testing {

enum class LeastSquaresMethod { lsmr, cgls };

inline constexpr LeastSquaresMethod least_squares_methods[] = {LeastSquaresMethod::lsmr, LeastSquaresMethod::cgls};

[[nodiscard]] inline const char* name_of(LeastSquaresMethod method) {
  return method == LeastSquaresMethod::lsmr ? "lsmr" : "cgls";
}

template <class T>
LeastSquaresReport solve_by(LeastSquaresMethod method, const LinearOperator<T>& a, const LinearOperator<T>& d,
                            std::span<const T> b, std::span<T> x, const LeastSquaresOptions& options = {}) {
  return method == LeastSquaresMethod::lsmr ? lsmr<T>(a, d, b, x, options) : cgls<T>(a, d, b, x, options);
}

template <class T>
LeastSquaresReport solve_by(LeastSquaresMethod method, const LinearOperator<T>& a, std::span<const T> b, std::span<T> x,
                            const LeastSquaresOptions& options = {}) {
  return method == LeastSquaresMethod::lsmr ? lsmr<T>(a, b, x, options) : cgls<T>(a, b, x, options);
}

template <class T>
[[nodiscard]] SpmvPlan<T> plan_with_transpose(Csr<T> matrix) {
  SpmvOptions options;
  options.with_transpose = true;
  return SpmvPlan<T>(std::move(matrix), options);
}

/// About `filled` of the entries, uniform in [-1, 1]; every row of rank r < min(m, n) is a combination of r others.
template <class T>
[[nodiscard]] Csr<T> random_rectangular(int rows, int cols, double filled, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::vector<std::vector<T>> dense(static_cast<std::size_t>(rows), std::vector<T>(static_cast<std::size_t>(cols)));
  for (auto& row : dense) {
    for (T& value : row) {
      if (std::abs(uniform(generator)) < filled) value = static_cast<T>(uniform(generator));
    }
  }
  return from_dense<T>(dense, cols);
}

/// Columns repeat with period `rank`, so the rank is at most that; row 1 and column 2 are zero.
template <class T>
[[nodiscard]] Csr<T> rank_deficient(int rows, int cols, int rank, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::vector<std::vector<T>> dense(static_cast<std::size_t>(rows), std::vector<T>(static_cast<std::size_t>(cols)));
  for (std::size_t i = 0; i < dense.size(); ++i) {
    for (std::size_t j = 0; j < dense[i].size(); ++j) {
      const auto period = static_cast<std::size_t>(rank);
      dense[i][j] = j < period ? static_cast<T>(uniform(generator)) : dense[i][j - period];
    }
  }
  for (auto& row : dense) row[2] = T{0};
  std::fill(dense[1].begin(), dense[1].end(), T{0});
  return from_dense<T>(dense, cols);
}

template <class T>
[[nodiscard]] Eigen::MatrixXd dense_of(const CsrView<T>& a) {
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(a.rows, a.cols);
  for (index_t i = 0; i < a.rows; ++i) {
    for (offset_t k = a.row_offsets[static_cast<std::size_t>(i)]; k < a.row_offsets[static_cast<std::size_t>(i) + 1];
         ++k) {
      result(i, a.columns[static_cast<std::size_t>(k)]) = static_cast<double>(a.value(k));
    }
  }
  return result;
}

template <class T>
[[nodiscard]] Eigen::VectorXd dense_of(const std::vector<T>& x) {
  return Eigen::Map<const Eigen::VectorX<T>>(x.data(), static_cast<Eigen::Index>(x.size())).template cast<double>();
}

/// A above λ I.
[[nodiscard]] inline Eigen::MatrixXd stacked(const Eigen::MatrixXd& a, double damping) {
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(a.rows() + a.cols(), a.cols());
  result.topRows(a.rows()) = a;
  result.bottomRows(a.cols()) = damping * Eigen::MatrixXd::Identity(a.cols(), a.cols());
  return result;
}

/// The solution of least norm, by a complete orthogonal decomposition.
template <class T>
[[nodiscard]] Eigen::VectorXd least_norm_solution(const CsrView<T>& a, const std::vector<T>& b, double damping = 0.0) {
  const Eigen::MatrixXd dense = stacked(dense_of(a), damping);
  Eigen::VectorXd right = Eigen::VectorXd::Zero(dense.rows());
  right.head(a.rows) = dense_of(b);
  Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> decomposition(dense);
  return decomposition.solve(right);
}

/// A problem with its plan, from x = 0.
template <class T>
struct LeastSquaresProblem {
  explicit LeastSquaresProblem(Csr<T> matrix, std::uint64_t seed = 3)
      : plan(plan_with_transpose(std::move(matrix))),
        b(random_values<T>(static_cast<std::size_t>(plan.rows()), seed)),
        x(static_cast<std::size_t>(plan.cols())) {}

  LeastSquaresReport solve(LeastSquaresMethod method, const LeastSquaresOptions& options = {}) {
    return solve_by<T>(method, plan, b, x, options);
  }
  /// With column scaling.
  LeastSquaresReport solve_scaled(LeastSquaresMethod method, const LeastSquaresOptions& options = {}) {
    const ColumnNormPreconditioner<T> d(plan.matrix(), options.damping);
    return solve_by<T>(method, plan, d, b, x, options);
  }
  [[nodiscard]] double error(const Eigen::VectorXd& reference) const {
    return (dense_of(x) - reference).norm() / reference.norm();
  }

  SpmvPlan<T> plan;
  std::vector<T> b;
  std::vector<T> x;
};

/// r = b - A x and s = Aᵀ r - λ² x in long double.
struct LeastSquaresOracle {
  long double residual = 0;
  long double normal = 0;
  long double bound = 0;         ///< of a reported ‖r‖
  long double normal_bound = 0;  ///< of a reported ‖s‖
};

/// The bounds are those of sums in double, each row with as many terms as the longest (Higham, Accuracy and Stability,
/// §3.1); an element of r is rounded to T before Aᵀ sees it.
template <class T>
[[nodiscard]] LeastSquaresOracle least_squares_oracle(const CsrView<T>& a, const std::vector<T>& b,
                                                      const std::vector<T>& x, double damping) {
  const auto m = static_cast<std::size_t>(a.rows);
  const auto n = static_cast<std::size_t>(a.cols);
  const auto unit = static_cast<long double>(std::numeric_limits<double>::epsilon());
  const auto of_type = static_cast<long double>(std::numeric_limits<T>::epsilon());
  const auto terms = static_cast<long double>(m + n + 10);
  std::vector<long double> s(n);
  std::vector<long double> s_size(n);
  LeastSquaresOracle result;
  for (std::size_t j = 0; j < n; ++j) {
    s[j] = -static_cast<long double>(damping) * damping * static_cast<long double>(x[j]);
    s_size[j] = std::abs(s[j]) * (1 + of_type / unit);  // λ² x is formed in T
  }
  for (std::size_t i = 0; i < m; ++i) {
    long double r = b[i];
    long double size = std::abs(r);
    for (offset_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
      const long double term =
          static_cast<long double>(a.value(k)) *
          static_cast<long double>(x[static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)])]);
      r -= term;
      size += std::abs(term);
    }
    result.residual += r * r;
    result.bound += size * size;
    for (offset_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
      const auto j = static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)]);
      const auto value = static_cast<long double>(a.value(k));
      s[j] += value * r;
      s_size[j] += std::abs(value) * (size + std::abs(r) * of_type / unit);
    }
  }
  for (std::size_t j = 0; j < n; ++j) {
    result.normal += s[j] * s[j];
    result.normal_bound += s_size[j] * s_size[j];
  }
  result.residual = std::sqrt(result.residual);
  result.normal = std::sqrt(result.normal);
  result.bound = terms * unit * (std::sqrt(result.bound) + result.residual);
  result.normal_bound = terms * unit * (std::sqrt(result.normal_bound) + result.normal);
  return result;
}

/// Norms are those of x, and the status is what they say. \param diagonal of D; empty for none
template <class T>
void expect_honest(const LeastSquaresReport& report, const CsrView<T>& a, const std::vector<T>& b,
                   const std::vector<T>& x, const LeastSquaresOptions& options) {
  EXPECT_TRUE(std::all_of(x.begin(), x.end(), [](T value) { return std::isfinite(value); })) << report.reason;
  const LeastSquaresOracle oracle = least_squares_oracle(a, b, x, options.damping);
  EXPECT_NEAR(report.true_residual, static_cast<double>(oracle.residual), static_cast<double>(oracle.bound))
      << report.reason;
  EXPECT_NEAR(report.normal_residual, static_cast<double>(oracle.normal), static_cast<double>(oracle.normal_bound))
      << report.reason;
  const double of_x = options.damping * report.x_norm;
  EXPECT_DOUBLE_EQ(report.damped_residual, std::sqrt(report.true_residual * report.true_residual + of_x * of_x));
  const bool residual = report.damped_residual <= options.residual_tolerance * report.b_norm;
  const bool normal = report.optimality <= options.relative_tolerance;
  EXPECT_EQ(report.converged(), residual || normal) << report.reason;
  EXPECT_EQ(report.ended_by, residual ? LeastSquaresTest::residual
                             : normal ? LeastSquaresTest::normal_residual
                                      : LeastSquaresTest::none);
  EXPECT_FALSE(report.reason.empty());
}

}  // namespace tessera::testing
