// Mixed precision on the host.
#include "tessera/mixed_precision.hpp"
#include "tessera/amg.hpp"
#include "tessera/error.hpp"
#include "tests/solvers/mixed_system.hpp"
#include "tests/support/error_message.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

constexpr IterativeMethod methods[] = {IterativeMethod::cg, IterativeMethod::bicgstab, IterativeMethod::gmres};

/// Symmetric positive definite, but rounded to single precision it is singular.
Csr<double> lost_by_rounding(index_t n) {
  const Csr<double> a = path_laplacian(n);
  std::vector<double> values(a.values().begin(), a.values().end());
  for (double& value : values) {
    if (value > 0.0) value += 1e-8;
  }
  return a.with_values(Array<double>::copy_of(values));
}

TEST(MixedPrecision, ReachesWhatSinglePrecisionCannot) {
  MixedSystem system(convection_diffusion<double>(30, 30, 1, {.x = 0.0}));
  const SolverOptions options{.relative_tolerance = 1e-12};
  for (const IterativeMethod method : methods) {
    std::vector<float> rounded_b(system.b.begin(), system.b.end());
    std::vector<float> rounded_x(system.b.size());
    IterativeSolver<float> single(method, system.single_plan, options);
    EXPECT_FALSE(single.solve(rounded_b, rounded_x).converged());
    std::vector<double> in_double(system.b.size());
    const SolveReport whole =
        IterativeSolver<double>(method, system.plan, options).solve(system.b, std::span<double>(in_double));

    std::vector<double> x(system.b.size());
    MixedPrecisionSolver solver(method, system.plan, system.single_plan, options);
    const MixedSolveReport report = solver.solve(system.b, x);
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_EQ(report.fallback, "");
    expect_honest<double>(report, system.matrix.view(), system.b, x);
    EXPECT_LE(report.iterations, 2 * whole.iterations);
    EXPECT_EQ(report.single_iterations, report.iterations);
    EXPECT_EQ(report.double_iterations, 0);
    EXPECT_GE(report.replacements, 2);
    EXPECT_LE(report.double_products, report.replacements + 6);

    // The next solve begins as the first one did.
    std::vector<double> again(system.b.size());
    EXPECT_EQ(solver.solve(system.b, again).iterations, report.iterations);
    EXPECT_EQ(again, x);
    // From the solution nothing is to be done.
    const MixedSolveReport none = solver.solve(system.b, again);
    EXPECT_TRUE(none.converged());
    EXPECT_EQ(none.iterations, 0);
    EXPECT_EQ(again, x);
  }
}

TEST(MixedPrecision, DirectionsOutliveCorrections) {
  MixedSystem system(poisson2d<double>(80, 80));
  const SolverOptions options{.relative_tolerance = 1e-10};
  std::vector<double> x(system.b.size());
  std::vector<double> in_double(system.b.size());
  const SolveReport whole = cg<double>(system.plan, system.b, in_double, options);
  MixedPrecisionSolver solver(IterativeMethod::cg, system.plan, system.single_plan, options);
  const MixedSolveReport report = solver.solve(system.b, x);
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_GE(report.replacements, 8);
  // Steps anew from every residual would take twice as many.
  EXPECT_LE(static_cast<double>(report.iterations), 1.4 * static_cast<double>(whole.iterations));
}

TEST(MixedPrecision, TakesPreconditionersInSinglePrecision) {
  MixedSystem system(poisson2d<double>(40, 40));
  const JacobiPreconditioner<float> jacobi(system.single_plan.matrix());
  const Amg<float> amg(system.single_plan.matrix());
  const SolverOptions options{.relative_tolerance = 1e-12};
  for (const LinearOperator<float>* m :
       {static_cast<const LinearOperator<float>*>(&jacobi), static_cast<const LinearOperator<float>*>(&amg)}) {
    for (const IterativeMethod method : methods) {
      std::vector<double> x(system.b.size());
      const MixedSolveReport report = solve_mixed(method, system.plan, system.single_plan, *m, system.b, x, options);
      EXPECT_TRUE(report.converged()) << report.reason;
      EXPECT_EQ(report.fallback, "");
      EXPECT_GE(report.preconditioner_count, report.iterations);
      expect_honest<double>(report, system.matrix.view(), system.b, x);
    }
  }
}

