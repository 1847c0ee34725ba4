/// Backward errors on a GPU against the host, and the gate of the forward error with vectors on a GPU.
#include "tessera/accuracy.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace tessera::testing {
namespace {

class AccuracyOnGpu : public CudaTest {
 protected:
  /// The ratio is that of the host bit by bit where rows are short; sums over rows are added in another order.
  template <class T>
  static void expect_as_on_the_host(const Csr<T>& a, const std::vector<T>& b, const std::vector<T>& x) {
    const BackwardError host = backward_error<T>(a.view(), b, x);
    const Csr<T> device_a = a.to(gpu());
    const auto device_b = Array<T>::copy_of(b, gpu());
    const auto device_x = Array<T>::copy_of(x, gpu());
    const BackwardError device = backward_error<T>(device_a.view(), device_b.span(), device_x.span(), gpu());
    if (std::isnan(host.componentwise)) {
      EXPECT_TRUE(std::isnan(device.componentwise));
      return;
    }
    const double rounding = 8 * std::numeric_limits<double>::epsilon();
    EXPECT_NEAR(device.componentwise, host.componentwise, rounding);
    if (std::isfinite(host.attainable) && host.attainable > 0.0) {
      EXPECT_NEAR(device.attainable / host.attainable, 1.0, 1e-12);
    } else {
      EXPECT_EQ(device.attainable, host.attainable);
    }
  }

  template <class T>
  static void expect_for_all() {
    const Csr<T> grid = poisson2d<T>(23, 31);
    const std::vector<T> x = random_values<T>(static_cast<std::size_t>(grid.cols()), 1);
    const std::vector<T> b = random_values<T>(static_cast<std::size_t>(grid.rows()), 2);
    expect_as_on_the_host<T>(grid, b, x);
    expect_as_on_the_host<T>(grid, product(grid.view(), x), x);
    std::vector<T> bad = x;
    bad[100] = std::numeric_limits<T>::quiet_NaN();
    expect_as_on_the_host<T>(grid, b, bad);
    expect_as_on_the_host<T>(from_dense<T>({{0, 0}, {2, 0}}, 2), {T{0}, T{3}}, {T{1}, T{5}});
    expect_as_on_the_host<T>(make_pattern<T>(2, 3, {0, 2, 3}, {0, 1, 2}), {T{3}, T{1}}, {T{1}, T{2}, T{4}});
    expect_as_on_the_host<T>(from_dense<T>({}, 0), {}, {});
  }
};

TEST_F(AccuracyOnGpu, DoubleAsOnTheHost) { expect_for_all<double>(); }
TEST_F(AccuracyOnGpu, FloatAsOnTheHost) { expect_for_all<float>(); }

TEST_F(AccuracyOnGpu, Overflow) {
  expect_as_on_the_host<double>(from_dense<double>({{1e200, -1e200}, {1, 0}}, 2), {0.0, 2e200}, {1e200, 1e200});
  expect_as_on_the_host<double>(diagonal_matrix<double>({1.0, 1.0}), {1e250, 1e-250}, {0.5e250, 1e-250});
}

TEST_F(AccuracyOnGpu, RepairsWhatTheResidualHides) {
  const std::vector<double> diagonal{1.0, 1e-3, 1e-6, 1e-9, 1e-12};
  SpmvOptions on_gpu;
  on_gpu.device = gpu();
  const SpmvPlan<double> plan(diagonal_matrix<double>(diagonal), on_gpu);
  const JacobiPreconditioner<double> jacobi(plan.matrix(), gpu());
  const CorrectionSolver<double> solve = [&](std::span<const double> r, std::span<double> d,
                                             const SolverOptions& options) {
    return richardson<double>(plan, jacobi, r, d, options);
  };
  const auto b = Array<double>::copy_of(diagonal, gpu());
  auto x = Array<double>::copy_of(std::vector{1.0, 1.0, 1.0, 1.0, 1.5}, gpu());
  const ErrorEstimate estimate = estimate_error<double>(plan, solve, b.span(), x.span(), 1e-8, {}, ErrorGate::repair);
  EXPECT_TRUE(estimate.is_known());
  EXPECT_EQ(estimate.corrections, 1);
  const Array<double> found = x.to(Device{});
  EXPECT_NEAR(found[4], 1.0, 1e-12);
}

}  // namespace
}  // namespace tessera::testing
