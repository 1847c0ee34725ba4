/// Chebyshev iteration: its error polynomial in closed form, the interval it finds, and its endings.
#include "tessera/error.hpp"
#include "tests/solvers/systems.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

/// T_k(t) by its recurrence.
double chebyshev_polynomial(int k, double t) {
  double before = 1.0;
  double here = t;
  if (k == 0) return before;
  for (int i = 1; i < k; ++i) {
    const double next = 2.0 * t * here - before;
    before = here;
    here = next;
  }
  return here;
}

/// The residual of an eigenvalue λ is T_k((c - λ) / h) / T_k(c / h) times the first one.
TEST(Chebyshev, ResidualPolynomial) {
  const std::vector<double> eigenvalues{1.0, 1.7, 2.5, 4.0, 6.0, 9.0};
  System<double> system(diagonal_matrix<double>(eigenvalues));
  const double center = 5.0;
  const double half = 4.0;
  for (const int k : {1, 2, 3, 6}) {
    system.x.assign(system.size(), 0.0);
    const SolveReport report =
        chebyshev<double>(system.plan, IdentityOperator<double>(6), system.b, system.x,
                          {.relative_tolerance = 0.0, .max_iterations = k, .spectrum_low = 1.0, .spectrum_high = 9.0});
    EXPECT_EQ(report.iterations, k) << report.reason;
    EXPECT_EQ(report.spmv_count, k + 2) << "first residual, steps, verification";
    for (std::size_t i = 0; i < eigenvalues.size(); ++i) {
      const double factor =
          chebyshev_polynomial(k, (center - eigenvalues[i]) / half) / chebyshev_polynomial(k, center / half);
      EXPECT_NEAR(1.0 - system.x[i], factor, 1e-14) << k << ", " << i;
    }
  }
}

/// ‖r‖ falls by (sqrt(κ) - 1) / (sqrt(κ) + 1) per iteration where the interval is that of the eigenvalues.
TEST(Chebyshev, IterationsByTheConditionNumber) {
  const std::int64_t n = 24;
  System<double> system(poisson2d<double>(n, n));
  const double angle = std::numbers::pi / static_cast<double>(n + 1);
  const double low = 4.0 - 4.0 * std::cos(angle);
  const double high = 4.0 + 4.0 * std::cos(angle);
  const SolveReport report = chebyshev<double>(system.plan, IdentityOperator<double>(n * n), system.b, system.x,
                                               {.spectrum_low = low, .spectrum_high = high});
  EXPECT_TRUE(report.converged()) << report.reason;
  system.expect_honest(report);
  const double root = std::sqrt(high / low);
  const double bound = std::log(2.0 / 1e-8) / std::log((root + 1.0) / (root - 1.0));
  EXPECT_LE(static_cast<double>(report.iterations), std::ceil(bound));
  EXPECT_GT(static_cast<double>(report.iterations), 0.7 * bound);
}

/// One eigenvalue: the interval is a point, and one step is exact.
TEST(Chebyshev, IntervalOfOnePoint) {
  System<double> system(diagonal_matrix<double>(std::vector<double>(30, 3.0)));
  const SolveReport report = chebyshev<double>(system.plan, IdentityOperator<double>(30), system.b, system.x,
                                               {.spectrum_low = 3.0, .spectrum_high = 3.0});
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_EQ(report.iterations, 1);
}

TEST(Chebyshev, FindsTheIntervalByItself) {
  System<double> system(tridiagonal<double>(400, -1.0, 2.5, -1.0));
  const JacobiPreconditioner<double> jacobi(system.plan.matrix());
  std::int64_t applied = 0;
  std::int64_t products = 0;
  const auto counted_m = counting<double>(jacobi, applied);
  const auto counted_a = counting<double>(system.plan, products);
  const SolveReport fused = chebyshev<double>(system.plan, jacobi, system.b, system.x);
  EXPECT_TRUE(fused.converged()) << fused.reason;
  system.expect_honest(fused);
  system.x.assign(system.size(), 0.0);
  const SolveReport as_product = chebyshev<double>(counted_a, counted_m, system.b, system.x);
  EXPECT_TRUE(as_product.converged()) << as_product.reason;
  EXPECT_EQ(as_product.iterations, fused.iterations);
  EXPECT_EQ(as_product.preconditioner_count, applied);
  EXPECT_EQ(as_product.spmv_count, products);
  EXPECT_EQ(fused.preconditioner_count, applied);
}

/// Eigenvalues below a thirtieth of the largest are damped too, only more slowly.
TEST(Chebyshev, ConvergesBelowItsInterval) {
  System<double> system(poisson2d<double>(30, 30));
  const SolveReport report = chebyshev<double>(system.plan, IdentityOperator<double>(900), system.b, system.x);
  EXPECT_TRUE(report.converged()) << report.reason;
  system.expect_honest(report);
}

TEST(Chebyshev, IntervalThatIsTooLowDiverges) {
  System<double> system(poisson2d<double>(12, 12));
  const SolveReport report = chebyshev<double>(system.plan, IdentityOperator<double>(144), system.b, system.x,
                                               {.spectrum_low = 0.1, .spectrum_high = 2.0});
  EXPECT_EQ(report.status, Status::diverged) << report.reason;
  system.expect_honest(report);
}

TEST(Chebyshev, IndefiniteMatrixAndPreconditionerAreFoundOut) {
  System<double> system(scaled(poisson2d<double>(6, 6), -1.0));
  const IdentityOperator<double> identity(36);
  const SolveReport indefinite = chebyshev<double>(system.plan, identity, system.b, system.x);
  EXPECT_EQ(indefinite.breakdown, Breakdown::indefinite) << indefinite.reason;
  system.expect_honest(indefinite);
  System<double> definite(poisson2d<double>(6, 6));
  const JacobiPreconditioner<double> negative(system.plan.matrix());
  const SolveReport refused = chebyshev<double>(definite.plan, negative, definite.b, definite.x);
  EXPECT_EQ(refused.breakdown, Breakdown::preconditioner) << refused.reason;
}

TEST(Chebyshev, ReplacementStartsAnew) {
  System<double> system(tridiagonal<double>(200, -1.0, 3.0, -1.0));
  const SolveReport report =
      chebyshev<double>(system.plan, IdentityOperator<double>(200), system.b, system.x, {.replacement_interval = 10});
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_GE(report.replacements, 1);
  system.expect_honest(report);
}

TEST(Chebyshev, Float) {
  System<float> system(tridiagonal<float>(300, -1.0F, 2.5F, -1.0F));
  const SolveReport report =
      chebyshev<float>(system.plan, IdentityOperator<float>(300), system.b, system.x, {.relative_tolerance = 1e-5});
  EXPECT_TRUE(report.converged()) << report.reason;
  system.expect_honest(report);
}

TEST(Chebyshev, RefusesIntervals) {
  System<double> system(poisson2d<double>(4, 4));
  const IdentityOperator<double> identity(16);
  for (const auto& [low, high] :
       {std::pair{-1.0, 2.0}, std::pair{3.0, 2.0}, std::pair{0.0, std::numeric_limits<double>::infinity()},
        std::pair{std::numeric_limits<double>::quiet_NaN(), 2.0}}) {
    const SolverOptions options{.spectrum_low = low, .spectrum_high = high};
    EXPECT_THROW((void)chebyshev<double>(system.plan, identity, system.b, system.x, options), InvalidArgument);
  }
}

}  // namespace
}  // namespace tessera::testing
