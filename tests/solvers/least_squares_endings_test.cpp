/// LSMR and CGLS, their endings: exact and empty problems, the range of the type, limits, refusals, column scaling.
#include "tessera/error.hpp"
#include "tests/solvers/least_squares_problems.hpp"
#include "tests/support/error_message.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace tessera::testing {
namespace {

constexpr auto infinity = std::numeric_limits<double>::infinity();

Csr<double> diagonally_dominant_square() { return from_dense<double>({{4, 1, 0}, {1, 5, 2}, {0, 2, 6}}, 3); }

/// x is beyond the range of the type: nothing that is not finite comes back.
TEST(LeastSquares, BeyondTheRange) {
  for (const LeastSquaresMethod method : least_squares_methods) {
    SCOPED_TRACE(name_of(method));
    LeastSquaresProblem<double> problem(diagonal_matrix<double>({1e-10, 1.0}));
    problem.b = {1e305, 1e305};
    const LeastSquaresReport report = problem.solve(method, {.relative_tolerance = 1e-12, .residual_tolerance = 1e-12});
    EXPECT_EQ(report.status, Status::not_finite) << report.reason;
    EXPECT_EQ(report.breakdown, Breakdown::not_finite);
    EXPECT_TRUE(std::isfinite(problem.x[0]) && std::isfinite(problem.x[1]));
    // A'b overflows.
    LeastSquaresProblem<double> large(from_dense<double>({{1.5e308, 1.5e308}, {1.5e308, -1.5e308}}, 2));
    large.b = {1.99, 1.99};
    const LeastSquaresReport of_large = large.solve(method);
    EXPECT_EQ(of_large.status, Status::not_finite) << of_large.reason;
  }
}

/// Squares of A's entries are 0 or infinite: x, residuals and status are those of A / factor, and those of Eigen.
void expect_same_at_any_scale(const Csr<double>& matrix, bool is_scaled, double damping) {
  for (const LeastSquaresMethod method : least_squares_methods) {
    SCOPED_TRACE(name_of(method));
    const auto solve = [&](double factor, double of_b, LeastSquaresProblem<double>& problem) {
      const LeastSquaresOptions options{
          .relative_tolerance = 1e-11, .residual_tolerance = 1e-11, .damping = damping * factor};
      for (double& b : problem.b) b *= of_b;
      return is_scaled ? problem.solve_scaled(method, options) : problem.solve(method, options);
    };
    LeastSquaresProblem<double> plain(scaled(matrix, 1.0));
    const Eigen::VectorXd reference = least_norm_solution(plain.plan.matrix(), plain.b, damping);
    const LeastSquaresReport base = solve(1.0, 1.0, plain);
    EXPECT_TRUE(base.converged()) << base.reason;
    for (const auto& [factor, of_b] : std::initializer_list<std::pair<double, double>>{{0x1p-900, 1.0},
                                                                                       {0x1p-700, 0x1p-700},
                                                                                       {0x1p-560, 0x1p400},
                                                                                       {0x1p-510, 1.0},
                                                                                       {0x1p-250, 1.0},
                                                                                       {0x1p250, 1.0},
                                                                                       {0x1p510, 1.0},
                                                                                       {0x1p560, 0x1p300},
                                                                                       {0x1p900, 0x1p900},
                                                                                       {0x1p900, 1.0}}) {
      SCOPED_TRACE(factor);
      LeastSquaresProblem<double> problem(scaled(matrix, factor));
      const LeastSquaresReport report = solve(factor, of_b, problem);
      EXPECT_TRUE(report.converged()) << report.reason;
      EXPECT_EQ(report.ended_by, base.ended_by);
      EXPECT_EQ(report.iterations, base.iterations);
      for (double& x : problem.x) x *= factor / of_b;
      EXPECT_LE(problem.error(reference), 1e-8);
      EXPECT_NEAR(report.true_residual / of_b, base.true_residual, 1e-9 * base.b_norm);
      EXPECT_NEAR(report.x_norm * (factor / of_b), base.x_norm, 1e-8 * base.x_norm);
      EXPECT_NEAR(report.matrix_norm / (is_scaled ? 1.0 : factor), base.matrix_norm, 1e-8 * base.matrix_norm);
      EXPECT_NEAR(report.optimality, base.optimality, 1e-3 * base.optimality + 1e-12);
    }
  }
}

TEST(LeastSquares, AnyScaleOfA) {
  for (const bool is_scaled : {false, true}) {
    SCOPED_TRACE(is_scaled);
    for (const double damping : {0.0, 0.3}) {
      SCOPED_TRACE(damping);
      expect_same_at_any_scale(random_rectangular<double>(40, 15, 0.6, 21), is_scaled, damping);
      expect_same_at_any_scale(diagonally_dominant_square(), is_scaled, damping);
    }
  }
  expect_same_at_any_scale(random_rectangular<double>(15, 40, 0.6, 22), false, 0.0);
}

/// The residual of what is left of x decides.
TEST(LeastSquares, DigitsBelowTheRange) {
  for (const LeastSquaresMethod method : least_squares_methods) {
    SCOPED_TRACE(name_of(method));
    LeastSquaresProblem<double> problem(diagonal_matrix<double>({1e60, 1e61}));
    problem.b = {1e-261, 3e-261};
    const LeastSquaresReport report = problem.solve(method);
    EXPECT_EQ(report.status, Status::stagnated);
    EXPECT_EQ(report.reason.find("digits of x are below the range of the element type; "), 0U) << report.reason;
    EXPECT_GT(report.true_residual, 1e-4 * report.b_norm);
  }
}

TEST(LeastSquares, ConsistentSystemEndsByItsResidual) {
  for (const LeastSquaresMethod method : least_squares_methods) {
    SCOPED_TRACE(name_of(method));
    LeastSquaresProblem<double> problem(random_rectangular<double>(50, 20, 0.5, 15));
    problem.b = product(problem.plan.matrix(), random_values<double>(20, 16));
    const LeastSquaresReport report = problem.solve(method, {.relative_tolerance = 1e-14});
    EXPECT_EQ(report.ended_by, LeastSquaresTest::residual) << report.reason;
    EXPECT_EQ(report.reason.find("||b - A x||_2 = "), 0U) << report.reason;
    EXPECT_DOUBLE_EQ(report.target, 1e-8 * report.b_norm);
  }
}

TEST(LeastSquares, ExactEndings) {
  for (const LeastSquaresMethod method : least_squares_methods) {
    SCOPED_TRACE(name_of(method));
    // b is orthogonal to the range: x0 = 0 is the solution.
    LeastSquaresProblem<double> orthogonal(make_csr<double>(2, 1, {0, 1, 1}, {0}, {2.0}));
    orthogonal.b = {0.0, 3.0};
    LeastSquaresReport report = orthogonal.solve(method);
    EXPECT_EQ(report.iterations, 0);
    EXPECT_EQ(report.ended_by, LeastSquaresTest::normal_residual);
    EXPECT_EQ(report.true_residual, 3.0);
    EXPECT_EQ(orthogonal.x[0], 0.0);
    // 1 x 1
    LeastSquaresProblem<double> scalar(make_csr<double>(1, 1, {0, 1}, {0}, {4.0}));
    scalar.b = {2.0};
    report = scalar.solve(method, {.relative_tolerance = 0.0, .residual_tolerance = 0.0});
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_EQ(scalar.x[0], 0.5);
    // One column: one iteration.
    LeastSquaresProblem<double> column(make_csr<double>(3, 1, {0, 1, 2, 3}, {0, 0, 0}, {1.0, 1.0, 1.0}));
    column.b = {1.0, 2.0, 6.0};
    report = column.solve(method, {.relative_tolerance = 1e-15});
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_EQ(report.iterations, 1);
    EXPECT_NEAR(column.x[0], 3.0, 1e-15);
    // A zero matrix: every x is a solution.
    LeastSquaresProblem<double> zero(make_csr<double>(3, 2, {0, 0, 0, 0}, {}, {}));
    zero.x = {5.0, -1.0};
    report = zero.solve(method);
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_EQ(zero.x, (std::vector<double>{5.0, -1.0}));
  }
}

TEST(LeastSquares, EmptyProblemsAndZeroRightSide) {
  for (const LeastSquaresMethod method : least_squares_methods) {
    SCOPED_TRACE(name_of(method));
    LeastSquaresProblem<double> no_columns(make_csr<double>(2, 0, {0, 0, 0}, {}, {}));
    no_columns.b = {3.0, 4.0};
    LeastSquaresReport report = no_columns.solve(method);
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_EQ(report.true_residual, 5.0);
    LeastSquaresProblem<double> no_rows(make_csr<double>(0, 2, {0}, {}, {}));
    no_rows.x = {1.0, 2.0};
    report = no_rows.solve(method);
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_EQ(no_rows.x, (std::vector<double>{0.0, 0.0}));
    LeastSquaresProblem<double> empty(make_csr<double>(0, 0, {0}, {}, {}));
    EXPECT_TRUE(empty.solve(method).converged());
    LeastSquaresProblem<double> zero(random_rectangular<double>(5, 3, 0.9, 17));
    zero.b.assign(5, 0.0);
    zero.x = {1.0, 2.0, 3.0};
    report = zero.solve(method, {.keep_history = true});
    EXPECT_TRUE(report.converged());
    EXPECT_EQ(report.reason, "b = 0, solved by x = 0");
    EXPECT_EQ(zero.x, (std::vector<double>{0.0, 0.0, 0.0}));
    EXPECT_EQ(report.history.size(), 1U);
  }
}

/// A solution as x0 is seen by the first check; a near one saves iterations.
TEST(LeastSquares, WarmStart) {
  for (const LeastSquaresMethod method : least_squares_methods) {
    SCOPED_TRACE(name_of(method));
    LeastSquaresProblem<double> problem(random_rectangular<double>(80, 40, 0.2, 18));
    const LeastSquaresReport cold = problem.solve(method, {.relative_tolerance = 1e-10});
    const LeastSquaresReport again = problem.solve(method, {.relative_tolerance = 1e-9});
    EXPECT_TRUE(again.converged()) << again.reason;
    EXPECT_LE(again.iterations, 2);
    EXPECT_GT(cold.iterations, 10);
  }
}

TEST(LeastSquares, WhatIsNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const LeastSquaresMethod method : least_squares_methods) {
    SCOPED_TRACE(name_of(method));
    LeastSquaresProblem<double> problem(random_rectangular<double>(5, 3, 0.9, 19));
    problem.b[3] = nan;
    EXPECT_EQ(problem.solve(method).reason, "b[3] is nan");
    problem.b[3] = 1.0;
    problem.x[1] = infinity;
    const LeastSquaresReport report = problem.solve(method);
    EXPECT_EQ(report.status, Status::not_finite);
    EXPECT_EQ(report.reason, "x[1] is inf");
    EXPECT_EQ(problem.x[1], infinity);
    LeastSquaresProblem<double> bad(make_csr<double>(2, 1, {0, 1, 2}, {0, 0}, {1.0, nan}));
    const LeastSquaresReport of_bad = bad.solve(method);
    EXPECT_EQ(of_bad.status, Status::not_finite);
    EXPECT_EQ(of_bad.reason, "(b - A x0)[1] is nan");
    EXPECT_EQ(bad.x[0], 0.0);
  }
}

