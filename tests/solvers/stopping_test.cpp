/// Stopping criteria, and the reasons that reports give.
#include "tessera/error.hpp"
#include "tests/solvers/systems.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

using Solve = SolveReport (System<double>::*)(const SolverOptions&);

class Stopping : public ::testing::TestWithParam<Solve> {
 protected:
  SolveReport solve(System<double>& system, const SolverOptions& options = {}) { return (system.*GetParam())(options); }
};

INSTANTIATE_TEST_SUITE_P(Method, Stopping, ::testing::Values(&System<double>::cg, &System<double>::bicgstab),
                         [](const auto& instance) { return instance.index == 0 ? "cg" : "bicgstab"; });

TEST_P(Stopping, SolvedGuessConvergesAtIterationZero) {
  System<double> system(poisson2d<double>(7, 7));
  system.x.assign(49, 1.0);
  const SolveReport report = solve(system);
  EXPECT_TRUE(report.converged());
  EXPECT_EQ(report.iterations, 0);
  EXPECT_EQ(report.spmv_count, 1);
  EXPECT_EQ(system.x, std::vector<double>(49, 1.0));
  system.expect_honest(report);
}

TEST_P(Stopping, ZeroRightHandSideIsSolvedByZero) {
  System<double> system(poisson2d<double>(4, 4));
  system.b.assign(16, 0.0);
  system.x.assign(16, 3.0);
  const SolveReport report = solve(system);
  EXPECT_TRUE(report.converged());
  EXPECT_EQ(report.iterations, 0);
  EXPECT_EQ(report.true_residual, 0.0);
  EXPECT_GT(report.r0_norm, 0.0);
  EXPECT_EQ(system.x, std::vector<double>(16, 0.0));
}

TEST_P(Stopping, ZeroRightHandSideKeepsAGuessWithinTheAbsoluteTolerance) {
  System<double> system(poisson2d<double>(4, 4));
  system.b.assign(16, 0.0);
  system.x.assign(16, 1e-6);
  const SolveReport report = solve(system, {.absolute_tolerance = 1e-4});
  EXPECT_TRUE(report.converged());
  EXPECT_EQ(system.x, std::vector<double>(16, 1e-6));
  system.expect_honest(report);
}

TEST_P(Stopping, EmptySystem) {
  System<double> system(Csr<double>{});
  EXPECT_TRUE(solve(system).converged());
}

/// The first residual lies exactly on the tolerance: <= means that it is met.
TEST_P(Stopping, ResidualEqualToTheToleranceIsConverged) {
  System<double> system(diagonal_matrix<double>({1.0, 2.0}));
  system.b = {3.0, 4.0};
  const SolveReport exact = solve(system, {.relative_tolerance = 0.0, .absolute_tolerance = 5.0});
  EXPECT_TRUE(exact.converged());
  EXPECT_EQ(exact.iterations, 0);
  EXPECT_EQ(exact.true_residual, 5.0);
  const SolveReport below = solve(system, {.relative_tolerance = 0.0, .absolute_tolerance = std::nextafter(5.0, 0.0)});
  EXPECT_GT(below.iterations, 0);
}

TEST_P(Stopping, ToleranceIsRelativeToTheNormAskedFor) {
  System<double> by_b(poisson2d<double>(9, 9));
  by_b.x.assign(81, 100.0);
  System<double> by_r0(poisson2d<double>(9, 9));
  by_r0.x.assign(81, 100.0);
  const SolveReport b = solve(by_b, {.relative_tolerance = 1e-6, .base = ResidualBase::b});
  const SolveReport r0 = solve(by_r0, {.relative_tolerance = 1e-6, .base = ResidualBase::r0});
  EXPECT_TRUE(b.converged());
  EXPECT_TRUE(r0.converged());
  EXPECT_DOUBLE_EQ(b.target, 1e-6 * b.b_norm);
  EXPECT_DOUBLE_EQ(r0.target, 1e-6 * r0.r0_norm);
  EXPECT_GT(r0.target, 10 * b.target);
  EXPECT_NE(b.reason.find("rtol*||b||_2"), std::string::npos) << b.reason;
  EXPECT_NE(r0.reason.find("rtol*||r0||_2"), std::string::npos) << r0.reason;
  by_b.expect_honest(b);
  by_r0.expect_honest(r0);
}

TEST_P(Stopping, IterationLimitReturnsTheBestSoFar) {
  System<double> system(poisson2d<double>(40, 40));
  const SolveReport report = solve(system, {.max_iterations = 5});
  EXPECT_EQ(report.status, Status::max_iterations);
  EXPECT_EQ(report.iterations, 5);
  EXPECT_LE(report.true_residual, report.r0_norm);
  EXPECT_NE(report.reason.find("limit 5"), std::string::npos) << report.reason;
  system.expect_honest(report);
}

