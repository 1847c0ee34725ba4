/// Products with Mᵀ of every preconditioner against the transpose of M, column by column, and solves with Aᵀ.
#include "core/interruption.hpp"
#include "tessera/amg.hpp"
#include "tessera/approximate_inverse.hpp"
#include "tessera/direct.hpp"
#include "tessera/error.hpp"
#include "tessera/incomplete_factors.hpp"
#include "tessera/iterative_solver.hpp"
#include "tessera/mixed_precision.hpp"
#include "tessera/polynomial.hpp"
#include "tessera/statistics.hpp"
#include "tests/solvers/factors_support.hpp"
#include "tests/support/error_message.hpp"

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tessera::testing {
namespace {

using Eigen::MatrixXd;

template <class T>
struct PreconditionerCase {
  std::string name;
  std::function<std::unique_ptr<Preconditioner<T>>(const CsrView<T>&)> make;
  bool needs_diagonal = true;
};

template <class T>
PreconditionerCase<T> factor_kind(const std::string& name, const IncompleteFactorOptions& options,
                                  bool needs_diagonal = true) {
  return {name, [options](const CsrView<T>& a) { return std::make_unique<IncompleteFactors<T>>(a, options); },
          needs_diagonal};
}

template <class T>
std::vector<PreconditionerCase<T>> kinds() {
  std::vector<PreconditionerCase<T>> all;
  for (const DirectMethod method : {DirectMethod::lu_amd, DirectMethod::lu_colamd}) {
    all.push_back({std::string(to_string(method)),
                   [method](const CsrView<T>& a) {
                     return std::make_unique<DirectFactors<T>>(a, DirectOptions{.method = method});
                   },
                   false});
  }
  all.push_back(factor_kind<T>("ilu0", {.kind = FactorKind::ilu0}));
  all.push_back(factor_kind<T>("ilu0 without scaling", {.kind = FactorKind::ilu0, .scaling = FactorScaling::none}));
  all.push_back(factor_kind<T>("iluk", {.kind = FactorKind::iluk, .level = 2, .ordering = Ordering::rcm}));
  all.push_back(factor_kind<T>("ilut", {.kind = FactorKind::ilut, .matching = FactorMatching::permute}, false));
  all.push_back(factor_kind<T>("ilutp", {.kind = FactorKind::ilutp, .pivot_tolerance = 1.0}, false));
  all.push_back(factor_kind<T>("bjacobi", {.kind = FactorKind::ilutp, .blocks = 4}));
  for (const int level : {0, 1}) {
    const SpaiOptions options{.level = level};
    all.push_back({spai_name(options),
                   [options](const CsrView<T>& a) { return std::make_unique<SpaiPreconditioner<T>>(a, options); }});
  }
  for (const PolynomialKind kind : {PolynomialKind::chebyshev, PolynomialKind::neumann}) {
    for (const bool is_explicit : {false, true}) {
      const PolynomialOptions options{.kind = kind, .degree = 3, .explicit_matrix = is_explicit};
      all.push_back({polynomial_name(options), [options](const CsrView<T>& a) {
                       return std::make_unique<PolynomialPreconditioner<T>>(a, options);
                     }});
    }
  }
  for (const AmgCycle cycle : {AmgCycle::v, AmgCycle::w}) {
    for (const AmgSmoother smoother :
         {AmgSmoother::jacobi, AmgSmoother::l1_jacobi, AmgSmoother::spai0, AmgSmoother::chebyshev}) {
      AmgOptions options;
      options.cycle = cycle;
      options.smoother = smoother;
      options.sweeps = 2;
      options.coarsest_rows = 5;
      options.precision = AmgPrecision::full;
      all.push_back({"amg " + std::string(to_string(cycle)) + " " + std::string(to_string(smoother)),
                     [options](const CsrView<T>& a) { return std::make_unique<Amg<T>>(a, options); }});
    }
  }
  all.push_back({"amg in float", [](const CsrView<T>& a) { return std::make_unique<Amg<T>>(a); }});
  all.push_back({"amg that keeps its structures", [](const CsrView<T>& a) {
                   return std::make_unique<Amg<T>>(
                       a, AmgOptions{.coarsest_rows = 5, .precision = AmgPrecision::full, .prepare_refresh = true});
                 }});
  return all;
}

template <class T>
struct NonsymmetricSystem {
  std::string name;
  Csr<T> a;
  bool has_diagonal = true;
};

/// Unsymmetric patterns and values, rows and columns of sizes apart, no diagonal, one row, and none.
template <class T>
std::vector<NonsymmetricSystem<T>> systems() {
  std::vector<NonsymmetricSystem<T>> all;
  const Csr<double> random = random_matrix({.n = 60, .row_entries = 4, .diagonal = 6.0, .seed = 3});
  all.push_back({"random", random.with_value_type<T>()});
  all.push_back({"flow", convection_diffusion<T>(9, 7, 1, Peclet{8.0, 3.0, 0.0})});
  MatrixXd uneven = to_dense(random.view());
  std::vector<std::vector<double>> rows(60, std::vector<double>(60));
  std::vector<std::vector<double>> shifted = rows;
  for (int i = 0; i < 60; ++i) {
    for (int j = 0; j < 60; ++j) {
      rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = std::ldexp(uneven(i, j), i % 7 - j % 5);
      shifted[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = uneven((i + 17) % 60, j);
    }
  }
  all.push_back({"uneven", from_dense<double>(rows, 60).template with_value_type<T>()});
  all.push_back({"shifted", from_dense<double>(shifted, 60).template with_value_type<T>(), false});
  all.push_back({"one row", diagonal_matrix<T>({T{4}})});
  all.push_back({"no row", diagonal_matrix<T>({})});
  return all;
}

/// The matrix of a linear map, column by column.
template <class T, class Map>
MatrixXd dense_of(std::int64_t n, const Map& map) {
  MatrixXd dense(n, n);
  std::vector<T> x(static_cast<std::size_t>(n));
  std::vector<T> y(x.size());
  for (std::size_t j = 0; j < x.size(); ++j) {
    x.assign(x.size(), T{0});
    y.assign(y.size(), std::numeric_limits<T>::quiet_NaN());
    x[j] = T{1};
    map(x, y);
    for (std::size_t i = 0; i < y.size(); ++i) dense(Eigen::Index(i), Eigen::Index(j)) = static_cast<double>(y[i]);
  }
  return dense;
}

template <class T>
MatrixXd dense_of(const LinearOperator<T>& m) {
  return dense_of<T>(m.rows(), [&m](const auto& x, auto& y) { m.apply(x, y); });
}

template <class T>
MatrixXd dense_transpose_of(const LinearOperator<T>& m) {
  return dense_of<T>(m.rows(), [&m](const auto& x, auto& y) { m.apply_transposed(x, y); });
}

/// Rounding of two ways to one matrix, amplified by the condition of the steps,
/// for which that of A stands. \param epsilon of the arithmetic
template <class T>
void expect_transpose(const MatrixXd& m, const MatrixXd& transposed, const CsrView<T>& a, double epsilon) {
  if (m.size() == 0) return;
  const MatrixXd dense = to_dense(a);
  const double condition = dense.norm() * dense.inverse().norm();
  EXPECT_LE((transposed - m.transpose()).norm(), epsilon * condition * m.norm());
}

template <class T>
class TransposedOfType : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(TransposedOfType, Types);

TYPED_TEST(TransposedOfType, EveryPreconditionerOnTheHost) {
  using T = TypeParam;
  for (const NonsymmetricSystem<T>& system : systems<T>()) {
    for (const PreconditionerCase<T>& kind : kinds<T>()) {
      if (kind.needs_diagonal && !system.has_diagonal) continue;
      SCOPED_TRACE(kind.name + " of " + system.name);
      const auto m = kind.make(system.a.view());
      ASSERT_TRUE(m->has_transpose());
      double epsilon = std::numeric_limits<T>::epsilon();
      if (kind.name == "amg in float") epsilon = std::numeric_limits<float>::epsilon();
      const MatrixXd dense = dense_of(*m);
      const MatrixXd transpose = dense_transpose_of(*m);
      expect_transpose(dense, transpose, system.a.view(), epsilon);
      expect_transpose(dense, dense_of(*transposed(*m)), system.a.view(), epsilon);
      if (!m->info().is_symmetric && dense.rows() > 1) {
        EXPECT_GT((dense - dense.transpose()).norm(), 1e-3 * dense.norm()) << "a symmetric M tests nothing";
      }
    }
  }
}

TYPED_TEST(TransposedOfType, DirectIsTheInverseOfTheTranspose) {
  using T = TypeParam;
  for (const NonsymmetricSystem<T>& system : systems<T>()) {
    SCOPED_TRACE(system.name);
    const DirectFactors<T> m(system.a.view());
    const MatrixXd expected = to_dense(system.a.view()).transpose().eval().inverse();
    expect_transpose<T>(expected.transpose(), dense_transpose_of(m), system.a.view(),
                        std::numeric_limits<T>::epsilon());
  }
}

TYPED_TEST(TransposedOfType, WeightsAlphaAndBeta) {
  using T = TypeParam;
  const Csr<T> a = convection_diffusion<T>(9, 7, 1, Peclet{8.0, 3.0, 0.0});
  const std::vector<T> x = random_values<T>(63, 1);
  const std::vector<T> old = random_values<T>(63, 2);
  for (const PreconditionerCase<T>& kind : kinds<T>()) {
    SCOPED_TRACE(kind.name);
    const auto m = kind.make(a.view());
    std::vector<T> z(63);
    m->apply_transposed(x, z);
    std::vector<T> y = old;
    m->apply_transposed(T{2}, x, T{-3}, y);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const T expected = T{2} * z[i] - T{3} * old[i];
      EXPECT_NEAR(y[i], expected, 8 * std::numeric_limits<T>::epsilon() * (2 * std::abs(z[i]) + 3)) << i;
    }
  }
}

/// Values of another flow on the same grid.
TYPED_TEST(TransposedOfType, FollowsARefresh) {
  using T = TypeParam;
  const Csr<T> a = convection_diffusion<T>(9, 7, 1, Peclet{8.0, 3.0, 0.0});
  const Csr<T> b = convection_diffusion<T>(9, 7, 1, Peclet{2.0, -5.0, 0.0});
  for (const PreconditionerCase<T>& kind : kinds<T>()) {
    SCOPED_TRACE(kind.name);
    const auto m = kind.make(a.view());
    const MatrixXd before = dense_transpose_of(*m);
    m->refresh(b.view());
    const MatrixXd after = dense_transpose_of(*m);
    EXPECT_GT((after - before).norm(), 1e-2 * before.norm());
    expect_transpose(dense_of(*m), after, b.view(), std::numeric_limits<float>::epsilon());
  }
}

/// The first products with Mᵀ, which form what they need, in several threads.
TEST(Transposed, FirstProductsMayRunSideBySide) {
  const Csr<double> a = convection_diffusion<double>(40, 30, 1, Peclet{8.0, 3.0, 0.0});
  const std::vector<double> x = random_values<double>(1200, 1);
  for (const PreconditionerCase<double>& kind : kinds<double>()) {
    SCOPED_TRACE(kind.name);
    std::vector<double> expected(1200);
    kind.make(a.view())->apply_transposed(x, expected);
    const auto m = kind.make(a.view());
    std::vector<std::vector<double>> found(4, std::vector<double>(1200));
    std::vector<std::thread> threads;
    for (std::vector<double>& y : found) {
      threads.emplace_back([&m, &x, &y] {
        std::vector<double> forward(1200);
        m->apply(x, forward);
        m->apply_transposed(x, y);
      });
    }
    for (std::thread& each : threads) each.join();
    for (const std::vector<double>& y : found) EXPECT_EQ(y, expected);
  }
}

/// Levels so wide that threads share them.
TEST(Transposed, FactorsByLevelsGiveTheBitsOfOneThread) {
  Csr<double> a = many_small_blocks(20'000);
  const std::vector<double> x = random_values<double>(80'000, 1);
  std::vector<double> one(x.size());
  std::vector<double> three(x.size());
  IncompleteFactors<double>(a.view(), {.kind = FactorKind::ilu0}, Device::host(1)).apply_transposed(x, one);
  IncompleteFactors<double>(a.view(), {.kind = FactorKind::ilu0}, Device::host(3)).apply_transposed(x, three);
  EXPECT_EQ(one, three);
}

/// A factorization passes an interruption point in every column, which counts its steps.
TEST(Transposed, DirectFactorizesOnce) {
  const Csr<double> a = convection_diffusion<double>(15, 12, 1, Peclet{8.0, 3.0, 0.0});
  detail::uncounted_steps = 0;
  const DirectFactors<double> m(a.view());
  EXPECT_GT(detail::uncounted_steps, 180);
  detail::uncounted_steps = 0;
  std::vector<double> y(180);
  m.apply_transposed(random_values<double>(180, 1), y);
  EXPECT_EQ(detail::uncounted_steps, 0);
}

template <class T>
SpmvPlan<T> plan_of(Csr<T> a) {
  SpmvPlan<T> plan(std::move(a));
  plan.prepare_transpose();
  return plan;
}

/// Forward and transposed solves in turn, the reports against a residual of their own matrix.
TYPED_TEST(TransposedOfType, SolvesWithEveryPreconditioner) {
  using T = TypeParam;
  const SpmvPlan<T> plan = plan_of(convection_diffusion<T>(20, 15, 1, Peclet{0.6, 0.3, 0.0}));
  const Csr<T> turned = transpose(plan.matrix());
  const std::vector<T> b = random_values<T>(300, 4);
  SolverOptions options;
  options.relative_tolerance = std::is_same_v<T, float> ? 1e-4 : 1e-9;
  for (const PreconditionerCase<T>& kind : kinds<T>()) {
    const auto m = kind.make(plan.matrix());
    for (const IterativeMethod method : {IterativeMethod::gmres, IterativeMethod::bicgstab}) {
      SCOPED_TRACE(kind.name + " " + std::string(to_string(method)));
      IterativeSolver<T> solver(method, plan, *m, options);
      for (int turn = 0; turn < 2; ++turn) {
        std::vector<T> x(300);
        SolveReport report = solver.solve(b, x);
        EXPECT_TRUE(report.converged()) << report.reason;
        expect_honest(report, plan.matrix(), b, x);
        x.assign(300, T{0});
        report = solver.solve_transposed(b, x);
        EXPECT_TRUE(report.converged()) << report.reason;
        expect_honest(report, turned.view(), b, x);
      }
    }
  }
}

TEST(Transposed, SolvesFollowNewValues) {
  SpmvPlan<double> plan = plan_of(convection_diffusion<double>(20, 15, 1, Peclet{20.0, 5.0, 0.0}));
  IncompleteFactors<double> m(plan.matrix(), {.kind = FactorKind::ilu0});
  const std::vector<double> b = random_values<double>(300, 4);
  std::vector<double> x(300);
  IterativeSolver<double> solver(IterativeMethod::gmres, plan, m);
  EXPECT_TRUE(solver.solve_transposed(b, x).converged());
  const Csr<double> other = convection_diffusion<double>(20, 15, 1, Peclet{-3.0, 9.0, 0.0});
  plan.update_values(other.values().span());
  m.refresh(plan.matrix());
  const SolveReport report = solver.solve_transposed(b, x);
  EXPECT_TRUE(report.converged()) << report.reason;
  expect_honest(report, transpose(other.view()).view(), b, x);
}

/// An M that was its own transpose when the solver first asked for Mᵀ.
TEST(Transposed, SolvesFollowAnMThatIsSymmetricNoMore) {
  const Csr<double> symmetric = convection_diffusion<double>(20, 15, 1, Peclet{0.0, 0.0, 0.0});
  const Csr<double> flow = convection_diffusion<double>(20, 15, 1, Peclet{1.5, 0.7, 0.0});
  const std::vector<double> b = random_values<double>(300, 4);
  SpmvPlan<double> plan = plan_of(Csr<double>::copy_of(symmetric.view()));
  Amg<double> m(symmetric.view(), {.coarsest_rows = 5});
  IterativeSolver<double> solver(IterativeMethod::gmres, plan, m);
  std::vector<double> x(300);
  EXPECT_TRUE(solver.solve_transposed(b, x).converged());
  ASSERT_TRUE(m.info().is_symmetric);
  plan.update_values(flow.values().span());
  m.refresh(flow.view());
  ASSERT_FALSE(m.info().is_symmetric);
  x.assign(300, 0.0);
  const SolveReport report = solver.solve_transposed(b, x);
  std::vector<double> y(300);
  EXPECT_EQ(report.iterations,
            IterativeSolver<double>(IterativeMethod::gmres, plan, m).solve_transposed(b, y).iterations);
  EXPECT_EQ(x, y);
}

/// Without M, and by functions of one solve.
TEST(Transposed, OperatorsServeTheFunctions) {
  const SpmvPlan<double> plan = plan_of(convection_diffusion<double>(20, 15, 1, Peclet{20.0, 5.0, 0.0}));
  const Csr<double> turned = transpose(plan.matrix());
  const IncompleteFactors<double> m(plan.matrix(), {.kind = FactorKind::ilu0});
  const std::vector<double> b = random_values<double>(300, 4);
  std::vector<double> x(300);
  expect_honest(gmres<double>(*transposed(plan), *transposed(m), b, x), turned.view(), b, x);
  x.assign(300, 0.0);
  IterativeSolver<double> solver(IterativeMethod::gmres, plan);
  const SolveReport report = solver.solve_transposed(b, x);
  EXPECT_TRUE(report.converged()) << report.reason;
  expect_honest(report, turned.view(), b, x);
}

TEST(Transposed, SymmetricOperatorsServeThemselves) {
  const Csr<double> a = poisson2d<double>(12, 10);
  const IdentityOperator<double> identity(120);
  const JacobiPreconditioner<double> jacobi(a.view());
  const Amg<double> amg(a.view(), {.cycle = AmgCycle::k});
  const FsaiPreconditioner<double> fsai(a.view());
  const IncompleteFactors<double> ic0(a.view(), {.kind = FactorKind::ic0});
  const DirectFactors<double> cholesky(a.view());
  for (const FusedOperator<double>* each :
       std::initializer_list<const FusedOperator<double>*>{&identity, &jacobi, &amg, &fsai, &ic0, &cholesky}) {
    EXPECT_EQ(transposed<double>(*each).get(), each);
    expect_transpose(dense_of<double>(*each), dense_transpose_of<double>(*each), a.view(),
                     std::numeric_limits<float>::epsilon());
  }
}

TEST(Transposed, InSinglePrecision) {
  const Csr<float> a = convection_diffusion<float>(9, 7, 1, Peclet{8.0, 3.0, 0.0});
  const IncompleteFactors<float> m(a.view(), {.kind = FactorKind::ilu0});
  const WidenedPreconditioner widened(m, 3);
  expect_transpose(dense_of(widened), dense_transpose_of(widened), a.view(), std::numeric_limits<float>::epsilon());
}

TEST(Transposed, PreparedLaterIsAsPlanned) {
  SpmvPlan<double> plan(convection_diffusion<double>(9, 7, 1, Peclet{8.0, 3.0, 0.0}));
  EXPECT_FALSE(plan.has_transpose());
  plan.prepare_transpose();
  ASSERT_TRUE(plan.info().transpose.has_value());
  SpmvOptions options;
  options.with_transpose = true;
  const SpmvPlan<double> planned(convection_diffusion<double>(9, 7, 1, Peclet{8.0, 3.0, 0.0}), options);
  EXPECT_EQ(plan.info().transpose->algorithm, planned.info().transpose->algorithm);
  EXPECT_EQ(plan.info().transpose->bytes, planned.info().transpose->bytes);
  EXPECT_EQ(dense_transpose_of(plan), dense_transpose_of(planned));
  const std::uint64_t bytes = plan.info().transpose->bytes;
  plan.prepare_transpose();
  EXPECT_EQ(plan.info().transpose->bytes, bytes);
}

TEST(Transposed, RefusalsNameTheRemedy) {
  const auto a = std::make_shared<const SpmvPlan<double>>(convection_diffusion<double>(9, 7, 1, Peclet{8.0, 3.0, 0.0}));
  const std::vector<double> b(63, 1.0);
  std::vector<double> x(63);
  IterativeSolver<double> solver(IterativeMethod::gmres, *a);
  EXPECT_NE(message_of<NotSupported>([&] { (void)solver.solve_transposed(b, x); }).find("prepare_transpose()"),
            std::string::npos);
  EXPECT_TRUE(solver.solve(b, x).converged()) << "a refusal changes nothing";
  const Amg<double> amg(a->matrix(), {.cycle = AmgCycle::k});
  EXPECT_NE(message_of<NotSupported>([&] { amg.apply_transposed(b, x); }).find("the cycles V and W"),
            std::string::npos);
  const PolynomialPreconditioner<double> shared(a);
  EXPECT_NE(message_of<NotSupported>([&] { shared.apply_transposed(b, x); }).find("the plan that it shares"),
            std::string::npos);
  const FunctionOperator<double> function(63, 63, [](std::span<const double> from, std::span<double> to) {
    std::copy(from.begin(), from.end(), to.begin());
  });
  EXPECT_NE(message_of<NotSupported>([&] { (void)transposed(function); }).find("a second function"), std::string::npos);
}

}  // namespace
}  // namespace tessera::testing
