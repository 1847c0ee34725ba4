/// GMRES against direct solutions and an Arnoldi process in long double.
#include "tessera/error.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/eigen_bridge.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>
#include <Eigen/Dense>
#include <Eigen/SparseLU>

#include <cmath>
#include <string>
#include <utility>

namespace tessera::testing {
namespace {

using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;

LongMatrix dense(const Csr<double>& a) { return Eigen::MatrixXd(to_eigen(a.view())).cast<long double>(); }

LongVector long_vector(const std::vector<double>& x) {
  return Eigen::Map<const Eigen::VectorXd>(x.data(), static_cast<Eigen::Index>(x.size())).cast<long double>();
}

/// ‖b - A x‖₂ after every step of GMRES(m), from the definition: the least squares problem over an orthonormal basis of
/// the Krylov space, by modified Gram-Schmidt and Householder's QR in long double. \param m_inverse M
std::vector<long double> oracle_residuals(const LongMatrix& a, const LongMatrix& m_inverse, const LongVector& b,
                                          int restart, long double target, int most) {
  std::vector<long double> result{b.norm()};
  LongVector x = LongVector::Zero(b.size());
  while (result.back() > target && static_cast<int>(result.size()) <= most) {
    const LongVector r = b - a * x;
    LongMatrix v(b.size(), restart + 1);
    LongMatrix image(b.size(), restart);
    v.col(0) = r.normalized();
    LongVector y;
    int j = 0;
    while (j < restart && result.back() > target && static_cast<int>(result.size()) <= most) {
      image.col(j) = a * (m_inverse * v.col(j));
      const LongMatrix images = image.leftCols(j + 1);
      y = images.householderQr().solve(r);
      result.push_back((r - images * y).norm());
      LongVector w = image.col(j);
      for (int pass = 0; pass < 2; ++pass) {
        for (int k = 0; k <= j; ++k) w -= v.col(k).dot(w) * v.col(k);
      }
      v.col(++j) = w.normalized();
    }
    x += m_inverse * (v.leftCols(j) * y);
  }
  return result;
}

struct Named {
  std::string name;
  Csr<double> matrix;
};

std::vector<Named> small_matrices() {
  std::vector<Named> result;
  result.push_back({"convection 2d", convection_diffusion<double>(9, 8, 1, {.x = 3.0, .y = -1.0})});
  result.push_back({"symmetric", poisson2d<double>(8, 7)});
  result.push_back({"indefinite", tridiagonal<double>(50, -1.0, 0.3, -1.0)});
  result.push_back({"skew", tridiagonal<double>(40, -1.0, 0.1, 1.0)});
  result.push_back({"one-sided", tridiagonal<double>(30, 0.0, 2.0, -1.0)});
  return result;
}

TEST(Gmres, ResidualsAreThoseOfTheOracle) {
  for (const Named& system : small_matrices()) {
    const auto n = static_cast<std::size_t>(system.matrix.rows());
    const std::vector<double> b = random_values<double>(n, 5);
    const LongMatrix a = dense(system.matrix);
    const SpmvPlan<double> plan(Csr<double>::copy_of(system.matrix.view()));
    const JacobiPreconditioner<double> jacobi(system.matrix.view());
    for (const bool preconditioned : {false, true}) {
      const LongMatrix m = preconditioned ? LongMatrix(a.diagonal().cwiseInverse().asDiagonal())
                                          : LongMatrix(LongMatrix::Identity(a.rows(), a.cols()));
      for (const int restart : {1, 2, 7, 30, 1000}) {
        SCOPED_TRACE(system.name + (preconditioned ? ", Jacobi, m = " : ", m = ") + std::to_string(restart));
        std::vector<double> x(n);
        const SolverOptions options{
            .relative_tolerance = 1e-9, .max_iterations = 200, .restart = restart, .keep_history = true};
        const SolveReport report =
            preconditioned ? gmres<double>(plan, jacobi, b, x, options) : gmres<double>(plan, b, x, options);
        expect_honest(report, system.matrix.view(), b, x);
        const auto expected =
            oracle_residuals(a, m, long_vector(b), restart, static_cast<long double>(report.target), 200);
        // Cycles that do nothing end it earlier.
        if (report.status != Status::stagnated) {
          ASSERT_EQ(report.history.size(), expected.size()) << report.reason;
        }
        for (std::size_t i = 0; i < report.history.size(); ++i) {
          // Relative to b, since rounding errors of all steps have the size of ε ‖b‖ times a small condition number.
          ASSERT_NEAR(report.history[i].recurrence, static_cast<double>(expected[i]), 1e-11 * report.b_norm)
              << "at iteration " << i;
        }
      }
    }
  }
}

TEST(Gmres, SolvesAsADirectMethodDoes) {
  std::vector<Named> systems;
  systems.push_back({"convection 2d", convection_diffusion<double>(25, 20, 1, {.x = 3.0, .y = -1.0})});
  systems.push_back({"convection 3d", convection_diffusion<double>(9, 10, 8, {.x = 0.5, .y = 2.0, .z = -4.0})});
  systems.push_back({"large enough for threads", convection_diffusion<double>(96, 90, 1, {.x = 1.0, .y = 1.0})});
  for (const Named& system : systems) {
    const CsrView<double> a = system.matrix.view();
    for (const bool preconditioned : {false, true}) {
      SCOPED_TRACE(system.name + (preconditioned ? ", Jacobi" : ", plain"));
      const std::vector<double> b = random_values<double>(static_cast<std::size_t>(a.rows), 17);
      std::vector<double> x(b.size());
      const SpmvPlan<double> plan(Csr<double>::copy_of(a));
      const SolverOptions options{.relative_tolerance = 1e-11};
      const SolveReport report = preconditioned ? gmres<double>(plan, JacobiPreconditioner<double>(a), b, x, options)
                                                : gmres<double>(plan, b, x, options);
      EXPECT_EQ(report.status, Status::converged) << report.reason;
      expect_honest(report, a, b, x);
      Eigen::SparseLU<Eigen::SparseMatrix<double>> lu;
      lu.compute(Eigen::SparseMatrix<double>(to_eigen(a)));
      const Eigen::Map<const Eigen::VectorXd> eigen_b(b.data(), static_cast<Eigen::Index>(b.size()));
      const Eigen::Map<const Eigen::VectorXd> eigen_x(x.data(), eigen_b.size());
      const Eigen::VectorXd exact = lu.solve(eigen_b);
      // ‖x - x*‖ <= κ(A) rtol ‖x*‖ with κ below 2e4 for these matrices.
      EXPECT_LE((eigen_x - exact).norm(), 2e-7 * exact.norm());
    }
  }
}

/// In exact arithmetic n steps suffice; the basis is orthonormal enough for them.
TEST(Gmres, FullGmresEndsWithinN) {
  for (const Named& system : small_matrices()) {
    SCOPED_TRACE(system.name);
    const auto n = static_cast<std::size_t>(system.matrix.rows());
    const SpmvPlan<double> plan(Csr<double>::copy_of(system.matrix.view()));
    const std::vector<double> b = random_values<double>(n, 3);
    std::vector<double> x(n);
    const SolveReport report =
        gmres<double>(plan, b, x, {.relative_tolerance = 1e-12, .restart = 1000, .keep_history = true});
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_LE(report.iterations, static_cast<std::int64_t>(n));
    for (std::size_t i = 1; i < report.history.size(); ++i) {
      EXPECT_LE(report.history[i].recurrence, report.history[i - 1].recurrence);
    }
  }
}

TEST(Gmres, IdentityTakesOneStep) {
  const std::vector<double> b = random_values<double>(70, 1);
  const SpmvPlan<double> plan(diagonal_matrix(std::vector<double>(70, 4.0)));
  std::vector<double> x(70);
  const SolveReport report = gmres<double>(plan, b, x, {.relative_tolerance = 1e-15});
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_EQ(report.iterations, 1);
  expect_honest(report, plan.matrix(), b, x);
}

/// M = A⁻¹, not fused.
TEST(Gmres, ExactPreconditionerTakesOneStep) {
  const Csr<double> a = convection_diffusion<double>(10, 9, 1, {.x = 2.0});
  Eigen::SparseLU<Eigen::SparseMatrix<double>> lu;
  lu.compute(Eigen::SparseMatrix<double>(to_eigen(a.view())));
  const FunctionOperator<double> inverse(90, 90, [&](std::span<const double> v, std::span<double> z) {
    const Eigen::Map<const Eigen::VectorXd> right(v.data(), 90);
    Eigen::Map<Eigen::VectorXd>(z.data(), 90) = lu.solve(right);
  });
  const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()));
  const std::vector<double> b = random_values<double>(90, 2);
  std::vector<double> x(90);
  const SolveReport report = gmres<double>(plan, inverse, b, x, {.relative_tolerance = 1e-12});
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_EQ(report.iterations, 1);
  EXPECT_EQ(report.preconditioner_count, 1);
  EXPECT_EQ(report.spmv_count, 3) << "the first residual, one step, the last residual";
  expect_honest(report, a.view(), b, x);
}