TEST_P(Stopping, NoIterationsAllowed) {
  System<double> system(poisson2d<double>(5, 5));
  const SolveReport report = solve(system, {.max_iterations = 0});
  EXPECT_EQ(report.status, Status::max_iterations);
  EXPECT_EQ(report.iterations, 0);
  EXPECT_EQ(system.x, std::vector<double>(25, 0.0));
  system.expect_honest(report);
}

TEST_P(Stopping, TimeLimit) {
  System<double> system(poisson2d<double>(40, 40));
  const SolveReport report = solve(system, {.time_limit_seconds = 0.0});
  EXPECT_EQ(report.status, Status::time_limit);
  EXPECT_EQ(report.iterations, 1);
  system.expect_honest(report);
}

TEST_P(Stopping, ObserverSeesEveryIterationAndStops) {
  System<double> system(poisson2d<double>(40, 40));
  std::vector<std::int64_t> seen;
  SolverOptions options;
  options.observer = [&](const IterationInfo& info) {
    seen.push_back(info.iteration);
    EXPECT_GT(info.target, 0.0);
    return info.iteration == 3 ? Control::stop : Control::proceed;
  };
  const SolveReport report = solve(system, options);
  EXPECT_EQ(report.status, Status::interrupted);
  EXPECT_EQ(seen, (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(report.iterations, 3);
  system.expect_honest(report);
}

TEST_P(Stopping, TheCallerNamesTheCauseOfAStop) {
  System<double> system(poisson2d<double>(40, 40));
  SolverOptions options;
  options.observer = [](const IterationInfo& info) { return info.iteration == 3 ? Control::stop : Control::proceed; };
  const SolveReport unnamed = solve(system, options);
  EXPECT_TRUE(unnamed.reason.starts_with("stopped by the observer after iteration 3; ||b - A x||_2 = "))
      << unnamed.reason;
  options.stop_cause = [] { return std::string("the deadline passed"); };
  system.x.assign(1600, 0.0);
  const SolveReport named = solve(system, options);
  EXPECT_TRUE(named.reason.starts_with("the deadline passed after iteration 3; ||b - A x||_2 = ")) << named.reason;
}

/// x is scaled inside; the caller's units must be back when an exception passes through.
TEST_P(Stopping, ObserverExceptionLeavesXInTheUsersUnits) {
  System<double> system(scaled(poisson2d<double>(10, 10), 0x1p-40));
  for (double& value : system.b) value *= 0x1p90;
  const SolverOptions few{.max_iterations = 4};
  System<double> reference(scaled(poisson2d<double>(10, 10), 0x1p-40));
  reference.b = system.b;
  (void)solve(reference, few);
  SolverOptions options;
  options.observer = [](const IterationInfo& info) -> Control {
    if (info.iteration == 4) throw std::runtime_error("enough");
    return Control::proceed;
  };
  EXPECT_THROW((void)solve(system, options), std::runtime_error);
  EXPECT_EQ(system.x, reference.x);
}

TEST_P(Stopping, HistoryHasARowPerIterationAndTheTrueResidualWhereComputed) {
  System<double> system(poisson2d<double>(15, 15));
  const SolveReport report = solve(system, {.replacement_interval = 5, .keep_history = true});
  ASSERT_TRUE(report.converged());
  ASSERT_EQ(report.history.size(), static_cast<std::size_t>(report.iterations) + 1);
  for (std::size_t i = 0; i < report.history.size(); ++i) {
    const HistoryEntry& entry = report.history[i];
    EXPECT_EQ(entry.iteration, static_cast<std::int64_t>(i));
    const bool computed = i % 5 == 0 || i + 1 == report.history.size();
    EXPECT_EQ(std::isnan(entry.true_residual), !computed) << "iteration " << i;
    if (computed) {
      EXPECT_NEAR(entry.true_residual, entry.recurrence, 1e-12 * report.r0_norm);
    }
    if (i > 0) {
      EXPECT_GE(entry.seconds, report.history[i - 1].seconds);
    }
  }
  EXPECT_EQ(report.history.front().recurrence, report.r0_norm);
  EXPECT_EQ(report.history.back().true_residual, report.true_residual);
  EXPECT_TRUE(solve(system).history.empty()) << "unless asked for";
}

TEST_P(Stopping, OptionsOutOfRangeAreRefusedByName) {
  System<double> system(poisson2d<double>(3, 3));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW((void)solve(system, {.relative_tolerance = -1e-8}), InvalidArgument);
  EXPECT_THROW((void)solve(system, {.relative_tolerance = nan}), InvalidArgument);
  EXPECT_THROW((void)solve(system, {.absolute_tolerance = -1.0}), InvalidArgument);
  EXPECT_THROW((void)solve(system, {.max_iterations = -1}), InvalidArgument);
  EXPECT_THROW((void)solve(system, {.time_limit_seconds = nan}), InvalidArgument);
  EXPECT_THROW((void)solve(system, {.divergence_tolerance = 0.5}), InvalidArgument);
  EXPECT_THROW((void)solve(system, {.stagnation_window = -1}), InvalidArgument);
  EXPECT_THROW((void)solve(system, {.breakdown_restarts = -1}), InvalidArgument);
  try {
    (void)solve(system, {.replacement_interval = -2});
    ADD_FAILURE() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "replacement_interval must be >= 0, got -2");
  }
}

/// CG on a matrix that is not symmetric: <p, A p> > 0 throughout, and each iteration enlarges the residual a
/// hundredfold.
TEST(StoppingOfCg, GrowthIsDetectedAndTheBestIterateReturned) {
  System<double> system(from_dense<double>({{1, 100}, {-100, 1}}, 2));
  system.b = {1.0, 0.0};
  const SolveReport report = system.cg({.divergence_tolerance = 10.0});
  EXPECT_EQ(report.status, Status::diverged) << report.reason;
  EXPECT_NE(report.reason.find("dtol"), std::string::npos) << report.reason;
  EXPECT_GT(report.recurrence_residual, 10.0);
  EXPECT_EQ(report.true_residual, 1.0);
  EXPECT_EQ(system.x, std::vector<double>(2, 0.0)) << "no iterate was better than the guess";
  system.expect_honest(report);
}

/// Singular and inconsistent: no x brings the residual below the part of b in the null space.
TEST_P(Stopping, InconsistentSingularSystemIsNeverConverged) {
  // Path graph Laplacian; its null space is spanned by ones.
  for (const index_t n : {5, 64, 300}) {
    std::vector<std::vector<double>> dense(static_cast<std::size_t>(n),
                                           std::vector<double>(static_cast<std::size_t>(n)));
    for (std::size_t i = 0; i + 1 < dense.size(); ++i) {
      dense[i][i] += 1.0;
      dense[i + 1][i + 1] += 1.0;
      dense[i][i + 1] = dense[i + 1][i] = -1.0;
    }
    System<double> system(from_dense(dense, n));
    system.b = random_values<double>(system.size(), 3);
    system.b[0] += 1.0;
    const SolveReport report = solve(system);
    EXPECT_FALSE(report.converged()) << report.reason;
    EXPECT_NE(report.status, Status::max_iterations) << report.reason;
    EXPECT_GT(report.true_residual, report.target);
    system.expect_honest(report);
  }
}

TEST_P(Stopping, StagnationWindow) {
  System<double> system(poisson2d<double>(30, 30));
  // The residual cannot fall by 1 % within one iteration each time: CG's 2-norm residual is not monotone here.
  system.b = random_values<double>(system.size(), 5);
  const SolveReport report = solve(system, {.relative_tolerance = 1e-10, .stagnation_window = 1});
  EXPECT_EQ(report.status, Status::stagnated) << report.reason;
  EXPECT_NE(report.reason.find("1 %"), std::string::npos) << report.reason;
  system.expect_honest(report);
}

TEST(Names, OfEveryEnumerator) {
  EXPECT_EQ(to_string(Status::converged), "converged");
  EXPECT_EQ(to_string(Status::max_iterations), "max_iterations");
  EXPECT_EQ(to_string(Status::time_limit), "time_limit");
  EXPECT_EQ(to_string(Status::breakdown), "breakdown");
  EXPECT_EQ(to_string(Status::diverged), "diverged");
  EXPECT_EQ(to_string(Status::stagnated), "stagnated");
  EXPECT_EQ(to_string(Status::not_finite), "not_finite");
  EXPECT_EQ(to_string(Status::interrupted), "interrupted");
  EXPECT_EQ(to_string(Breakdown::none), "none");
  EXPECT_EQ(to_string(Breakdown::rho), "rho");
  EXPECT_EQ(to_string(Breakdown::alpha), "alpha");
  EXPECT_EQ(to_string(Breakdown::omega), "omega");
  EXPECT_EQ(to_string(Breakdown::indefinite), "indefinite");
  EXPECT_EQ(to_string(Breakdown::preconditioner), "preconditioner");
  EXPECT_EQ(to_string(Breakdown::not_finite), "not_finite");
}

}  // namespace
}  // namespace tessera::testing