TEST(MixedPrecision, FallsBackToDouble) {
  MixedSystem system(lost_by_rounding(24));
  const SolverOptions options{.relative_tolerance = 1e-7, .keep_history = true};
  const JacobiPreconditioner<float> jacobi(system.single_plan.matrix());
  const IdentityOperator<float> none(24);
  for (const LinearOperator<float>* m :
       {static_cast<const LinearOperator<float>*>(&none), static_cast<const LinearOperator<float>*>(&jacobi)}) {
    for (const IterativeMethod method : methods) {
      std::vector<double> x(system.b.size());
      const MixedSolveReport report = solve_mixed(method, system.plan, system.single_plan, *m, system.b, x, options);
      EXPECT_TRUE(report.converged()) << report.reason;
      EXPECT_NE(report.fallback, "");
      EXPECT_GT(report.double_iterations, 0);
      EXPECT_EQ(report.iterations, report.single_iterations + report.double_iterations);
      EXPECT_NE(report.reason.find("in double precision from iteration"), std::string::npos) << report.reason;
      expect_honest<double>(report, system.matrix.view(), system.b, x);
      for (std::size_t i = 1; i < report.history.size(); ++i) {
        EXPECT_GE(report.history[i].iteration, report.history[i - 1].iteration);
      }
      EXPECT_EQ(report.history.back().iteration, report.iterations);
    }
  }
}

TEST(MixedPrecision, LimitsAreOfBothPrecisions) {
  MixedSystem system(lost_by_rounding(24));
  SolverOptions options{.relative_tolerance = 1e-7};
  std::vector<double> x(system.b.size());
  const MixedSolveReport free = solve_mixed(IterativeMethod::cg, system.plan, system.single_plan,
                                            IdentityOperator<float>(24), system.b, x, options);
  ASSERT_GT(free.double_iterations, 2);
  options.max_iterations = free.single_iterations + 2;
  std::vector<std::int64_t> seen;
  options.observer = [&](const IterationInfo& info) {
    seen.push_back(info.iteration);
    EXPECT_EQ(info.max_iterations, options.max_iterations);
    return Control::proceed;
  };
  x.assign(x.size(), 0.0);
  const MixedSolveReport limited = solve_mixed(IterativeMethod::cg, system.plan, system.single_plan,
                                               IdentityOperator<float>(24), system.b, x, options);
  EXPECT_EQ(limited.status, Status::max_iterations);
  EXPECT_EQ(limited.iterations, options.max_iterations);
  ASSERT_EQ(seen.size(), static_cast<std::size_t>(options.max_iterations) + 1);
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], static_cast<std::int64_t>(i));

  options.observer = [](const IterationInfo& info) { return info.iteration < 3 ? Control::proceed : Control::stop; };
  x.assign(x.size(), 0.0);
  const MixedSolveReport stopped = solve_mixed(IterativeMethod::cg, system.plan, system.single_plan,
                                               IdentityOperator<float>(24), system.b, x, options);
  EXPECT_EQ(stopped.status, Status::interrupted);
  EXPECT_EQ(stopped.iterations, 3);
  expect_honest<double>(stopped, system.matrix.view(), system.b, x);

  // The target is that of the first residual, in double precision too.
  options.observer = {};
  options.max_iterations = 1000;
  options.base = ResidualBase::r0;
  x.assign(x.size(), 10.0);
  const MixedSolveReport of_r0 = solve_mixed(IterativeMethod::cg, system.plan, system.single_plan,
                                             IdentityOperator<float>(24), system.b, x, options);
  EXPECT_TRUE(of_r0.converged()) << of_r0.reason;
  EXPECT_NE(of_r0.fallback, "");
  EXPECT_EQ(of_r0.target, options.relative_tolerance * of_r0.r0_norm);
}

