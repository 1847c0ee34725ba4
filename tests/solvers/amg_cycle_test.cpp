/// The multigrid cycle on the host against dense textbook formulas.
#include "tests/solvers/amg_cycle_oracle.hpp"
#include "tests/support/small_grain.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {
namespace {

constexpr offset_t always = 0;
constexpr offset_t never = std::numeric_limits<offset_t>::max();

/// Templates on both levels, rows in groups of 16, 4 and single ones, ranges of threads that begin inside of them.
[[nodiscard]] CycleCase templated() { return aggregated(160, 12, {5, 4}); }

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

/// <M u, v> = <u, N v>, where N is the transpose of M.
void expect_adjoint(const std::vector<double>& mu, const std::vector<double>& u, const std::vector<double>& nv,
                    const std::vector<double>& v) {
  double left = 0.0;
  double right = 0.0;
  double scale = 0.0;
  for (std::size_t i = 0; i < u.size(); ++i) {
    left += mu[i] * v[i];
    right += u[i] * nv[i];
    scale += std::abs(mu[i] * v[i]);
  }
  EXPECT_NEAR(left, right, 1e-13 * scale);
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
    expect_adjoint(mu, u, mv, v);
  }
}

/// <M u, v> = <u, Mᵀ v> for A that is not symmetric, in CSR and on row templates.
TEST(AmgCycleOnHost, TransposedProductIsThatOfTheTranspose) {
  EigenSparse<double> skewed = templated().a[0];
  const EigenSparse<double> upper = skewed.triangularView<Eigen::StrictlyUpper>();
  skewed -= 0.75 * upper;
  CycleCase task("skewed", skewed);
  for (const int size : {5, 4}) task.coarsen(smoothed_aggregates(task.a.back(), size));
  const std::vector<double> u = random_values<double>(1920, 1);
  const std::vector<double> v = random_values<double>(1920, 2);
  for (const AmgOptions& options : cycle_options()) {
    if (options.cycle == AmgCycle::k) continue;
    task.options = options;
    task.options.precision = AmgPrecision::full;
    SCOPED_TRACE(describe(task));
    for (const offset_t least_templated : {never, always}) {
      const auto cycle = host::make_amg_cycle(make_hierarchy<double>(task), task.options, least_templated);
      EXPECT_EQ(cycle->layouts()[0].name, least_templated == always ? "row-templates" : "csr");
      const std::vector<double> mu = image(*cycle, u);
      std::vector<double> mv(v.size(), std::numeric_limits<double>::quiet_NaN());
      cycle->apply_transposed(v, mv);
      expect_adjoint(mu, u, mv, v);
    }
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

template <class T>
void expect_bits_of_csr(CycleCase task, AmgPrecision precision) {
  task.options.precision = precision;
  SCOPED_TRACE(describe(task));
  detail::AmgHierarchy<T> hierarchy = make_hierarchy<T>(task);
  const std::vector<T> r = random_values<T>(static_cast<std::size_t>(task.a[0].rows()), 7);
  const auto csr = host::make_amg_cycle(hierarchy, task.options, never);
  EXPECT_EQ(csr->layouts()[0].name, "csr");
  const std::vector<T> expected = image(*csr, r);
  for (const int threads : {1, 3}) {
    hierarchy.device = Device::host(threads);
    const auto cycle = host::make_amg_cycle(hierarchy, task.options, always);
    for (const std::size_t level : {0U, 1U}) {
      EXPECT_EQ(cycle->layouts()[level].name, "row-templates") << level;
      EXPECT_LT(cycle->layouts()[level].bytes, csr->layouts()[level].bytes) << level;
    }
    EXPECT_EQ(image(*cycle, r), expected) << threads << " threads";
  }
}

TEST(AmgCycleOnHost, RowTemplatesGiveTheBitsOfCsr) {
  const SmallGrain grain;
  CycleCase task = templated();
  for (const AmgOptions& options : cycle_options()) {
    task.options = options;
    expect_bits_of_csr<double>(task, AmgPrecision::single);
    expect_bits_of_csr<double>(task, AmgPrecision::full);
    expect_bits_of_csr<float>(task, AmgPrecision::full);
  }
}

/// A row on no template, neighbours that differ, no rows.
TEST(AmgCycleOnHost, OtherMatricesStayInCsr) {
  const auto layout = [](const EigenSparse<double>& a) {
    CycleCase task("one level", a);
    task.has_inverse = false;
    return host::make_amg_cycle(make_hierarchy<double>(task), task.options, always)->layouts()[0].name;
  };
  const EigenSparse<double> grid = templated().a[0];
  EXPECT_EQ(layout(grid), "row-templates");
  EigenSparse<double> with_exception = grid;
  for (int j = 0; j < 300; ++j) with_exception.coeffRef(7, 3 * j) += 1e-3;
  EXPECT_EQ(layout(with_exception), "csr");
  EigenSparse<double> alternating = grid;
  for (int i = 0; i + 1 < grid.rows(); i += 2) alternating.coeffRef(i, (i + 400) % grid.rows()) += 1e-3;
  EXPECT_EQ(layout(alternating), "csr");
  EXPECT_EQ(layout(EigenSparse<double>(0, 0)), "csr");
}

TEST(AmgCycleOnHost, SmallMatricesStayInCsr) {
  const CycleCase task = templated();
  EXPECT_EQ(host::make_amg_cycle(make_hierarchy<double>(task), task.options)->layouts()[0].name, "csr");
}

/// Values that rows on a template still share stay there; others make the matrix CSR, for good.
TEST(AmgCycleOnHost, RefreshOfRowTemplates) {
  const SmallGrain grain;
  CycleCase task = templated();
  CycleCase scaled("scaled", EigenSparse<double>(2.5 * task.a[0]));
  CycleCase varied("varied", task.a[0]);
  varied.a[0].coeffRef(1700, 1700) += 0.001;  // one row of one thread
  for (const EigenSparse<double>& p : task.p) {
    scaled.coarsen(p);
    varied.coarsen(p);
  }
  const std::vector<double> r = random_values<double>(static_cast<std::size_t>(task.a[0].rows()), 5);
  const std::vector<std::pair<const CycleCase*, std::string>> steps{
      {&scaled, "row-templates"}, {&task, "row-templates"}, {&varied, "csr"}, {&task, "csr"}};
  for (const AmgPrecision precision : {AmgPrecision::single, AmgPrecision::full}) {
    task.options.precision = precision;
    detail::AmgHierarchy<double> first = make_hierarchy<double>(task);
    first.device = Device::host(3);
    const auto cycle = host::make_amg_cycle(first, task.options, always);
    for (const auto& [next, layout] : steps) {
      SCOPED_TRACE(next->name + ", " + layout);
      const detail::AmgHierarchy<double> hierarchy = make_hierarchy<double>(*next);
      cycle->refresh(hierarchy);
      EXPECT_EQ(cycle->layouts()[0].name, layout);
      EXPECT_EQ(image(*cycle, r), image(*host::make_amg_cycle(hierarchy, task.options, never), r));
    }
  }
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

/// z = (1 - (1 - ω)^8) r for the identity, stored as a pattern, by eight sweeps.
TEST(AmgCycleOnHost, PatternMatrix) {
  constexpr std::size_t n = 5;
  detail::AmgHierarchy<double> hierarchy;
  detail::AmgLevel<double> level;
  level.a = std::make_shared<const Csr<double>>(make_pattern<double>(5, 5, {0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4}));
  level.smoother = Array<double>::copy_of(std::vector<double>(n, 1.0));
  level.rho = 2.0;
  hierarchy.levels.push_back(std::move(level));
  AmgOptions options;
  options.precision = AmgPrecision::full;
  options.smoother_damping = 4.0 / 3.0;  // ω = 2/3
  const std::vector<double> r = random_values<double>(n, 1);
  const auto cycle = host::make_amg_cycle(hierarchy, options, always);
  EXPECT_EQ(cycle->layouts()[0].name, "csr");
  const std::vector<double> z = image(*cycle, r);
  for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(z[i], (1.0 - std::pow(1.0 / 3.0, 8)) * r[i], 1e-15);
}

using cuda::AmgRowLayout;
using cuda::AmgRowShape;

AmgRowLayout layout_of(const AmgRowShape& shape) { return cuda::choose_row_layout(shape, 8, 132, {}); }

TEST(AmgRowLayouts, PaddingLengthAndSizeDecide) {
  const offset_t million = 1'000'000;
  EXPECT_EQ(layout_of({.rows = 8'000'000, .nnz = 56 * million, .slots = 57 * million, .longest = 7}),
            AmgRowLayout::sliced_ell);
  // 60 bytes of CSR per row against 80 of sliced ELL.
  EXPECT_EQ(layout_of({.rows = 8'000'000, .nnz = 56 * million, .slots = 80 * million, .longest = 20}),
            AmgRowLayout::streamed);
  EXPECT_EQ(layout_of({.rows = 8'000'000, .nnz = 56 * million, .slots = 57 * million, .longest = 513}),
            AmgRowLayout::lanes)
      << "a thread would sum 513 entries while all others wait";
  EXPECT_EQ(layout_of({.rows = 300'000, .nnz = 25 * million, .slots = 26 * million, .longest = 120}),
            AmgRowLayout::lanes)
      << "mean length 83";
  EXPECT_EQ(layout_of({.rows = 10'000, .nnz = 70'000, .longest = 10'000}), AmgRowLayout::lanes) << "nobody counted";
  EXPECT_EQ(layout_of({.rows = 300 * 1'000'000, .nnz = 2'100 * million, .slots = 2'150 * million, .longest = 7}),
            AmgRowLayout::streamed)
      << "more slots than 32-bit offsets reach";
}

TEST(AmgRowLayouts, LanesLoadARowAtOnceOrFillTheGpu) {
  constexpr std::int64_t threads = 132 * 2048;
  const auto lanes = [](index_t rows, offset_t mean) {
    return 1 << cuda::row_lanes_log2({.rows = rows, .nnz = rows * mean}, 8, threads);
  };
  EXPECT_EQ(lanes(8'000'000, 7), 1);
  EXPECT_EQ(lanes(300'000, 95), 16);
  EXPECT_EQ(lanes(300'000, 1000), 32);
  EXPECT_EQ(lanes(1000, 9), 8) << "few rows";
  EXPECT_EQ(lanes(1000, 1), 1);
  EXPECT_EQ(lanes(0, 0), 1);
}

}  // namespace
}  // namespace tessera::testing
