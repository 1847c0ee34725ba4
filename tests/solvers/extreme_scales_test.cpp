/// \file
/// Guesses, tolerances and residuals near the limits of the element type, against residuals in long double.
#include "tests/solvers/systems.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

template <class T>
System<T> one_unknown(T a, T b, T x0) {
  System<T> system(diagonal_matrix<T>({a}));
  system.b = {b};
  system.x = {x0};
  return system;
}

TEST(ExtremeScales, APerfectGuessBeyondTheScaledUnitsIsConverged) {
  System<double> system = one_unknown(0x1p-1023, 1.0, 0x1p1023);
  const SolveReport report = system.cg();
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  EXPECT_EQ(report.iterations, 0);
  EXPECT_EQ(report.true_residual, 0.0);
  EXPECT_EQ(system.x[0], 0x1p1023);
}

TEST(ExtremeScales, AGuessWithinTheAbsoluteToleranceIsConverged) {
  System<double> system = one_unknown(1.0, 1e-310, 1.0);
  const SolveReport report = system.cg({.absolute_tolerance = 10.0});
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  EXPECT_EQ(report.iterations, 0);
  EXPECT_EQ(report.true_residual, 1.0);
  EXPECT_EQ(report.target, 10.0);
}

TEST(ExtremeScales, SolutionsNearTheLargestNumberAreReached) {
  for (const double b : {1e308, -1.7e308, 5e307}) {
    System<double> system = one_unknown(1.0, b, 0.0);
    const SolveReport report = system.cg();
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_EQ(system.x[0], b);
  }
}

TEST(ExtremeScales, AGuessBeyondTheRangeRelativeToBGivesWayToZero) {
  System<float> system = one_unknown(1.0F, 1e-30F, 1e9F);
  const SolveReport report = system.cg({.relative_tolerance = 1e-6});
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  EXPECT_EQ(system.x[0], 1e-30F);
  EXPECT_NE(report.reason.find("from 0: x0 is too large"), std::string::npos) << report.reason;
}

/// Only a matrix of subnormal numbers has a guess so large that is better than 0.
TEST(ExtremeScales, AGuessThatCannotBeImprovedIsRefusedWithItsResidual) {
  System<double> system = one_unknown(0x1p-1070, 0x1p-60, 0x1.8p1010);
  const SolveReport report = system.cg();
  EXPECT_EQ(report.status, Status::not_finite) << report.reason;
  EXPECT_NE(report.reason.find("x0 is too large, compared with b"), std::string::npos) << report.reason;
  EXPECT_EQ(report.r0_norm, 0x1p-61);
  EXPECT_EQ(report.true_residual, 0x1p-61);
  EXPECT_EQ(system.x[0], 0x1.8p1010);
}

TEST(ExtremeScales, TheTargetIsTheAbsoluteToleranceToTheDigit) {
  for (const double b : {1e-310, 1e-200, 1.0, 1e200, 1e308}) {
    for (const double tolerance : {5e-324, 1e-310, 0.1, 1.0, 1e300, 1.7e308}) {
      System<double> system = one_unknown(1.0, b, 0.0);
      const SolveReport report = system.cg({.relative_tolerance = 0.0, .absolute_tolerance = tolerance});
      EXPECT_EQ(report.target, tolerance) << "b = " << b;
      EXPECT_EQ(report.status, Status::converged) << report.reason;
    }
  }
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : generator_(seed) {}
  [[nodiscard]] int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(generator_); }
  /// A digit times 2^exponent: products and their sums are exact.
  template <class T>
  [[nodiscard]] T number(int exponent) {
    return std::ldexp(static_cast<T>(between(1, 9)), exponent);
  }
  template <class T>
  [[nodiscard]] std::vector<T> vector(std::size_t size, int exponent) {
    std::vector<T> result(size);
    for (T& value : result) value = number<T>(exponent);
    return result;
  }

 private:
  std::mt19937_64 generator_;
};

template <class T>
[[nodiscard]] System<T> random_system(Random& random, std::size_t n, int exponent) {
  std::vector<std::vector<T>> rows;
  for (std::size_t i = 0; i < n; ++i) {
    rows.push_back(random.vector<T>(n, exponent));
    rows.back()[i] = std::ldexp(T{32}, exponent);
  }
  return System<T>(from_dense<T>(rows, static_cast<std::int64_t>(n)));
}

