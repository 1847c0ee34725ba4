// Two-kernel CG: the endings of the host, the first residuals of the loop in three kernels, an honest report, equal
// bits from run to run, no allocation per iteration.
#include "core/cuda/context.hpp"
#include "spmv/plan_internals.hpp"
#include "tests/solvers/loop_cases.hpp"
#include "tests/support/cuda_test.hpp"
#include "tests/support/small_grain.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

/// Enough rows for two kernels while SmallGrain lives, and most of them alike.
constexpr index_t rows = 1100;

/// Five points on a helix of pitch 40, which is not symmetric at either end for another `upper`.
[[nodiscard]] Csr<double> helix(double diagonal, double lower, double upper) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  for (index_t row = 0; row < rows; ++row) {
    for (const index_t relative : {-40, -1, 0, 1, 40}) {
      if (row + relative < 0 || row + relative >= rows) continue;
      columns.push_back(row + relative);
      values.push_back(relative == 0 ? diagonal : relative < 0 ? lower : upper);
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return Csr<double>(rows, rows, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns),
                     Array<double>::copy_of(values));
}

/// Endings of every kind.
[[nodiscard]] std::vector<Case> endings() {
  std::vector<Case> all;
  const Case flat("helix", helix(4.1, -1.0, -1.0), Method::cg);
  all.push_back(flat);
  for (const std::int64_t limit : {0, 1, 2, 3, 4, 5, 17}) all.push_back(with(flat, {.max_iterations = limit}));
  all.push_back(with(flat, {.base = ResidualBase::r0}));
  all.push_back(with(flat, {.replacement_interval = 5, .keep_history = true}));
  all.push_back(with(flat, {.relative_tolerance = 1e-10, .stagnation_window = 1}));
  Case unattainable = with(flat, {.relative_tolerance = 1e-17, .stagnation_window = 20});
  unattainable.name = "unattainable";
  unattainable.rounding_decides = true;
  all.push_back(unattainable);
  Case preconditioned = flat;
  preconditioned.jacobi = true;
  all.push_back(preconditioned);
  all.push_back(with(preconditioned, {.replacement_interval = 7, .keep_history = true}));
  Case guessed("a guess that solves it", helix(4.1, -1.0, -1.0), Method::cg);
  guessed.x0.assign(guessed.b.size(), 1.0);
  all.push_back(guessed);
  all.push_back(Case("tiny", scaled(tridiagonal<double>(rows, -1.0, 2.5, -1.0), 1e-30), Method::cg));
  all.push_back(Case("negative definite", helix(-4.1, 1.0, 1.0), Method::cg));
  Case negative_m("M is negative definite", helix(-4.1, 1.0, 1.0), Method::cg);
  negative_m.jacobi = true;
  all.push_back(negative_m);
  Case growing("growing", helix(1.0, -100.0, 100.0), Method::cg);
  all.push_back(with(growing, {.divergence_tolerance = 10.0}));
  Case inconsistent("singular and inconsistent", path_laplacian(rows), Method::cg);
  inconsistent.b.assign(inconsistent.b.size(), 1.0);
  inconsistent.rounding_decides = true;
  inconsistent.options.max_iterations = 200;
  all.push_back(inconsistent);
  return all;
}

class TwoKernelCg : public CudaTest {
 protected:
  /// Whether CG takes two kernels.
  [[nodiscard]] static bool is_offered(const Case& task, const Device& gpu) {
    const SpmvPlan<double> plan = plan_on(gpu, task.matrix, SpmvAlgorithm::patterns);
    return PlanInternals::kernel(plan).make_cg_product(plan.matrix(), false) != nullptr;
  }

  SmallGrain small_;
};

TEST_F(TwoKernelCg, EndsAsOnTheHost) {
  for (const Case& task : endings()) {
    SCOPED_TRACE(task.name + ", " + std::to_string(task.options.max_iterations));
    ASSERT_TRUE(is_offered(task, gpu()));
    const Solved found = run(task, gpu(), false, SpmvAlgorithm::patterns);
    const Solved expected = run(task, Device{});
    expect_honest(found.report, task.matrix->view(), task.b, found.x);
    if (task.rounding_decides) {
      EXPECT_EQ(found.report.converged(), expected.report.converged()) << found.report.reason;
      continue;
    }
    EXPECT_EQ(found.report.status, expected.report.status) << found.report.reason << "\n" << expected.report.reason;
    EXPECT_EQ(found.report.breakdown, expected.report.breakdown);
    const std::int64_t slack = 2 + expected.report.iterations / 20;
    EXPECT_LE(std::abs(found.report.iterations - expected.report.iterations), slack)
        << found.report.iterations << " and on the host " << expected.report.iterations;
  }
}

