/// Scaling a problem changes no outcome.
#include "tests/solvers/systems.hpp"

#include <gtest/gtest.h>

#include <cmath>
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

template <class T>
void expect_same_outcome(const Csr<T>& a, Method<T> method, T matrix_factor, T right_side_factor,
                         const SolverOptions& options) {
  SCOPED_TRACE(::testing::Message() << "A * " << matrix_factor << ", b * " << right_side_factor);
  System<T> plain = scaled_system(a, T{1}, T{1});
  const SolveReport expected = (plain.*method)(options);
  System<T> system = scaled_system(a, matrix_factor, right_side_factor);
  const SolveReport report = (system.*method)(options);
  EXPECT_EQ(report.status, expected.status) << report.reason;
  // A power of two changes no digit; another factor rounds the entries of A and b.
  int exponent = 0;
  const bool exact =
      std::frexp(matrix_factor, &exponent) == T{0.5} && std::frexp(right_side_factor, &exponent) == T{0.5};
  if (exact) {
    EXPECT_EQ(report.iterations, expected.iterations);
    for (std::size_t i = 0; i < plain.x.size(); ++i) {
      ASSERT_EQ(system.x[i], plain.x[i] * (right_side_factor / matrix_factor)) << i;
    }
  } else {
    EXPECT_EQ(report.iterations, expected.iterations);
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
  // Dominant diagonal: few iterations, in which rounding cannot change the count.
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
