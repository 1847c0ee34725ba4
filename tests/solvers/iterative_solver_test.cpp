// Iterative methods kept for many solves, on the host.
#include "tests/solvers/iterative_solver_cases.hpp"

#include "tessera/error.hpp"
#include "tessera/generators.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace tessera {
namespace {

using testing::all_methods;
using testing::right_side;

TEST(IterativeSolver, GivesTheBitsOfTheFunction) {
  const SpmvPlan<double> a(poisson2d<double>(13, 11));
  const IdentityOperator<double> none(143);
  const JacobiPreconditioner<double> jacobi(a.matrix());
  const Amg<double> amg(a.matrix());
  const IncompleteFactors<double> factors(a.matrix(), {.kind = FactorKind::ic0});
  for (const IterativeMethod method : all_methods) {
    const std::string name = "method " + std::to_string(static_cast<int>(method));
    testing::expect_bits_of_function(method, a, none, name);
    testing::expect_bits_of_function(method, a, jacobi, name + " with Jacobi");
    testing::expect_bits_of_function(method, a, amg, name + " with AMG");
    testing::expect_bits_of_function(method, a, factors, name + " with IC(0)");
  }
}

TEST(IterativeMethods, TheTableNamesEveryMethodOnce) {
  const auto methods = iterative_methods();
  ASSERT_EQ(methods.size(), std::size(all_methods));
  for (std::size_t i = 0; i < methods.size(); ++i) {
    EXPECT_EQ(methods[i].method, all_methods[i]);
    EXPECT_EQ(parse_iterative_method(methods[i].name), methods[i].method);
    EXPECT_EQ(to_string(methods[i].method), methods[i].name);
    EXPECT_GE(methods[i].vectors, 8);
  }
  EXPECT_EQ(method_info(IterativeMethod::minres).matrix, MatrixClass::symmetric);
  EXPECT_THROW((void)method_info(static_cast<IterativeMethod>(99)), InvalidArgument);
}

TEST(IterativeMethods, UnknownNamesAreRefusedWithTheKnownOnes) {
  try {
    (void)parse_iterative_method("gmrez");
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(),
                 "unknown iterative method 'gmrez': known are cg, bicgstab, gmres, idr, minres, chebyshev, richardson; "
                 "did you mean 'gmres'?");
  }
}

/// What the command predicts: GMRES keeps its directions besides, twice where M is no diagonal.
TEST(IterativeMethods, VectorsOfACycle) {
  const MethodInfo& gmres = method_info(IterativeMethod::gmres);
  EXPECT_EQ(vectors_of(gmres, 1000, {.restart = 30}, true), 8U + 31U);
  EXPECT_EQ(vectors_of(gmres, 1000, {.restart = 30}, false), 8U + 61U);
  EXPECT_EQ(vectors_of(gmres, 10, {.restart = 30}, true), 8U + 11U);
  EXPECT_EQ(vectors_of(method_info(IterativeMethod::cg), 10, {.restart = 30}, false), 8U);
}

TEST(IterativeSolver, ConvergesForEveryRightSide) {
  const SpmvPlan<double> a(poisson2d<double>(20, 20));
  IterativeSolver<double> solver(IterativeMethod::cg, a);
  std::vector<double> x(400);
  for (int k = 0; k < 5; ++k) {
    const std::vector<double> b = right_side(400, k);
    const SolveReport report = solver.solve(b, x);
    EXPECT_TRUE(report.converged()) << report.reason;
    std::vector<double> r(400);
    EXPECT_LE(std::sqrt(a.residual(0, b, x, r)), report.target);
  }
}

TEST(IterativeSolver, StartsFromTheGuess) {
  const SpmvPlan<double> a(poisson2d<double>(15, 15));
  IterativeSolver<double> solver(IterativeMethod::bicgstab, a);
  const std::vector<double> b = right_side(225, 0);
  std::vector<double> x(225);
  EXPECT_GT(solver.solve(b, x).iterations, 5);
  EXPECT_EQ(solver.solve(b, x).iterations, 0);
}

TEST(IterativeSolver, SmallestSystems) {
  const SpmvPlan<double> empty(Csr<double>{});
  const SpmvPlan<double> one(poisson2d<double>(1, 1));
  for (const IterativeMethod method : all_methods) {
    IterativeSolver<double> none(method, empty);
    EXPECT_TRUE(none.solve({}, {}).converged());
    EXPECT_TRUE(none.solve({}, {}).converged());
    const JacobiPreconditioner<double> m(one.matrix());
    IterativeSolver<double> solver(method, one, m);
    for (const double right : {8.0, 0.0, -2.0}) {
      const std::vector<double> b{right};
      std::vector<double> x{0.0};
      EXPECT_TRUE(solver.solve(b, x).converged());
      // The interval of chebyshev is an estimate, so one step is not exact.
      EXPECT_NEAR(x[0], right / 4.0, method == IterativeMethod::chebyshev ? 1e-7 : 0.0);
    }
  }
}

