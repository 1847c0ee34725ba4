/// LSMR and CGLS against Eigen's complete orthogonal decomposition and against what theory says of their iterates.
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

template <class T>
void expect_solution_of_eigen(Csr<T> matrix, double damping, bool is_scaled, double most) {
  LeastSquaresProblem<T> problem(std::move(matrix));
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
  LeastSquaresProblem<double> problem(graded());
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
        LeastSquaresProblem<double> of_lsmr(a.to(Device{}));
        LeastSquaresProblem<double> of_cgls(a.to(Device{}));
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
  LeastSquaresProblem<double> problem(random_rectangular<double>(300, 120, 0.05, 8));
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
      LeastSquaresProblem<double> damped(a.to(Device{}));
      LeastSquaresProblem<double> stack(from_dense<double>(rows, 14));
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
  LeastSquaresProblem<double> problem(random_rectangular<double>(200, 80, 0.1, 12));
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
    LeastSquaresProblem<double> problem(random_rectangular<double>(60, 25, 0.4, 13));
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
    LeastSquaresProblem<T> plain(a.to(Device{}));
    LeastSquaresProblem<T> other(scaled(a, std::ldexp(T{1}, of_a)));
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

/// ‖s‖ of CGLS goes up and down on an ill-conditioned problem: a limit gives back an iterate near the lowest.
TEST(LeastSquares, ReturnsAnIterateNearTheLowest) {
  std::int64_t earlier = 0;
  for (std::int64_t k = 1; k <= 24; ++k) {
    LeastSquaresProblem<double> problem(graded());
    const LeastSquaresReport report = problem.solve(
        LeastSquaresMethod::cgls, {.relative_tolerance = 1e-14, .max_iterations = k, .keep_history = true});
    double lowest = infinity;
    for (const HistoryEntry& entry : report.history) lowest = std::min(lowest, entry.recurrence);
    EXPECT_LE(report.normal_residual, 2.001 * lowest) << k;
    if (report.history.back().recurrence > 2.001 * lowest) ++earlier;
  }
  EXPECT_GT(earlier, 0) << "no limit where the last iterate is worse";
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

/// A matrix without values.
TEST(LeastSquares, Patterns) {
  LeastSquaresProblem<double> problem(make_pattern<double>(4, 2, {0, 1, 3, 4, 5}, {0, 0, 1, 1, 1}));
  for (const LeastSquaresMethod method : least_squares_methods) {
    problem.x.assign(2, 0.0);
    const LeastSquaresReport report = problem.solve_scaled(method, {.relative_tolerance = 1e-13});
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_LE(problem.error(least_norm_solution(problem.plan.matrix(), problem.b)), 1e-12);
  }
}

}  // namespace
}  // namespace tessera::testing
