/// The multigrid cycle on the host against dense textbook formulas.
#include "tests/solvers/amg_cycle_oracle.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tessera::testing {
namespace {

template <class T>
std::vector<T> image(const detail::AmgCycleOperator<T>& cycle, const std::vector<T>& r) {
  std::vector<T> z(r.size(), std::numeric_limits<T>::quiet_NaN());
  cycle.apply(r, z);
  return z;
}

template <class T, class V>
void check(CycleCase task) {
  SCOPED_TRACE(describe(task));
  task.options.precision = sizeof(V) == sizeof(float) ? AmgPrecision::single : AmgPrecision::full;
  const detail::AmgHierarchy<T> hierarchy = make_hierarchy<T>(task);
  const auto cycle = host::make_amg_cycle(hierarchy, task.options);
  const CycleOracle<T, V> oracle(task, hierarchy);
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const std::vector<T> r = random_values<T>(static_cast<std::size_t>(task.a[0].rows()), seed);
    expect_cycle<T, V>(oracle, r, image(*cycle, r));
  }
}

TEST(AmgCycleOnHost, EqualsTheTextbookFormula) {
  for (const CycleCase& task : cycle_cases()) {
    check<double, double>(task);
    check<double, float>(task);
    check<float, float>(task);
  }
}

TEST(AmgCycleOnHost, EmptyMatrix) {
  CycleCase task("empty", EigenSparse<double>(0, 0));
  for (const bool has_inverse : {false, true}) {
    task.has_inverse = has_inverse;
    const auto cycle = host::make_amg_cycle(make_hierarchy<double>(task), task.options);
    cycle->apply({}, {});
  }
}

/// <M u, v> = <u, M v> for V and W, which are linear.
TEST(AmgCycleOnHost, IsSymmetric) {
  CycleCase task = aggregated(12, 11, {3, 3});
  for (const AmgOptions& options : cycle_options()) {
    if (options.cycle == AmgCycle::k) continue;
    task.options = options;
    task.options.precision = AmgPrecision::full;
    SCOPED_TRACE(describe(task));
    const auto cycle = host::make_amg_cycle(make_hierarchy<double>(task), task.options);
    const std::vector<double> u = random_values<double>(132, 1);
    const std::vector<double> v = random_values<double>(132, 2);
    const std::vector<double> mu = image(*cycle, u);
    const std::vector<double> mv = image(*cycle, v);
    double left = 0.0;
    double right = 0.0;
    double scale = 0.0;
    for (std::size_t i = 0; i < u.size(); ++i) {
      left += mu[i] * v[i];
      right += u[i] * mv[i];
      scale += std::abs(mu[i] * v[i]);
    }
    EXPECT_NEAR(left, right, 1e-13 * scale);
  }
}

/// Rows enough for several threads: each computes what one does.
TEST(AmgCycleOnHost, ThreadsGiveTheSameBits) {
  CycleCase task = aggregated(120, 100, {5, 40});
  task.options.cycle = AmgCycle::k;
  detail::AmgHierarchy<double> hierarchy = make_hierarchy<double>(task);
  const std::vector<double> r = random_values<double>(12000, 3);
  hierarchy.device = Device::host(1);
  const std::vector<double> expected = image(*host::make_amg_cycle(hierarchy, task.options), r);
  hierarchy.device = Device::host(3);
  const auto cycle = host::make_amg_cycle(hierarchy, task.options);
  EXPECT_EQ(image(*cycle, r), expected);
  EXPECT_EQ(image(*cycle, r), expected) << "again";
}

TEST(AmgCycleOnHost, RefreshTakesNewValues) {
  CycleCase task = aggregated(9, 7, {4, 3});
  CycleCase other("scaled", EigenSparse<double>(2.5 * task.a[0]));
  for (const EigenSparse<double>& p : task.p) other.coarsen(p);
  other.a[0].coeffRef(3, 3) += 1.0;
  task.options.smoother = other.options.smoother = AmgSmoother::chebyshev;
  const auto cycle = host::make_amg_cycle(make_hierarchy<double>(task), task.options);
  const detail::AmgHierarchy<double> hierarchy = make_hierarchy<double>(other);
  cycle->refresh(hierarchy);
  const std::vector<double> r = random_values<double>(63, 5);
  expect_cycle<double, float>(CycleOracle<double, float>(other, hierarchy), r, image(*cycle, r));
}

TEST(AmgCycleOnHost, LayoutsNameEveryLevelAndItsBytes) {
  const CycleCase task = aggregated(9, 7, {4, 3});
  const detail::AmgHierarchy<double> hierarchy = make_hierarchy<double>(task);
  const auto cycle = host::make_amg_cycle(hierarchy, task.options);
  const std::vector<detail::AmgLayout>& layouts = cycle->layouts();
  ASSERT_EQ(layouts.size(), 3U);
  EXPECT_EQ(layouts[0].name, "csr");
  EXPECT_EQ(layouts[1].name, "csr");
  EXPECT_EQ(layouts[2].name, "dense");
  const auto n = static_cast<std::uint64_t>(task.a[2].rows());
  EXPECT_EQ(layouts[2].bytes, 4 * (n * n + 2 * n)) << "inverse, b, x";
  const auto rows = static_cast<std::uint64_t>(task.a[0].rows());
  const auto coarse = static_cast<std::uint64_t>(task.a[1].rows());
  const auto entries = static_cast<std::uint64_t>(task.a[0].nonZeros() + 2 * task.p[0].nonZeros());
  EXPECT_EQ(layouts[0].bytes, 8 * entries + 8 * (2 * (rows + 1) + coarse + 1) + 4 * (5 * rows + 1))
      << "A, P, R; b, x twice, residual, smoother; one weight";
}

}  // namespace
}  // namespace tessera::testing
