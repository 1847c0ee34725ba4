/// GMRES preconditioned from the left: against an Arnoldi process in long double with SciPy's rule for the tolerance of
/// a cycle, and against direct solutions.
#include "tessera/iterative_solver.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/solvers/uneven_diagonal.hpp"
#include "tests/support/eigen_bridge.hpp"

#include <gtest/gtest.h>
#include <Eigen/Dense>
#include <Eigen/SparseLU>

#include <algorithm>
#include <string>
#include <utility>

namespace tessera::testing {
namespace {

using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;

constexpr PreconditionerSide left = PreconditionerSide::left;

LongMatrix dense(const CsrView<double>& a) { return Eigen::MatrixXd(to_eigen(a)).cast<long double>(); }

LongVector long_vector(const std::vector<double>& x) {
  return Eigen::Map<const Eigen::VectorXd>(x.data(), static_cast<Eigen::Index>(x.size())).cast<long double>();
}

struct OracleSolve {
  std::vector<long double> norms;  ///< ‖M r‖ ‖r₀‖ / ‖M r₀‖ after every step, with r₀ of its cycle
  int unmet = 0;                   ///< cycles that ended by their own tolerance, with ‖r‖ above the target
  bool has_grown = false;          ///< ‖r‖ in a cycle
};

/// GMRES(m) for M A x = M b by the definition: the least squares problem over an orthonormal basis of the Krylov space
/// of M A, by modified Gram-Schmidt and Householder's QR. A cycle ends where ‖M r‖ is at most ‖M r₀‖ min(f, target /
/// ‖r₀‖); f = 1 at first, a quarter of it after a cycle whose ‖r‖ is then above the target, and at most 1.5 times as
/// much after another one (SciPy 1.12, sparse/linalg/_isolve/iterative.py).
OracleSolve oracle(const LongMatrix& a, const LongMatrix& m, const LongVector& b, int restart, long double target,
                   int most) {
  OracleSolve result;
  LongVector x = LongVector::Zero(b.size());
  LongVector r = b;
  long double factor = 1;
  result.norms.push_back(r.norm());
  while (r.norm() > target && static_cast<int>(result.norms.size()) <= most) {
    const LongVector u = m * r;
    const long double goal = u.norm() * std::min(factor, target / r.norm());
    LongMatrix v(b.size(), restart + 1);
    LongMatrix image(b.size(), restart);
    v.col(0) = u.normalized();
    LongVector y;
    int j = 0;
    bool is_met = false;
    while (j < restart && !is_met && static_cast<int>(result.norms.size()) <= most) {
      image.col(j) = m * (a * v.col(j));
      const LongMatrix images = image.leftCols(j + 1);
      y = images.householderQr().solve(u);
      const long double norm = (u - images * y).norm();
      result.norms.push_back(norm * r.norm() / u.norm());
      is_met = norm <= goal;
      LongVector w = image.col(j);
      for (int pass = 0; pass < 2; ++pass) {
        for (int k = 0; k <= j; ++k) w -= v.col(k).dot(w) * v.col(k);
      }
      v.col(++j) = w.normalized();
    }
    x += v.leftCols(j) * y;
    const long double before = r.norm();
    r = b - a * x;
    result.has_grown = result.has_grown || r.norm() > before;
    if (is_met && r.norm() > target) ++result.unmet;
    factor = is_met ? factor / 4 : std::min(1.5L * factor, 1.0L);
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
  return result;
}

TEST(GmresLeft, IterationsAreThoseOfTheOracle) {
  int unmet = 0;
  bool has_grown = false;
  for (const Named& system : small_matrices()) {
    const CsrView<double> view = system.matrix.view();
    const std::int64_t n = view.rows;
    const std::vector<double> b = random_values<double>(static_cast<std::size_t>(n), 5);
    const LongMatrix a = dense(view);
    const SpmvPlan<double> plan(Csr<double>::copy_of(view));
    for (const int powers : {1, 4, 9}) {
      // The basis of this one is too sensitive to compare its numbers.
      if (system.name == "indefinite" && powers == 9) continue;
      // Fused where it is the Jacobi preconditioner of its inverse, else a product.
      std::vector<double> inverse = uneven_diagonal(n, powers);
      const SpmvPlan<double> applied(diagonal_matrix(inverse));
      const LongMatrix m = dense(applied.matrix());
      for (double& entry : inverse) entry = 1.0 / entry;
      const JacobiPreconditioner<double> fused(diagonal_matrix(inverse).view());
      for (const int restart : {2, 7, 30, 1000}) {
        // Every cycle passes rounding errors on, several times larger: where the diagonal reaches 2^-9, a last digit of
        // b moves the oracle's norms by 4e-13 ‖b‖ within 17 cycles of 7, and by 5e-7 within 60 of 2.
        const int most = std::min(120, 15 * restart);
        for (const LinearOperator<double>* each : {static_cast<const LinearOperator<double>*>(&fused),
                                                   static_cast<const LinearOperator<double>*>(&applied)}) {
          SCOPED_TRACE(system.name + ", 2^-" + std::to_string(powers) + (each == &fused ? ", fused" : ", applied") +
                       ", m = " + std::to_string(restart));
          std::vector<double> x(b.size());
          const SolveReport report = gmres<double>(plan, *each, b, x,
                                                   {.relative_tolerance = 1e-6,
                                                    .max_iterations = most,
                                                    .restart = restart,
                                                    .side = left,
                                                    .keep_history = true});
          expect_honest(report, view, b, x);
          const OracleSolve expected =
              oracle(a, m, long_vector(b), restart, static_cast<long double>(report.target), most);
          unmet += expected.unmet;
          has_grown = has_grown || expected.has_grown;
          // Cycles that do nothing end it earlier.
          if (report.status != Status::stagnated) {
            ASSERT_EQ(report.history.size(), expected.norms.size()) << report.reason;
          }
          for (std::size_t i = 0; i < report.history.size(); ++i) {
            // Rounding errors of all steps have the size of ε ‖b‖ times a condition.
            ASSERT_NEAR(report.history[i].recurrence, static_cast<double>(expected.norms[i]), 1e-11 * report.b_norm)
                << "at iteration " << i;
          }
        }
      }
    }
  }
  EXPECT_GT(unmet, 3) << "some cycles have to go on";
  EXPECT_TRUE(has_grown);
}

TEST(GmresLeft, SolvesAsADirectMethodDoes) {
  const Csr<double> matrix = convection_diffusion<double>(96, 90, 1, {.x = 1.0, .y = 1.0});
  std::vector<double> values(matrix.values().begin(), matrix.values().end());
  for (std::int64_t i = 0; i < matrix.rows(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    for (offset_t k = matrix.view().row_offsets[at]; k < matrix.view().row_offsets[at + 1]; ++k) {
      values[static_cast<std::size_t>(k)] *= 1.0 + static_cast<double>(i % 11);
    }
  }
  const SpmvPlan<double> plan(matrix.with_values(Array<double>::copy_of(values)));
  const CsrView<double> a = plan.matrix();
  const std::vector<double> b = random_values<double>(static_cast<std::size_t>(a.rows), 17);
  std::vector<double> x(b.size());
  const SolveReport report =
      gmres<double>(plan, JacobiPreconditioner<double>(a), b, x, {.relative_tolerance = 1e-10, .side = left});
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  expect_honest(report, a, b, x);
  Eigen::SparseLU<Eigen::SparseMatrix<double>> lu;
  lu.compute(Eigen::SparseMatrix<double>(to_eigen(a)));
  const Eigen::Map<const Eigen::VectorXd> eigen_b(b.data(), static_cast<Eigen::Index>(b.size()));
  const Eigen::Map<const Eigen::VectorXd> eigen_x(x.data(), eigen_b.size());
  const Eigen::VectorXd exact = lu.solve(eigen_b);
  // ‖x - x*‖ <= κ(A) rtol ‖x*‖ with κ below 2e5.
  EXPECT_LE((eigen_x - exact).norm(), 2e-5 * exact.norm());
}

/// M = A⁻¹, not fused.
TEST(GmresLeft, ExactPreconditionerTakesOneStep) {
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
  const SolveReport report = gmres<double>(plan, inverse, b, x, {.relative_tolerance = 1e-12, .side = left});
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_EQ(report.iterations, 1);
  EXPECT_EQ(report.preconditioner_count, 2) << "M b, one step";
  EXPECT_EQ(report.spmv_count, 3) << "the first residual, one step, the last residual";
  expect_honest(report, a.view(), b, x);
}

TEST(GmresLeft, IdentityGivesTheBitsOfTheRight) {
  const SpmvPlan<double> plan(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
  const std::vector<double> b = random_values<double>(225, 4);
  std::vector<double> from_left(225);
  std::vector<double> from_right(225);
  const SolveReport report = gmres<double>(plan, b, from_left, {.restart = 9, .side = left});
  EXPECT_EQ(report.iterations, gmres<double>(plan, b, from_right, {.restart = 9}).iterations);
  EXPECT_EQ(report.preconditioner_count, 0);
  EXPECT_EQ(from_left, from_right);
}

TEST(GmresLeft, FusedDiagonalEqualsTheAppliedOne) {
  const Csr<double> a = convection_diffusion<double>(12, 11, 3, {.x = 2.0});
  const std::vector<double> b = random_values<double>(12 * 11 * 3, 3);
  std::int64_t products = 0;
  std::int64_t applied = 0;
  const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()));
  const auto counted = counting<double>(plan, products);
  const JacobiPreconditioner<double> jacobi(diagonal_matrix(uneven_diagonal(12 * 11 * 3, 3)).view());
  const auto opaque = counting<double>(jacobi, applied);
  for (const std::int64_t interval : {0, 7}) {
    for (const int restart : {5, 50}) {
      const SolverOptions options{.replacement_interval = interval, .restart = restart, .side = left};
      std::vector<double> fused_x(b.size());
      std::vector<double> applied_x(b.size());
      products = applied = 0;
      const SolveReport fused = gmres<double>(plan, jacobi, b, fused_x, options);
      const SolveReport not_fused = gmres<double>(counted, opaque, b, applied_x, options);
      EXPECT_EQ(fused.iterations, not_fused.iterations);
      EXPECT_EQ(fused.preconditioner_count, not_fused.preconditioner_count);
      EXPECT_EQ(not_fused.preconditioner_count, applied);
      EXPECT_EQ(not_fused.spmv_count, products);
      for (std::size_t i = 0; i < b.size(); ++i) EXPECT_NEAR(fused_x[i], applied_x[i], 1e-10);
    }
  }
}

TEST(GmresLeft, ScalesOfTwoChangeNothing) {
  const Csr<double> a = convection_diffusion<double>(15, 15, 1, {.x = 2.0});
  const std::vector<double> b = random_values<double>(225, 4);
  const auto solved = [&](int a_power, int m_power, int b_power) {
    const SpmvPlan<double> plan(scaled(a, std::ldexp(1.0, a_power)));
    std::vector<double> entries = uneven_diagonal(225, 3);
    for (double& value : entries) value = std::ldexp(value, m_power);
    const SpmvPlan<double> m{diagonal_matrix(entries)};
    std::vector<double> right = b;
    for (double& value : right) value = std::ldexp(value, b_power);
    std::vector<double> x(225);
    const SolveReport report = gmres<double>(plan, m, right, x, {.restart = 20, .side = left});
    EXPECT_TRUE(report.converged()) << report.reason;
    for (double& value : x) value = std::ldexp(value, a_power - b_power);
    return std::pair{report.iterations, x};
  };
  const auto plain = solved(0, 0, 0);
  EXPECT_EQ(solved(300, 0, 0), plain);
  EXPECT_EQ(solved(0, 300, 0), plain);
  EXPECT_EQ(solved(0, -300, 0), plain);
  EXPECT_EQ(solved(0, 0, 900), plain);
  EXPECT_EQ(solved(100, -150, -200), plain);
}

TEST(GmresLeft, SinglePrecision) {
  const SpmvPlan<float> plan(convection_diffusion<float>(15, 15, 1, {.x = 2.0}));
  const JacobiPreconditioner<float> m(plan.matrix());
  const std::vector<float> b = random_values<float>(225, 6);
  for (const double tolerance : {1e-5, 0.0}) {
    std::vector<float> x(225);
    const SolveReport report =
        gmres<float>(plan, m, b, x, {.relative_tolerance = tolerance, .restart = 7, .side = left});
    EXPECT_EQ(report.status, tolerance > 0.0 ? Status::converged : Status::stagnated) << report.reason;
    expect_honest(report, plan.matrix(), b, x);
  }
}

/// A solver keeps nothing of the solve before.
TEST(GmresLeft, ManySolvesByOneSolver) {
  const SpmvPlan<double> plan(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
  const JacobiPreconditioner<double> m(diagonal_matrix(uneven_diagonal(225, 6)).view());
  const SolverOptions options{.restart = 12, .side = left};
  IterativeSolver<double> solver(IterativeMethod::gmres, plan, m, options);
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const std::vector<double> b = random_values<double>(225, seed);
    std::vector<double> x(225);
    std::vector<double> alone(225);
    EXPECT_EQ(solver.solve(b, x).iterations, gmres<double>(plan, m, b, alone, options).iterations);
    EXPECT_EQ(x, alone);
  }
}

TEST(GmresLeft, KeepsOneBasis) {
  const MethodInfo& info = method_info(IterativeMethod::gmres);
  const SolverOptions options{.restart = 30, .side = left};
  EXPECT_EQ(vectors_of(info, 1000, options, false), vectors_of(info, 1000, options, true));
}

}  // namespace
}  // namespace tessera::testing
