/// LSMR and CGLS against Eigen's complete orthogonal decomposition, against what theory says of their iterates, and
/// their endings.
#include "tessera/error.hpp"
#include "tests/solvers/least_squares_problems.hpp"
#include "tests/support/eigen_bridge.hpp"
#include "tests/support/small_grain.hpp"

#include <gtest/gtest.h>
#include <Eigen/IterativeLinearSolvers>

#include <cmath>
#include <string>

namespace tessera::testing {
namespace {

constexpr auto infinity = std::numeric_limits<double>::infinity();

/// A problem with its plan, from x = 0.
template <class T>
struct Problem {
  explicit Problem(Csr<T> matrix, std::uint64_t seed = 3)
      : plan(plan_with_transpose(std::move(matrix))),
        b(random_values<T>(static_cast<std::size_t>(plan.rows()), seed)),
        x(static_cast<std::size_t>(plan.cols())) {}

  LeastSquaresReport solve(LeastSquaresMethod method, const LeastSquaresOptions& options = {}) {
    return solve_by<T>(method, plan, b, x, options);
  }
  /// With column scaling.
  LeastSquaresReport solve_scaled(LeastSquaresMethod method, const LeastSquaresOptions& options = {}) {
    const ColumnNormPreconditioner<T> d(plan.matrix(), options.damping);
    return solve_by<T>(method, plan, d, b, x, options);
  }
  [[nodiscard]] double error(const Eigen::VectorXd& reference) const {
    return (dense_of(x) - reference).norm() / reference.norm();
  }

