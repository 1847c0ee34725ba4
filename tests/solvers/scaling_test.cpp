/// Scaling a problem changes no outcome.
#include "tests/solvers/systems.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

template <class T>
using Method = SolveReport (System<T>::*)(const SolverOptions&);

template <class T>
System<T> scaled_system(const Csr<T>& a, T matrix_factor, T right_side_factor) {
  System<T> system(scaled(a, matrix_factor));
  system.b = random_values<T>(system.size(), 23);
  for (T& value : system.b) value *= right_side_factor;
  return system;
}

/// A power of two changes no digit: the course is the same, bit by bit.
template <class T>
void expect_same_bits(const SolveReport& report, const std::vector<T>& x, const SolveReport& expected,
                      const std::vector<T>& expected_x, T matrix_factor, T right_side_factor) {
  EXPECT_EQ(report.iterations, expected.iterations);
  ASSERT_EQ(report.history.size(), expected.history.size());
  for (std::size_t i = 0; i < report.history.size(); ++i) {
    ASSERT_EQ(report.history[i].recurrence, expected.history[i].recurrence * static_cast<double>(right_side_factor))
        << "iteration " << i;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(x[i], expected_x[i] * (right_side_factor / matrix_factor)) << i;
  }
}

/// Another factor rounds the entries of A and b, so the course may differ, but not by much: with both residuals at most
/// tolerance ‖b‖, ‖A (x - x')‖ is at most twice that, besides the rounding of A, b and x.
template <class T>
void expect_same_to_rounding(const Csr<T>& a, const std::vector<T>& b, const SolveReport& report,
                             const std::vector<T>& x, const SolveReport& expected, const std::vector<T>& expected_x,
                             T matrix_factor, T right_side_factor, double tolerance) {
  EXPECT_LE(std::abs(report.iterations - expected.iterations), 2 + expected.iterations / 20)
      << report.iterations << " and " << expected.iterations;
  const double factor = static_cast<double>(right_side_factor) / static_cast<double>(matrix_factor);
  const CsrView<T> view = a.view();
  double squares = 0.0;
  double b_squares = 0.0;
  double rounding_squares = 0.0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    double difference = 0.0;
    double magnitude = std::abs(static_cast<double>(b[i]));
    for (auto k = static_cast<std::size_t>(view.row_offsets[i]); k < static_cast<std::size_t>(view.row_offsets[i + 1]);
         ++k) {
      const auto column = static_cast<std::size_t>(view.columns[k]);
      const auto value = static_cast<double>(view.values[k]);
      difference += value * (static_cast<double>(x[column]) / factor - static_cast<double>(expected_x[column]));
      magnitude += std::abs(value) * std::abs(static_cast<double>(expected_x[column]));
    }
    squares += difference * difference;
    b_squares += static_cast<double>(b[i]) * static_cast<double>(b[i]);
    rounding_squares += magnitude * magnitude;
  }
  const double rounding = 8.0 * static_cast<double>(std::numeric_limits<T>::epsilon()) * std::sqrt(rounding_squares);
  EXPECT_LE(std::sqrt(squares), 2.0 * tolerance * std::sqrt(b_squares) + rounding);
}

template <class T>
void expect_same_outcome(const Csr<T>& a, Method<T> method, T matrix_factor, T right_side_factor,
                         SolverOptions options) {
  SCOPED_TRACE(::testing::Message() << "A * " << matrix_factor << ", b * " << right_side_factor);
  options.keep_history = true;
  System<T> plain = scaled_system(a, T{1}, T{1});
  const SolveReport expected = (plain.*method)(options);
  System<T> system = scaled_system(a, matrix_factor, right_side_factor);
  const SolveReport report = (system.*method)(options);
  EXPECT_EQ(report.status, expected.status) << report.reason;
  EXPECT_EQ(report.breakdown, expected.breakdown) << report.reason;
  int exponent = 0;
  const bool exact =
      std::frexp(matrix_factor, &exponent) == T{0.5} && std::frexp(right_side_factor, &exponent) == T{0.5};
  if (exact) {
    expect_same_bits(report, system.x, expected, plain.x, matrix_factor, right_side_factor);
  } else {
    ASSERT_TRUE(expected.converged()) << expected.reason;
    expect_same_to_rounding(a, plain.b, report, system.x, expected, plain.x, matrix_factor, right_side_factor,
                            options.relative_tolerance);
  }
}

TEST(Scaling, CgInDoublePrecision) {
  const Csr<double> a = poisson2d<double>(25, 25);
  for (const double factor : {1e-20, 1e20, 1e-150, 1e150, 0x1p-400, 0x1p400, 0x1p-20}) {
    expect_same_outcome<double>(a, &System<double>::cg, factor, factor, {});
    expect_same_outcome<double>(a, &System<double>::cg, 1.0, factor, {});
    expect_same_outcome<double>(a, &System<double>::cg, factor, 1.0, {});
  }
}

