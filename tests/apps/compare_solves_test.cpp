/// Whole solves: residuals computed apart, and solvers that claim too much.

#include "compare_support.hpp"

#include "compare/oracle.hpp"
#include "compare_command.hpp"

#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tessera::testing {

namespace {

/// Runs solves without the products before them.
[[nodiscard]] compare::Outcome solve_with(const compare::Settings& settings,
                                          const std::shared_ptr<const Csr<double>>& matrix,
                                          const std::vector<compare::Candidate<double>>& candidates) {
  compare::Outcome outcome;
  const auto subject = subject_of(matrix);
  const auto inputs = compare::solve_inputs(settings, subject, outcome);
  outcome.reference = compare::reference_of(candidates);
  outcome.products.resize(candidates.size());
  for (compare::KernelRow& row : outcome.products) row.passed = true;
  compare::compare_solves(settings, inputs, candidates, outcome);
  return outcome;
}

[[nodiscard]] compare::Settings settings_for(std::vector<compare::Solver> solvers) {
  auto settings = quick_comparison();
  settings.solvers = std::move(solvers);
  return settings;
}

[[nodiscard]] std::shared_ptr<const Csr<double>> grid(std::int64_t side) {
  return std::make_shared<const Csr<double>>(poisson2d<double>(side, side));
}

TEST(CompareSolves, EverySolverConvergesWithEveryKernelAndIsTimed) {
  const auto candidates = compare::registered_candidates<double>(Device());
  const auto outcome =
      solve_with(settings_for({compare::Solver::cg, compare::Solver::bicgstab, compare::Solver::pagerank}),
                 std::make_shared<const Csr<double>>(
                     Csr<double>::pattern(3, 3, Array<offset_t>::copy_of(std::vector<offset_t>{0, 2, 4, 6}),
                                          Array<index_t>::copy_of(std::vector<index_t>{0, 1, 0, 1, 1, 2}))),
                 candidates);
  ASSERT_EQ(outcome.solves.size(), 3 * candidates.size());
  for (const compare::SolveRow& row : outcome.solves) {
    EXPECT_TRUE(row.passed) << row.kernel << ": " << row.reason;
    EXPECT_TRUE(row.solved);
    if (row.solver == compare::Solver::cg) continue;  // the matrix is not symmetric: any ending is allowed
    if (row.solver == compare::Solver::pagerank) {
      EXPECT_EQ(row.status, Status::converged) << row.status_reason;
    }
    EXPECT_EQ(row.total.summary.count, 3);
    EXPECT_GE(row.total.summary.median, row.solve.summary.min);
  }
}

TEST(CompareSolves, TheReferenceHasASpeedUpOfOne) {
  const auto outcome =
      solve_with(settings_for({compare::Solver::cg}), grid(30), compare::registered_candidates<double>(Device()));
  for (const compare::SolveRow& row : outcome.solves) {
    EXPECT_EQ(row.status, Status::converged);
    EXPECT_LE(row.checked_residual, row.target * 1.001);
    ASSERT_TRUE(row.total.speed_up);
    if (row.reference) {
      EXPECT_EQ(row.total.speed_up->ratio, 1.0);
    }
  }
}

/// A kernel that computes 2 A x throughout: the solver is content with a wrong x, the matrix is not.
TEST(CompareSolves, ConvergedToSomethingElseIsAFailure) {
  auto candidates = compare::registered_candidates<double>(Device());
  candidates.push_back(spoilt_candidate<double>("double", [](int, std::span<const double>, std::span<double> y) {
    for (double& value : y) value *= 2.0;
  }));
  const auto outcome = solve_with(settings_for({compare::Solver::cg, compare::Solver::bicgstab}), grid(20), candidates);
  int failures = 0;
  for (const compare::SolveRow& row : outcome.solves) {
    EXPECT_EQ(row.passed, row.kernel != "double") << row.kernel << ": " << row.reason;
    if (row.passed) continue;
    ++failures;
    EXPECT_EQ(row.status, Status::converged) << "by its own account";
    EXPECT_FALSE(row.total.measured());
    EXPECT_NE(row.reason.find("computed apart"), std::string::npos) << row.reason;
  }
  EXPECT_EQ(failures, 2);
  EXPECT_EQ(cli::exit_code_of(outcome, 0, true), cli::ExitCode::verification_failed);
}

TEST(CompareSolves, AKernelThatFailedIsNotRunAndNotDropped) {
  const auto candidates = compare::registered_candidates<double>(Device());
  const auto settings = settings_for({compare::Solver::cg});
  compare::Outcome outcome;
  const auto subject = subject_of(grid(5));
  const auto inputs = compare::solve_inputs(settings, subject, outcome);
  outcome.products.resize(candidates.size());
  for (compare::KernelRow& row : outcome.products) row.passed = &row == &outcome.products.front();
  compare::compare_solves(settings, inputs, candidates, outcome);
  ASSERT_EQ(outcome.solves.size(), candidates.size());
  for (std::size_t i = 0; i < outcome.solves.size(); ++i) {
    EXPECT_EQ(outcome.solves[i].passed, i == 0);
    EXPECT_EQ(outcome.solves[i].solved, i == 0);
  }
}

TEST(CompareSolves, LimitsAndBreakdownsKeepTheirStatus) {
  auto settings = settings_for({compare::Solver::cg});
  settings.solver.max_iterations = 2;
  const auto candidates = compare::registered_candidates<double>(Device());
  const auto limited = solve_with(settings, grid(20), candidates);
  EXPECT_EQ(cli::exit_code_of(limited, 0, false), cli::ExitCode::not_converged);
  EXPECT_EQ(cli::exit_code_of(limited, 0, true), cli::ExitCode::success);
  for (const compare::SolveRow& row : limited.solves) {
    EXPECT_TRUE(row.passed);
    EXPECT_EQ(row.status, Status::max_iterations);
    EXPECT_EQ(row.iterations, 2);
  }
  const auto indefinite = std::make_shared<const Csr<double>>(from_dense<double>({{1, 0}, {0, -1}}, 2));
  const auto broken = solve_with(settings_for({compare::Solver::cg}), indefinite, candidates);
  EXPECT_EQ(cli::exit_code_of(broken, 0, false), cli::ExitCode::failed);
}

TEST(CompareSolves, RectangularMatricesAreRefused) {
  const auto wide = std::make_shared<const Csr<double>>(from_dense<double>({{1, 2, 3}}, 3));
  EXPECT_THROW(static_cast<void>(solve_with(settings_for({compare::Solver::cg}), wide, {})), DimensionError);
}

TEST(CheckedResidual, IsTheNormOfWhatIsLeft) {
  const auto matrix = from_dense<double>({{2, 0}, {1, 1}}, 2);
  const std::vector<double> b{5, 6};
  const std::vector<double> x{1, 1};  // A x = (2, 2)
  const auto checked = compare::checked_residual<double>(matrix.view(), b, x);
  EXPECT_DOUBLE_EQ(checked.value, 5.0);
  EXPECT_GT(checked.allowance, 0.0);
  EXPECT_LT(checked.allowance, 1e-13);
  const std::vector<double> bad{std::numeric_limits<double>::quiet_NaN(), 1};
  EXPECT_TRUE(std::isnan(compare::checked_residual<double>(matrix.view(), b, bad).value));
}

/// 1 -> 2 with d = 1/2; vertex 2 dangles. From x = (1/2, 1/2): x' = (1/8, 3/8) + 1/4 = (3/8, 5/8).
TEST(CheckedRankChange, IsOneStepOfTheDefinition) {
  const auto graph = from_dense<double>({{0, 7}, {0, 0}}, 2);
  const std::vector<double> half{0.5, 0.5};
  EXPECT_DOUBLE_EQ(compare::checked_rank_change<double>(graph.view(), 0.5, half).value, 0.25);
  // The fixed point: x1 = x2 / 4 + 1/4, x2 = x1 / 2 + x2 / 4 + 1/4, so x = (2/5, 3/5).
  const std::vector<double> fixed{0.4, 0.6};
  EXPECT_LE(compare::checked_rank_change<double>(graph.view(), 0.5, fixed).value, 1e-15);
}

}  // namespace

}  // namespace tessera::testing
