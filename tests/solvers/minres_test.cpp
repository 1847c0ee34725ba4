/// MINRES: iterations of Eigen's, steps that the number of eigenvalues bounds, singular systems, and its refusals of A
/// that is not symmetric and of M that is not positive definite.
#include "tests/solvers/systems.hpp"
#include "tests/support/eigen_bridge.hpp"

#include <gtest/gtest.h>
#include <Eigen/Dense>
#include <unsupported/Eigen/IterativeSolvers>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

/// Poisson's matrix less a multiple of the identity, among its eigenvalues.
template <class T>
Csr<T> indefinite_grid(index_t n, T shift) {
  Csr<T> a = poisson2d<T>(n, n);
  std::vector<T> values(a.values().begin(), a.values().end());
  for (T& value : values) {
    if (value > T{0}) value -= shift;
  }
  return Csr<T>(a.rows(), a.cols(), a.row_offsets().to(Device{}), a.columns().to(Device{}), Array<T>::copy_of(values));
}

/// Jacobi of |a_ii|, which is positive definite where A is not.
template <class T>
JacobiPreconditioner<T> magnitudes(const CsrView<T>& a) {
  std::vector<T> entries(static_cast<std::size_t>(a.rows), T{1});
  for (index_t i = 0; i < a.rows; ++i) {
    for (offset_t k = a.row_offsets[static_cast<std::size_t>(i)]; k < a.row_offsets[static_cast<std::size_t>(i) + 1];
         ++k) {
      const T value = std::abs(a.value(k));
      if (a.columns[static_cast<std::size_t>(k)] == i && value > T{0}) entries[static_cast<std::size_t>(i)] = value;
    }
  }
  return JacobiPreconditioner<T>(diagonal_matrix<T>(entries).view());
}

/// Five points, with normal derivatives of 0 on the boundary: rows sum to 0.
Csr<double> neumann_grid(int side) {
  const auto n = static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
  std::vector<std::vector<double>> dense(n, std::vector<double>(n));
  const auto connect = [&dense](std::size_t i, std::size_t j) {
    dense[i][j] = dense[j][i] = -1.0;
    dense[i][i] += 1.0;
    dense[j][j] += 1.0;
  };
  for (std::size_t i = 0; i < n; ++i) {
    if ((i + 1) % static_cast<std::size_t>(side) != 0) connect(i, i + 1);
    if (i + static_cast<std::size_t>(side) < n) connect(i, i + static_cast<std::size_t>(side));
  }
  return from_dense<double>(dense, static_cast<std::int64_t>(n));
}

TEST(Minres, IterationsOfEigen) {
  System<double> indefinite(indefinite_grid<double>(14, 1.3));
  System<double> definite(poisson2d<double>(17, 11));
  for (System<double>* system : {&indefinite, &definite}) {
    for (const double tolerance : {1e-3, 1e-8}) {
      system->x.assign(system->size(), 0.0);
      const SolveReport report = minres<double>(system->plan, system->b, system->x, {.relative_tolerance = tolerance});
      Eigen::MINRES<EigenSparse<double>, Eigen::Lower | Eigen::Upper, Eigen::IdentityPreconditioner> eigen;
      const EigenSparse<double> a = to_eigen(system->plan.matrix());
      eigen.setTolerance(tolerance).setMaxIterations(10000).compute(a);
      const Eigen::VectorXd x = eigen.solve(Eigen::Map<const Eigen::VectorXd>(system->b.data(), a.rows()));
      EXPECT_TRUE(report.converged()) << report.reason;
      EXPECT_NEAR(static_cast<double>(report.iterations), static_cast<double>(eigen.iterations() + 1), 1.0);
      system->expect_honest(report);
      for (std::size_t i = 0; i < system->size(); ++i) {
        EXPECT_NEAR(system->x[i], x[static_cast<Eigen::Index>(i)], 1e2 * tolerance);
      }
    }
  }
}

TEST(Minres, DenseSolutionOfAnIndefiniteSystem) {
  System<double> system(indefinite_grid<double>(9, 2.2));
  system.b = random_values<double>(system.size(), 5);
  const Eigen::MatrixXd dense(to_eigen(system.plan.matrix()));
  const Eigen::VectorXd expected =
      dense.fullPivLu().solve(Eigen::Map<const Eigen::VectorXd>(system.b.data(), dense.rows()));
  const SolveReport report = minres<double>(system.plan, system.b, system.x, {.relative_tolerance = 1e-12});
  EXPECT_TRUE(report.converged()) << report.reason;
  for (std::size_t i = 0; i < system.size(); ++i) {
    EXPECT_NEAR(system.x[i], expected[static_cast<Eigen::Index>(i)], 1e-8 * expected.norm());
  }
}

