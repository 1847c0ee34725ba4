/// Wrong answers that other libraries give when a Krylov method breaks down; each test names what it guards.
#include "tests/solvers/systems.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace tessera::testing {
namespace {

bool has_event(const SolveReport& report, Breakdown kind) {
  return std::ranges::any_of(report.breakdowns, [=](const BreakdownEvent& event) { return event.kind == kind; });
}

/// rho below every absolute threshold, in a system that is perfectly well conditioned.
TEST(Breakdown, TinyNumbersAreNoBreakdown) {
  System<double> system(scaled(convection_diffusion<double>(10, 10, 1, {.x = 1.0}), 1e-30));
  const SolveReport report = system.bicgstab();
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_TRUE(report.breakdowns.empty());
  system.expect_honest(report);
}

/// For a skew-symmetric A, <r, A r> = 0: with r̂ = r0 the first α does not exist, and with any r̂ no ω does.
TEST(Breakdown, SkewSymmetricMatrixFromZeroGuess) {
  const std::vector<std::vector<std::vector<double>>> matrices{
      {{0, 1}, {-1, 0}},
      {{0, 2, 0, 1}, {-2, 0, 3, 0}, {0, -3, 0, 1}, {-1, 0, -1, 0}},
      {{0, 1, 0, 0}, {-1, 0, 0, 0}, {0, 0, 0, 5}, {0, 0, -5, 0}}};
  for (const auto& dense : matrices) {
    System<double> system(from_dense(dense, static_cast<std::int64_t>(dense.size())));
    const SolveReport report = system.bicgstab();
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_TRUE(has_event(report, Breakdown::alpha));
    EXPECT_TRUE(has_event(report, Breakdown::omega));
    EXPECT_GE(report.restarts, 1);
    system.expect_honest(report);
    for (const double value : system.x) EXPECT_NEAR(value, 1.0, 1e-6);
  }
}

TEST(Breakdown, WithoutRestartsTheFirstBreakdownEndsTheSolve) {
  System<double> system(from_dense<double>({{0, 1}, {-1, 0}}, 2));
  const SolveReport report = system.bicgstab({.breakdown_restarts = 0});
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_EQ(report.breakdown, Breakdown::alpha);
  ASSERT_EQ(report.breakdowns.size(), 1U);
  EXPECT_FALSE(report.breakdowns.front().restarted);
  EXPECT_EQ(report.restarts, 0);
  EXPECT_NE(report.reason.find("alpha"), std::string::npos) << report.reason;
  system.expect_honest(report);
}

/// A random shadow avoids the breakdown in α from the start.
TEST(Breakdown, RandomShadowAvoidsTheBreakdownOfTheFirstStep) {
  System<double> system(from_dense<double>({{0, 1}, {-1, 0}}, 2));
  const SolveReport report = system.bicgstab({.shadow = Shadow::random});
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_FALSE(has_event(report, Breakdown::alpha));
}

/// rho vanishes after the first iteration: A cycles the unit vectors and b is one of them.
TEST(Breakdown, CyclicShiftEndsHonestly) {
  System<double> system(from_dense<double>({{0, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}, 4));
  system.b = {1, 0, 0, 0};
  const SolveReport report = system.bicgstab();
  EXPECT_FALSE(report.breakdowns.empty());
  EXPECT_LE(report.true_residual, report.r0_norm);
  system.expect_honest(report);
}

/// ω < 0 is legitimate: A = -Laplacian.
TEST(Breakdown, NegativeOmegaIsAllowed) {
  System<double> system(scaled(poisson2d<double>(12, 12), -1.0));
  const SolveReport report = system.bicgstab();
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_TRUE(report.breakdowns.empty());
  system.expect_honest(report);
}

/// The exact inverse of a tridiagonal matrix as preconditioner: the half step is the solution, t = A ŝ is 0/0.
template <class T>
FunctionOperator<T> thomas(index_t n, T lower, T diagonal, T upper, std::int64_t& calls) {
  return FunctionOperator<T>(n, n, [=, &calls](std::span<const T> x, std::span<T> y) {
    ++calls;
    std::vector<T> factor(x.size());
    factor[0] = upper / diagonal;
    y[0] = x[0] / diagonal;
    for (std::size_t i = 1; i < x.size(); ++i) {
      const T pivot = diagonal - lower * factor[i - 1];
      factor[i] = upper / pivot;
      y[i] = (x[i] - lower * y[i - 1]) / pivot;
    }
    for (std::size_t i = x.size() - 1; i > 0; --i) y[i - 1] -= factor[i - 1] * y[i];
  });
}

TEST(Breakdown, ExactPreconditionerConvergesInTheHalfStep) {
  System<double> system(tridiagonal<double>(500, -1.0, 4.0, -2.0));
  std::int64_t calls = 0;
  const auto inverse = thomas<double>(500, -1.0, 4.0, -2.0, calls);
  const SolveReport report = bicgstab<double>(system.plan, inverse, system.b, system.x);
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_EQ(report.iterations, 1);
  EXPECT_EQ(report.preconditioner_count, calls);
  EXPECT_EQ(calls, 1) << "the second half is never begun";
  EXPECT_EQ(report.spmv_count, 3) << "first residual, A p, verification";
  for (const double value : system.x) EXPECT_NEAR(value, 1.0, 1e-12);
  system.expect_honest(report);
}

TEST(Breakdown, IndefiniteMatrixIsReportedByCg) {
  System<double> system(diagonal_matrix<double>({1.0, 2.0, -3.0}));
  const SolveReport report = system.cg();
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_EQ(report.breakdown, Breakdown::indefinite);
  EXPECT_EQ(report.restarts, 0) << "no restart makes it definite";
  EXPECT_LT(report.breakdowns.back().value, 0.0);
  system.expect_honest(report);
}

TEST(Breakdown, IndefinitePreconditionerIsReportedByCg) {
  System<double> system(poisson2d<double>(6, 6));
  const auto negative = JacobiPreconditioner<double>(scaled(poisson2d<double>(6, 6), -1.0).view());
  const SolveReport report = cg<double>(system.plan, negative, system.b, system.x);
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_EQ(report.breakdown, Breakdown::preconditioner);
  system.expect_honest(report);
}

TEST(Breakdown, PreconditionerThatReturnsNanNeverReachesX) {
  System<double> system(poisson2d<double>(6, 6));
  std::int64_t calls = 0;
  const FunctionOperator<double> breaks_later(36, 36, [&](std::span<const double> x, std::span<double> y) {
    std::copy(x.begin(), x.end(), y.begin());
    if (++calls > 3) y[5] = std::numeric_limits<double>::quiet_NaN();
  });
  for (const bool symmetric : {true, false}) {
    calls = 0;
    system.x.assign(36, 0.0);
    const SolveReport report = symmetric ? cg<double>(system.plan, breaks_later, system.b, system.x)
                                         : bicgstab<double>(system.plan, breaks_later, system.b, system.x);
    EXPECT_EQ(report.status, Status::not_finite) << report.reason;
    EXPECT_EQ(report.breakdown, Breakdown::not_finite);
    EXPECT_LT(report.true_residual, report.r0_norm) << "the iterations before the NaN count";
    system.expect_honest(report);
  }
}

TEST(Breakdown, OneFaultyProductIsMended) {
  System<double> system(poisson2d<double>(8, 8));
  std::int64_t calls = 0;
  const FunctionOperator<double> faulty(64, 64, [&](std::span<const double> x, std::span<double> y) {
    system.plan.apply(x, y);
    if (++calls == 5) y[3] = std::numeric_limits<double>::infinity();
  });
  for (const bool symmetric : {true, false}) {
    calls = 0;
    system.x.assign(64, 0.0);
    const SolveReport report =
        symmetric ? cg<double>(faulty, system.b, system.x) : bicgstab<double>(faulty, system.b, system.x);
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_EQ(report.restarts, 1);
    EXPECT_EQ(report.spmv_count, calls);
    system.expect_honest(report);
  }
}

TEST(Breakdown, NotFiniteInputIsReportedAndXUntouched) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  System<double> system(poisson2d<double>(3, 3));
  const std::vector<double> guess(9, 0.125);
  const auto expect_refused = [&](const LinearOperator<double>& a, const std::vector<double>& b,
                                  const std::vector<double>& x0, const std::string& text) {
    std::vector<double> x = x0;
    const SolveReport report = bicgstab<double>(a, b, x);
    EXPECT_EQ(report.status, Status::not_finite);
    EXPECT_EQ(report.iterations, 0);
    EXPECT_NE(report.reason.find(text), std::string::npos) << report.reason;
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_TRUE(x[i] == x0[i] || std::isnan(x0[i]));
  };
  std::vector<double> bad = system.b;
  bad[4] = nan;
  expect_refused(system.plan, bad, guess, "b[4] is nan");
  std::vector<double> bad_guess = guess;
  bad_guess[2] = infinity;
  expect_refused(system.plan, system.b, bad_guess, "x[2] is inf");
  const SpmvPlan<double> with_nan(diagonal_matrix<double>({1, 1, 1, 1, 1, 1, nan, 1, 1}));
  expect_refused(with_nan, system.b, guess, "(b - A x0)[6] is nan");
}

}  // namespace
}  // namespace tessera::testing