TEST(MixedPrecision, PowersOfTwoChangeNothing) {
  const Csr<double> matrix = poisson2d<double>(20, 20);
  const MixedSystem plain(Csr<double>::copy_of(matrix.view()));
  const SolverOptions options{.relative_tolerance = 1e-12};
  const IdentityOperator<float> none(400);
  std::vector<double> expected(400);
  const MixedSolveReport first =
      solve_mixed(IterativeMethod::cg, plain.plan, plain.single_plan, none, plain.b, expected, options);
  ASSERT_TRUE(first.converged()) << first.reason;
  for (const int of_a : {-200, 0, 200}) {
    for (const int of_b : {-300, 300}) {
      MixedSystem system(scaled(matrix, std::ldexp(1.0, of_a)));
      EXPECT_EQ(system.single.exponent, of_a == 0 ? 0 : of_a + 2);
      EXPECT_TRUE(system.single.is_exact);
      for (double& value : system.b) value = std::ldexp(value, of_b);
      std::vector<double> x(400);
      const MixedSolveReport report = solve_mixed(IterativeMethod::cg, system.plan, system.single_plan, none, system.b,
                                                  x, options, system.single.exponent);
      EXPECT_TRUE(report.converged()) << report.reason;
      EXPECT_EQ(report.fallback, "");
      EXPECT_EQ(report.iterations, first.iterations);
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], std::ldexp(expected[i], of_b - of_a));
    }
  }
}

TEST(MixedPrecision, ExponentsBeyondAreLeftToDouble) {
  MixedSystem system(scaled(poisson2d<double>(8, 8), 0x1p400));
  std::vector<double> x(64);
  const MixedSolveReport report = solve_mixed(IterativeMethod::cg, system.plan, system.single_plan,
                                              IdentityOperator<float>(64), system.b, x, {}, system.single.exponent);
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_EQ(report.single_iterations, 0);
  EXPECT_NE(report.fallback.find("powers of two"), std::string::npos) << report.fallback;
}

TEST(MixedPrecision, EntriesThatNoFloatHoldsEndInDouble) {
  const Csr<double> matrix = scaled(poisson2d<double>(8, 8), 1e39);
  const SpmvPlan<double> plan(Csr<double>::copy_of(matrix.view()));
  const SpmvPlan<float> overflown(matrix.with_value_type<float>());
  std::vector<double> b(64, 1.0);
  std::vector<double> x(64);
  const MixedSolveReport report = solve_mixed(IterativeMethod::cg, plan, overflown, IdentityOperator<float>(64), b, x);
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_NE(report.fallback.find("not_finite"), std::string::npos) << report.fallback;
  expect_honest<double>(report, matrix.view(), b, x);
}

TEST(MixedPrecision, EdgesEndAsInDouble) {
  MixedSystem system(poisson2d<double>(6, 5));
  MixedPrecisionSolver solver(IterativeMethod::cg, system.plan, system.single_plan);
  const std::vector<double> zero(30);
  std::vector<double> x(30, 3.0);
  const MixedSolveReport of_zero = solver.solve(zero, x);
  EXPECT_TRUE(of_zero.converged());
  EXPECT_EQ(x, zero);
  EXPECT_EQ(of_zero.fallback, "");

  std::vector<double> bad = system.b;
  bad[7] = std::numeric_limits<double>::quiet_NaN();
  x.assign(30, 1.0);
  EXPECT_EQ(solver.solve(bad, x).status, Status::not_finite);
  EXPECT_EQ(x, std::vector<double>(30, 1.0));
  std::vector<double> guess(30, 1.0);
  guess[3] = std::numeric_limits<double>::infinity();
  const MixedSolveReport of_guess = solver.solve(system.b, guess);
  EXPECT_EQ(of_guess.status, Status::not_finite);
  EXPECT_NE(of_guess.reason.find("x[3] is inf"), std::string::npos) << of_guess.reason;

  // A far guess costs nothing but iterations.
  std::vector<double> far(30, 1e9);
  const MixedSolveReport from_far = solver.solve(system.b, far);
  EXPECT_TRUE(from_far.converged()) << from_far.reason;
  expect_honest<double>(from_far, system.matrix.view(), system.b, far);

  MixedSystem one(diagonal_matrix<double>({3.0}));
  std::vector<double> third(1);
  EXPECT_TRUE(MixedPrecisionSolver(IterativeMethod::cg, one.plan, one.single_plan).solve(one.b, third).converged());
  EXPECT_NEAR(third[0], one.b[0] / 3.0, 1e-8);
  MixedSystem empty(make_csr<double>(0, 0, {0}, {}, {}));
  std::vector<double> nothing;
  EXPECT_TRUE(
      MixedPrecisionSolver(IterativeMethod::cg, empty.plan, empty.single_plan).solve(empty.b, nothing).converged());
}

