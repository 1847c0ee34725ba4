/// How GMRES ends: guesses, singular matrices, what is not finite, limits and refusals.
#include "tessera/error.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace tessera::testing {
namespace {

/// The cyclic shift: the residual stays until step n.
TEST(Gmres, CyclesThatDoNothingEndIt) {
  const SpmvPlan<double> plan(from_dense<double>({{0, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}, 4));
  const std::vector<double> b{1, 0, 0, 0};
  std::vector<double> x(4);
  const SolveReport full = gmres<double>(plan, b, x);
  EXPECT_TRUE(full.converged()) << full.reason;
  EXPECT_EQ(full.iterations, 4);
  x.assign(4, 0.0);
  const SolveReport restarted = gmres<double>(plan, b, x, {.restart = 3});
  EXPECT_EQ(restarted.status, Status::stagnated);
  EXPECT_LE(restarted.iterations, 12);
  EXPECT_NE(restarted.reason.find("3 cycles of 3 directions did not lower"), std::string::npos) << restarted.reason;
  expect_honest(restarted, plan.matrix(), b, x);
}

TEST(Gmres, GuessThatSolvesIt) {
  System<double> system(poisson2d<double>(9, 9));
  system.x.assign(81, 1.0);
  const SolveReport report = system.gmres();
  EXPECT_TRUE(report.converged());
  EXPECT_EQ(report.iterations, 0);
  EXPECT_EQ(system.x, std::vector<double>(81, 1.0));
}

TEST(Gmres, GuessNearby) {
  System<double> system(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
  system.x = random_values<double>(225, 8);
  const SolveReport report = system.gmres({.restart = 12});
  EXPECT_TRUE(report.converged()) << report.reason;
  system.expect_honest(report);
}

TEST(Gmres, ZeroRightSide) {
  System<double> system(poisson2d<double>(5, 5));
  system.b.assign(25, 0.0);
  system.x.assign(25, 3.0);
  EXPECT_TRUE(system.gmres().converged());
  EXPECT_EQ(system.x, std::vector<double>(25, 0.0));
}

TEST(Gmres, EmptyAndOneByOne) {
  const SpmvPlan<double> none(make_csr<double>(0, 0, {0}, {}, {}));
  std::vector<double> nothing;
  EXPECT_TRUE(gmres<double>(none, nothing, nothing).converged());
  System<double> one(diagonal_matrix<double>({-3.0}));
  const SolveReport report = one.gmres();
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_EQ(report.iterations, 1);
  EXPECT_EQ(one.x[0], 1.0);
}

TEST(Gmres, NaN) {
  System<double> system(poisson2d<double>(5, 5));
  system.b[7] = std::nan("");
  EXPECT_EQ(system.gmres().status, Status::not_finite);
  // In a product, at the second step.
  const SpmvPlan<double> plan(poisson2d<double>(5, 5));
  int products = 0;
  const FunctionOperator<double> breaks(25, 25, [&](std::span<const double> v, std::span<double> y) {
    plan.apply(v, y);
    if (++products == 3) y[4] = std::nan("");
  });
  std::vector<double> x(25);
  const std::vector<double> b(25, 1.0);
  const SolveReport report = gmres<double>(breaks, b, x, {.breakdown_restarts = 0});
  EXPECT_EQ(report.status, Status::not_finite) << report.reason;
  EXPECT_EQ(report.iterations, 1);
  expect_honest(report, plan.matrix(), b, x);
  products = 0;
  const SolveReport recovers = gmres<double>(breaks, b, x, {});
  EXPECT_TRUE(recovers.converged()) << recovers.reason;
  EXPECT_EQ(recovers.restarts, 1);
}

TEST(Gmres, PreconditionerOfInfinity) {
  const SpmvPlan<double> plan(poisson2d<double>(5, 5));
  const FunctionOperator<double> infinite(25, 25, [](std::span<const double> /*v*/, std::span<double> z) {
    std::fill(z.begin(), z.end(), std::numeric_limits<double>::infinity());
  });
  std::vector<double> x(25);
  const std::vector<double> b(25, 1.0);
  const SolveReport report = gmres<double>(plan, infinite, b, x);
  EXPECT_EQ(report.status, Status::not_finite) << report.reason;
  expect_honest(report, plan.matrix(), b, x);
}

TEST(Gmres, SingularAndConsistent) {
  for (const index_t n : {5, 64, 300}) {
    System<double> system(path_laplacian(n));
    system.b = product(system.plan.matrix(), random_values<double>(system.size(), 5));
    const SolveReport report = system.gmres({.restart = 400});
    EXPECT_TRUE(report.converged()) << report.reason;
    system.expect_honest(report);
  }
}

TEST(Gmres, SingularAndInconsistent) {
  for (const index_t n : {5, 64, 300}) {
    for (const int restart : {3, 400}) {
      System<double> system(path_laplacian(n));
      system.b = random_values<double>(system.size(), 3);
      system.b[0] += 1.0;
      const SolveReport report = system.gmres({.max_iterations = 20000, .restart = restart});
      EXPECT_FALSE(report.converged());
      EXPECT_TRUE(report.status == Status::breakdown || report.status == Status::stagnated) << report.reason;
      system.expect_honest(report);
      // The smallest residual is the mean of b, in all elements.
      double mean = 0.0;
      for (const double value : system.b) mean += value;
      mean /= std::sqrt(static_cast<double>(n));
      if (restart == 400) {
        EXPECT_LE(report.true_residual, std::abs(mean) * (1 + 1e-6)) << report.reason;
      }
    }
  }
}

TEST(Gmres, ZeroMatrixBreaksDownAtOnce) {
  System<double> system(diagonal_matrix(std::vector<double>(6, 0.0)));
  system.b.assign(6, 1.0);
  const SolveReport report = system.gmres();
  EXPECT_EQ(report.status, Status::breakdown) << report.reason;
  EXPECT_EQ(report.breakdown, Breakdown::dependent);
  EXPECT_EQ(report.iterations, 0);
  EXPECT_EQ(report.restarts, 0);
  system.expect_honest(report);
}

TEST(Gmres, ToleranceBelowRoundingStagnates) {
  System<double> system(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
  const SolveReport report = system.gmres({.relative_tolerance = 0.0});
  EXPECT_EQ(report.status, Status::stagnated) << report.reason;
  EXPECT_LE(report.true_residual, 1e-14 * report.b_norm);
  system.expect_honest(report);
}

TEST(Gmres, ObserverStopsIt) {
  for (const std::int64_t last : {0, 3, 10}) {
    System<double> system(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
    SolverOptions options{.restart = 5, .keep_history = true};
    options.observer = [&](const IterationInfo& info) {
      return info.iteration == last ? Control::stop : Control::proceed;
    };
    const SolveReport report = system.gmres(options);
    EXPECT_EQ(report.status, Status::interrupted) << report.reason;
    EXPECT_EQ(report.iterations, last);
    system.expect_honest(report);
    // x is that of the latest iteration.
    EXPECT_NEAR(report.true_residual, report.history.back().recurrence, 1e-12 * report.b_norm);
  }
}

TEST(Gmres, TimeLimit) {
  System<double> system(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
  const SolveReport report = system.gmres({.time_limit_seconds = 0.0});
  EXPECT_EQ(report.status, Status::time_limit) << report.reason;
  EXPECT_EQ(report.iterations, 1);
  EXPECT_LT(report.true_residual, report.r0_norm) << "the one direction was used";
  system.expect_honest(report);
}

TEST(Gmres, IterationLimit) {
  for (const std::int64_t limit : {0, 1, 4, 5, 6}) {
    System<double> system(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
    const SolveReport report = system.gmres({.max_iterations = limit, .restart = 5});
    EXPECT_EQ(report.status, Status::max_iterations) << report.reason;
    EXPECT_EQ(report.iterations, limit);
    system.expect_honest(report);
  }
}

TEST(Gmres, ExceptionsLeaveXInItsUnits) {
  System<double> system(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
  for (double& value : system.b) value *= 1e100;
  SolverOptions options{.restart = 4};
  options.observer = [](const IterationInfo& info) -> Control {
    if (info.iteration == 6) throw std::runtime_error("stop");
    return Control::proceed;
  };
  EXPECT_THROW((void)system.gmres(options), std::runtime_error);
  double squares = 0.0;
  for (const double value : system.x) squares += value / 1e100 * (value / 1e100);
  EXPECT_GT(squares, 1.0) << "x of the first cycle, of the size of ones";
}

TEST(Gmres, OptionsOutOfRange) {
  System<double> system(poisson2d<double>(4, 4));
  for (const int restart : {0, -1, 1001}) {
    EXPECT_THROW((void)system.gmres({.restart = restart}), InvalidArgument);
  }
  EXPECT_TRUE(system.gmres({.restart = 1000}).converged());
  std::vector<double> short_x(3);
  EXPECT_THROW((void)gmres<double>(system.plan, system.b, short_x), DimensionError);
}

}  // namespace
}  // namespace tessera::testing
