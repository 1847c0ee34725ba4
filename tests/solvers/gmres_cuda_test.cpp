/// GMRES and IDR(4) as loops that a GPU runs by itself: the same bits as driven by the host, the endings of the host,
/// no allocation per iteration, and one wait for several iterations.
#include "core/cuda/context.hpp"
#include "solvers/fused/block.hpp"
#include "tests/solvers/loop_cases.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

namespace tessera::testing {
namespace {

Csr<double> convection() { return convection_diffusion<double>(15, 15, 1, {.x = 2.0, .y = 0.5}); }

/// Endings that both methods know.
std::vector<Case> endings_of(Method method) {
  std::vector<Case> all;
  const Case flat("convection", convection(), method);
  all.push_back(with(flat, {.restart = 20, .keep_history = true}));
  for (const std::int64_t limit : {0, 1, 2, 5, 17}) {
    all.push_back(with(flat, {.max_iterations = limit, .restart = 5, .keep_history = true}));
  }
  all.push_back(with(flat, {.replacement_interval = 7, .restart = 30, .keep_history = true}));
  all.push_back(with(flat, {.relative_tolerance = 1e-10, .stagnation_window = 1}));
  Case preconditioned = with(flat, {.base = ResidualBase::r0, .restart = 9});
  preconditioned.jacobi = true;
  all.push_back(preconditioned);
  all.emplace_back("over several blocks", poisson2d<double>(31, 40), method);
  Case guessed("a guess that solves it", poisson2d<double>(9, 9), method);
  guessed.x0.assign(guessed.b.size(), 1.0);
  all.push_back(guessed);
  for (const index_t n : {5, 64}) {
    Case inconsistent("singular and inconsistent", path_laplacian(n), method);
    inconsistent.b = random_values<double>(inconsistent.b.size(), 3);
    inconsistent.rounding_decides = true;
    inconsistent.options.max_iterations = 300;
    all.push_back(inconsistent);
  }
  Case nothing("zero", diagonal_matrix(std::vector<double>(6, 0.0)), method);
  nothing.b.assign(6, 1.0);
  all.push_back(nothing);
  Case cyclic("cyclic", from_dense<double>({{0, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}, 4), method);
  cyclic.b = {1, 0, 0, 0};
  all.push_back(with(cyclic, {.restart = 4}));
  all.emplace_back("one by one", diagonal_matrix<double>({-3.0}), method);
  return all;
}

/// Rows of different scales, so that ‖M r‖ with a diagonal M tells little of ‖r‖.
Csr<double> uneven() {
  const Csr<double> a = convection();
  std::vector<double> values(a.values().begin(), a.values().end());
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    for (offset_t k = a.view().row_offsets[at]; k < a.view().row_offsets[at + 1]; ++k) {
      values[static_cast<std::size_t>(k)] = std::ldexp(values[static_cast<std::size_t>(k)], static_cast<int>(i % 6));
    }
  }
  return a.with_values(Array<double>::copy_of(values));
}

/// With a diagonal M on the left.
std::vector<Case> endings_from_left() {
  Case flat("uneven, left", uneven(), Method::gmres);
  flat.jacobi = true;
  flat.b = random_values<double>(flat.b.size(), 4);
  constexpr PreconditionerSide left = PreconditionerSide::left;
  std::vector<Case> all;
  for (const int restart : {6, 20, 50})
    all.push_back(with(flat, {.restart = restart, .side = left, .keep_history = true}));
  for (const std::int64_t limit : {0, 1, 7}) {
    all.push_back(with(flat, {.max_iterations = limit, .restart = 5, .side = left, .keep_history = true}));
  }
  all.push_back(with(flat, {.replacement_interval = 7, .restart = 30, .side = left}));
  Case zero("zero", diagonal_matrix(std::vector<double>(6, 2.0)), Method::gmres);
  zero.jacobi = true;
  zero.b.assign(6, 0.0);
  all.push_back(with(zero, {.side = left}));
  Case one("one by one", diagonal_matrix<double>({-3.0}), Method::gmres);
  one.jacobi = true;
  all.push_back(with(one, {.side = left}));
  return all;
}

std::vector<Case> endings_of_gmres() {
  std::vector<Case> all = endings_of(Method::gmres);
  for (Case& task : endings_from_left()) all.push_back(std::move(task));
  Case cyclic("cyclic", from_dense<double>({{0, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}, 4), Method::gmres);
  cyclic.b = {1, 0, 0, 0};
  all.push_back(with(cyclic, {.restart = 3}));
  all.push_back(with(Case("identity", diagonal_matrix(std::vector<double>(700, 4.0)), Method::gmres), {.restart = 1}));
  return all;
}

class GmresOnGpu : public CudaTest {};
class IdrOnGpu : public CudaTest {};

TEST_F(GmresOnGpu, HostDrivenLoopGivesTheSameBits) {
  expect_same_bits(endings_of_gmres(), gpu(), SpmvAlgorithm::merbit);
}

TEST_F(GmresOnGpu, HostDrivenLoopGivesTheSameBitsByParts) {
  expect_same_bits(endings_of_gmres(), gpu(), SpmvAlgorithm::csr_vector);
}

TEST_F(GmresOnGpu, EndsAsOnTheHost) { expect_endings_of_the_host(endings_of_gmres(), gpu()); }

TEST_F(IdrOnGpu, HostDrivenLoopGivesTheSameBits) {
  expect_same_bits(endings_of(Method::idr), gpu(), SpmvAlgorithm::merbit);
}

TEST_F(IdrOnGpu, HostDrivenLoopGivesTheSameBitsByParts) {
  expect_same_bits(endings_of(Method::idr), gpu(), SpmvAlgorithm::csr_vector);
}

TEST_F(IdrOnGpu, EndsAsOnTheHost) { expect_endings_of_the_host(endings_of(Method::idr), gpu()); }

/// More columns than a block of threads sums in one round: 128.
TEST_F(GmresOnGpu, ManyDirections) {
  Case task("indefinite", tridiagonal<double>(500, -1.0, 0.3, -1.0), Method::gmres);
  task.b = random_values<double>(task.b.size(), 5);
  task.options = {
      .relative_tolerance = 1e-10, .max_iterations = repetitions(500, 140), .restart = 1000, .keep_history = true};
  const Solved found = run(task, gpu());
  const Solved expected = run(task, Device{});
  expect_honest(found.report, task.matrix->view(), task.b, found.x);
  ASSERT_EQ(found.report.history.size(), expected.report.history.size()) << found.report.reason;
  for (std::size_t i = 0; i < found.report.history.size(); ++i) {
    EXPECT_NEAR(found.report.history[i].recurrence, expected.report.history[i].recurrence, 1e-11 * found.report.b_norm);
  }
  const Solved driven = run(task, gpu(), true);
  EXPECT_EQ(found.x, driven.x);
}

/// Several tiles for every block of threads.
TEST_F(GmresOnGpu, ManyRows) {
  const index_t side = static_cast<index_t>(repetitions(700, 300));
  Case task("convection", convection_diffusion<double>(side, side, 1, {.x = 1.0}), Method::gmres);
  task.options = {.max_iterations = repetitions(60, 5), .restart = repetitions(25, 4), .keep_history = true};
  const Solved found = run(task, gpu());
  const Solved expected = run(task, Device{});
  ASSERT_EQ(found.report.history.size(), expected.report.history.size()) << found.report.reason;
  for (std::size_t i = 0; i < found.report.history.size(); ++i) {
    EXPECT_NEAR(found.report.history[i].recurrence, expected.report.history[i].recurrence, 1e-11 * found.report.b_norm);
  }
  expect_honest(found.report, task.matrix->view(), task.b, found.x);
}

TEST_F(GmresOnGpu, PreconditionersThatAreProducts) {
  using enum PreconditionerSide;
  for (const auto& [method, side] :
       {std::pair{Method::gmres, right}, std::pair{Method::gmres, left}, std::pair{Method::idr, right}}) {
    Case task("convection", convection(), method);
    task.options = {.restart = 12, .side = side, .keep_history = true};
    const SpmvPlan<double> plan = plan_on(gpu(), task.matrix);
    const auto inverse = std::make_shared<const Csr<double>>(diagonal_matrix(std::vector<double>(225, 0.25)));
    const SpmvPlan<double> m = plan_on(gpu(), inverse);
    const Solved alone = solve(task, plan, m);
    const Solved driven = solve(task, Waiting(plan), m);
    EXPECT_TRUE(alone.report.converged()) << alone.report.reason;
    expect_honest(alone.report, task.matrix->view(), task.b, alone.x);
    EXPECT_EQ(alone.x, driven.x);
    EXPECT_EQ(alone.report.iterations, driven.report.iterations);
    EXPECT_EQ(alone.report.preconditioner_count, driven.report.preconditioner_count);
    const SpmvPlan<double> on_host = plan_on(Device{}, task.matrix);
    const SpmvPlan<double> m_on_host = plan_on(Device{}, inverse);
    EXPECT_LE(std::abs(alone.report.iterations - solve(task, on_host, m_on_host).report.iterations), 2);
  }
}

TEST_F(GmresOnGpu, SinglePrecision) {
  const auto matrix = std::make_shared<const Csr<float>>(convection_diffusion<float>(20, 20, 1, {.x = 2.0}));
  const std::vector<float> right = random_values<float>(400, 3);
  for (const bool use_gmres : {true, false}) {
    SpmvOptions options;
    options.device = gpu();
    const SpmvPlan<float> plan(matrix, options);
    const JacobiPreconditioner<float> jacobi(plan.matrix(), gpu());
    const auto b = Array<float>::copy_of(right, gpu());
    Array<float> x(400, Init::zero, gpu());
    const SolverOptions solver{.relative_tolerance = 1e-5, .restart = 15};
    const SolveReport report = use_gmres ? gmres<float>(plan, jacobi, b.span(), x.span(), solver)
                                         : idr<float>(plan, jacobi, b.span(), x.span(), solver);
    EXPECT_TRUE(report.converged()) << report.reason;
    const Array<float> found = x.to(Device{});
    expect_honest(report, matrix->view(), right, {found.begin(), found.end()});
  }
}

TEST_F(GmresOnGpu, ObserverStopsItWithinOneReport) {
  for (const Method method : {Method::gmres, Method::idr}) {
    Case task("poisson", poisson2d<double>(40, 40), method);
    std::vector<std::int64_t> seen;
    task.options.keep_history = true;
    task.options.observer = [&](const IterationInfo& info) {
      seen.push_back(info.iteration);
      return info.iteration == 3 ? Control::stop : Control::proceed;
    };
    const Solved found = run(task, gpu());
    EXPECT_EQ(found.report.status, Status::interrupted) << found.report.reason;
    EXPECT_EQ(seen, (std::vector<std::int64_t>{0, 1, 2, 3}));
    EXPECT_LE(found.report.iterations, 20);
    EXPECT_EQ(found.report.history.size(), static_cast<std::size_t>(found.report.iterations) + 1) << "nothing is lost";
    expect_honest(found.report, task.matrix->view(), task.b, found.x);
  }
}

/// More iterations allocate no more. They wait at most once per report, and a few times per cycle of GMRES.
TEST_F(GmresOnGpu, IterationsNeitherAllocateNorWait) {
  for (const Method method : {Method::gmres, Method::idr}) {
    Case task("poisson", poisson2d<double>(30, 30), method);
    task.options = {.relative_tolerance = 0.0, .stagnation_window = 100000, .restart = 60};
    const cuda::Context& context = cuda::Context::of(gpu());
    const auto cost = [&](std::int64_t iterations) {
      task.options.max_iterations = iterations;
      const SpmvPlan<double> plan = plan_on(gpu(), task.matrix);
      const IdentityOperator<double> identity(plan.rows(), gpu());
      const ContextCounts before = context.counts();
      const Solved found = solve(task, plan, identity);
      EXPECT_EQ(found.report.iterations, iterations) << found.report.reason;
      const ContextCounts after = context.counts();
      return ContextCounts{after.allocations - before.allocations, after.waits - before.waits};
    };
    const ContextCounts few = cost(10);
    const ContextCounts many = cost(50);
    EXPECT_EQ(many.allocations, few.allocations);
    EXPECT_LE(many.waits, few.waits + 40 / 2) << "two iterations go round at a time, at the least";
  }
}

}  // namespace
}  // namespace tessera::testing