TEST(LeastSquares, Limits) {
  for (const LeastSquaresMethod method : least_squares_methods) {
    SCOPED_TRACE(name_of(method));
    LeastSquaresProblem<double> problem(random_rectangular<double>(80, 60, 0.2, 20));
    const auto restart = [&] { std::fill(problem.x.begin(), problem.x.end(), 0.0); };
    LeastSquaresReport report = problem.solve(method, {.max_iterations = 0});
    EXPECT_EQ(report.status, Status::max_iterations);
    EXPECT_EQ(report.reason.find("iteration limit 0 reached; ||A'(b - A x)||_2 = "), 0U) << report.reason;
    report = problem.solve(method, {.time_limit_seconds = 0.0});
    EXPECT_EQ(report.status, Status::time_limit);
    restart();
    report = problem.solve(method, {.observer = [](const IterationInfo& info) {
                             return info.iteration < 4 ? Control::proceed : Control::stop;
                           }});
    EXPECT_EQ(report.status, Status::interrupted);
    EXPECT_EQ(report.iterations, 4);
    expect_honest(report, problem.plan.matrix(), problem.b, problem.x, {});
    restart();
    report = problem.solve(method, {.condition_limit = 3.0});
    EXPECT_EQ(report.status, Status::stagnated);
    EXPECT_EQ(report.reason.find("cond(A) is at least "), 0U) << report.reason;
    EXPECT_GT(report.condition, 3.0);
    // No x meets tolerances of 0.
    restart();
    report = problem.solve(method, {.relative_tolerance = 0.0, .residual_tolerance = 0.0});
    EXPECT_EQ(report.status, Status::stagnated) << report.reason;
    EXPECT_NE(report.reason.find("attainable accuracy reached"), std::string::npos) << report.reason;
    EXPECT_LE(report.optimality, 1e-14);
    expect_honest(report, problem.plan.matrix(), problem.b, problem.x,
                  {.relative_tolerance = 0.0, .residual_tolerance = 0.0});
  }
}