/// M is another iteration, and another operator each time.
TEST(Gmres, PreconditionersMayBeNonlinear) {
  const Csr<double> a = convection_diffusion<double>(30, 30, 1, {.x = 2.0, .y = 1.0});
  const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()));
  const FunctionOperator<double> inner(900, 900, [&](std::span<const double> v, std::span<double> z) {
    std::fill(z.begin(), z.end(), 0.0);
    (void)bicgstab<double>(plan, v, z, {.relative_tolerance = 0.1});
  });
  const std::vector<double> b = random_values<double>(900, 2);
  std::vector<double> x(900);
  const SolverOptions options{.relative_tolerance = 1e-10, .restart = 10, .keep_history = true};
  const SolveReport report = gmres<double>(plan, inner, b, x, options);
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_LE(report.iterations, 15) << "each step takes a tenth";
  expect_honest(report, a.view(), b, x);
  // The recurrence knows the residual of the x that was not formed.
  EXPECT_NEAR(report.recurrence_residual, report.true_residual, 1e-3 * report.true_residual);
}

TEST(Gmres, FusedDiagonalEqualsTheAppliedOne) {
  const Csr<double> a = convection_diffusion<double>(12, 11, 3, {.x = 2.0});
  const std::vector<double> b = random_values<double>(12 * 11 * 3, 3);
  const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()));
  const JacobiPreconditioner<double> jacobi(a.view());
  std::int64_t applied = 0;
  const auto opaque = counting<double>(jacobi, applied);
  for (const int restart : {5, 50}) {
    std::vector<double> fused_x(b.size());
    std::vector<double> applied_x(b.size());
    applied = 0;
    const SolveReport fused = gmres<double>(plan, jacobi, b, fused_x, {.restart = restart});
    const SolveReport not_fused = gmres<double>(plan, opaque, b, applied_x, {.restart = restart});
    EXPECT_EQ(fused.iterations, not_fused.iterations);
    EXPECT_EQ(fused.preconditioner_count, not_fused.preconditioner_count);
    EXPECT_EQ(not_fused.preconditioner_count, applied);
    for (std::size_t i = 0; i < b.size(); ++i) EXPECT_NEAR(fused_x[i], applied_x[i], 1e-12);
  }
}

