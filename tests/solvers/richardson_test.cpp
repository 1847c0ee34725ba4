/// Richardson iteration: M = D⁻¹ is Jacobi's iteration, whose error is known on a grid; M = A⁻¹ needs one iteration;
/// its endings are those of all methods.
#include "tessera/error.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/eigen_bridge.hpp"

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include <cmath>
#include <numbers>
#include <string>

namespace tessera::testing {
namespace {

/// Solves with Jacobi as M.
template <class T>
SolveReport jacobi_iteration(System<T>& system, const SolverOptions& options = {}) {
  const JacobiPreconditioner<T> m(system.plan.matrix());
  return richardson<T>(system.plan, m, system.b, system.x, options);
}

/// The error of Jacobi's iteration on the grid n x n is, for the lowest sine as the initial one, that sine times
/// cos(π / (n + 1))^k: 1 - λ / 4 with λ = 4 - 4 cos.
TEST(Richardson, ErrorOfJacobisIteration) {
  const std::int64_t n = 12;
  System<double> system(poisson2d<double>(n, n));
  const double angle = std::numbers::pi / static_cast<double>(n + 1);
  std::vector<double> error;
  for (std::int64_t k = 0; k < n * n; ++k) {
    error.push_back(std::sin(angle * static_cast<double>(k % n + 1)) *
                    std::sin(angle * static_cast<double>(k / n + 1)));
  }
  for (const std::int64_t iterations : {1, 2, 7, 40}) {
    for (std::size_t i = 0; i < error.size(); ++i) system.x[i] = 1.0 + error[i];
    const SolveReport report = jacobi_iteration(system, {.max_iterations = iterations});
    EXPECT_EQ(report.status, Status::max_iterations);
    EXPECT_EQ(report.iterations, iterations);
    EXPECT_EQ(report.preconditioner_count, iterations);
    system.expect_honest(report);
    const double factor = std::pow(std::cos(angle), static_cast<double>(iterations));
    for (std::size_t i = 0; i < error.size(); ++i) ASSERT_NEAR(system.x[i], 1.0 + factor * error[i], 1e-13) << i;
  }
}

/// ‖r_k‖ falls by ρ = cos(π / (n + 1)) per iteration in the end, so the number of iterations follows.
TEST(Richardson, IterationsOfJacobisIteration) {
  const std::int64_t n = 9;
  System<double> system(poisson2d<double>(n, n));
  const SolveReport report = jacobi_iteration(system, {.keep_history = true});
  EXPECT_TRUE(report.converged()) << report.reason;
  system.expect_honest(report);
  const double rho = std::cos(std::numbers::pi / static_cast<double>(n + 1));
  const auto& history = report.history;
  ASSERT_GT(history.size(), 100U);
  for (std::size_t k = 60; k < 100; ++k) EXPECT_NEAR(history[k].recurrence / history[k - 1].recurrence, rho, 1e-4) << k;
  EXPECT_NEAR(static_cast<double>(report.iterations), std::log(1e-8) / std::log(rho), 0.1 * 350);
}

TEST(Richardson, InverseNeedsOneIteration) {
  System<double> system(convection_diffusion<double>(6, 5, 4, {.x = 3.0, .y = -1.0}));
  const Eigen::MatrixXd inverse = Eigen::MatrixXd(to_eigen(system.plan.matrix())).inverse();
  const auto n = static_cast<std::int64_t>(system.size());
  const FunctionOperator<double> m(n, n, [&](std::span<const double> x, std::span<double> y) {
    Eigen::Map<Eigen::VectorXd>(y.data(), n) = inverse * Eigen::Map<const Eigen::VectorXd>(x.data(), n);
  });
  const SolveReport report = richardson<double>(system.plan, m, system.b, system.x, {.relative_tolerance = 1e-12});
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_EQ(report.iterations, 1);
  EXPECT_EQ(report.preconditioner_count, 1);
  for (const double x : system.x) EXPECT_NEAR(x, 1.0, 1e-11);
}

TEST(Richardson, FusedDiagonalEqualsTheAppliedOne) {
  System<double> system(tridiagonal<double>(500, -1.0, 4.0, -1.0));
  const JacobiPreconditioner<double> jacobi(system.plan.matrix());
  std::int64_t applied = 0;
  const auto opaque = counting<double>(jacobi, applied);
  const SolveReport fused = richardson<double>(system.plan, jacobi, system.b, system.x);
  const std::vector<double> x = system.x;
  system.x.assign(system.size(), 0.0);
  const SolveReport as_product = richardson<double>(system.plan, opaque, system.b, system.x);
  EXPECT_TRUE(fused.converged()) << fused.reason;
  EXPECT_EQ(fused.iterations, as_product.iterations);
  EXPECT_EQ(fused.preconditioner_count, as_product.preconditioner_count);
  EXPECT_EQ(as_product.preconditioner_count, applied);
  EXPECT_EQ(system.x, x);
}

/// ‖I - A‖ < 1: the identity will do.
TEST(Richardson, IdentityAsPreconditioner) {
  System<double> system(tridiagonal<double>(40, 0.2, 1.0, -0.3));
  const SolveReport report = richardson<double>(system.plan, IdentityOperator<double>(40), system.b, system.x);
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_EQ(report.preconditioner_count, 0);
  system.expect_honest(report);
}

TEST(Richardson, DivergenceIsAStatus) {
  System<double> system(from_dense<double>({{1, 3}, {3, 1}}, 2));
  system.b = {1.0, 2.0};
  const SolveReport report = jacobi_iteration(system);
  EXPECT_EQ(report.status, Status::diverged) << report.reason;
  // The residual grows threefold: 3^11 > 1e5.
  EXPECT_EQ(report.iterations, 11);
  system.expect_honest(report);
  EXPECT_EQ(report.true_residual, report.r0_norm) << "the guess was the best iterate";
}

TEST(Richardson, NothingMovesWithoutASteps) {
  System<double> system(tridiagonal<double>(30, -1.0, 2.0, -1.0));
  const FunctionOperator<double> zero(
      30, 30, [](std::span<const double>, std::span<double> y) { std::fill(y.begin(), y.end(), 0.0); });
  const SolveReport report = richardson<double>(system.plan, zero, system.b, system.x, {.stagnation_window = 20});
  EXPECT_EQ(report.status, Status::stagnated) << report.reason;
  EXPECT_EQ(report.iterations, 20);
}

TEST(Richardson, NanFromThePreconditionerNeverReachesX) {
  System<double> system(tridiagonal<double>(30, -1.0, 4.0, -1.0));
  for (const std::int64_t fine : {0, 3}) {
    std::int64_t calls = 0;
    const FunctionOperator<double> m(30, 30, [&](std::span<const double> r, std::span<double> z) {
      for (std::size_t i = 0; i < r.size(); ++i) z[i] = 0.25 * r[i];
      if (++calls > fine) z[7] = std::numeric_limits<double>::quiet_NaN();
    });
    system.x.assign(30, 0.0);
    const SolveReport report = richardson<double>(system.plan, m, system.b, system.x);
    EXPECT_EQ(report.status, Status::not_finite) << report.reason;
    EXPECT_EQ(report.iterations, fine);
    system.expect_honest(report);
  }
}

TEST(Richardson, NanInTheInput) {
  System<double> system(tridiagonal<double>(5, -1.0, 4.0, -1.0));
  system.b[3] = std::numeric_limits<double>::infinity();
  const SolveReport report = jacobi_iteration(system);
  EXPECT_EQ(report.status, Status::not_finite);
  EXPECT_NE(report.reason.find("b[3]"), std::string::npos) << report.reason;
}

/// No residual of float falls to 1e-12 ‖b‖; restarts from the computed one find that out.
TEST(Richardson, AttainableAccuracyEndsIt) {
  System<float> system(tridiagonal<float>(200, -1.0F, 3.9F, -1.0F));
  system.b = random_values<float>(200, 3);
  const SolveReport report = jacobi_iteration(system, {.relative_tolerance = 1e-12});
  EXPECT_EQ(report.status, Status::stagnated) << report.reason;
  EXPECT_LT(report.true_residual, 1e-6 * report.b_norm);
  EXPECT_LT(report.iterations, 300);
  system.expect_honest(report);
}

TEST(Richardson, ResidualIsReplacedWhereThatIsAskedFor) {
  System<double> system(tridiagonal<double>(100, -1.0, 4.0, -1.0));
  const SolveReport report = jacobi_iteration(system, {.relative_tolerance = 1e-12, .replacement_interval = 5});
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_GE(report.replacements, 5);
  system.expect_honest(report);
}

TEST(Richardson, ScaleOfTheRightSideChangesNothing) {
  System<double> system(tridiagonal<double>(64, -1.0, 4.0, -1.0));
  const SolveReport plain = jacobi_iteration(system);
  const std::vector<double> x = system.x;
  for (const double scale : {0x1p-900, 0x1p+900}) {
    System<double> large(tridiagonal<double>(64, -1.0, 4.0, -1.0));
    for (double& value : large.b) value *= scale;
    const SolveReport report = jacobi_iteration(large);
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_EQ(report.iterations, plain.iterations);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(large.x[i], scale * x[i]);
  }
}

TEST(Richardson, EmptyAndOneUnknown) {
  System<double> empty{Csr<double>{}};
  const SolveReport nothing = richardson<double>(empty.plan, IdentityOperator<double>(0), empty.b, empty.x);
  EXPECT_TRUE(nothing.converged());
  EXPECT_EQ(nothing.iterations, 0);
  System<double> one(diagonal_matrix<double>({4.0}));
  const SolveReport report = jacobi_iteration(one);
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_EQ(report.iterations, 1);
  EXPECT_EQ(one.x[0], 1.0);
}

TEST(Richardson, RefusesSizesThatDoNotFit) {
  const SpmvPlan<double> square(poisson2d<double>(3, 3));
  std::vector<double> nine(9);
  std::vector<double> eight(8);
  EXPECT_THROW((void)richardson<double>(square, IdentityOperator<double>(8), std::span<const double>(nine), eight),
               DimensionError);
  EXPECT_THROW((void)richardson<double>(square, IdentityOperator<double>(9), std::span<const double>(eight), nine),
               DimensionError);
}

}  // namespace
}  // namespace tessera::testing
