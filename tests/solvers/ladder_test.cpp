/// solve(): every ending is honest, every rung is taken where it should be, and what Jacobi solves stays with Jacobi.
#include "tessera/ladder.hpp"

#include "core/interruption.hpp"
#include "core/random.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/eigen_bridge.hpp"

#include <gtest/gtest.h>
#include <Eigen/SparseLU>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

namespace tessera::testing {
namespace {

template <class T>
struct Climbed {
  LadderReport ladder;
  std::vector<T> b;
  std::vector<T> x;
};

template <class T>
[[nodiscard]] Climbed<T> climb(const Csr<T>& a, std::vector<T> b, const LadderOptions& options = {},
                               std::vector<T> guess = {}) {
  Climbed<T> result;
  result.b = std::move(b);
  result.x = guess.empty() ? std::vector<T>(result.b.size()) : std::move(guess);
  const SpmvPlan<T> plan(Csr<T>::copy_of(a.view()));
  result.ladder = solve<T>(plan, statistics(a.view()), result.b, result.x, options);
  if (result.ladder.report.b_norm > 0.0) expect_honest(result.ladder.report, a.view(), result.b, result.x);
  return result;
}

template <class T>
[[nodiscard]] std::vector<T> image_of_random(const Csr<T>& a, std::uint64_t seed = 5) {
  return product(a.view(), random_values<T>(static_cast<std::size_t>(a.rows()), seed));
}

/// Laplacian of a graph with preferential attachment, weights 10^w for w in [-2, 2], shifted: multigrid fills up.
[[nodiscard]] Csr<double> weighted_graph(index_t n) {
  constexpr int links = 3;
  detail::SplitMix64 random(3);
  std::vector<index_t> drawn{0};  // vertices as often as they have links
  std::vector<Eigen::Triplet<double>> entries;
  for (index_t v = 1; v < n; ++v) {
    for (int link = 0; link < links; ++link) {
      const index_t u = drawn[random.below(drawn.size())];
      const double weight = std::pow(10.0, 4.0 * random.uniform() - 2.0);
      for (const auto& [i, j, value] : {std::tuple{v, v, weight}, {u, u, weight}, {v, u, -weight}, {u, v, -weight}}) {
        entries.emplace_back(i, j, value);
      }
      drawn.push_back(u);
    }
    drawn.push_back(v);
    entries.emplace_back(v, v, 1e-3);
  }
  entries.emplace_back(0, 0, 1e-3);
  Eigen::SparseMatrix<double, Eigen::RowMajor> sum(n, n);
  sum.setFromTriplets(entries.begin(), entries.end());
  const auto nnz = static_cast<std::size_t>(sum.nonZeros());
  return make_csr<double>(n, n, {sum.outerIndexPtr(), sum.outerIndexPtr() + n + 1},
                          {sum.innerIndexPtr(), sum.innerIndexPtr() + nnz}, {sum.valuePtr(), sum.valuePtr() + nnz});
}

/// Five points less 0.6² on a grid: symmetric, with a positive diagonal, and indefinite (Helmholtz' equation).
[[nodiscard]] Csr<double> indefinite_grid(index_t side) {
  Csr<double> a = poisson2d<double>(side, side);
  std::vector<double> values(a.view().values.begin(), a.view().values.end());
  for (double& value : values) value = value > 0.0 ? value - 0.36 : value;
  const CsrView<double> view = a.view();
  return make_csr<double>(view.rows, view.cols, {view.row_offsets.begin(), view.row_offsets.end()},
                          {view.columns.begin(), view.columns.end()}, values);
}

[[nodiscard]] const RungReport& winner(const LadderReport& ladder) { return ladder.rungs.at(ladder.rung); }

[[nodiscard]] double distance(const std::vector<double>& x, const std::vector<double>& y) {
  double squares = 0;
  double norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    squares += (x[i] - y[i]) * (x[i] - y[i]);
    norm += y[i] * y[i];
  }
  return std::sqrt(squares / norm);
}

TEST(Ladder, WhatJacobiSolvesStaysWithJacobi) {
  const auto a = poisson2d<double>(30, 30);
  const auto result = climb(a, image_of_random(a));
  EXPECT_TRUE(result.ladder.report.converged());
  ASSERT_EQ(result.ladder.rungs.size(), 1U);
  EXPECT_EQ(winner(result.ladder).plan.command_options(), "-m cg -p jacobi");
  EXPECT_FALSE(result.ladder.facts.structural_rank) << "no analysis was needed";
  // The same iterate as the method alone.
  std::vector<double> x(result.b.size());
  const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()));
  const SolveReport alone = cg<double>(plan, JacobiPreconditioner<double>(a.view()), result.b, x);
  EXPECT_EQ(alone.iterations, result.ladder.report.iterations);
  EXPECT_EQ(x, result.x);
}