  SpmvPlan<T> plan;
  std::vector<T> b;
  std::vector<T> x;
};

template <class T>
void expect_solution_of_eigen(Csr<T> matrix, double damping, bool is_scaled, double most) {
  Problem<T> problem(std::move(matrix));
  const LeastSquaresOptions options{
      .relative_tolerance = most / 100, .residual_tolerance = most / 100, .damping = damping};
  const Eigen::VectorXd reference = least_norm_solution(problem.plan.matrix(), problem.b, damping);
  for (const LeastSquaresMethod method : least_squares_methods) {
    SCOPED_TRACE(name_of(method));
    std::fill(problem.x.begin(), problem.x.end(), T{0});
    const LeastSquaresReport report =
        is_scaled ? problem.solve_scaled(method, options) : problem.solve(method, options);
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_LE(problem.error(reference), most);
    expect_honest(report, problem.plan.matrix(), problem.b, problem.x, options);
  }
}

TEST(LeastSquares, SolutionOfEigen) {
  for (const double damping : {0.0, 0.3}) {
    SCOPED_TRACE(damping);
    for (const bool is_scaled : {false, true}) {
      SCOPED_TRACE(is_scaled);
      expect_solution_of_eigen(random_rectangular<double>(60, 25, 0.3, 1), damping, is_scaled, 1e-9);
      expect_solution_of_eigen(random_rectangular<double>(30, 30, 0.9, 2), damping, is_scaled, 1e-7);
      expect_solution_of_eigen(random_rectangular<float>(60, 25, 0.3, 1), damping, is_scaled, 1e-3);
    }
    // The solution of least norm; with λ there is but one.
    for (const bool is_scaled : {false, damping > 0.0}) {
      expect_solution_of_eigen(random_rectangular<double>(20, 50, 0.4, 3), damping, is_scaled, 1e-9);
      expect_solution_of_eigen(rank_deficient<double>(40, 24, 9, 4), damping, is_scaled, 1e-9);
      expect_solution_of_eigen(rank_deficient<double>(9, 24, 5, 5), damping, is_scaled, 1e-9);
      expect_solution_of_eigen(rank_deficient<float>(40, 24, 9, 4), damping, is_scaled, 1e-3);
    }
  }
}

/// Columns of falling size: condition number about 10^4.
Csr<double> graded() {
  const auto a = random_rectangular<double>(50, 12, 0.8, 6);
  std::vector<double> values(a.values().begin(), a.values().end());
  for (std::size_t k = 0; k < values.size(); ++k)
    values[k] *= std::pow(10.0, -a.columns()[static_cast<std::int64_t>(k)] / 3.0);
  return Csr<double>(a.rows(), a.cols(), a.row_offsets().to(Device{}), a.columns().to(Device{}),
                     Array<double>::copy_of(values));
}

TEST(LeastSquares, GradedColumns) {
  Problem<double> problem(graded());
  const Eigen::VectorXd reference = least_norm_solution(problem.plan.matrix(), problem.b);
  for (const LeastSquaresMethod method : least_squares_methods) {
    SCOPED_TRACE(name_of(method));
    std::fill(problem.x.begin(), problem.x.end(), 0.0);
    const LeastSquaresReport plain = problem.solve(method, {.relative_tolerance = 1e-12});
    EXPECT_TRUE(plain.converged()) << plain.reason;
    std::fill(problem.x.begin(), problem.x.end(), 0.0);
    const LeastSquaresReport scaled = problem.solve_scaled(method, {.relative_tolerance = 1e-12});
    EXPECT_TRUE(scaled.converged()) << scaled.reason;
    EXPECT_LE(problem.error(reference), 1e-9);
    EXPECT_LT(2 * scaled.iterations, plain.iterations) << "column scaling undoes the grading";
    EXPECT_EQ(scaled.preconditioner_count, scaled.transposed_count);
    EXPECT_EQ(plain.preconditioner_count, 0);
  }
}

/// Iterate k of both methods lies in the same Krylov space. LSMR has the least ‖s‖ there, CGLS the least ‖r̄‖; both fall
/// with every iteration (Fong & Saunders, section 4). The recurrences give what is computed from x.
TEST(LeastSquares, IteratesAreOptimal) {
  for (const double damping : {0.0, 0.2}) {
    for (const bool is_scaled : {false, true}) {
      if (is_scaled && damping > 0.0) continue;  // D s is not s
      const auto a = random_rectangular<double>(40, 20, 0.5, 7);
      double previous_normal = infinity;
      double previous_residual = infinity;
      for (std::int64_t k = 1; k <= 12; ++k) {
        const LeastSquaresOptions options{
            .relative_tolerance = 0.0, .residual_tolerance = 0.0, .damping = damping, .max_iterations = k};
        Problem<double> of_lsmr(a.to(Device{}));
        Problem<double> of_cgls(a.to(Device{}));
        const auto lsmr_report = is_scaled ? of_lsmr.solve_scaled(LeastSquaresMethod::lsmr, options)
                                           : of_lsmr.solve(LeastSquaresMethod::lsmr, options);
        const auto cgls_report = is_scaled ? of_cgls.solve_scaled(LeastSquaresMethod::cgls, options)
                                           : of_cgls.solve(LeastSquaresMethod::cgls, options);
        ASSERT_EQ(lsmr_report.iterations, k);
        ASSERT_EQ(lsmr_report.status, Status::max_iterations);
        EXPECT_EQ(lsmr_report.spmv_count, k + 2);
        EXPECT_EQ(cgls_report.transposed_count, k + 2);
        const double lsmr_normal = lsmr_report.optimality * lsmr_report.matrix_norm * lsmr_report.damped_residual;
        const double cgls_normal = cgls_report.optimality * cgls_report.matrix_norm * cgls_report.damped_residual;
        EXPECT_LE(lsmr_normal, cgls_normal * (1 + 1e-10));
        EXPECT_LE(cgls_report.damped_residual, lsmr_report.damped_residual * (1 + 1e-12));
        EXPECT_LT(lsmr_normal, previous_normal);
        EXPECT_LT(cgls_report.damped_residual, previous_residual);
        EXPECT_NEAR(lsmr_report.recurrence_residual, lsmr_normal, 1e-9 * lsmr_normal);
        EXPECT_NEAR(cgls_report.recurrence_residual, cgls_normal, 1e-9 * cgls_normal);
        previous_normal = lsmr_normal;
        previous_residual = cgls_report.damped_residual;
      }
    }
  }
}

TEST(LeastSquares, NormOfRecurrenceFallsMonotonically) {
  Problem<double> problem(random_rectangular<double>(300, 120, 0.05, 8));
  const LeastSquaresReport report =
      problem.solve(LeastSquaresMethod::lsmr, {.relative_tolerance = 1e-12, .keep_history = true});
  ASSERT_TRUE(report.converged()) << report.reason;
  ASSERT_EQ(static_cast<std::int64_t>(report.history.size()), report.iterations + 1);
  for (std::size_t k = 1; k < report.history.size(); ++k) {
    EXPECT_LE(report.history[k].recurrence, report.history[k - 1].recurrence) << k;
  }
  EXPECT_DOUBLE_EQ(report.history.back().true_residual, report.normal_residual);
}

/// λ is the same as rows λ I below A, for any x0 and D.
TEST(LeastSquares, DampingIsTheStackedSystem) {
  const double damping = 0.25;
  const auto a = random_rectangular<double>(30, 14, 0.5, 9);
  const Eigen::MatrixXd dense = stacked(dense_of(a.view()), damping);
  std::vector<std::vector<double>> rows;
  for (Eigen::Index i = 0; i < dense.rows(); ++i) {
    rows.emplace_back();
    for (Eigen::Index j = 0; j < dense.cols(); ++j) rows.back().push_back(dense(i, j));
  }
  for (const LeastSquaresMethod method : least_squares_methods) {
    for (const bool is_scaled : {false, true}) {
      SCOPED_TRACE(name_of(method));
      Problem<double> damped(a.to(Device{}));
      Problem<double> stack(from_dense<double>(rows, 14));
      std::copy(damped.b.begin(), damped.b.end(), stack.b.begin());
      std::fill(stack.b.begin() + 30, stack.b.end(), 0.0);
      damped.x = stack.x = random_values<double>(14, 11);
      const LeastSquaresOptions options{.relative_tolerance = 1e-11, .damping = damping};
      const auto of_damped = is_scaled ? damped.solve_scaled(method, options) : damped.solve(method, options);
      const auto of_stack = is_scaled ? stack.solve_scaled(method, {.relative_tolerance = 1e-11})
                                      : stack.solve(method, {.relative_tolerance = 1e-11});
      EXPECT_TRUE(of_damped.converged()) << of_damped.reason;
      EXPECT_NEAR(static_cast<double>(of_damped.iterations), static_cast<double>(of_stack.iterations), 1.0);
      EXPECT_NEAR(of_damped.damped_residual, of_stack.true_residual, 1e-12);
      EXPECT_NEAR(of_damped.r0_norm, of_stack.r0_norm, 1e-12);
      EXPECT_NEAR(of_damped.matrix_norm, of_stack.matrix_norm, 1e-9);
      EXPECT_NEAR(of_damped.condition, of_stack.condition, 1e-6 * of_stack.condition);
      EXPECT_LE(damped.error(dense_of(stack.x)), 1e-9);
    }
  }
}

/// Eigen's LeastSquaresConjugateGradient with its diagonal preconditioner is CGLS with column scaling.
TEST(LeastSquares, AsManyIterationsAsEigen) {
  Problem<double> problem(random_rectangular<double>(200, 80, 0.1, 12));
  const auto a = to_eigen(problem.plan.matrix());
  Eigen::LeastSquaresConjugateGradient<EigenSparse<double>> eigen;
  eigen.setTolerance(1e-10);
  const Eigen::VectorXd reference = eigen.compute(a).solve(dense_of(problem.b));
  const LeastSquaresReport report = problem.solve_scaled(LeastSquaresMethod::cgls, {.relative_tolerance = 1e-10});
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_NEAR(static_cast<double>(report.iterations), static_cast<double>(eigen.iterations()), 5.0);
  EXPECT_LE(problem.error(reference), 1e-8);
}

/// ‖Ā D‖ and cond(Ā D) are lower bounds, to some digits of the truth.
TEST(LeastSquares, EstimatesAreLowerBounds) {
  for (const LeastSquaresMethod method : least_squares_methods) {
    SCOPED_TRACE(name_of(method));
    Problem<double> problem(random_rectangular<double>(60, 25, 0.4, 13));
    const LeastSquaresReport report = problem.solve(method, {.relative_tolerance = 1e-12});
    const Eigen::VectorXd sigma = dense_of(problem.plan.matrix()).jacobiSvd().singularValues();
    EXPECT_LE(report.matrix_norm, sigma[0] * (1 + 1e-12));
    EXPECT_GE(report.matrix_norm, 0.7 * sigma[0]);
    EXPECT_LE(report.condition, sigma[0] / sigma[24] * (1 + 1e-9));
    EXPECT_GE(report.condition, 0.2 * sigma[0] / sigma[24]);
  }
}

/// A and λ by 2^p, b by 2^q: the same iterations, and the same bits of x, by 2^(q - p).
template <class T>
void expect_scale_invariance(int of_a, int of_b) {
  const auto a = random_rectangular<T>(40, 18, 0.4, 14);
  for (const LeastSquaresMethod method : least_squares_methods) {
    SCOPED_TRACE(name_of(method));
    Problem<T> plain(a.to(Device{}));
    Problem<T> other(scaled(a, std::ldexp(T{1}, of_a)));
    for (T& value : other.b) value = std::ldexp(value, of_b);
    const LeastSquaresOptions options{.relative_tolerance = 1e-4, .damping = 0.5};
    LeastSquaresOptions of_other = options;
    of_other.damping = std::ldexp(0.5, of_a);
    const LeastSquaresReport first = plain.solve(method, options);
    const LeastSquaresReport second = other.solve(method, of_other);
    EXPECT_TRUE(first.converged());
    EXPECT_EQ(first.iterations, second.iterations);
    EXPECT_EQ(std::ldexp(first.true_residual, of_b), second.true_residual);
    EXPECT_EQ(std::ldexp(first.normal_residual, of_a + of_b), second.normal_residual);
    EXPECT_EQ(first.condition, second.condition);
    for (std::size_t i = 0; i < plain.x.size(); ++i) ASSERT_EQ(std::ldexp(plain.x[i], of_b - of_a), other.x[i]) << i;
  }
}

TEST(LeastSquares, PowersOfTwoChangeNothing) {
  expect_scale_invariance<double>(100, 0);
  expect_scale_invariance<double>(-200, 700);
  expect_scale_invariance<double>(0, -900);
  expect_scale_invariance<float>(20, 60);
  expect_scale_invariance<float>(-15, -80);
}

/// x is beyond the range of the type: nothing that is not finite comes back.
TEST(LeastSquares, BeyondTheRange) {
  for (const LeastSquaresMethod method : least_squares_methods) {
    SCOPED_TRACE(name_of(method));
    Problem<double> problem(diagonal_matrix<double>({1e-10, 1.0}));
    problem.b = {1e305, 1e305};
    const LeastSquaresReport report = problem.solve(method, {.relative_tolerance = 1e-12, .residual_tolerance = 1e-12});
    EXPECT_EQ(report.status, Status::not_finite) << report.reason;
    EXPECT_EQ(report.breakdown, Breakdown::not_finite);
    EXPECT_TRUE(std::isfinite(problem.x[0]) && std::isfinite(problem.x[1]));
    // Norms of products overflow: no test may hold against an infinite one.
    Problem<double> large(diagonal_matrix<double>({1e160, 3e160}));
    const LeastSquaresReport of_large = large.solve(method);
    EXPECT_EQ(of_large.status, Status::not_finite) << of_large.reason;
    EXPECT_TRUE(std::isfinite(of_large.matrix_norm));
  }
}

/// The residual of what is left of x decides.
TEST(LeastSquares, DigitsBelowTheRange) {
  for (const LeastSquaresMethod method : least_squares_methods) {
    SCOPED_TRACE(name_of(method));
    Problem<double> problem(diagonal_matrix<double>({1e60, 1e61}));
    problem.b = {1e-261, 3e-261};
    const LeastSquaresReport report = problem.solve(method);
    EXPECT_EQ(report.status, Status::stagnated);
    EXPECT_EQ(report.reason.find("digits of x are below the range of the element type; "), 0U) << report.reason;
    EXPECT_GT(report.true_residual, 1e-4 * report.b_norm);
  }
}

/// ‖s‖ of CGLS goes up and down on an ill-conditioned problem: a limit gives back an iterate near the lowest.
TEST(LeastSquares, ReturnsAnIterateNearTheLowest) {
  std::int64_t earlier = 0;
  for (std::int64_t k = 1; k <= 24; ++k) {
    Problem<double> problem(graded());
    const LeastSquaresReport report = problem.solve(
        LeastSquaresMethod::cgls, {.relative_tolerance = 1e-14, .max_iterations = k, .keep_history = true});
    double lowest = infinity;
    for (const HistoryEntry& entry : report.history) lowest = std::min(lowest, entry.recurrence);
    EXPECT_LE(report.normal_residual, 2.001 * lowest) << k;
    if (report.history.back().recurrence > 2.001 * lowest) ++earlier;
  }
  EXPECT_GT(earlier, 0) << "no limit where the last iterate is worse";
}

TEST(LeastSquares, ConsistentSystemEndsByItsResidual) {
  for (const LeastSquaresMethod method : least_squares_methods) {
    SCOPED_TRACE(name_of(method));
    Problem<double> problem(random_rectangular<double>(50, 20, 0.5, 15));
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
    Problem<double> orthogonal(make_csr<double>(2, 1, {0, 1, 1}, {0}, {2.0}));
    orthogonal.b = {0.0, 3.0};
    LeastSquaresReport report = orthogonal.solve(method);
    EXPECT_EQ(report.iterations, 0);
    EXPECT_EQ(report.ended_by, LeastSquaresTest::normal_residual);
    EXPECT_EQ(report.true_residual, 3.0);
    EXPECT_EQ(orthogonal.x[0], 0.0);
    // 1 x 1
    Problem<double> scalar(make_csr<double>(1, 1, {0, 1}, {0}, {4.0}));
    scalar.b = {2.0};
    report = scalar.solve(method, {.relative_tolerance = 0.0, .residual_tolerance = 0.0});
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_EQ(scalar.x[0], 0.5);
    // One column: one iteration.
    Problem<double> column(make_csr<double>(3, 1, {0, 1, 2, 3}, {0, 0, 0}, {1.0, 1.0, 1.0}));
    column.b = {1.0, 2.0, 6.0};
    report = column.solve(method, {.relative_tolerance = 1e-15});
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_EQ(report.iterations, 1);
    EXPECT_NEAR(column.x[0], 3.0, 1e-15);
    // A zero matrix: every x is a solution.
    Problem<double> zero(make_csr<double>(3, 2, {0, 0, 0, 0}, {}, {}));
    zero.x = {5.0, -1.0};
    report = zero.solve(method);
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_EQ(zero.x, (std::vector<double>{5.0, -1.0}));
  }
}

TEST(LeastSquares, EmptyProblemsAndZeroRightSide) {
  for (const LeastSquaresMethod method : least_squares_methods) {
    SCOPED_TRACE(name_of(method));
    Problem<double> no_columns(make_csr<double>(2, 0, {0, 0, 0}, {}, {}));
    no_columns.b = {3.0, 4.0};
    LeastSquaresReport report = no_columns.solve(method);
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_EQ(report.true_residual, 5.0);
    Problem<double> no_rows(make_csr<double>(0, 2, {0}, {}, {}));
    no_rows.x = {1.0, 2.0};
    report = no_rows.solve(method);
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_EQ(no_rows.x, (std::vector<double>{0.0, 0.0}));
    Problem<double> empty(make_csr<double>(0, 0, {0}, {}, {}));
    EXPECT_TRUE(empty.solve(method).converged());
    Problem<double> zero(random_rectangular<double>(5, 3, 0.9, 17));
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
    Problem<double> problem(random_rectangular<double>(80, 40, 0.2, 18));
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
    Problem<double> problem(random_rectangular<double>(5, 3, 0.9, 19));
    problem.b[3] = nan;
    EXPECT_EQ(problem.solve(method).reason, "b[3] is nan");
    problem.b[3] = 1.0;
    problem.x[1] = infinity;
    const LeastSquaresReport report = problem.solve(method);
    EXPECT_EQ(report.status, Status::not_finite);
    EXPECT_EQ(report.reason, "x[1] is inf");
    EXPECT_EQ(problem.x[1], infinity);
    Problem<double> bad(make_csr<double>(2, 1, {0, 1, 2}, {0, 0}, {1.0, nan}));
    const LeastSquaresReport of_bad = bad.solve(method);
    EXPECT_EQ(of_bad.status, Status::not_finite);
    EXPECT_EQ(of_bad.reason, "(b - A x0)[1] is nan");
    EXPECT_EQ(bad.x[0], 0.0);
  }
}

TEST(LeastSquares, Limits) {
  for (const LeastSquaresMethod method : least_squares_methods) {
    SCOPED_TRACE(name_of(method));
    Problem<double> problem(random_rectangular<double>(80, 60, 0.2, 20));
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
  Problem<double> problem(random_rectangular<double>(30, 12, 0.5, 21));
  for (double& value : problem.b) value *= 1024.0;
  problem.x.assign(12, 1.0);
  EXPECT_THROW(
      static_cast<void>(problem.solve(LeastSquaresMethod::lsmr, {.observer = [](const IterationInfo&) -> Control {
                                        throw std::runtime_error("stop");
                                      }})),
      std::runtime_error);
  EXPECT_EQ(problem.x, std::vector<double>(12, 1.0));
}

/// A function with its transpose; a square matrix works as well.
TEST(LeastSquares, FunctionOperators) {
  const SpmvPlan<double> plan = plan_with_transpose(path_laplacian(40));
  const FunctionOperator<double> a(
      40, 40, [&](std::span<const double> x, std::span<double> y) { plan.apply(x, y); },
      [&](std::span<const double> x, std::span<double> y) { plan.apply_transposed(x, y); });
  const std::vector<double> b = random_values<double>(40, 22);
  for (const LeastSquaresMethod method : least_squares_methods) {
    std::vector<double> x(40);
    std::vector<double> y(40);
    const LeastSquaresReport report = solve_by<double>(method, a, b, x, {.relative_tolerance = 1e-11});
    EXPECT_TRUE(report.converged()) << report.reason;
    static_cast<void>(solve_by<double>(method, plan, b, y, {.relative_tolerance = 1e-11}));
    EXPECT_LE((dense_of(x) - dense_of(y)).norm(), 1e-9 * dense_of(y).norm());
    EXPECT_LE((dense_of(x) - least_norm_solution(plan.matrix(), b)).norm(), 1e-7 * dense_of(x).norm());
  }
}

/// Bits do not depend on the number of threads.
TEST(LeastSquares, ThreadsChangeNothing) {
  const SmallGrain grain;
  const auto a = random_rectangular<double>(90, 50, 0.2, 23);
  const std::vector<double> b = random_values<double>(90, 24);
  for (const LeastSquaresMethod method : least_squares_methods) {
    std::vector<double> reference;
    for (const int threads : {1, 2, 3}) {
      SpmvOptions on_threads;
      on_threads.device = Device::host(threads);
      on_threads.with_transpose = true;
      const SpmvPlan<double> plan(a.to(Device{}), on_threads);
      const ColumnNormPreconditioner<double> d(plan.matrix(), 0.1, plan.device());
      std::vector<double> x(50);
      static_cast<void>(solve_by<double>(method, plan, d, b, x, {.damping = 0.1}));
      if (reference.empty()) reference = x;
      EXPECT_EQ(x, reference) << threads;
    }
  }
}

template <class Error, class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no exception";
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

/// A matrix without values.
TEST(LeastSquares, Patterns) {
  Problem<double> problem(make_pattern<double>(4, 2, {0, 1, 3, 4, 5}, {0, 0, 1, 1, 1}));
  for (const LeastSquaresMethod method : least_squares_methods) {
    problem.x.assign(2, 0.0);
    const LeastSquaresReport report = problem.solve_scaled(method, {.relative_tolerance = 1e-13});
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_LE(problem.error(least_norm_solution(problem.plan.matrix(), problem.b)), 1e-12);
  }
}

}  // namespace
}  // namespace tessera::testing
