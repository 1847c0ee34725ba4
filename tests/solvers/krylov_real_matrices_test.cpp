/// Real systems against Eigen: iteration counts, and the residual of the returned x.
#include "tessera/error.hpp"
#include "tessera/matrix_market.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/eigen_bridge.hpp"
#include "tests/support/matrices_dir.hpp"

#include <gtest/gtest.h>
#include <Eigen/IterativeLinearSolvers>

#include <algorithm>
#include <memory>
#include <string>

namespace tessera::testing {
namespace {

using Map = Eigen::Map<const Eigen::VectorXd>;

Map as_eigen(const std::vector<double>& x) { return {x.data(), static_cast<Eigen::Index>(x.size())}; }

/// A·1, or the image of a seeded vector where ones lie in the null space (Andrews is a Laplacian).
std::vector<double> right_side(const CsrView<double>& a) {
  const auto n = static_cast<std::size_t>(a.rows);
  std::vector<double> b = product(a, std::vector<double>(n, 1.0));
  if (as_eigen(b).isZero(0.0)) b = product(a, random_values<double>(n, 29));
  return b;
}

std::unique_ptr<LinearOperator<double>> jacobi_or_identity(const CsrView<double>& a) {
  try {
    return std::make_unique<JacobiPreconditioner<double>>(a);
  } catch (const InvalidMatrix&) {
    return std::make_unique<IdentityOperator<double>>(a.rows);
  }
}

TEST(KrylovRealMatrices, CgNeedsAsManyIterationsAsEigen) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const char* name : {"G3_circuit_lead400k", "Andrews", "bcsstk38", "bcsstk16", "jnlbrng1", "bcsstk15", "crystm01",
                           "bcsstk13", "bcsstk08", "1138_bus", "nos4"}) {
    SCOPED_TRACE(name);
    const auto file = read_matrix_market<double>(*real_matrices_dir() / (std::string(name) + ".mtx.gz"));
    const CsrView<double> a = file.matrix.view();
    const std::vector<double> b = right_side(a);
    const auto eigen_a = to_eigen(a);
    Eigen::ConjugateGradient<EigenSparse<double>, Eigen::Lower | Eigen::Upper> eigen;
    eigen.setTolerance(1e-8);
    eigen.setMaxIterations(10000);
    const Eigen::VectorXd reference = eigen.compute(eigen_a).solve(as_eigen(b));
    ASSERT_EQ(eigen.info(), Eigen::Success);

    std::vector<double> x(b.size());
    const SpmvPlan<double> plan(Csr<double>::copy_of(a));
    const SolveReport report = cg<double>(plan, JacobiPreconditioner<double>(a), b, x);
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_LE(static_cast<double>(report.iterations), 1.1 * static_cast<double>(eigen.iterations()) + 2);
    expect_honest(report, a, b, x);
  }
}

/// Rounding errors in inner products with an A z far smaller than ‖A‖ ‖z‖ are no asymmetry.
TEST(KrylovRealMatrices, MinresTakesIllConditionedMatricesForSymmetric) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const char* name : {"bcsstk38", "freeFlyingRobot_7"}) {
    SCOPED_TRACE(name);
    const auto file = read_matrix_market<double>(*real_matrices_dir() / (std::string(name) + ".mtx.gz"));
    const CsrView<double> a = file.matrix.view();
    const std::vector<double> b = product(a, random_values<double>(static_cast<std::size_t>(a.rows), 11));
    std::vector<double> x(b.size());
    const SpmvPlan<double> plan(Csr<double>::copy_of(a));
    const SolveReport report = minres<double>(plan, b, x, {.max_iterations = 2000, .stagnation_window = 2000});
    EXPECT_EQ(report.status, Status::max_iterations) << report.reason;
    expect_honest(report, a, b, x);
  }
}

/// For every status: x is finite and never worse than the guess, the reported residual is that of Eigen and of long
/// double, and the solve is converged exactly when it is small.
TEST(KrylovRealMatrices, EveryReportIsHonest) {
  TESSERA_REQUIRE_REAL_MATRICES();
  int systems = 0;
  for (const auto& path : real_matrix_files()) {
    const auto file = read_matrix_market<double>(path);
    const CsrView<double> a = file.matrix.view();
    if (!a.is_square()) continue;
    SCOPED_TRACE(matrix_name(path));
    ++systems;
    const std::vector<double> b = right_side(a);
    std::vector<double> x(b.size());
    const SpmvPlan<double> plan(Csr<double>::copy_of(a));
    // The same work for every matrix: small ones get the iterations to converge in.
    const std::int64_t iterations = std::clamp<std::int64_t>(10'000'000 / std::max<offset_t>(a.nnz(), 1), 10, 1000);
    const SolveReport report = bicgstab<double>(plan, *jacobi_or_identity(a), b, x, {.max_iterations = iterations});
    const auto bound = static_cast<double>(expect_honest(report, a, b, x));
    EXPECT_LE(report.true_residual, report.r0_norm * (1 + 1e-12)) << report.reason;
    const double eigen_residual = (as_eigen(b) - to_eigen(a) * as_eigen(x)).norm();
    EXPECT_NEAR(report.true_residual, eigen_residual, 2 * bound) << report.reason;
  }
  EXPECT_GE(systems, 30) << "the directory holds at least the square matrices of the collection";
}

}  // namespace
}  // namespace tessera::testing