/// The caller's units come back, whatever ends the solve.
TEST(LeastSquares, ExceptionsLeaveXInItsUnits) {
  LeastSquaresProblem<double> problem(random_rectangular<double>(30, 12, 0.5, 21));
  for (double& value : problem.b) value *= 1024.0;
  problem.x.assign(12, 1.0);
  EXPECT_THROW(
      static_cast<void>(problem.solve(LeastSquaresMethod::lsmr, {.observer = [](const IterationInfo&) -> Control {
                                        throw std::runtime_error("stop");
                                      }})),
      std::runtime_error);
  EXPECT_EQ(problem.x, std::vector<double>(12, 1.0));
}

TEST(LeastSquares, Refusals) {
  const SpmvPlan<double> no_transpose(random_rectangular<double>(4, 3, 0.9, 25));
  const SpmvPlan<double> plan = plan_with_transpose(random_rectangular<double>(4, 3, 0.9, 25));
  std::vector<double> b(4, 1.0);
  std::vector<double> x(3);
  for (const LeastSquaresMethod method : least_squares_methods) {
    const auto solve = [&](const LeastSquaresOptions& options) {
      static_cast<void>(solve_by<double>(method, plan, b, x, options));
    };
    EXPECT_NE(message_of<NotSupported>([&] {
                static_cast<void>(solve_by<double>(method, no_transpose, b, x));
              }).find("make the plan with SpmvOptions::with_transpose"),
              std::string::npos);
    EXPECT_EQ(message_of<DimensionError>([&] { static_cast<void>(solve_by<double>(method, plan, x, x)); }),
              "A is 4 x 3: b must have 4 elements, has 3");
    EXPECT_EQ(message_of<DimensionError>([&] { static_cast<void>(solve_by<double>(method, plan, b, b)); }),
              "A is 4 x 3: x must have 3 elements, has 4");
    EXPECT_EQ(message_of<InvalidArgument>(
                  [&] { static_cast<void>(solve_by<double>(method, plan, b, std::span<double>(b).first(3))); }),
              "b and x must not overlap");
    EXPECT_EQ(message_of<InvalidArgument>([&] { solve({.damping = -1.0}); }),
              "damping must be finite and >= 0, got -1");
    EXPECT_EQ(message_of<InvalidArgument>([&] { solve({.relative_tolerance = infinity}); }),
              "relative_tolerance must be finite and >= 0, got inf");
    EXPECT_EQ(message_of<InvalidArgument>([&] { solve({.residual_tolerance = -1.0}); }),
              "residual_tolerance must be finite and >= 0, got -1");
    EXPECT_EQ(message_of<InvalidArgument>([&] { solve({.condition_limit = 1.0}); }),
              "condition_limit must be > 1, got 1");
    EXPECT_EQ(message_of<InvalidArgument>([&] { solve({.max_iterations = -1}); }),
              "max_iterations must be >= 0, got -1");
    const IdentityOperator<double> wrong_size(4);
    EXPECT_EQ(message_of<DimensionError>([&] { static_cast<void>(solve_by<double>(method, plan, wrong_size, b, x)); }),
              "A is 4 x 3: the preconditioner must be 3 x 3, is 4 x 4");
    const FunctionOperator<double> not_diagonal(3, 3, [](std::span<const double>, std::span<double>) {});
    EXPECT_EQ(message_of<NotSupported>([&] { static_cast<void>(solve_by<double>(method, plan, not_diagonal, b, x)); }),
              "least squares take a diagonal preconditioner: ColumnNormPreconditioner, or none");
  }
}