/// k distinct eigenvalues: the k-th residual polynomial vanishes on all of them.
TEST(Minres, AsManyIterationsAsEigenvalues) {
  const std::vector<double> eigenvalues{-7.0, -1.0, 0.5, 3.0, 11.0};
  for (std::size_t k = 1; k <= eigenvalues.size(); ++k) {
    std::vector<double> entries;
    for (std::size_t i = 0; i < 60; ++i) entries.push_back(eigenvalues[i % k]);
    System<double> system(diagonal_matrix<double>(entries));
    const SolveReport report = minres<double>(system.plan, system.b, system.x, {.relative_tolerance = 1e-10});
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_EQ(report.iterations, static_cast<std::int64_t>(k));
    for (const double x : system.x) EXPECT_NEAR(x, 1.0, 1e-9);
  }
}

/// ±λ in pairs, b with equal parts of both: the residual falls in every second step alone.
TEST(Minres, EigenvaluesSymmetricAboutZero) {
  System<double> system(diagonal_matrix<double>({2.0, -2.0, 2.0, -2.0}));
  system.b = {1.0, 1.0, 1.0, 1.0};
  const SolveReport report = minres<double>(system.plan, system.b, system.x, {.keep_history = true});
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_EQ(report.iterations, 2);
  ASSERT_EQ(report.history.size(), 3U);
  EXPECT_EQ(report.history[1].recurrence, report.history[0].recurrence);
}

TEST(Minres, HistoryIsMonotone) {
  System<double> system(indefinite_grid<double>(16, 1.1));
  const SolveReport report = minres<double>(system.plan, system.b, system.x, {.keep_history = true});
  EXPECT_TRUE(report.converged()) << report.reason;
  ASSERT_GT(report.history.size(), 20U);
  for (std::size_t k = 1; k < report.history.size(); ++k) {
    EXPECT_LE(report.history[k].recurrence, report.history[k - 1].recurrence) << k;
  }
}

/// The residual that is followed without being computed is b - A x.
template <class T>
void expect_recurrence_of_true_residuals(const LinearOperator<T>& m, System<T>& system) {
  for (const std::int64_t limit : {1, 2, 3, 8, 21}) {
    system.x.assign(system.size(), T{0});
    const SolveReport report = minres<T>(system.plan, m, system.b, system.x, {.max_iterations = limit});
    EXPECT_EQ(report.status, Status::max_iterations) << report.reason;
    system.expect_honest(report);
    // The guess, or an earlier x with half the residual, is returned where it was better.
    if (report.true_residual == report.r0_norm || report.true_residual < 0.6 * report.recurrence_residual) continue;
    const double rounding = 1e4 * static_cast<double>(std::numeric_limits<T>::epsilon()) * report.r0_norm;
    EXPECT_NEAR(report.true_residual, report.recurrence_residual, rounding) << limit;
  }
}

TEST(Minres, RecurrenceIsTheTrueResidual) {
  System<double> system(indefinite_grid<double>(20, 0.7));
  const IdentityOperator<double> identity(system.plan.rows());
  std::vector<double> weights = random_values<double>(system.size(), 9);
  for (double& weight : weights) weight = 1.5 + weight;
  const JacobiPreconditioner<double> diagonal(diagonal_matrix<double>(weights).view());
  std::int64_t count = 0;
  expect_recurrence_of_true_residuals<double>(identity, system);
  expect_recurrence_of_true_residuals<double>(diagonal, system);
  expect_recurrence_of_true_residuals<double>(counting<double>(diagonal, count), system);
  System<float> single(indefinite_grid<float>(20, 0.7F));
  expect_recurrence_of_true_residuals<float>(IdentityOperator<float>(single.plan.rows()), single);
}

TEST(Minres, FusedDiagonalEqualsTheAppliedOne) {
  System<double> system(indefinite_grid<double>(15, 5.1));
  const JacobiPreconditioner<double> jacobi = magnitudes<double>(system.plan.matrix());
  const SolveReport fused = minres<double>(system.plan, jacobi, system.b, system.x);
  EXPECT_TRUE(fused.converged()) << fused.reason;
  system.expect_honest(fused);
  const std::vector<double> x = system.x;
  system.x.assign(system.size(), 0.0);
  std::int64_t applied = 0;
  const SolveReport as_product = minres<double>(system.plan, counting<double>(jacobi, applied), system.b, system.x);
  EXPECT_TRUE(as_product.converged()) << as_product.reason;
  EXPECT_EQ(as_product.preconditioner_count, applied);
  EXPECT_EQ(fused.preconditioner_count, as_product.preconditioner_count);
  EXPECT_EQ(fused.iterations, as_product.iterations);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(system.x[i], x[i], 1e-6);
}

