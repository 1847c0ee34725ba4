/// Loops that a GPU runs by itself: the same bits as the same loop driven by the host, the same endings as on the host,
/// no allocation per iteration, and one wait for several iterations.
#include "core/cuda/context.hpp"
#include "tessera/error.hpp"
#include "tests/solvers/loop_cases.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace tessera::testing {
namespace {

class LoopOnGpu : public CudaTest {};

TEST_F(LoopOnGpu, HostDrivenLoopGivesTheSameBits) { expect_same_bits(endings(), gpu(), SpmvAlgorithm::merbit); }

/// The operation after a product adds the parts of its inner products, in the order of the kernel that does so for the
/// host.
TEST_F(LoopOnGpu, HostDrivenLoopGivesTheSameBitsByParts) {
  expect_same_bits(endings(), gpu(), SpmvAlgorithm::csr_vector);
}

TEST_F(LoopOnGpu, HostDrivenLoopGivesTheSameBitsInBitmapTiles) {
  expect_same_bits(endings(), gpu(), SpmvAlgorithm::tiles);
}

TEST_F(LoopOnGpu, HostDrivenLoopGivesTheSameBitsByRowPatterns) {
  expect_same_bits(endings(), gpu(), SpmvAlgorithm::patterns);
}

TEST_F(LoopOnGpu, EndsAsOnTheHost) { expect_endings_of_the_host(endings(), gpu()); }

/// A preconditioner that is a plan is recorded too; as a diagonal it would be fused into the vector operations.
TEST_F(LoopOnGpu, PreconditionersThatAreProducts) {
  for (const Method method : {Method::cg, Method::bicgstab}) {
    Case task("poisson", poisson2d<double>(14, 14), method);
    task.options.keep_history = true;
    const SpmvPlan<double> plan = plan_on(gpu(), task.matrix);
    const auto inverse = std::make_shared<const Csr<double>>(diagonal_matrix(std::vector<double>(196, 0.25)));
    const SpmvPlan<double> m = plan_on(gpu(), inverse);
    const Solved alone = solve(task, plan, m);
    const Solved driven = solve(task, Waiting(plan), m);
    EXPECT_TRUE(alone.report.converged()) << alone.report.reason;
    EXPECT_EQ(alone.x, driven.x);
    EXPECT_EQ(alone.report.iterations, driven.report.iterations);
    EXPECT_EQ(alone.report.preconditioner_count, driven.report.preconditioner_count);
    const Solved folded = solve(task, plan, JacobiPreconditioner<double>(plan.matrix(), gpu()));
    EXPECT_LE(std::abs(alone.report.iterations - folded.report.iterations), 2);
  }
}

TEST_F(LoopOnGpu, RichardsonWithAProductAsPreconditioner) {
  Case task("dominant", tridiagonal<double>(300, -1.0, 4.0, -1.0), Method::richardson);
  task.options.keep_history = true;
  const SpmvPlan<double> plan = plan_on(gpu(), task.matrix);
  const SpmvPlan<double> m =
      plan_on(gpu(), std::make_shared<const Csr<double>>(diagonal_matrix(std::vector<double>(300, 0.25))));
  const Solved alone = solve(task, plan, m);
  const Solved driven = solve(task, Waiting(plan), m);
  const Solved folded = solve(task, plan, JacobiPreconditioner<double>(plan.matrix(), gpu()));
  EXPECT_TRUE(alone.report.converged()) << alone.report.reason;
  expect_honest(alone.report, task.matrix->view(), task.b, alone.x);
  EXPECT_EQ(alone.x, driven.x);
  EXPECT_EQ(alone.report.iterations, driven.report.iterations);
  EXPECT_EQ(alone.report.preconditioner_count, alone.report.iterations);
  // A quarter is exact, so that both ways compute the same z.
  EXPECT_EQ(alone.x, folded.x);
  EXPECT_EQ(alone.report.iterations, folded.report.iterations);
}

/// An operator with the least overrides, as A and as M.
class Minimal final : public LinearOperator<double> {
 public:
  explicit Minimal(const LinearOperator<double>& a) : a_(a) {}
  [[nodiscard]] std::int64_t rows() const override { return a_.rows(); }
  [[nodiscard]] std::int64_t cols() const override { return a_.cols(); }
  [[nodiscard]] Device device() const override { return a_.device(); }

 protected:
  void do_apply(double alpha, std::span<const double> x, double beta, std::span<double> y) const override {
    a_.apply(alpha, x, beta, y);
  }