/// A = Q H Qᵀ with b = Q e_0: of A v_0, 1e8 long, 1 is left, and the second direction has a share of x that rounding in
/// A decides. What the first orthogonalization leaves of v_0 in that direction, 1e-8, would be about 1 in the residual.
TEST(Gmres, DirectionsBeforeTheirSecondOrthogonalization) {
  constexpr int n = 40;
  Eigen::MatrixXd h = Eigen::MatrixXd::Identity(n, n);
  h.topLeftCorner(2, 2) << 1e8, 2.0, 1.0, 1e-8;
  std::vector<double> seeds = random_values<double>(n * n, 11);
  const Eigen::MatrixXd q = Eigen::Map<Eigen::MatrixXd>(seeds.data(), n, n).householderQr().householderQ();
  const Eigen::MatrixXd dense = q * h * q.transpose();
  std::vector<std::vector<double>> rows(n, std::vector<double>(n));
  std::vector<double> b(n);
  for (int i = 0; i < n; ++i) {
    b[static_cast<std::size_t>(i)] = q(i, 0);
    for (int j = 0; j < n; ++j) rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = dense(i, j);
  }
  const SpmvPlan<double> plan(from_dense<double>(rows, n));
  const IdentityOperator<double> identity(n, plan.device());
  std::int64_t applied = 0;
  const auto opaque = counting<double>(identity, applied);
  const JacobiPreconditioner<double> fused(diagonal_matrix(std::vector<double>(n, 1.0)).view());
  for (const LinearOperator<double>* m :
       {static_cast<const LinearOperator<double>*>(&identity), static_cast<const LinearOperator<double>*>(&opaque),
        static_cast<const LinearOperator<double>*>(&fused)}) {
    for (const PreconditionerSide side : {PreconditionerSide::right, PreconditionerSide::left}) {
      std::vector<double> x(n);
      const SolverOptions options{.relative_tolerance = 1e-12, .max_iterations = 2, .side = side};
      const SolveReport report = gmres<double>(plan, *m, b, x, options);
      EXPECT_EQ(report.iterations, 2) << report.reason;
      EXPECT_LE(report.true_residual, 1e-6);
      double v_1 = 0.0;
      for (int k = 0; k < n; ++k) v_1 += q(k, 1) * x[static_cast<std::size_t>(k)];
      EXPECT_GT(std::abs(v_1), 0.1) << "the second direction takes part";
      expect_honest(report, plan.matrix(), b, x);
    }
  }
}