TEST(Scaling, BicgstabInDoublePrecision) {
  const Csr<double> a = convection_diffusion<double>(25, 25, 1, {.x = 20.0, .y = 10.0});
  for (const double factor : {1e-20, 1e20, 1e-150, 1e150, 0x1p-400, 0x1p400, 0x1p-20}) {
    expect_same_outcome<double>(a, &System<double>::bicgstab, factor, factor, {});
    expect_same_outcome<double>(a, &System<double>::bicgstab, 1.0, factor, {});
    expect_same_outcome<double>(a, &System<double>::bicgstab, factor, 1.0, {});
  }
}

TEST(Scaling, SinglePrecision) {
  const SolverOptions options{.relative_tolerance = 1e-4};
  for (const float factor : {1e-15F, 1e15F, 0x1p-60F, 0x1p60F}) {
    const Csr<float> spd = poisson2d<float>(20, 20);
    expect_same_outcome<float>(spd, &System<float>::cg, factor, factor, options);
    expect_same_outcome<float>(spd, &System<float>::cg, 1.0F, factor, options);
    const Csr<float> general = convection_diffusion<float>(20, 20, 1, {.x = 20.0, .y = 10.0});
    expect_same_outcome<float>(general, &System<float>::bicgstab, factor, factor, options);
    expect_same_outcome<float>(general, &System<float>::bicgstab, 1.0F, factor, options);
  }
}

TEST(Scaling, SolvedScaledSystemIsAccurate) {
  for (const double factor : {1e-140, 1e140}) {
    System<double> system(scaled(poisson2d<double>(12, 12), factor));
    const SolveReport report = system.cg({.relative_tolerance = 1e-12});
    EXPECT_TRUE(report.converged()) << report.reason;
    for (const double value : system.x) EXPECT_NEAR(value, 1.0, 1e-10);
    // Row sums of the Laplacian: 2 at the 4 corners, 1 along the 40 other border points, else 0.
    EXPECT_NEAR(report.b_norm / factor, std::sqrt(4 * 4.0 + 40 * 1.0), 1e-12);
  }
}

/// The solution of a tiny right-hand side and a huge matrix is below the range of the type: it must not be called
/// solved.
TEST(Scaling, SolutionsThatUnderflowAreNotConverged) {
  const auto expect_lost = [](auto matrix_factor, auto right_side) {
    using T = decltype(right_side);
    System<T> system(diagonal_matrix<T>({static_cast<T>(matrix_factor), static_cast<T>(matrix_factor) * T{2}}));
    system.b = {right_side, right_side};
    const SolveReport report = system.cg();
    EXPECT_EQ(report.status, Status::stagnated) << report.reason;
    EXPECT_NE(report.reason.find("below the range"), std::string::npos) << report.reason;
    EXPECT_GT(report.true_residual, 1e-6 * report.b_norm) << "the residual of the x returned";
    EXPECT_NEAR(report.true_residual / report.b_norm, 1.0, 0.5) << "x is all but lost";
  };
  expect_lost(1e140, 1e-200);
  expect_lost(1e20F, 1e-30F);
}

/// A guess that solves the system comes back digit by digit, even where the scaled units cannot hold it.
TEST(Scaling, AGuessThatSolvesTheSystemIsNotTouched) {
  System<float> system(diagonal_matrix<float>({1e30F, 1e30F}));
  system.b = {1e30F, 1e10F};
  system.x = {1.0F, 1e-20F};
  const SolveReport report = system.cg();
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_EQ(report.iterations, 0);
  EXPECT_EQ(system.x[0], 1.0F);
  EXPECT_EQ(system.x[1], 1e-20F);
}

/// A breakdown is a breakdown at every scale.
TEST(Scaling, BreakdownsKeepTheirKind) {
  for (const double factor : {1e-100, 1.0, 1e100}) {
    System<double> indefinite(scaled(diagonal_matrix<double>({1.0, 2.0, -3.0}), factor));
    EXPECT_EQ(indefinite.cg().breakdown, Breakdown::indefinite);
    System<double> skew(scaled(from_dense<double>({{0, 1}, {-1, 0}}, 2), factor));
    EXPECT_EQ(skew.bicgstab({.breakdown_restarts = 0}).breakdown, Breakdown::alpha);
    System<double> mended(scaled(from_dense<double>({{0, 1}, {-1, 0}}, 2), factor));
    EXPECT_TRUE(mended.bicgstab().converged());
  }
}

}  // namespace
}  // namespace tessera::testing