TEST(ColumnNorms, AreThoseOfTheColumns) {
  const auto a = make_csr<float>(3, 4, {0, 2, 3, 4}, {0, 3, 0, 2}, {3.0F, 1.0F, 4.0F, 0.5F});
  const ColumnNormPreconditioner<float> plain(a.view());
  const std::span<const float> d = *plain.diagonal();
  EXPECT_EQ(std::vector<float>(d.begin(), d.end()), (std::vector<float>{0.2F, 1.0F, 2.0F, 1.0F}));
  const ColumnNormPreconditioner<float> damped(a.view(), 12.0);
  EXPECT_EQ((*damped.diagonal())[0], static_cast<float>(1.0 / 13.0));
  EXPECT_EQ((*damped.diagonal())[1], static_cast<float>(1.0 / 12.0));
  EXPECT_EQ(plain.info().name, "jacobi");
  EXPECT_EQ(plain.info().bytes, 4 * sizeof(float));
  const std::vector<float> x{1.0F, 2.0F, 3.0F, 4.0F};
  std::vector<float> y(4);
  plain.apply(x, y);
  EXPECT_EQ(y, (std::vector<float>{0.2F, 2.0F, 6.0F, 4.0F}));

  const auto bad = make_csr<double>(2, 2, {0, 1, 2}, {0, 1}, {1.0, infinity});
  EXPECT_EQ(message_of<InvalidMatrix>([&] { ColumnNormPreconditioner<double>{bad.view()}; }),
            "column scaling needs norms with a finite inverse: that of column 2 has none");
  EXPECT_EQ(message_of<InvalidArgument>([&] { ColumnNormPreconditioner<float>(a.view(), -1.0); }),
            "damping must be finite and >= 0, got -1");
  ColumnNormPreconditioner<double> other(random_rectangular<double>(5, 3, 0.9, 26).view());
  EXPECT_EQ(message_of<DimensionError>([&] { other.refresh(bad.view()); }),
            "column scaling was made for 3 columns, got 2 x 2");
}

}  // namespace
}  // namespace tessera::testing