TEST(MixedPrecision, WidenedPlanMultipliesInDouble) {
  MixedSystem system(convection_diffusion<double>(9, 7, 1, {.x = 0.25}));
  ASSERT_TRUE(system.single.is_exact);
  const WidenedPlan widened(system.single_plan);
  const std::vector<double> x = random_values<double>(63, 1);
  const std::vector<double> old = random_values<double>(63, 2);
  std::vector<double> y = old;
  widened.apply(-2.5, x, 0.5, y);
  const ProductOracle oracle = multiply_oracle<double>(-2.5, system.matrix.view(), x, 0.5, old);
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_NEAR(y[i], static_cast<double>(oracle.y[i]), static_cast<double>(oracle.bound[i]));
  }
  std::vector<double> solution(63);
  const MixedSolveReport report =
      solve_mixed(IterativeMethod::bicgstab, widened, system.single_plan, IdentityOperator<float>(63), system.b,
                  solution, {.relative_tolerance = 1e-13});
  EXPECT_TRUE(report.converged()) << report.reason;
  expect_honest<double>(report, system.matrix.view(), system.b, solution);
}

TEST(MixedPrecision, SingleMatrixSaysWhatItLost) {
  const SingleMatrix thirds = single_matrix(diagonal_matrix<double>({1.0 / 3.0, 2.0}));
  EXPECT_FALSE(thirds.is_exact);
  EXPECT_EQ(thirds.exponent, 0);
  EXPECT_EQ(thirds.matrix.values().data()[0], static_cast<float>(1.0 / 3.0));
  const SingleMatrix large = single_matrix(diagonal_matrix<double>({0x1p200, -0x1p40}));
  EXPECT_FALSE(large.is_exact);
  EXPECT_EQ(large.exponent, 200);
  EXPECT_EQ(large.matrix.values().data()[1], -0.0F);  // 2^-160
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(single_matrix(diagonal_matrix<double>({infinity, 1.0})).matrix.values().data()[0],
            std::numeric_limits<float>::infinity());
  EXPECT_TRUE(single_matrix(make_pattern<double>(1, 1, {0, 1}, {0})).matrix.is_pattern());
}

TEST(MixedPrecision, RefusesWhatItDoesNotDo) {
  MixedSystem system(poisson2d<double>(4, 4));
  const MixedSystem other(poisson2d<double>(4, 5));
  EXPECT_THROW(MixedPrecisionSolver(IterativeMethod::idr, system.plan, system.single_plan), NotSupported);
  EXPECT_THROW(MixedPrecisionSolver(IterativeMethod::cg, system.plan, other.single_plan), DimensionError);
  EXPECT_THROW(MixedPrecisionSolver(IterativeMethod::cg, system.plan, system.single_plan, IdentityOperator<float>(3)),
               DimensionError);
  MixedPrecisionSolver solver(IterativeMethod::cg, system.plan, system.single_plan);
  std::vector<double> x(15);
  EXPECT_THROW((void)solver.solve(system.b, x), DimensionError);
  EXPECT_THROW((void)solver.solve(system.b, system.b), InvalidArgument);
}

}  // namespace
}  // namespace tessera::testing