TEST(Gmres, CountsProductsExactly) {
  const SpmvPlan<double> plan(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
  std::int64_t products = 0;
  const auto counted = counting<double>(plan, products);
  for (const std::int64_t interval : {0, 7}) {
    for (const int restart : {1, 6, 300}) {
      products = 0;
      std::vector<double> x(225);
      const SolveReport report = gmres<double>(counted, random_values<double>(225, 1), x,
                                               {.replacement_interval = interval, .restart = restart});
      EXPECT_TRUE(report.converged()) << report.reason;
      EXPECT_EQ(report.spmv_count, products);
      EXPECT_EQ(report.preconditioner_count, 0) << "there is none";
      EXPECT_EQ(report.replacements > 0, interval > 0 || restart < 300);
    }
  }
}

TEST(Gmres, ScalesOfTwoChangeNothing) {
  const Csr<double> a = convection_diffusion<double>(15, 15, 1, {.x = 2.0});
  const std::vector<double> b = random_values<double>(225, 4);
  const auto solved = [&](int a_power, int b_power) {
    const SpmvPlan<double> plan(scaled(a, std::ldexp(1.0, a_power)));
    std::vector<double> right = b;
    for (double& value : right) value = std::ldexp(value, b_power);
    std::vector<double> x(225);
    const SolveReport report = gmres<double>(plan, right, x, {.restart = 20});
    EXPECT_TRUE(report.converged()) << report.reason;
    for (double& value : x) value = std::ldexp(value, a_power - b_power);
    return std::pair{report.iterations, x};
  };
  const auto plain = solved(0, 0);
  EXPECT_EQ(solved(300, 0), plain);
  EXPECT_EQ(solved(-300, 0), plain);
  EXPECT_EQ(solved(0, 900), plain);
  EXPECT_EQ(solved(0, -900), plain);
  EXPECT_EQ(solved(100, -200), plain);
}

TEST(Gmres, SinglePrecision) {
  for (const int restart : {7, 60}) {
    System<float> system(convection_diffusion<float>(15, 15, 1, {.x = 2.0}));
    const SolveReport report = system.gmres({.relative_tolerance = 1e-5, .restart = restart});
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    system.expect_honest(report);
    System<float> exact(convection_diffusion<float>(15, 15, 1, {.x = 2.0}));
    exact.b = random_values<float>(225, 6);
    const SolveReport stagnates = exact.gmres({.relative_tolerance = 0.0, .restart = restart});
    EXPECT_EQ(stagnates.status, Status::stagnated) << stagnates.reason;
    EXPECT_LE(stagnates.true_residual, 1e-6 * stagnates.b_norm);
    exact.expect_honest(stagnates);
  }
}

}  // namespace
}  // namespace tessera::testing
