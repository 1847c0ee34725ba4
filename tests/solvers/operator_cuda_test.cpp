/// Operators of users with kernels of their own: in the loop that a GPU runs by itself, and driven by the host.
#include "core/cuda/capture.hpp"
#include "core/cuda/context.hpp"
#include "core/enqueued_product.hpp"
#include "core/fused_adapter.hpp"
#include "tessera/error.hpp"
#include "tests/solvers/loop_cases.hpp"
#include "tests/solvers/poisson_stencil.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <span>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace tessera::testing {
namespace {

constexpr Method methods[] = {Method::cg, Method::bicgstab, Method::gmres, Method::idr, Method::richardson};

class OperatorOnGpu : public CudaTest {
 protected:
  static constexpr index_t nx = 15;
  static constexpr index_t ny = 11;
  static constexpr std::int64_t n = nx * ny;

  static Case task_of(Method method) {
    Case task("poisson", poisson2d<double>(nx, ny), method);
    task.options.keep_history = true;
    task.options.max_iterations = method == Method::richardson ? 30 : 10000;
    return task;
  }
  static Csr<double> quarter() { return diagonal_matrix(std::vector<double>(static_cast<std::size_t>(n), 0.25)); }
};

/// The same operator through a function: the host calls its products.
FunctionOperator<double> host_driven(const LinearOperator<double>& a) {
  return {a.rows(), a.cols(), [&a](std::span<const double> x, std::span<double> y) { a.apply(x, y); }, a.device()};
}

void expect_same(const Solved& alone, const Solved& driven) {
  EXPECT_EQ(alone.report.status, driven.report.status) << alone.report.reason << "\n" << driven.report.reason;
  EXPECT_EQ(alone.report.iterations, driven.report.iterations);
  EXPECT_EQ(alone.report.spmv_count, driven.report.spmv_count);
  EXPECT_EQ(alone.report.preconditioner_count, driven.report.preconditioner_count);
  EXPECT_EQ(alone.report.true_residual, driven.report.true_residual);
  EXPECT_EQ(alone.x, driven.x);
}

TEST_F(OperatorOnGpu, ProductsOfAKernelOfItsOwn) {
  const PoissonStencil a(nx, ny, gpu());
  const Csr<double> matrix = poisson2d<double>(nx, ny);
  const std::vector<double> u = random_values<double>(static_cast<std::size_t>(n), 2);
  std::vector<double> expected = product(matrix.view(), u);
  const auto x = Array<double>::copy_of(u, gpu());
  Array<double> y(n, Init::none, gpu());
  a.apply(x.span(), y.span());
  const auto compare = [&] {
    const Array<double> found = y.to(Device{});
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found.data()[i], expected[i], 1e-14);
  };
  compare();
  // y = 2 A x - 3 y = -A x, then y = -y.
  a.apply(2.0, x.span(), -3.0, y.span());
  for (double& value : expected) value = -value;
  compare();
  a.apply(-1.0, x.span(), 0.0, y.span());
  compare();
  a.enqueue(x.span(), y.span(), cuda::Context::of(gpu()).stream());
  for (double& value : expected) value = -value;
  compare();
  EXPECT_THROW(a.enqueue(x.span(), y.span().first(3), nullptr), DimensionError);
}

/// Captured, with identity, diagonal, plan and itself as M, against the loop that the host drives.
TEST_F(OperatorOnGpu, CapturedGivesTheBitsOfTheHostDrivenLoop) {
  const PoissonStencil a(nx, ny, gpu());
  const FunctionOperator<double> waiting = host_driven(a);
  const auto quarters = std::make_shared<const Csr<double>>(quarter());
  const SpmvPlan<double> plan = plan_on(gpu(), quarters);
  const IdentityOperator<double> identity(n, gpu());
  const SpmvPlan<double> matrix = plan_on(gpu(), std::make_shared<const Csr<double>>(poisson2d<double>(nx, ny)));
  const JacobiPreconditioner<double> jacobi(matrix.matrix(), gpu());
  const LinearOperator<double>* const all[] = {&plan, &jacobi, &identity};
  for (std::size_t i = 0; i < std::size(methods); ++i) {
    const Method method = methods[i];
    const Case task = task_of(method);
    for (std::size_t k = 0; k < std::size(all); ++k) {
      if (is_spared(i, k, std::size(all)) || (all[k] == &identity && method == Method::richardson)) continue;
      const LinearOperator<double>* const m = all[k];
      const Solved alone = solve(task, a, *m);
      EXPECT_EQ(alone.report.converged(), method != Method::richardson) << alone.report.reason;
      expect_honest(alone.report, task.matrix->view(), task.b, alone.x);
      expect_same(alone, solve(task, waiting, *m));
    }
  }
}

