/// How GMRES ends that is preconditioned from the left: singular operators, what is not finite, limits and refusals.
#include "tessera/enqueued_cg.hpp"
#include "tessera/error.hpp"
#include "tessera/mixed_precision.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/solvers/uneven_diagonal.hpp"
#include "tests/support/error_message.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace tessera::testing {
namespace {

constexpr PreconditionerSide left = PreconditionerSide::left;

/// Half of r is hidden from M by a factor of 1e-12: ‖M r‖ meets the tolerance long before ‖r‖.
TEST(GmresLeft, WhatMHidesIsSolvedToo) {
  std::vector<double> inverse(60, 1.0);
  for (std::size_t i = 0; i < inverse.size(); i += 2) inverse[i] = 1e12;
  const JacobiPreconditioner<double> m(diagonal_matrix(inverse).view());
  const SpmvPlan<double> plan(diagonal_matrix([] {
    std::vector<double> entries(60);
    for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = i % 2 == 0 ? 1.0 : 1.0 + static_cast<double>(i % 5);
    return entries;
  }()));
  const std::vector<double> b(60, 1.0);
  std::vector<double> x(60);
  const SolveReport report = gmres<double>(plan, m, b, x, {.relative_tolerance = 1e-8, .side = left});
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_GT(report.replacements, 0) << "at first ‖M r‖ alone had fallen";
  expect_honest(report, plan.matrix(), b, x);
}

TEST(GmresLeft, SingularPreconditionersNeverConverge) {
  const SpmvPlan<double> plan(poisson2d<double>(6, 5));
  const std::vector<double> b = random_values<double>(30, 2);
  for (const int hidden : {1, 15, 29}) {
    std::vector<double> entries(30, 0.25);
    std::fill_n(entries.begin(), hidden, 0.0);
    const SpmvPlan<double> m(diagonal_matrix(entries));
    for (const int restart : {4, 50}) {
      std::vector<double> x(30);
      const SolveReport report = gmres<double>(plan, m, b, x, {.restart = restart, .side = left});
      EXPECT_TRUE(report.status == Status::breakdown || report.status == Status::stagnated) << report.reason;
      EXPECT_LE(report.iterations, 30 * 10) << "no endless loop";
      EXPECT_LE(report.true_residual, report.r0_norm) << "the best x is returned";
      expect_honest(report, plan.matrix(), b, x);
    }
  }
  const SpmvPlan<double> zero(diagonal_matrix(std::vector<double>(30, 0.0)));
  std::vector<double> x(30);
  const SolveReport report = gmres<double>(plan, zero, b, x, {.side = left});
  EXPECT_EQ(report.status, Status::breakdown) << report.reason;
  EXPECT_EQ(report.breakdown, Breakdown::preconditioner);
  EXPECT_EQ(report.iterations, 0);
  EXPECT_NE(report.reason.find("the preconditioner is singular: ||M r|| / ||r|| = 0"), std::string::npos)
      << report.reason;
  expect_honest(report, plan.matrix(), b, x);
}

TEST(GmresLeft, SingularMatrices) {
  for (const index_t n : {5, 64}) {
    const SpmvPlan<double> plan(path_laplacian(n));
    const JacobiPreconditioner<double> jacobi(plan.matrix());
    for (const int restart : {7, 400}) {
      std::vector<double> consistent = product(plan.matrix(), random_values<double>(static_cast<std::size_t>(n), 5));
      std::vector<double> x(consistent.size());
      const SolverOptions options{.max_iterations = 20000, .restart = restart, .side = left};
      const SolveReport solved = gmres<double>(plan, jacobi, consistent, x, options);
      expect_honest(solved, plan.matrix(), consistent, x);
      if (restart >= n) {
        EXPECT_TRUE(solved.converged()) << solved.reason;
      }
      const std::vector<double> inconsistent = random_values<double>(consistent.size(), 3);
      x.assign(x.size(), 0.0);
      const SolveReport report = gmres<double>(plan, jacobi, inconsistent, x, options);
      EXPECT_TRUE(report.status == Status::breakdown || report.status == Status::stagnated) << report.reason;
      expect_honest(report, plan.matrix(), inconsistent, x);
    }
  }
  const SpmvPlan<double> zero(diagonal_matrix(std::vector<double>(6, 0.0)));
  const SpmvPlan<double> m(diagonal_matrix(std::vector<double>(6, 2.0)));
  std::vector<double> x(6);
  const SolveReport report = gmres<double>(zero, m, std::vector<double>(6, 1.0), x, {.side = left});
  EXPECT_EQ(report.breakdown, Breakdown::dependent);
  EXPECT_NE(report.reason.find("so A or M is singular"), std::string::npos) << report.reason;
}

/// The cyclic shift: ‖M r‖ stays until step n.
TEST(GmresLeft, CyclesThatDoNothingEndIt) {
  const SpmvPlan<double> plan(from_dense<double>({{0, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}, 4));
  const SpmvPlan<double> m(diagonal_matrix(std::vector<double>(4, 2.0)));
  const std::vector<double> b{1, 0, 0, 0};
  std::vector<double> x(4);
  const SolveReport full = gmres<double>(plan, m, b, x, {.side = left});
  EXPECT_TRUE(full.converged()) << full.reason;
  EXPECT_EQ(full.iterations, 4);
  x.assign(4, 0.0);
  const SolveReport restarted = gmres<double>(plan, m, b, x, {.restart = 3, .side = left});
  EXPECT_EQ(restarted.status, Status::stagnated);
  EXPECT_LE(restarted.iterations, 12);
  EXPECT_NE(restarted.reason.find("3 cycles of 3 directions did not lower ||M r||_2 = 2;"), std::string::npos)
      << restarted.reason;
  expect_honest(restarted, plan.matrix(), b, x);
}

TEST(GmresLeft, TolerancesBelowRoundingStagnate) {
  const SpmvPlan<double> plan(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
  const JacobiPreconditioner<double> m(diagonal_matrix(uneven_diagonal(225, 3)).view());
  const std::vector<double> b = random_values<double>(225, 6);
  for (const int restart : {9, 300}) {
    std::vector<double> x(225);
    const SolveReport report =
        gmres<double>(plan, m, b, x, {.relative_tolerance = 0.0, .restart = restart, .side = left});
    EXPECT_EQ(report.status, Status::stagnated) << report.reason;
    EXPECT_LE(report.true_residual, 1e-13 * report.b_norm);
    expect_honest(report, plan.matrix(), b, x);
  }
}

TEST(GmresLeft, SmallestSystems) {
  const SpmvPlan<double> none(make_csr<double>(0, 0, {0}, {}, {}));
  std::vector<double> nothing;
  EXPECT_TRUE(gmres<double>(none, none, nothing, nothing, {.side = left}).converged());
  const SpmvPlan<double> one(diagonal_matrix<double>({-3.0}));
  const SpmvPlan<double> m(diagonal_matrix<double>({1e-5}));
  std::vector<double> x{0.0};
  const SolveReport report = gmres<double>(one, m, std::vector<double>{6.0}, x, {.side = left});
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_EQ(report.iterations, 1);
  EXPECT_DOUBLE_EQ(x[0], -2.0);
  std::vector<double> guess(25, 3.0);
  const SpmvPlan<double> plan(poisson2d<double>(5, 5));
  EXPECT_TRUE(gmres<double>(plan, JacobiPreconditioner<double>(plan.matrix()), std::vector<double>(25, 0.0), guess,
                            {.side = left})
                  .converged());
  EXPECT_EQ(guess, std::vector<double>(25, 0.0));
}

TEST(GmresLeft, NaNAndInfinity) {
  const SpmvPlan<double> plan(poisson2d<double>(5, 5));
  const std::vector<double> b(25, 1.0);
  std::vector<double> x(25);
  int products = 0;
  const FunctionOperator<double> breaks(25, 25, [&](std::span<const double> v, std::span<double> z) {
    for (std::size_t i = 0; i < z.size(); ++i) z[i] = 0.25 * v[i];
    if (++products == 3) z[4] = std::nan("");
  });
  const SolveReport report = gmres<double>(plan, breaks, b, x, {.breakdown_restarts = 0, .side = left});
  EXPECT_EQ(report.status, Status::not_finite) << report.reason;
  EXPECT_EQ(report.iterations, 1);
  expect_honest(report, plan.matrix(), b, x);
  products = 0;
  const SolveReport recovers = gmres<double>(plan, breaks, b, x, {.side = left});
  EXPECT_TRUE(recovers.converged()) << recovers.reason;
  EXPECT_EQ(recovers.restarts, 1);
  const FunctionOperator<double> infinite(25, 25, [](std::span<const double> /*v*/, std::span<double> z) {
    std::fill(z.begin(), z.end(), std::numeric_limits<double>::infinity());
  });
  x.assign(25, 0.0);
  const SolveReport refused = gmres<double>(plan, infinite, b, x, {.side = left});
  EXPECT_EQ(refused.status, Status::not_finite) << refused.reason;
  EXPECT_EQ(refused.iterations, 0);
  expect_honest(refused, plan.matrix(), b, x);
}

TEST(GmresLeft, LimitsAndObserversFormX) {
  const SpmvPlan<double> plan(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
  const JacobiPreconditioner<double> m(plan.matrix());
  const std::vector<double> b = random_values<double>(225, 6);
  for (const std::int64_t last : {0, 1, 4, 5, 6}) {
    std::vector<double> x(225);
    SolverOptions options{.max_iterations = last, .restart = 5, .side = left, .keep_history = true};
    const SolveReport limited = gmres<double>(plan, m, b, x, options);
    EXPECT_EQ(limited.status, Status::max_iterations) << limited.reason;
    EXPECT_EQ(limited.iterations, last);
    expect_honest(limited, plan.matrix(), b, x);
    options.max_iterations = 100;
    options.observer = [&](const IterationInfo& info) {
      return info.iteration == last ? Control::stop : Control::proceed;
    };
    x.assign(225, 0.0);
    const SolveReport stopped = gmres<double>(plan, m, b, x, options);
    EXPECT_EQ(stopped.status, Status::interrupted) << stopped.reason;
    EXPECT_EQ(stopped.iterations, last);
    expect_honest(stopped, plan.matrix(), b, x);
    // The diagonal is the same in all rows, so ‖M r‖ tells ‖r‖ of the latest x.
    EXPECT_NEAR(stopped.true_residual, stopped.history.back().recurrence, 1e-12 * stopped.b_norm);
  }
}

TEST(GmresLeft, OtherMethodsRefuseIt) {
  const SpmvPlan<double> plan(poisson2d<double>(4, 4));
  const JacobiPreconditioner<double> m(plan.matrix());
  const std::vector<double> b(16, 1.0);
  std::vector<double> x(16);
  for (const MethodInfo& method : iterative_methods()) {
    if (method.method == IterativeMethod::gmres) continue;
    const std::string expected = std::string(method.name) + " has no preconditioner on the left; only gmres has";
    EXPECT_EQ(message_of<InvalidArgument>([&] { (void)solve<double>(method.method, plan, m, b, x, {.side = left}); }),
              expected);
  }
  EXPECT_THROW(EnqueuedCg<double>(plan, m, {.side = left}), InvalidArgument);
  const SpmvPlan<float> single(poisson2d<float>(4, 4));
  EXPECT_THROW(MixedPrecisionSolver(IterativeMethod::gmres, plan, single, {.side = left}), NotSupported);
}

}  // namespace
}  // namespace tessera::testing