/// Zeros on the whole diagonal: neither Jacobi nor any factorization without pivoting.
TEST(Ladder, AZeroDiagonalIsNoObstacle) {
  const auto a = from_dense<double>({{0, 2, 0, 0}, {3, 0, 1, 0}, {0, 1, 0, 4}, {1, 0, 5, 0}}, 4);
  const auto result = climb(a, image_of_random(a));
  EXPECT_TRUE(result.ladder.report.converged()) << result.ladder.report.reason;
  EXPECT_EQ(winner(result.ladder).plan.method, RungMethod::direct);
  const Eigen::VectorXd exact =
      Eigen::SparseLU<Eigen::SparseMatrix<double>>(to_eigen(a.view()))
          .solve(Eigen::Map<const Eigen::VectorXd>(result.b.data(), static_cast<Eigen::Index>(result.b.size())));
  EXPECT_LE(distance(result.x, {exact.data(), exact.data() + exact.size()}), 1e-12);
}

/// CG on -A, by the rungs for positive definite matrices.
TEST(Ladder, ANegativeDefiniteSystemIsSolvedAsItsNegative) {
  const auto a = scaled(poisson2d<double>(40, 40), -1.0);
  const auto x = random_values<double>(1600, 3);
  const auto result = climb(a, product(a.view(), x));
  EXPECT_TRUE(result.ladder.report.converged());
  EXPECT_EQ(winner(result.ladder).plan.command_options(), "-m cg -p jacobi");
  EXPECT_LE(distance(result.x, x), 1e-5);
}