TEST_F(OperatorOnGpu, AsPreconditioner) {
  const Case task = task_of(Method::cg);
  const SpmvPlan<double> plan = plan_on(gpu(), task.matrix);
  // A itself is symmetric positive definite, if a poor inverse.
  const PoissonStencil m(nx, ny, gpu());
  const Solved alone = solve(task, plan, m);
  EXPECT_TRUE(alone.report.converged()) << alone.report.reason;
  if (cuda::graphs_are_usable()) {
    EXPECT_LT(m.calls(), alone.report.iterations);
  }
  expect_same(alone, solve(task, plan, host_driven(m)));
}

/// One of two operators that cannot be recorded leaves the loop to the host, which calls both.
TEST_F(OperatorOnGpu, WithAnOperatorThatTheHostDrives) {
  const Case task = task_of(Method::cg);
  const PoissonStencil a(nx, ny, gpu());
  const SpmvPlan<double> plan = plan_on(gpu(), std::make_shared<const Csr<double>>(quarter()));
  const Solved mixed = solve(task, a, Waiting(plan));
  EXPECT_TRUE(mixed.report.converged()) << mixed.report.reason;
  EXPECT_GE(a.calls(), mixed.report.iterations);
  expect_same(mixed, solve(task, a, plan));
}

/// A graph repeats what was recorded: the host calls do_enqueue() once per product of the recorded iterations, waits at
/// most once per evaluation of the condition, and allocates nothing.
TEST_F(OperatorOnGpu, IterationsLeaveTheHostOut) {
  const cuda::Context& context = cuda::Context::of(gpu());
  const PoissonStencil a(nx, ny, gpu());
  const IdentityOperator<double> identity(n, gpu());
  Case task = task_of(Method::cg);
  task.options = {.relative_tolerance = 0.0, .stagnation_window = 100000};
  const auto cost = [&](std::int64_t iterations) {
    task.options.max_iterations = iterations;
    const int calls = a.calls();
    const ContextCounts before = context.counts();
    const Solved found = solve(task, a, identity);
    EXPECT_EQ(found.report.iterations, iterations) << found.report.reason;
    const ContextCounts after = context.counts();
    return std::tuple(after.allocations - before.allocations, after.waits - before.waits, a.calls() - calls);
  };
  const auto [few_allocations, few_waits, few_calls] = cost(8);
  const auto [allocations, waits, calls] = cost(32);
  EXPECT_EQ(allocations, few_allocations);
  EXPECT_LE(waits, few_waits + 24 / 4);
  if (cuda::graphs_are_usable()) {
    EXPECT_EQ(calls, few_calls);
  }
}

TEST_F(OperatorOnGpu, FunctionsThatTakeAStream) {
  const Case task = task_of(Method::bicgstab);
  int calls = 0;
  const auto stencil = [&](std::span<const double> x, std::span<double> y, CUstream_st* stream) {
    ++calls;
    launch_poisson_stencil(nx, ny, x.data(), y.data(), stream);
  };
  const FunctionOperator<double> a(n, n, stencil, gpu());
  EXPECT_TRUE(a.can_enqueue());
  EXPECT_FALSE(a.has_transpose());
  const IdentityOperator<double> identity(n, gpu());
  const Solved found = solve(task, a, identity);
  EXPECT_TRUE(found.report.converged()) << found.report.reason;
  if (cuda::graphs_are_usable()) {
    EXPECT_LT(calls, found.report.spmv_count);
  }
  expect_same(found, solve(task, PoissonStencil(nx, ny, gpu()), identity));
  EXPECT_THROW(FunctionOperator<double>(n, n, FunctionOperator<double>::StreamFunction{}, gpu()), InvalidArgument);
  EXPECT_THROW(FunctionOperator<double>(-1, n, stencil, gpu()), InvalidArgument);
}

