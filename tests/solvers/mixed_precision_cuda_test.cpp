// Mixed precision on a GPU, against the host.
#include "tessera/context.hpp"
#include "tessera/preconditioner.hpp"
#include "tests/solvers/mixed_system.hpp"
#include "tests/support/cuda_test.hpp"

namespace tessera::testing {
namespace {

class CudaMixedPrecision : public CudaTest {};

struct Outcome {
  MixedSolveReport report;
  std::vector<double> x;
};

Outcome solve_on(const Device& device, MixedPrecisionSolver& solver, const std::vector<double>& b) {
  const auto right = Array<double>::copy_of(b, device);
  Array<double> x(right.size(), Init::zero, device);
  MixedSolveReport report = solver.solve(right.span(), x.span());
  const Array<double> on_host = x.to(Device{});
  return {std::move(report), {on_host.begin(), on_host.end()}};
}

/// With every way that an iteration runs in: two products per iteration (`patterns`), a graph, GMRES's blocks.
TEST_F(CudaMixedPrecision, AgreesWithTheHost) {
  const Csr<double> matrix = poisson2d<double>(15, 14);
  const SolverOptions options{.relative_tolerance = 1e-12};
  const MixedSystem host(Csr<double>::copy_of(matrix.view()));
  const JacobiPreconditioner<float> host_jacobi(host.single_plan.matrix());
  for (const SpmvAlgorithm kernel : {SpmvAlgorithm::patterns, SpmvAlgorithm::merbit}) {
    const MixedSystem system(Csr<double>::copy_of(matrix.view()), SpmvOptions{.algorithm = kernel, .device = gpu()});
    const JacobiPreconditioner<float> jacobi(system.single_plan.matrix(), gpu());
    for (const IterativeMethod method : {IterativeMethod::cg, IterativeMethod::bicgstab, IterativeMethod::gmres}) {
      if (gpu_is_emulated && kernel == SpmvAlgorithm::patterns && method != IterativeMethod::cg) continue;
      MixedPrecisionSolver on_host(method, host.plan, host.single_plan, host_jacobi, options);
      MixedPrecisionSolver on_gpu(method, system.plan, system.single_plan, jacobi, options);
      const Outcome expected = solve_on(Device{}, on_host, system.b);
      const Outcome got = solve_on(gpu(), on_gpu, system.b);
      EXPECT_TRUE(got.report.converged()) << got.report.reason;
      EXPECT_EQ(got.report.fallback, "");
      expect_honest<double>(got.report, matrix.view(), system.b, got.x);
      // Sums in single precision come in another order.
      EXPECT_NEAR(static_cast<double>(got.report.iterations), static_cast<double>(expected.report.iterations),
                  0.2 * static_cast<double>(expected.report.iterations) + 2.0);
    }
  }
}

TEST_F(CudaMixedPrecision, WidenedPlanGivesTheBitsOfTheHost) {
  const Csr<double> matrix = convection_diffusion<double>(9, 7, 1, {.x = 0.3});
  const MixedSystem host(Csr<double>::copy_of(matrix.view()));
  const MixedSystem system(Csr<double>::copy_of(matrix.view()), SpmvOptions{.device = gpu()});
  const std::vector<double> x = random_values<double>(63, 1);
  std::vector<double> expected = random_values<double>(63, 2);
  auto y = Array<double>::copy_of(expected, gpu());
  WidenedPlan(host.single_plan, 3).apply(-2.5, x, 0.75, expected);
  WidenedPlan(system.single_plan, 3).apply(-2.5, Array<double>::copy_of(x, gpu()).span(), 0.75, y.span());
  const Array<double> got = y.to(Device{});
  EXPECT_EQ(std::vector<double>(got.begin(), got.end()), expected);
}

TEST_F(CudaMixedPrecision, LaterSolvesNeitherAllocateNorRecord) {
  const Context context(gpu());
  const MixedSystem system(poisson2d<double>(12, 12), SpmvOptions{.device = context});
  const JacobiPreconditioner<float> jacobi(system.single_plan.matrix(), context);
  const auto b = Array<double>::copy_of(system.b, context);
  for (const IterativeMethod method : {IterativeMethod::cg, IterativeMethod::gmres}) {
    Array<double> x(144, Init::zero, context);
    Array<double> y(144, Init::zero, context);
    MixedPrecisionSolver solver(method, system.plan, system.single_plan, jacobi, {.relative_tolerance = 1e-12});
    ASSERT_TRUE(solver.solve(b.span(), x.span()).converged());
    const ContextCounts before = context.counts();
    const MixedSolveReport report = solver.solve(b.span(), y.span());
    ASSERT_TRUE(report.converged());
    EXPECT_GE(report.replacements, 2);
    EXPECT_EQ(context.counts().allocations, before.allocations);
    EXPECT_EQ(context.counts().recordings, before.recordings);
  }
}

TEST_F(CudaMixedPrecision, FallsBackToDouble) {
  const Csr<double> laplacian = path_laplacian(24);
  std::vector<double> values(laplacian.values().begin(), laplacian.values().end());
  for (double& value : values) value += value > 0.0 ? 1e-8 : 0.0;
  const MixedSystem system(laplacian.with_values(Array<double>::copy_of(values)), SpmvOptions{.device = gpu()});
  const JacobiPreconditioner<float> jacobi(system.single_plan.matrix(), gpu());
  MixedPrecisionSolver solver(IterativeMethod::cg, system.plan, system.single_plan, jacobi,
                              {.relative_tolerance = 1e-7});
  const Outcome got = solve_on(gpu(), solver, system.b);
  EXPECT_TRUE(got.report.converged()) << got.report.reason;
  EXPECT_GT(got.report.double_iterations, 0);
  expect_honest<double>(got.report, system.matrix.view(), system.b, got.x);
}

}  // namespace
}  // namespace tessera::testing
