// Whole solves by conjugate gradients in the stream of a GPU.
#include "tests/solvers/enqueued_cg_cases.hpp"

#include "core/cuda/capture.hpp"
#include "core/cuda/check.hpp"
#include "tessera/context.hpp"
#include "tessera/error.hpp"
#include "tests/support/cuda_test.hpp"

#include <cuda_runtime_api.h>

#include <vector>

namespace tessera {
namespace {

using cuda::check;

class CudaEnqueuedCg : public testing::CudaTest {};

TEST_F(CudaEnqueuedCg, EndsAsCgDoes) { testing::expect_solves(gpu(), testing::gpu_is_emulated ? 7 : 60); }
TEST_F(CudaEnqueuedCg, HasTheEndingsOfCg) { testing::expect_endings(gpu()); }
TEST_F(CudaEnqueuedCg, BreaksDownAsCgDoes) { testing::expect_breakdowns(gpu()); }
TEST_F(CudaEnqueuedCg, TakesRightSidesOfAnyScale) {
  testing::expect_scales<double>(gpu());
  testing::expect_scales<float>(gpu());
}
TEST_F(CudaEnqueuedCg, TakesEmptyAndOneByOne) { testing::expect_small(gpu()); }

TEST_F(CudaEnqueuedCg, ManySolvesNeitherWaitNorAllocateNorRecord) {
  constexpr int solves = 5;
  const Context context(gpu());
  const Csr<double> matrix = poisson2d<double>(8, 8);
  const SpmvPlan<double> a(matrix.to(context), SpmvOptions{.device = context});
  const JacobiPreconditioner<double> m(a.matrix(), context);
  EnqueuedCg<double> solver(a, m);
  std::vector<std::vector<double>> right_sides;
  std::vector<Array<double>> b;
  std::vector<Array<double>> x;
  for (int k = 0; k < solves; ++k) {
    right_sides.push_back(testing::random_values<double>(64, static_cast<std::uint64_t>(k)));
    b.push_back(Array<double>::copy_of(right_sides.back(), context));
    x.emplace_back(64, Init::zero, context);
  }
  Array<SolveOutcome> outcomes(solves, Init::zero, context);
  solver.enqueue(b[0].span(), x[0].span(), outcomes.data());
  const ContextCounts before = context.counts();
  for (std::size_t k = 1; k < solves; ++k) solver.enqueue(b[k].span(), x[k].span(), outcomes.data() + k);
  const ContextCounts after = context.counts();
  // Without graphs, as some tools need it, the host has to ask the loops.
  if (after.recordings > 0) {
    EXPECT_EQ(after.waits, before.waits);
  }
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.recordings, before.recordings);
  const std::vector<SolveOutcome> all = testing::download(outcomes);
  for (std::size_t k = 0; k < solves; ++k) {
    EXPECT_TRUE(all[k].converged()) << k;
    testing::expect_honest<double>({all[k], testing::download(x[k])}, matrix.view(), right_sides[k], std::to_string(k));
  }
}

TEST_F(CudaEnqueuedCg, FollowsNewValues) {
  SpmvPlan<double> a(testing::diagonal_matrix<double>({1, 2, 3}).to(gpu()), SpmvOptions{.device = gpu()});
  JacobiPreconditioner<double> m(a.matrix(), gpu());
  EnqueuedCg<double> solver(a, m);
  const std::vector<double> b = {1, 2, 3};
  const std::vector<double> zero(3);
  EXPECT_TRUE(testing::solve_enqueued(solver, gpu(), b, zero).outcome.converged());
  a.update_values(std::vector<double>{2, 4, 6});
  m.refresh(a.matrix());
  const auto solved = testing::solve_enqueued(solver, gpu(), b, zero);
  for (const double x : solved.x) EXPECT_NEAR(x, 0.5, 1e-8);
  EXPECT_EQ(solved.outcome.iterations, 1);
}

TEST_F(CudaEnqueuedCg, RefusesMemoryOfTheHostAndOperatorsThatCannotBeEnqueued) {
  const SpmvPlan<double> a(poisson2d<double>(2, 2), SpmvOptions{.device = gpu()});
  EnqueuedCg<double> solver(a);
  const Array<double> b(4, Init::zero, gpu());
  Array<double> x(4, Init::zero, gpu());
  SolveOutcome on_host;
  if (!testing::gpu_is_emulated) {
    EXPECT_THROW(solver.enqueue(b.span(), x.span(), &on_host), InvalidArgument);
  }
  const FunctionOperator<double> called(
      4, 4, [](std::span<const double>, std::span<double>) {}, gpu());
  EXPECT_THROW(EnqueuedCg<double>{called}, InvalidArgument);
}

/// Two solves in a graph of the caller, launched again with other right-hand sides in the same place.
TEST_F(CudaEnqueuedCg, IsAPartOfTheCallersGraph) {
  cudaStream_t mine = nullptr;
  check(cudaStreamCreateWithFlags(&mine, cudaStreamNonBlocking), "making a stream");
  {
    const Context context(gpu(), {.stream = mine});
    const Csr<double> matrix = poisson2d<double>(7, 5);
    const SpmvPlan<double> a(matrix.to(context), SpmvOptions{.device = context});
    const JacobiPreconditioner<double> m(a.matrix(), context);
    EnqueuedCg<double> solver(a, m);
    auto b = Array<double>::copy_of(testing::random_values<double>(35, 1), context);
    Array<double> x(35, Init::zero, context);
    Array<double> y(35, Init::zero, context);
    Array<SolveOutcome> outcomes(2, Init::zero, context);
    // Once outside: kernels are loaded.
    solver.enqueue(b.span(), x.span(), outcomes.data());
    context.synchronize();
    cudaGraph_t graph = nullptr;
    check(cudaGraphCreate(&graph, 0), "making a graph");
    check(cudaStreamBeginCaptureToGraph(mine, graph, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal),
          "recording");
    if (!cuda::graphs_are_usable()) {
      EXPECT_THROW(solver.enqueue(b.span(), x.span(), outcomes.data()), DeviceUnavailable);
      check(cudaStreamEndCapture(mine, &graph), "recording");
    } else {
      solver.enqueue(b.span(), x.span(), outcomes.data());
      solver.enqueue(x.span(), y.span(), outcomes.data() + 1);  // A y = x
      check(cudaStreamEndCapture(mine, &graph), "recording");
      cudaGraphExec_t ready = nullptr;
      check(cudaGraphInstantiate(&ready, graph, 0), "making a graph ready");
      for (std::uint64_t k = 2; k < 5; ++k) {
        const std::vector<double> right = testing::random_values<double>(35, k);
        detail::copy_bytes(context, b.data(), Device{}, right.data(), b.bytes());
        detail::zero_bytes(context, x.data(), x.bytes());
        check(cudaGraphLaunch(ready, mine), "launching");
        const std::vector<SolveOutcome> both = testing::download(outcomes);
        EXPECT_TRUE(both[0].converged());
        EXPECT_TRUE(both[1].converged());
        const std::vector<double> solution = testing::download(x);
        testing::expect_honest<double>({both[0], solution}, matrix.view(), right, "first");
        testing::expect_honest<double>({both[1], testing::download(y)}, matrix.view(), solution, "second");
      }
      check(cudaGraphExecDestroy(ready), "dropping a graph");
    }
    check(cudaGraphDestroy(graph), "dropping a graph");
  }
  check(cudaStreamDestroy(mine), "dropping a stream");
}

}  // namespace
}  // namespace tessera