/// Throws at its `last` call.
class Failing final : public LinearOperator<double> {
 public:
  Failing(const PoissonStencil& a, int last) : a_(a), left_(last) {}
  [[nodiscard]] std::int64_t rows() const override { return a_.rows(); }
  [[nodiscard]] std::int64_t cols() const override { return a_.cols(); }
  [[nodiscard]] Device device() const override { return a_.device(); }
  [[nodiscard]] bool can_enqueue() const override { return true; }

 protected:
  void do_apply(double alpha, std::span<const double> x, double beta, std::span<double> y) const override {
    a_.apply(alpha, x, beta, y);
  }
  void do_enqueue(std::span<const double> x, std::span<double> y, CUstream_st* stream) const override {
    if (--left_ == 0) throw std::runtime_error("the operator gave up");
    a_.enqueue(x, y, stream);
  }

 private:
  const PoissonStencil& a_;
  mutable int left_;
};

/// Between the kernels of a recording, too; the GPU is as it was.
TEST_F(OperatorOnGpu, ExceptionsReachTheCaller) {
  const PoissonStencil stencil(nx, ny, gpu());
  const IdentityOperator<double> identity(n, gpu());
  for (const Method method : {Method::cg, Method::bicgstab}) {
    const Case task = task_of(method);
    for (const int last : {1, 3}) {
      const auto b = Array<double>::copy_of(task.b, gpu());
      Array<double> x(n, Init::zero, gpu());
      const Failing a(stencil, last);
      const auto run_it = [&] { (void)(method == Method::cg ? cg(a, identity, b, x) : bicgstab(a, identity, b, x)); };
      EXPECT_THROW(run_it(), std::runtime_error);
      for (const double value : x.to(Device{})) ASSERT_TRUE(std::isfinite(value));
    }
    EXPECT_TRUE(solve(task, stencil, identity).report.converged());
  }
}

class SaysMore final : public LinearOperator<double> {
 public:
  explicit SaysMore(const Device& device) : device_(device) {}
  [[nodiscard]] std::int64_t rows() const override { return n; }
  [[nodiscard]] std::int64_t cols() const override { return n; }
  [[nodiscard]] Device device() const override { return device_; }
  [[nodiscard]] bool can_enqueue() const override { return true; }
  static constexpr std::int64_t n = 4;

 protected:
  void do_apply(double /*alpha*/, std::span<const double> x, double /*beta*/, std::span<double> y) const override {
    std::copy(x.begin(), x.end(), y.begin());
  }

 private:
  Device device_;
};

TEST_F(OperatorOnGpu, WhatCannotBe) {
  const SaysMore without_override(gpu());
  const IdentityOperator<double> identity(4, gpu());
  const auto b = Array<double>::copy_of(std::vector<double>(4, 1.0), gpu());
  Array<double> x(4, Init::zero, gpu());
  EXPECT_THROW((void)without_override.enqueue(b.span(), x.span(), nullptr), NotSupported);
  const SaysMore on_host(Device{});
  EXPECT_THROW((void)on_host.enqueue(b.span(), x.span(), nullptr), NotSupported);
  EXPECT_THROW((void)cg(identity, on_host, b, x), InvalidArgument) << "M on another device";
  const detail::EnqueuedProduct<double>* const none = nullptr;
  EXPECT_EQ(detail::EnqueuedProduct<double>::of(*detail::fused_operator<double>(on_host)), none);
  EXPECT_NE(detail::EnqueuedProduct<double>::of(*detail::fused_operator<double>(without_override)), none);
}

}  // namespace
}  // namespace tessera::testing
