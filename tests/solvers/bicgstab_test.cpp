#include "tests/solvers/systems.hpp"
#include "tests/support/eigen_bridge.hpp"

#include <gtest/gtest.h>
#include <Eigen/SparseLU>

#include <string>
#include <utility>

namespace tessera::testing {
namespace {

std::vector<std::pair<std::string, Csr<double>>> general_matrices() {
  std::vector<std::pair<std::string, Csr<double>>> result;
  result.emplace_back("convection 2d", convection_diffusion<double>(25, 20, 1, {.x = 3.0, .y = -1.0}));
  result.emplace_back("convection 3d", convection_diffusion<double>(9, 10, 8, {.x = 0.5, .y = 2.0, .z = -4.0}));
  result.emplace_back("symmetric", poisson2d<double>(20, 20));
  result.emplace_back("one-sided", tridiagonal<double>(300, 0.0, 2.0, -1.0));
  result.emplace_back("large enough for threads", convection_diffusion<double>(96, 90, 1, {.x = 1.0, .y = 1.0}));
  return result;
}

TEST(Bicgstab, SolvesAsADirectMethodDoes) {
  for (const auto& [name, a] : general_matrices()) {
    for (const bool preconditioned : {false, true}) {
      SCOPED_TRACE(name + (preconditioned ? ", Jacobi" : ", plain"));
      const std::vector<double> b = random_values<double>(static_cast<std::size_t>(a.rows()), 17);
      std::vector<double> x(b.size());
      const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()));
      const SolverOptions options{.relative_tolerance = 1e-11};
      const SolveReport report = preconditioned
                                     ? bicgstab<double>(plan, JacobiPreconditioner<double>(a.view()), b, x, options)
                                     : bicgstab<double>(plan, b, x, options);
      EXPECT_EQ(report.status, Status::converged) << report.reason;
      expect_honest(report, a.view(), b, x);

      Eigen::SparseLU<Eigen::SparseMatrix<double>> lu;
      lu.compute(Eigen::SparseMatrix<double>(to_eigen(a.view())));
      const Eigen::Map<const Eigen::VectorXd> eigen_b(b.data(), static_cast<Eigen::Index>(b.size()));
      const Eigen::Map<const Eigen::VectorXd> eigen_x(x.data(), eigen_b.size());
      const Eigen::VectorXd exact = lu.solve(eigen_b);
      // ‖x - x*‖ <= κ(A) rtol ‖x*‖ with κ below 2e4 for these matrices.
      EXPECT_LE((eigen_x - exact).norm(), 2e-7 * exact.norm());
    }
  }
}

TEST(Bicgstab, FoldedDiagonalEqualsTheAppliedOne) {
  const Csr<double> a = convection_diffusion<double>(12, 11, 3, {.x = 2.0});
  const std::vector<double> b = random_values<double>(12 * 11 * 3, 3);
  const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()));
  const JacobiPreconditioner<double> jacobi(a.view());
  std::int64_t applied = 0;
  const auto opaque = counting<double>(jacobi, applied);
  std::vector<double> folded_x(b.size());
  std::vector<double> applied_x(b.size());
  const SolveReport folded = bicgstab<double>(plan, jacobi, b, folded_x);
  const SolveReport not_folded = bicgstab<double>(plan, opaque, b, applied_x);
  EXPECT_EQ(folded.iterations, not_folded.iterations);
  EXPECT_EQ(folded_x, applied_x);
  EXPECT_EQ(not_folded.preconditioner_count, applied);
}

TEST(Bicgstab, CountsProductsExactly) {
  const SpmvPlan<double> plan(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
  std::int64_t products = 0;
  const auto counted = counting<double>(plan, products);
  std::vector<double> x(225);
  for (const std::int64_t interval : {0, 7}) {
    products = 0;
    x.assign(225, 0.0);
    const SolveReport report =
        bicgstab<double>(counted, random_values<double>(225, 1), x, {.replacement_interval = interval});
    EXPECT_TRUE(report.converged());
    EXPECT_EQ(report.spmv_count, products);
    EXPECT_EQ(report.preconditioner_count, 0) << "there is none";
    EXPECT_EQ(report.replacements > 0, interval > 0);
  }
}

TEST(Bicgstab, RandomShadowSolvesToo) {
  System<double> system(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
  const SolveReport report = system.bicgstab({.shadow = Shadow::random});
  EXPECT_TRUE(report.converged()) << report.reason;
  system.expect_honest(report);
  System<double> again(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
  (void)again.bicgstab({.shadow = Shadow::random});
  EXPECT_EQ(again.x, system.x) << "the shadow is seeded";
  System<double> other(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
  (void)other.bicgstab({.shadow = Shadow::random, .seed = 43});
  EXPECT_NE(other.x, system.x);
}

TEST(Bicgstab, SinglePrecisionReachesItsTolerance) {
  System<float> system(convection_diffusion<float>(15, 15, 1, {.x = 2.0}));
  const SolveReport report = system.bicgstab({.relative_tolerance = 1e-5});
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  system.expect_honest(report);
}

}  // namespace
}  // namespace tessera::testing