/// The eigenvalues of M A decide: with M = |A|⁻¹ they are ±1, and two iterations are enough.
TEST(Minres, ExactMagnitudeAsPreconditioner) {
  std::vector<double> entries = random_values<double>(50, 3);
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i] += i % 2 == 0 ? 2.0 : -2.0;
  System<double> system(diagonal_matrix<double>(entries));
  const SolveReport report = minres<double>(system.plan, magnitudes<double>(system.plan.matrix()), system.b, system.x);
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_EQ(report.iterations, 2);
}

TEST(Minres, SingularConsistentSystem) {
  System<double> system(path_laplacian(80));
  system.b = random_values<double>(80, 4);
  double mean = 0.0;
  for (const double value : system.b) mean += value / 80.0;
  for (double& value : system.b) value -= mean;
  const SolveReport report = minres<double>(system.plan, system.b, system.x);
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_LE(report.iterations, 79);
  system.expect_honest(report);
}

/// The part of b in the null space stays: the least residual is its norm.
TEST(Minres, SingularInconsistentSystemReachesTheLeastResidual) {
  System<double> system(path_laplacian(40));
  system.b = random_values<double>(40, 6);
  double sum = 0.0;
  for (const double value : system.b) sum += value;
  const SolveReport report = minres<double>(system.plan, system.b, system.x, {.stagnation_window = 60});
  EXPECT_FALSE(report.converged()) << report.reason;
  system.expect_honest(report);
  EXPECT_NEAR(report.true_residual, std::abs(sum) / std::sqrt(40.0), 1e-6);
}

/// Steps along the null vector grow without limit; x of the least residual comes back, not one that they made.
TEST(Minres, SingularInconsistentSystemKeepsItsBest) {
  for (const int side : {12, 20, 30}) {
    System<double> system(neumann_grid(side));
    system.b.assign(system.size(), 0.0);
    std::fill_n(system.b.begin(), side, 1.0);
    const SolveReport report = minres<double>(system.plan, system.b, system.x, {.max_iterations = 10000});
    EXPECT_FALSE(report.converged()) << report.reason;
    system.expect_honest(report);
    // The part of b in the null space has norm 1.
    EXPECT_LE(report.true_residual, 2.0);
  }
}

/// A small γ is what rounding leaves of a Lanczos vector: no sign of an A that is not symmetric.
TEST(Minres, SymmetricMatrixIsNeverCalledAsymmetric) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const std::size_t n = 4 + seed % 17;
    const std::vector<double> entries = random_values<double>(n * n, seed);
    const Eigen::Map<const Eigen::MatrixXd> factor(entries.data(), static_cast<Eigen::Index>(n),
                                                   static_cast<Eigen::Index>(n));
    const Eigen::MatrixXd product = factor * factor.transpose();
    std::vector<std::vector<double>> dense(n, std::vector<double>(n));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        dense[i][j] = dense[j][i] = product(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
      }
    }
    System<double> system(from_dense<double>(dense, static_cast<std::int64_t>(n)));
    const IdentityOperator<double> identity(system.plan.rows());
    const JacobiPreconditioner<double> jacobi(system.plan.matrix());
    for (const LinearOperator<double>* m :
         {static_cast<const LinearOperator<double>*>(&identity), static_cast<const LinearOperator<double>*>(&jacobi)}) {
      system.x.assign(n, 0.0);
      const SolveReport report = minres<double>(system.plan, *m, system.b, system.x, {.relative_tolerance = 1e-12});
      EXPECT_NE(report.breakdown, Breakdown::asymmetric) << seed << ": " << report.reason;
      system.expect_honest(report);
    }
  }
}

TEST(Minres, ZeroMatrix) {
  System<double> system(diagonal_matrix<double>({0.0, 0.0, 0.0}));
  system.b = {1.0, 2.0, 3.0};
  const SolveReport report = minres<double>(system.plan, system.b, system.x);
  EXPECT_EQ(report.status, Status::breakdown) << report.reason;
  EXPECT_EQ(report.breakdown, Breakdown::dependent);
  system.expect_honest(report);
}