template <class T>
SolveReport solve_by(int method, System<T>& system, const SolverOptions& options) {
  return method == 0 ? system.cg(options) : method == 1 ? system.bicgstab(options) : system.gmres(options);
}

template <class T>
[[nodiscard]] long double long_norm(const std::vector<T>& v) {
  long double squares = 0;
  for (const T value : v) squares += static_cast<long double>(value) * static_cast<long double>(value);
  return std::sqrt(squares);
}

/// What holds at every scale: the residual and the target are numbers wherever a double holds them, and right.
template <class T>
void expect_right_numbers(const SolveReport& report, const System<T>& system, const SolverOptions& options) {
  constexpr long double most = std::numeric_limits<double>::max();
  constexpr long double least = std::numeric_limits<double>::denorm_min();
  const ResidualOracle oracle = residual_oracle(system.plan.matrix(), system.b, system.x);
  const long double margin = 2 * oracle.bound + 1e-14L * long_norm(system.b) + least;
  if (oracle.norm < 0.999L * most) {
    EXPECT_LE(std::abs(static_cast<long double>(report.true_residual) - oracle.norm), margin) << report.reason;
  }
  const long double relative = static_cast<long double>(options.relative_tolerance) * long_norm(system.b);
  const auto absolute = static_cast<long double>(options.absolute_tolerance);
  if (absolute > 1.001L * relative) {
    EXPECT_EQ(report.target, options.absolute_tolerance);
  } else if (relative > 1.001L * absolute) {
    EXPECT_LE(std::abs(static_cast<long double>(report.target) - relative), 1e-12L * relative + least);
  }
  if (report.converged()) {
    EXPECT_LE(oracle.norm, static_cast<long double>(report.target) + margin);
  }
  for (const T value : system.x) EXPECT_TRUE(std::isfinite(value));
}

/// b = A x0 exactly, at scales where b is a normal number.
template <class T>
void expect_perfect_guesses_kept() {
  constexpr int range = std::numeric_limits<T>::max_exponent - 14;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int matrix_exponent = random.between(-range, range);
    const int guess_exponent =
        random.between(std::max(-range, -range - matrix_exponent), std::min(range, range - matrix_exponent));
    System<T> system = random_system<T>(random, 1 + seed % 3, matrix_exponent);
    const std::vector<T> guess = random.vector<T>(system.size(), guess_exponent);
    system.x = guess;
    system.b = product(system.plan.matrix(), guess);
    const SolverOptions options{.relative_tolerance = 1e-8};
    const SolveReport report = solve_by(static_cast<int>(seed / 3 % 3), system, options);
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_EQ(report.iterations, 0);
    EXPECT_EQ(system.x, guess);
    expect_right_numbers(report, system, options);
  }
}

TEST(ExtremeScales, PerfectGuessesAreKeptBitByBit) {
  expect_perfect_guesses_kept<double>();
  expect_perfect_guesses_kept<float>();
}

/// Matrix, right-hand side, guess and absolute tolerance at scales of their own.
template <class T>
void expect_right_numbers_of_any_scales() {
  constexpr int range = std::numeric_limits<T>::max_exponent - 14;
  int converged = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    System<T> system = random_system<T>(random, 1 + seed % 3, random.between(-range, range));
    system.b = random.vector<T>(system.size(), random.between(-range, range));
    system.x = random.vector<T>(system.size(), random.between(-range, range));
    SolverOptions options{.relative_tolerance = 1e-5, .max_iterations = 20};
    if (seed % 2 == 0) options.absolute_tolerance = std::ldexp(1.0, random.between(-1060, 1020));
    const SolveReport report = solve_by(static_cast<int>(seed / 3 % 3), system, options);
    expect_right_numbers(report, system, options);
    converged += report.converged() ? 1 : 0;
  }
  EXPECT_GT(converged, 300);
  EXPECT_LT(converged, 3000);
}

TEST(ExtremeScales, ResidualsAndTargetsAreRightAtAnyScale) {
  expect_right_numbers_of_any_scales<double>();
  expect_right_numbers_of_any_scales<float>();
}

}  // namespace
}  // namespace tessera::testing