TEST(IterativeSolver, GoesOnAfterAnOperatorHasThrown) {
  const SpmvPlan<double> plan(poisson2d<double>(9, 9));
  int products_left = 3;
  const FunctionOperator<double> a(81, 81, [&](std::span<const double> x, std::span<double> y) {
    if (products_left-- == 0) throw std::runtime_error("out of products");
    plan.apply(x, y);
  });
  for (const IterativeMethod method : all_methods) {
    products_left = 3;
    IterativeSolver<double> solver(method, a);
    const std::vector<double> b = right_side(81, 1);
    std::vector<double> x(81, 1.0);
    EXPECT_THROW(static_cast<void>(solver.solve(b, x)), std::runtime_error);
    for (const double element : x) EXPECT_TRUE(std::isfinite(element));
    products_left = 1000000;
    std::vector<double> expected = x;
    const SolveReport again = solver.solve(b, x);
    const SolveReport anew =
        testing::solve_by_function(method, a, IdentityOperator<double>(81), b, expected, SolverOptions{});
    EXPECT_EQ(x, expected);
    EXPECT_EQ(again.reason, anew.reason);
  }
}

TEST(IterativeSolver, GoesOnAfterProductsThatAreNotFinite) {
  const SpmvPlan<double> plan(poisson2d<double>(9, 9));
  int finite_products = 0;
  const FunctionOperator<double> a(81, 81, [&](std::span<const double> x, std::span<double> y) {
    plan.apply(x, y);
    if (finite_products-- <= 0) std::fill(y.begin(), y.end(), std::numeric_limits<double>::infinity());
  });
  const std::vector<double> b = right_side(81, 1);
  for (const IterativeMethod method : all_methods) {
    for (const int before : {0, 1, 2, 3, 4}) {
      IterativeSolver<double> solver(method, a);
      std::vector<double> x(81);
      finite_products = before;
      EXPECT_FALSE(solver.solve(b, x).converged());
      finite_products = 1000000;
      std::fill(x.begin(), x.end(), 0.0);
      std::vector<double> expected = x;
      const SolveReport again = solver.solve(b, x);
      const SolveReport anew =
          testing::solve_by_function(method, a, IdentityOperator<double>(81), b, expected, SolverOptions{});
      EXPECT_EQ(x, expected) << "method " << static_cast<int>(method) << " after " << before;
      EXPECT_EQ(again.reason, anew.reason);
    }
  }
}

TEST(IterativeSolver, GoesOnAfterTheObserverHasStoppedIt) {
  const SpmvPlan<double> a(poisson2d<double>(12, 12));
  bool stops = true;
  SolverOptions options;
  options.keep_history = true;
  options.observer = [&](const IterationInfo& info) {
    return stops && info.iteration == 4 ? Control::stop : Control::proceed;
  };
  IterativeSolver<double> solver(IterativeMethod::cg, a, options);
  const std::vector<double> b = right_side(144, 2);
  std::vector<double> x(144);
  const SolveReport stopped = solver.solve(b, x);
  EXPECT_EQ(stopped.status, Status::interrupted);
  EXPECT_EQ(stopped.history.size(), 5U);
  stops = false;
  const SolveReport report = solver.solve(b, x);
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_EQ(report.history.front().iteration, 0);
  EXPECT_EQ(report.history.size(), static_cast<std::size_t>(report.iterations) + 1);
}

TEST(IterativeSolver, FollowsNewValues) {
  const Csr<double> matrix = poisson2d<double>(10, 10);
  SpmvPlan<double> a(matrix.to(Device{}));
  JacobiPreconditioner<double> m(a.matrix());
  IterativeSolver<double> solver(IterativeMethod::cg, a, m);
  const std::vector<double> b = right_side(100, 3);
  std::vector<double> x(100);
  ASSERT_TRUE(solver.solve(b, x).converged());
  std::vector<double> doubled(matrix.view().values.begin(), matrix.view().values.end());
  for (double& value : doubled) value *= 2.0;
  a.update_values(doubled);
  m.refresh(a.matrix());
  std::vector<double> half(100);
  ASSERT_TRUE(solver.solve(b, half).converged());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(half[i], x[i] / 2.0);
}

TEST(IterativeSolver, MovesAndTellsItsOptions) {
  const SpmvPlan<double> a(poisson2d<double>(6, 6));
  SolverOptions options;
  options.relative_tolerance = 1e-4;
  IterativeSolver<double> first(IterativeMethod::gmres, a, options);
  options.relative_tolerance = 0.5;
  IterativeSolver<double> second = std::move(first);
  EXPECT_EQ(second.options().relative_tolerance, 1e-4);
  EXPECT_EQ(second.method(), IterativeMethod::gmres);
  std::vector<double> x(36);
  const SolveReport report = second.solve(right_side(36, 0), x);
  EXPECT_LE(report.true_residual, 1e-4 * report.b_norm);
}

TEST(IterativeSolver, RefusesWhatTheFunctionsRefuse) {
  const SpmvPlan<double> a(poisson2d<double>(4, 4));
  SolverOptions options;
  options.relative_tolerance = -1.0;
  EXPECT_THROW(IterativeSolver<double>(IterativeMethod::cg, a, options), InvalidArgument);
  options = {};
  options.restart = 0;
  EXPECT_THROW(IterativeSolver<double>(IterativeMethod::gmres, a, options), InvalidArgument);
  EXPECT_THROW(IterativeSolver<double>(IterativeMethod::cg, a, IdentityOperator<double>(15)), DimensionError);
  EXPECT_THROW(IterativeSolver<double>(static_cast<IterativeMethod>(99), a), InvalidArgument);
  IterativeSolver<double> solver(IterativeMethod::cg, a);
  std::vector<double> x(16, 1.0);
  EXPECT_THROW(static_cast<void>(solver.solve(std::vector<double>(15), x)), DimensionError);
  EXPECT_THROW(static_cast<void>(solver.solve(x, x)), InvalidArgument);
  EXPECT_TRUE(solver.solve(std::vector<double>(16), x).converged());
}

}  // namespace
}  // namespace tessera