/// Rows scaled by powers of ten from 1e-8 to 1e8 and permuted: stationary for Jacobi, easy with matching and scaling.
[[nodiscard]] Csr<double> badly_scaled(index_t n) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  for (index_t i = 0; i < n; ++i) {
    const index_t row = (i * 7 + 3) % n;
    const double scale = std::pow(10.0, (row * 5) % 17 - 8);
    for (const index_t offset : {-1, 0, 1}) {
      const index_t j = row + offset;
      if (j < 0 || j >= n) continue;
      columns.push_back(j);
      values.push_back(scale * (offset == 0 ? 4.0 : offset < 0 ? -1.5 : -1.0));
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return make_csr<double>(n, n, offsets, columns, values);
}

TEST(Ladder, PermutedAndBadlyScaledRows) {
  const auto a = badly_scaled(1000);
  const auto x = random_values<double>(1000, 8);
  const auto result = climb(a, product(a.view(), x));
  EXPECT_TRUE(result.ladder.report.converged()) << result.ladder.report.reason;
  EXPECT_LE(distance(result.x, x), 1e-3) << "the gate repairs what the residual does not see";
}

/// An identity beside a tiny and slow block, which the residual does not see.
[[nodiscard]] Csr<double> hidden_block() {
  constexpr index_t half = 100;
  constexpr double tiny = 1e-12;
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  for (index_t i = 0; i < 2 * half; ++i) {
    for (const index_t j : {i - 1, i, i + 1}) {
      const bool is_block = i >= half && j >= half && j < 2 * half;
      if (i != j && !is_block) continue;
      columns.push_back(j);
      values.push_back(i < half ? 1.0 : tiny * (i == j ? 2.05 : j < i ? -1.1 : -0.9));
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return make_csr<double>(2 * half, 2 * half, offsets, columns, values);
}

TEST(Ladder, AnErrorThatTheResidualHidesIsRepaired) {
  const auto a = hidden_block();
  const auto x = random_values<double>(200, 4);
  const auto repaired = climb(a, product(a.view(), x));
  EXPECT_TRUE(repaired.ladder.report.converged());
  EXPECT_LE(distance(repaired.x, x), 1e-3);
  LadderOptions off;
  off.gate = ErrorGate::off;
  const auto plain = climb(a, product(a.view(), x), off);
  EXPECT_TRUE(plain.ladder.report.converged());
  EXPECT_GE(distance(plain.x, x), 1e-3) << "without the gate the error would go unnoticed";
}

TEST(Ladder, AStructurallySingularMatrixIsSaidToBeOne) {
  // Rows 1 and 2 have entries in column 0 alone.
  const auto a = from_dense<double>({{1, 2, 3}, {4, 0, 0}, {5, 0, 0}}, 3);
  const auto consistent = climb(a, image_of_random(a));
  EXPECT_EQ(consistent.ladder.proof, "structurally singular: rank at most 2 of 3");
  const auto inconsistent = climb(a, std::vector<double>{1, 1, 1});
  EXPECT_FALSE(inconsistent.ladder.report.converged());
  EXPECT_EQ(inconsistent.ladder.proof, "structurally singular: rank at most 2 of 3");
}

TEST(Ladder, CopiedRowsAreSaidToBeSingular) {
  const auto a = from_dense<double>({{0, 2, 3}, {0, 2, 3}, {5, 1, 0}}, 3);
  const auto result = climb(a, std::vector<double>{1, 2, 3});
  EXPECT_FALSE(result.ladder.report.converged());
  EXPECT_NE(result.ladder.proof.find("copies"), std::string::npos) << result.ladder.proof;
}

TEST(Ladder, SingularToRounding) {
  const auto a = from_dense<double>({{0, 1, 1}, {1, 0, 1}, {1, 1, 2}}, 3);
  const auto result = climb(a, std::vector<double>{1, 1, 1});
  EXPECT_FALSE(result.ladder.report.converged());
  EXPECT_FALSE(result.ladder.proof.empty());
}

/// ε ‖|A||x|‖ is far above the tolerance: no method gives more.
TEST(Ladder, AnUnattainableToleranceIsToldApartFromFailure) {
  // Hilbert's matrix: its inverse has entries of 1e15, and so has x.
  constexpr int n = 12;
  std::vector<std::vector<double>> hilbert(n, std::vector<double>(n));
  std::vector<double> b(n);
  for (int i = 0; i < n; ++i) {
    b[static_cast<std::size_t>(i)] = i % 2 == 0 ? 1.0 : -1.0;
    for (int j = 0; j < n; ++j) hilbert[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = 1.0 / (i + j + 1);
  }
  const auto result = climb(from_dense<double>(hilbert, n), b);
  EXPECT_FALSE(result.ladder.report.converged());
  EXPECT_TRUE(result.ladder.is_backward_stable) << result.ladder.backward.componentwise;
  EXPECT_GE(result.ladder.backward.attainable, result.ladder.report.target);
}

TEST(Ladder, TrivialSystems) {
  EXPECT_TRUE(climb(Csr<double>(), std::vector<double>{}).ladder.report.converged());
  const auto one = climb(diagonal_matrix<double>({4}), std::vector<double>{8});
  EXPECT_TRUE(one.ladder.report.converged());
  EXPECT_EQ(one.x.front(), 2.0);
  const auto zero = climb(poisson2d<double>(5, 5), std::vector<double>(25));
  EXPECT_TRUE(zero.ladder.report.converged());
  EXPECT_TRUE(zero.ladder.rungs.empty());
  const auto a = poisson2d<double>(5, 5);
  const auto x = random_values<double>(25, 1);
  const auto solved = climb(a, product(a.view(), x), {}, x);
  EXPECT_TRUE(solved.ladder.report.converged());
  EXPECT_TRUE(solved.ladder.rungs.empty()) << "the guess was the answer";
  EXPECT_EQ(solved.x, x);
}

TEST(Ladder, NanInTheRightSideIsRefused) {
  const auto a = poisson2d<double>(5, 5);
  std::vector<double> b(25, 1.0);
  b[7] = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> x(25);
  const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()));
  const LadderReport ladder = solve<double>(plan, statistics(a.view()), b, x);
  EXPECT_EQ(ladder.report.status, Status::not_finite);
  EXPECT_TRUE(ladder.rungs.empty());
}

TEST(Ladder, LimitsHoldForAllRungsTogether) {
  const auto a = poisson2d<double>(40, 40);
  LadderOptions options;
  options.solver.max_iterations = 7;
  const auto result = climb(a, image_of_random(a), options);
  EXPECT_EQ(result.ladder.report.status, Status::max_iterations);
  std::int64_t sum = 0;
  for (const RungReport& rung : result.ladder.rungs) sum += rung.iterations;
  EXPECT_EQ(sum, 7);
  options.solver.max_iterations = 0;
  EXPECT_EQ(climb(a, image_of_random(a), options).ladder.report.status, Status::max_iterations);
}

TEST(Ladder, TheObserverHearsOfEveryIterationAndCanStop) {
  const auto a = badly_scaled(500);
  std::vector<std::int64_t> seen;
  LadderOptions options;
  options.solver.keep_history = true;
  options.solver.observer = [&](const IterationInfo& info) {
    seen.push_back(info.iteration);
    return Control::proceed;
  };
  const auto result = climb(a, image_of_random(a), options);
  ASSERT_FALSE(seen.empty());
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  const auto& history = result.ladder.report.history;
  ASSERT_FALSE(history.empty());
  EXPECT_TRUE(std::is_sorted(history.begin(), history.end(),
                             [](const auto& x, const auto& y) { return x.iteration < y.iteration; }));
  options.solver.observer = [](const IterationInfo& info) {
    return info.iteration == 3 ? Control::stop : Control::proceed;
  };
  const auto grid = poisson2d<double>(40, 40);
  const auto stopped = climb(grid, image_of_random(grid), options);
  EXPECT_EQ(stopped.ladder.report.status, Status::interrupted);
  EXPECT_EQ(stopped.ladder.rungs.size(), 1U);
  EXPECT_TRUE(stopped.ladder.report.reason.starts_with("stopped by the observer after"))
      << stopped.ladder.report.reason;
  options.solver.stop_cause = [] { return std::string("interrupted by Ctrl-C"); };
  const auto named = climb(grid, image_of_random(grid), options);
  EXPECT_TRUE(named.ladder.report.reason.starts_with("interrupted by Ctrl-C after iteration 3; "))
      << named.ladder.report.reason;
}

/// 90 000 unknowns take more than the 200 iterations with Jacobi above which multigrid pays: without memory for it, or
/// for factors, Jacobi goes on and converges.
TEST(Ladder, JacobiIsNotLeftForWhatDoesNotFitIntoMemory) {
  const auto grid = poisson2d<double>(300, 300);
  LadderOptions options;
  const auto free = climb(grid, image_of_random(grid), options);
  EXPECT_EQ(winner(free.ladder).plan.precond, RungPrecond::amg);
  options.memory_limit_bytes = 1'000'000;
  const auto limited = climb(grid, image_of_random(grid), options);
  EXPECT_TRUE(limited.ladder.report.converged()) << limited.ladder.report.reason;
  ASSERT_EQ(limited.ladder.rungs.size(), 1U) << limited.ladder.rungs[1].outcome;
  EXPECT_EQ(winner(limited.ladder).plan.command_options(), "-m cg -p jacobi");
  EXPECT_FALSE(limited.ladder.facts.structural_rank) << "nor is it analysed";
}

/// Jacobi is left for multigrid, which refuses; what remains of Jacobi costs less than incomplete factors.
TEST(Ladder, ARungThatWasLeftGoesOnWhereThatPromisesToCostLess) {
  const auto a = weighted_graph(21'000);
  const auto x = random_values<double>(static_cast<std::size_t>(a.rows()), 3);
  const auto result = climb(a, product(a.view(), x));
  EXPECT_TRUE(result.ladder.report.converged()) << result.ladder.report.reason;
  const auto& rungs = result.ladder.rungs;
  ASSERT_EQ(rungs.size(), 3U);
  EXPECT_TRUE(rungs[0].outcome.starts_with("left after")) << rungs[0].outcome;
  EXPECT_TRUE(rungs[1].outcome.starts_with("does not coarsen")) << rungs[1].outcome;
  EXPECT_EQ(rungs[2].plan.command_options(), "-m cg -p jacobi");
  EXPECT_TRUE(rungs[2].plan.reason.starts_with("goes on")) << rungs[2].plan.reason;
  EXPECT_EQ(rungs[2].outcome, "solved");
  ASSERT_TRUE(rungs[2].error);
  EXPECT_NE(rungs[2].error->source, ErrorSource::iterations) << "iterations that begin late say less of the error";
  EXPECT_FALSE(result.ladder.facts.structural_rank) << "nothing was analysed";
  EXPECT_LE(distance(result.x, x), 1e-4);
}

/// Symmetric and indefinite: after one useless incomplete factor, direct factors, not another incomplete one.
TEST(Ladder, UselessFactorsOfAnIndefiniteMatrixAreNotTriedAgain) {
  const auto a = indefinite_grid(60);
  LadderFacts facts = ladder_facts<double>(statistics(a.view()));
  facts.direct.reset();
  const auto x = random_values<double>(static_cast<std::size_t>(a.rows()), 3);
  const auto result = climb(a, product(a.view(), x));
  EXPECT_TRUE(result.ladder.report.converged()) << result.ladder.report.reason;
  int incomplete = 0;
  for (const RungReport& rung : result.ladder.rungs) {
    if (rung.plan.precond == RungPrecond::incomplete_factors && !rung.set_up) ++incomplete;
  }
  EXPECT_LE(incomplete, 1);
  EXPECT_LE(distance(result.x, x), 1e-6);
}

/// The caller's scope, as that of the command, ends analyses and set-up, which ask no observer.
TEST(Ladder, ACallerThatWantsNoMoreEndsItBetweenIterations) {
  const auto a = indefinite_grid(200);
  const auto b = image_of_random(a);
  int asks = 0;
  LadderOptions options;
  options.solver.stop_cause = [] { return std::string("interrupted by SIGTERM"); };
  const detail::InterruptionScope scope(std::numeric_limits<double>::infinity(), [&] { return ++asks < 3; });
  const auto result = climb(a, b, options);
  EXPECT_EQ(result.ladder.report.status, Status::interrupted);
  EXPECT_TRUE(result.ladder.report.reason.starts_with("interrupted by SIGTERM")) << result.ladder.report.reason;
  for (const double value : result.x) ASSERT_TRUE(std::isfinite(value));
}

TEST(Ladder, ALimitOfTimeEndsAnalysesAndSetUp) {
  const auto a = indefinite_grid(300);
  LadderOptions options;
  options.solver.time_limit_seconds = 0.05;
  const auto result = climb(a, image_of_random(a), options);
  EXPECT_EQ(result.ladder.report.status, Status::time_limit) << result.ladder.report.reason;
}

/// Factors come next here: none are made.
TEST(Ladder, AStopBeforeTheFirstRungIsAnInterrupt) {
  const auto a = from_dense<double>({{0, 2, 0, 0}, {3, 0, 1, 0}, {0, 1, 0, 4}, {1, 0, 5, 0}}, 4);
  LadderOptions at_once;
  at_once.solver.observer = [](const IterationInfo&) { return Control::stop; };
  const auto result = climb(a, image_of_random(a), at_once);
  EXPECT_EQ(result.ladder.report.status, Status::interrupted);
  EXPECT_TRUE(result.ladder.rungs.empty());
}

TEST(Ladder, TheTargetIsThatOfTheFirstResidual) {
  const auto a = badly_scaled(300);
  LadderOptions options;
  options.solver.base = ResidualBase::r0;
  const auto result = climb(a, image_of_random(a), options, std::vector<double>(300, 1.0));
  EXPECT_TRUE(result.ladder.report.converged());
  EXPECT_LE(result.ladder.report.true_residual, 1e-8 * result.ladder.report.r0_norm * (1 + 1e-12));
}

TEST(Ladder, KeepsToAMethodThatIsNamed) {
  const auto a = badly_scaled(400);
  for (const RungMethod method : {RungMethod::bicgstab, RungMethod::gmres, RungMethod::idr}) {
    LadderOptions options;
    options.method = method;
    const auto result = climb(a, image_of_random(a), options);
    EXPECT_TRUE(result.ladder.report.converged()) << to_string(method) << ": " << result.ladder.report.reason;
    for (const RungReport& rung : result.ladder.rungs) EXPECT_EQ(rung.plan.method, method);
  }
}

TEST(Ladder, RunsRepeatBitByBit) {
  const auto a = badly_scaled(800);
  const auto first = climb(a, image_of_random(a));
  const auto second = climb(a, image_of_random(a));
  EXPECT_EQ(first.x, second.x);
  EXPECT_EQ(first.ladder.rungs.size(), second.ladder.rungs.size());
}

TEST(Ladder, SinglePrecision) {
  const auto a = poisson2d<float>(30, 30);
  LadderOptions options;
  options.solver.relative_tolerance = 1e-5;
  EXPECT_TRUE(climb(a, image_of_random(a), options).ladder.report.converged());
  const auto b = from_dense<float>({{0, 2, 0}, {3, 0, 1}, {0, 1, 4}}, 3);
  EXPECT_TRUE(climb(b, std::vector<float>{1, 2, 3}, options).ladder.report.converged());
}

}  // namespace
}  // namespace tessera::testing
