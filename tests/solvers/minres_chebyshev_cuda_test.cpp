// MINRES and Chebyshev iteration on a GPU: the bits of the loop driven by the host, and the endings of the host.
#include "tests/solvers/loop_cases.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::testing {
namespace {

/// Tridiagonal and indefinite: eigenvalues 0.3 - 2 cos.
Csr<double> indefinite(index_t n) { return tridiagonal<double>(n, -1.0, 0.3, -1.0); }

std::vector<Case> minres_endings() {
  const Case plain("indefinite", indefinite(60), Method::minres);
  std::vector<Case> all{plain, Case("over several blocks", tridiagonal<double>(700, -1.0, 2.5, -1.0), Method::minres)};
  for (const std::int64_t limit : {0, 1, 2, 5}) all.push_back(with(plain, {.max_iterations = limit}));
  all.push_back(with(plain, {.replacement_interval = 20, .keep_history = true}));
  Case jacobi("with Jacobi", tridiagonal<double>(90, -1.0, 2.2, -1.0), Method::minres);
  jacobi.jacobi = true;
  all.push_back(with(jacobi, {.keep_history = true}));
  all.push_back(Case("not symmetric", tridiagonal<double>(50, -1.0, 3.0, 1.0), Method::minres));
  Case negative("M is negative definite", tridiagonal<double>(20, 1.0, -3.0, 1.0), Method::minres);
  negative.jacobi = true;
  all.push_back(negative);
  return all;
}

std::vector<Case> chebyshev_endings() {
  const Case plain("dominant", tridiagonal<double>(700, -1.0, 4.0, -1.0), Method::chebyshev);
  Case jacobi = plain;
  jacobi.jacobi = true;
  const SolverOptions given{.keep_history = true, .spectrum_low = 2.0, .spectrum_high = 6.0};
  return {plain,
          with(plain, given),
          with(jacobi, {.max_iterations = 3}),
          with(jacobi, {.replacement_interval = 5, .keep_history = true}),
          with(plain, {.spectrum_low = 0.1, .spectrum_high = 2.0}),
          Case("negative definite", tridiagonal<double>(20, 1.0, -3.0, 1.0), Method::chebyshev)};
}

class MinresOnGpu : public CudaTest {};
class ChebyshevOnGpu : public CudaTest {};

TEST_F(MinresOnGpu, HostDrivenLoopGivesTheSameBits) {
  expect_same_bits(minres_endings(), gpu(), SpmvAlgorithm::merbit);
}

TEST_F(MinresOnGpu, EndsAsOnTheHost) { expect_endings_of_the_host(minres_endings(), gpu()); }

TEST_F(ChebyshevOnGpu, HostDrivenLoopGivesTheSameBits) {
  expect_same_bits(chebyshev_endings(), gpu(), SpmvAlgorithm::csr_vector);
}

TEST_F(ChebyshevOnGpu, EndsAsOnTheHost) { expect_endings_of_the_host(chebyshev_endings(), gpu()); }

/// A preconditioner that is a plan is recorded too; a quarter is exact, so the fused one gives nearly the same.
void expect_products_as_preconditioners(Method method, const Device& device) {
  Case task("dominant", tridiagonal<double>(300, -1.0, 4.0, -1.0), method);
  task.options.keep_history = true;
  const SpmvPlan<double> plan = plan_on(device, task.matrix);
  const SpmvPlan<double> m =
      plan_on(device, std::make_shared<const Csr<double>>(diagonal_matrix(std::vector<double>(300, 0.25))));
  const Solved alone = solve(task, plan, m);
  const Solved driven = solve(task, Waiting(plan), m);
  const Solved folded = solve(task, plan, JacobiPreconditioner<double>(plan.matrix(), device));
  EXPECT_TRUE(alone.report.converged()) << alone.report.reason;
  expect_honest(alone.report, task.matrix->view(), task.b, alone.x);
  EXPECT_EQ(alone.x, driven.x);
  EXPECT_EQ(alone.report.iterations, driven.report.iterations);
  EXPECT_EQ(alone.report.preconditioner_count, driven.report.preconditioner_count);
  EXPECT_EQ(alone.report.iterations, folded.report.iterations);
}

TEST_F(MinresOnGpu, PreconditionersThatAreProducts) { expect_products_as_preconditioners(Method::minres, gpu()); }

TEST_F(ChebyshevOnGpu, PreconditionersThatAreProducts) { expect_products_as_preconditioners(Method::chebyshev, gpu()); }

}  // namespace
}  // namespace tessera::testing