TEST(Minres, AsymmetricMatrixIsFoundOut) {
  System<double> convection(convection_diffusion<double>(8, 7, 3, {.x = 1.0, .y = 0.5}));
  const JacobiPreconditioner<double> jacobi(convection.plan.matrix());
  const IdentityOperator<double> identity(convection.plan.rows());
  for (const LinearOperator<double>* m :
       {static_cast<const LinearOperator<double>*>(&identity), static_cast<const LinearOperator<double>*>(&jacobi)}) {
    convection.x.assign(convection.size(), 0.0);
    const SolveReport report = minres<double>(convection.plan, *m, convection.b, convection.x);
    EXPECT_EQ(report.status, Status::breakdown) << report.reason;
    EXPECT_EQ(report.breakdown, Breakdown::asymmetric);
    EXPECT_EQ(report.iterations, 1);
    EXPECT_EQ(report.restarts, 0);
    EXPECT_NE(report.reason.find("not symmetric"), std::string::npos) << report.reason;
    convection.expect_honest(report);
  }
}

TEST(Minres, IndefinitePreconditionerIsRefused) {
  System<double> system(indefinite_grid<double>(6, 4.5));
  const JacobiPreconditioner<double> negative(scaled(poisson2d<double>(6, 6), -1.0).view());
  const SolveReport at_once = minres<double>(system.plan, negative, system.b, system.x);
  EXPECT_EQ(at_once.breakdown, Breakdown::preconditioner) << at_once.reason;
  EXPECT_EQ(at_once.iterations, 0);
  std::vector<double> entries(36, 1.0);
  entries[20] = -1.0;
  system.b.assign(36, 0.0);
  system.b[0] = 1.0;
  const JacobiPreconditioner<double> mixed(diagonal_matrix<double>(entries).view());
  const SolveReport later = minres<double>(system.plan, mixed, system.b, system.x);
  EXPECT_EQ(later.breakdown, Breakdown::preconditioner) << later.reason;
  EXPECT_GT(later.iterations, 0);
  EXPECT_LT(later.breakdowns.back().value, 0.0);
  system.expect_honest(later);
}

TEST(Minres, ScaledSystemsTakeTheSameSteps) {
  System<double> system(indefinite_grid<double>(12, 1.9));
  const SolveReport plain = minres<double>(system.plan, system.b, system.x);
  EXPECT_TRUE(plain.converged()) << plain.reason;
  // Squares of entries are normal numbers, products of three of them are not.
  for (const double factor : {0x1p-450, 0x1p450}) {
    System<double> other(scaled(indefinite_grid<double>(12, 1.9), factor));
    const SolveReport report = minres<double>(other.plan, other.b, other.x);
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_EQ(plain.iterations, report.iterations);
    EXPECT_EQ(system.x, other.x);
  }
}

TEST(Minres, Float) {
  System<float> system(indefinite_grid<float>(12, 1.9F));
  const SolveReport report = minres<float>(system.plan, system.b, system.x, {.relative_tolerance = 1e-4});
  EXPECT_TRUE(report.converged()) << report.reason;
  system.expect_honest(report);
}

/// Replacement and restarts begin a new Lanczos process from the true residual.
TEST(Minres, PeriodicReplacement) {
  System<double> system(poisson2d<double>(12, 12));
  const SolveReport report = minres<double>(system.plan, system.b, system.x, {.replacement_interval = 15});
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_GE(report.replacements, 1);
  system.expect_honest(report);
}

TEST(Minres, NanNeverReachesX) {
  System<double> system(indefinite_grid<double>(6, 1.0));
  for (const std::int64_t fine : {0, 3}) {
    std::int64_t calls = 0;
    const FunctionOperator<double> m(36, 36, [&](std::span<const double> r, std::span<double> z) {
      std::copy(r.begin(), r.end(), z.begin());
      if (++calls > fine) z[7] = std::numeric_limits<double>::quiet_NaN();
    });
    system.x.assign(36, 0.0);
    const SolveReport report = minres<double>(system.plan, m, system.b, system.x);
    EXPECT_EQ(report.status, Status::not_finite) << report.reason;
    system.expect_honest(report);
  }
}

TEST(Minres, RunsGiveTheSameBits) {
  System<double> system(indefinite_grid<double>(60, 0.3));
  const SolveReport first = minres<double>(system.plan, system.b, system.x);
  const std::vector<double> x = system.x;
  system.x.assign(system.size(), 0.0);
  const SolveReport again = minres<double>(system.plan, system.b, system.x);
  EXPECT_EQ(first.iterations, again.iterations);
  EXPECT_EQ(system.x, x);
}

}  // namespace
}  // namespace tessera::testing