 private:
  const LinearOperator<double>& a_;
};

TEST_F(LoopOnGpu, OperatorsOfUsers) {
  for (const Method method : {Method::cg, Method::bicgstab}) {
    const Case task("poisson", poisson2d<double>(14, 14), method);
    const SpmvPlan<double> plan = plan_on(gpu(), task.matrix);
    const auto inverse = std::make_shared<const Csr<double>>(diagonal_matrix(std::vector<double>(196, 0.25)));
    const SpmvPlan<double> diagonal = plan_on(gpu(), inverse);
    const Solved expected = solve(task, plan, diagonal);
    const Minimal a(plan);
    const Minimal m(diagonal);
    for (const LinearOperator<double>* preconditioner :
         {static_cast<const LinearOperator<double>*>(&m), static_cast<const LinearOperator<double>*>(&diagonal)}) {
      const Solved found = solve(task, a, *preconditioner);
      EXPECT_TRUE(found.report.converged()) << found.report.reason;
      EXPECT_LE(std::abs(found.report.iterations - expected.report.iterations), 2);
      expect_honest(found.report, task.matrix->view(), task.b, found.x);
    }
  }
}

/// On the host; its diagonal must not be read.
class OnHost final : public FusedOperator<double> {
 public:
  explicit OnHost(std::int64_t n) : n_(n) {}
  [[nodiscard]] std::int64_t rows() const override { return n_; }
  [[nodiscard]] std::int64_t cols() const override { return n_; }
  [[nodiscard]] std::optional<std::span<const double>> diagonal() const override {
    ADD_FAILURE() << "asked for its diagonal";
    return std::nullopt;
  }

 protected:
  void do_apply(double /*alpha*/, std::span<const double> /*x*/, double /*beta*/,
                std::span<double> /*y*/) const override {}

 private:
  std::int64_t n_;
};

TEST_F(LoopOnGpu, PreconditionersOnAnotherDeviceAreRefusedBeforeTheyAreAsked) {
  for (const Method method : {Method::cg, Method::bicgstab}) {
    const Case task("poisson", poisson2d<double>(4, 4), method);
    const SpmvPlan<double> plan = plan_on(gpu(), task.matrix);
    EXPECT_THROW((void)solve(task, plan, OnHost(16)), InvalidArgument);
  }
}

TEST_F(LoopOnGpu, ObserverStopsItWithinOneReport) {
  for (const Method method : {Method::cg, Method::bicgstab}) {
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
    EXPECT_GE(found.report.iterations, 3);
    EXPECT_LE(found.report.iterations, 20);
    EXPECT_EQ(found.report.history.size(), static_cast<std::size_t>(found.report.iterations) + 1) << "nothing is lost";
    expect_honest(found.report, task.matrix->view(), task.b, found.x);
  }
}

TEST_F(LoopOnGpu, TimeLimit) {
  Case task("poisson", poisson2d<double>(40, 40), Method::cg);
  task.options.time_limit_seconds = 0.0;
  const Solved found = run(task, gpu());
  EXPECT_EQ(found.report.status, Status::time_limit) << found.report.reason;
  EXPECT_LE(found.report.iterations, 20);
  expect_honest(found.report, task.matrix->view(), task.b, found.x);
}

TEST_F(LoopOnGpu, RunToRunIsBitwiseEqual) {
  Case task("convection", convection_diffusion<double>(12, 12, 3, {.x = 1.0, .y = 0.5}), Method::bicgstab);
  task.jacobi = true;
  const Solved first = run(task, gpu());
  for (int repetition = 1; repetition < repetitions(20, 2); ++repetition) {
    const Solved again = run(task, gpu());
    EXPECT_EQ(again.report.iterations, first.report.iterations);
    ASSERT_EQ(again.x, first.x);
  }
}

/// More iterations allocate no more, and wait at most once per check.
TEST_F(LoopOnGpu, IterationsNeitherAllocateNorWait) {
  for (const Method method : {Method::cg, Method::bicgstab, Method::richardson}) {
    Case task("poisson", poisson2d<double>(30, 30), method);
    task.jacobi = method == Method::richardson;
    task.options.relative_tolerance = 0.0;
    task.options.stagnation_window = 100000;
    const cuda::Context& context = cuda::Context::of(gpu());
    const auto cost = [&](std::int64_t iterations) {
      task.options.max_iterations = iterations;
      const SpmvPlan<double> plan = plan_on(gpu(), task.matrix);
      const ContextCounts before = context.counts();
      const JacobiPreconditioner<double> jacobi(plan.matrix(), gpu());
      const IdentityOperator<double> identity(plan.rows(), gpu());
      const Solved found = task.jacobi ? solve(task, plan, jacobi) : solve(task, plan, identity);
      EXPECT_EQ(found.report.iterations, iterations) << found.report.reason;
      const ContextCounts after = context.counts();
      return ContextCounts{after.allocations - before.allocations, after.waits - before.waits};
    };
    const ContextCounts few = cost(10);
    const ContextCounts many = cost(50);
    EXPECT_EQ(many.allocations, few.allocations);
    EXPECT_LE(many.waits, few.waits + 40 / 4) << "four iterations go round at a time, at the least";
  }
}

}  // namespace
}  // namespace tessera::testing