/// The loop of an operator that cannot be enqueued has three kernels.
TEST_F(TwoKernelCg, FollowsTheLoopInThreeKernels) {
  for (Case task : endings()) {
    SCOPED_TRACE(task.name + ", " + std::to_string(task.options.max_iterations));
    if (task.rounding_decides) continue;
    task.options.keep_history = true;
    const Solved two = run(task, gpu(), false, SpmvAlgorithm::patterns);
    const Solved three = run(task, gpu(), true, SpmvAlgorithm::patterns);
    EXPECT_EQ(two.report.status, three.report.status) << two.report.reason << "\n" << three.report.reason;
    EXPECT_EQ(two.report.breakdowns.size(), three.report.breakdowns.size());
    if (two.report.iterations == three.report.iterations) {
      EXPECT_EQ(two.report.spmv_count, three.report.spmv_count);
      EXPECT_EQ(two.report.preconditioner_count, three.report.preconditioner_count);
      EXPECT_EQ(two.report.replacements, three.report.replacements);
      EXPECT_EQ(two.report.restarts, three.report.restarts);
    }
    // Rounding errors of the sums grow with the iterations.
    const std::size_t entries = std::min<std::size_t>({10, two.report.history.size(), three.report.history.size()});
    for (std::size_t i = 0; i < entries; ++i) {
      EXPECT_NEAR(two.report.history[i].recurrence, three.report.history[i].recurrence,
                  1e-9 * three.report.history[i].recurrence)
          << i;
    }
    if (!two.report.converged()) continue;
    for (std::size_t i = 0; i < two.x.size(); ++i) ASSERT_NEAR(two.x[i], three.x[i], 1e-6 * std::abs(three.x[i])) << i;
  }
}

TEST_F(TwoKernelCg, RunToRunIsBitwiseEqual) {
  const Case task("helix", helix(4.1, -1.0, -1.0), Method::cg);
  const Solved first = run(task, gpu(), false, SpmvAlgorithm::patterns);
  EXPECT_TRUE(first.report.converged()) << first.report.reason;
  for (int repetition = 1; repetition < repetitions(10, 2); ++repetition) {
    const Solved again = run(task, gpu(), false, SpmvAlgorithm::patterns);
    EXPECT_EQ(again.report.iterations, first.report.iterations);
    ASSERT_EQ(again.x, first.x);
  }
}

TEST_F(TwoKernelCg, ObserverStopsItWithinOneReport) {
  Case task("helix", helix(4.1, -1.0, -1.0), Method::cg);
  task.options.keep_history = true;
  task.options.observer = [](const IterationInfo& info) {
    return info.iteration == 3 ? Control::stop : Control::proceed;
  };
  const Solved found = run(task, gpu(), false, SpmvAlgorithm::patterns);
  EXPECT_EQ(found.report.status, Status::interrupted) << found.report.reason;
  EXPECT_GE(found.report.iterations, 3);
  EXPECT_LE(found.report.iterations, 20);
  EXPECT_EQ(found.report.history.size(), static_cast<std::size_t>(found.report.iterations) + 1);
  expect_honest(found.report, task.matrix->view(), task.b, found.x);
}

TEST_F(TwoKernelCg, IterationsNeitherAllocateNorWait) {
  Case task("helix", helix(4.1, -1.0, -1.0), Method::cg);
  task.options.relative_tolerance = 0.0;
  task.options.stagnation_window = 100000;
  const SpmvPlan<double> plan = plan_on(gpu(), task.matrix, SpmvAlgorithm::patterns);
  const cuda::Context& context = cuda::Context::of(gpu());
  const auto cost = [&](std::int64_t iterations) {
    task.options.max_iterations = iterations;
    const ContextCounts before = context.counts();
    const Solved found = solve(task, plan, IdentityOperator<double>(plan.rows(), gpu()));
    EXPECT_EQ(found.report.iterations, iterations) << found.report.reason;
    const ContextCounts after = context.counts();
    return ContextCounts{after.allocations - before.allocations, after.waits - before.waits};
  };
  const ContextCounts few = cost(5);
  const ContextCounts many = cost(25);
  EXPECT_EQ(many.allocations, few.allocations);
  EXPECT_LE(many.waits, few.waits + 20 / 4) << "four iterations go round at a time, at the least";
}

/// In single precision.
TEST_F(TwoKernelCg, InSinglePrecision) {
  const Csr<double> wide = helix(4.1, -1.0, -1.0);
  std::vector<float> values(wide.values().begin(), wide.values().end());
  SpmvOptions options;
  options.device = gpu();
  options.algorithm = SpmvAlgorithm::patterns;
  const SpmvPlan<float> plan(Csr<float>(rows, rows, Array<offset_t>::copy_of(wide.view().row_offsets),
                                        Array<index_t>::copy_of(wide.view().columns), Array<float>::copy_of(values)),
                             options);
  ASSERT_NE(PlanInternals::kernel(plan).make_cg_product(plan.matrix(), false), nullptr);
  const std::vector<float> ones(rows, 1.0F);
  const auto b = Array<float>::copy_of(ones, gpu());
  Array<float> x(rows, Init::zero, gpu());
  const SolveReport report = cg<float>(plan, b.span(), x.span(), {.relative_tolerance = 1e-5});
  EXPECT_TRUE(report.converged()) << report.reason;
}

}  // namespace
}  // namespace tessera::testing
