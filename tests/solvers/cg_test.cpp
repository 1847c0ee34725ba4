#include "tessera/error.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/eigen_bridge.hpp"

#include <gtest/gtest.h>
#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCholesky>

#include <string>
#include <utility>

namespace tessera::testing {
namespace {

using Vector = Eigen::VectorXd;

Eigen::Map<const Vector> as_eigen(const std::vector<double>& x) {
  return {x.data(), static_cast<Eigen::Index>(x.size())};
}

std::vector<std::pair<std::string, Csr<double>>> spd_matrices() {
  std::vector<std::pair<std::string, Csr<double>>> result;
  result.emplace_back("poisson2d 5 points", poisson2d<double>(30, 20));
  result.emplace_back("poisson2d 9 points", poisson2d<double>(17, 23, Stencil2d::nine_point));
  result.emplace_back("poisson3d 7 points", poisson3d<double>(9, 8, 7));
  result.emplace_back("poisson3d 27 points", poisson3d<double>(7, 8, 9, Stencil3d::twentyseven_point));
  result.emplace_back("anisotropic", anisotropic2d<double>(25, 25, 1e-3));
  result.emplace_back("large enough for threads", poisson2d<double>(96, 90));
  return result;
}

TEST(Cg, SolvesAsADirectMethodDoes) {
  for (const auto& [name, a] : spd_matrices()) {
    SCOPED_TRACE(name);
    const std::vector<double> b = random_values<double>(static_cast<std::size_t>(a.rows()), 7);
    std::vector<double> x(b.size());
    const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()));
    const SolveReport report = cg<double>(plan, b, x, {.relative_tolerance = 1e-12});
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    expect_honest(report, a.view(), b, x);

    const Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> ldlt(Eigen::SparseMatrix<double>(to_eigen(a.view())));
    const Vector exact = ldlt.solve(as_eigen(b));
    // ‖x - x*‖ <= κ(A) rtol ‖x*‖ with κ below 2e4 for these matrices.
    EXPECT_LE((as_eigen(x) - exact).norm(), 2e-8 * exact.norm());
  }
}

TEST(Cg, NeedsAsManyIterationsAsEigen) {
  for (const auto& [name, a] : spd_matrices()) {
    SCOPED_TRACE(name);
    const std::vector<double> b = random_values<double>(static_cast<std::size_t>(a.rows()), 11);
    std::vector<double> x(b.size());
    const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()));
    const JacobiPreconditioner<double> jacobi(a.view());
    const SolveReport report = cg<double>(plan, jacobi, b, x);
    EXPECT_EQ(report.status, Status::converged) << report.reason;

    const auto eigen_a = to_eigen(a.view());
    Eigen::ConjugateGradient<EigenSparse<double>, Eigen::Lower | Eigen::Upper> eigen;
    eigen.setTolerance(1e-8);
    const Vector reference = eigen.compute(eigen_a).solve(as_eigen(b));
    ASSERT_EQ(eigen.info(), Eigen::Success);
    EXPECT_LE(static_cast<double>(report.iterations), 1.1 * static_cast<double>(eigen.iterations()) + 2);
  }
}

TEST(Cg, FoldedDiagonalEqualsTheAppliedOne) {
  const Csr<double> a = anisotropic2d<double>(20, 20, 0.01);
  const std::vector<double> b = random_values<double>(400, 3);
  const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()));
  const JacobiPreconditioner<double> jacobi(a.view());
  std::int64_t applied = 0;
  const auto opaque = counting<double>(jacobi, applied);
  std::vector<double> folded_x(400);
  std::vector<double> applied_x(400);
  const SolveReport folded = cg<double>(plan, jacobi, b, folded_x);
  const SolveReport not_folded = cg<double>(plan, opaque, b, applied_x);
  EXPECT_EQ(folded.iterations, not_folded.iterations);
  EXPECT_EQ(folded.preconditioner_count, not_folded.preconditioner_count);
  // Sums run in another order, so that only rounding tells them apart.
  EXPECT_LE((as_eigen(folded_x) - as_eigen(applied_x)).norm(), 1e-9 * as_eigen(applied_x).norm());
  EXPECT_EQ(not_folded.preconditioner_count, applied);
}

TEST(Cg, BitwiseTheSameForEveryNumberOfThreads) {
  const Csr<double> a = poisson2d<double>(100, 90);
  const std::vector<double> b = random_values<double>(100 * 90, 5);
  std::vector<double> first;
  for (const int threads : {1, 2}) {
    const SpmvPlan<double> plan(
        Csr<double>::copy_of(a.view()),
        {.algorithm = SpmvAlgorithm::csr, .device = Device::host(threads), .determinism = Determinism::gpu_to_gpu});
    std::vector<double> x(b.size());
    EXPECT_TRUE(cg<double>(plan, b, x).converged());
    if (first.empty()) first = x;
    EXPECT_EQ(x, first) << threads << " threads";
  }
}

TEST(Cg, SinglePrecisionReachesItsTolerance) {
  System<float> system(poisson2d<float>(30, 30));
  const SolveReport report = system.cg({.relative_tolerance = 1e-5});
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  system.expect_honest(report);
}

TEST(Cg, OneUnknown) {
  System<double> system(diagonal_matrix<double>({4.0}));
  const SolveReport report = system.cg();
  EXPECT_TRUE(report.converged());
  EXPECT_EQ(report.iterations, 1);
  EXPECT_DOUBLE_EQ(system.x[0], 1.0);
}

TEST(Cg, RefusesSizesThatDoNotFit) {
  const SpmvPlan<double> square(poisson2d<double>(3, 3));
  const SpmvPlan<double> rectangular(from_dense<double>({{1, 2, 3}}, 3));
  std::vector<double> nine(9);
  std::vector<double> eight(8);
  std::vector<double> one(1);
  std::vector<double> three(3);
  EXPECT_THROW((void)cg<double>(rectangular, one, three), DimensionError);
  EXPECT_THROW((void)cg<double>(square, eight, nine), DimensionError);
  EXPECT_THROW((void)cg<double>(square, nine, eight), DimensionError);
  EXPECT_THROW((void)cg<double>(square, IdentityOperator<double>(8), std::span<const double>(eight), nine),
               DimensionError);
  EXPECT_THROW((void)cg<double>(square, IdentityOperator<double>(8), nine, eight), DimensionError);
  std::vector<double> shared(12);
  EXPECT_THROW((void)cg<double>(square, std::span<const double>(shared).subspan(3), std::span(shared).first(9)),
               InvalidArgument);
}

}  // namespace
}  // namespace tessera::testing
