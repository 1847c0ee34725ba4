/// The finest level of a multigrid cycle on a GPU in row lists: the bits of sliced ELL, the textbook formula, new
/// values.
#include "tests/solvers/amg_cycle_oracle.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

namespace tessera::testing {
namespace {

using cuda::AmgLayoutTuning;

constexpr AmgLayoutTuning sliced{
    .least_sliced_rows = 1, .most_sliced_mean = 1e9, .most_padding = 1e9, .longest_thread_row = 1 << 30};
constexpr AmgLayoutTuning listed{.least_sliced_rows = 1,
                                 .most_sliced_mean = 1e9,
                                 .most_padding = 1e9,
                                 .longest_thread_row = 1 << 30,
                                 .least_listed_rows = 1};

/// D A D with the rows of A and any values, which is positive definite where A is.
EigenSparse<double> with_any_values(EigenSparse<double> a) {
  const std::vector<double> d = random_values<double>(static_cast<std::size_t>(a.rows()), 17);
  for (int i = 0; i < a.outerSize(); ++i) {
    for (EigenSparse<double>::InnerIterator entry(a, i); entry; ++entry) {
      entry.valueRef() *= (1.5 + 0.4 * d[static_cast<std::size_t>(entry.row())]) *
                          (1.5 + 0.4 * d[static_cast<std::size_t>(entry.col())]);
    }
  }
  return a;
}

/// The same levels from another finest matrix of the same structure.
CycleCase with_finest(const CycleCase& task, const EigenSparse<double>& a) {
  CycleCase result(task.name + ", other values", a);
  for (const EigenSparse<double>& p : task.p) result.coarsen(p);
  result.options = task.options;
  result.has_inverse = task.has_inverse;
  return result;
}

template <class T>
std::vector<T> image(const Device& gpu, const detail::AmgCycleOperator<T>& cycle, const std::vector<T>& r) {
  const auto on_gpu = Array<T>::copy_of(r, gpu);
  auto z = Array<T>::copy_of(std::vector<T>(r.size(), std::numeric_limits<T>::quiet_NaN()), gpu);
  cycle.apply(on_gpu.span(), z.span());
  const Array<T> result = z.to(Device{});
  return {result.begin(), result.end()};
}

template <class T, class V>
void check(const Device& gpu, CycleCase task, const std::string& layout) {
  SCOPED_TRACE(describe(task));
  task.options.precision = sizeof(V) == sizeof(float) ? AmgPrecision::single : AmgPrecision::full;
  const detail::AmgHierarchy<T> hierarchy = make_hierarchy<T>(task);
  const detail::AmgHierarchy<T> there = on_device(hierarchy, gpu);
  const auto cycle = cuda::make_amg_cycle(there, task.options, listed);
  EXPECT_EQ(cycle->layouts()[0].name, layout);
  const std::vector<T> r = random_values<T>(static_cast<std::size_t>(task.a[0].rows()), 1);
  const std::vector<T> z = image(gpu, *cycle, r);
  expect_cycle<T, V>(CycleOracle<T, V>(task, hierarchy), r, z);
  const auto by_slices = cuda::make_amg_cycle(there, task.options, sliced);
  EXPECT_EQ(by_slices->layouts()[0].name, "sliced-ell");
  EXPECT_EQ(z, image(gpu, *by_slices, r)) << "other bits than by sliced ELL";
  EXPECT_FALSE(cycle->layouts()[0].is_raked);
  AmgLayoutTuning raked = listed;
  raked.least_raked_rows = 1;
  const auto by_raking = cuda::make_amg_cycle(there, task.options, raked);
  EXPECT_EQ(by_raking->layouts()[0].is_raked, (std::is_same_v<V, float>));
  EXPECT_EQ(z, image(gpu, *by_raking, r)) << "other bits by raking blocks";
}

template <class T, class V>
void check_both(const Device& gpu, const CycleCase& task) {
  check<T, V>(gpu, task, "row-templates");
  check<T, V>(gpu, with_finest(task, with_any_values(task.a[0])), "row-patterns");
}

class AmgRowLists : public CudaTest {};

TEST_F(AmgRowLists, EqualSlicedEllBitByBit) {
  for (const AmgSmoother smoother : {AmgSmoother::jacobi, AmgSmoother::chebyshev}) {
    for (const AmgCycle kind : {AmgCycle::v, AmgCycle::k}) {
      CycleCase task = aggregated(23, 19, {4, 3});
      task.options.smoother = smoother;
      task.options.cycle = kind;
      check_both<double, float>(gpu(), task);
      if ((gpu_is_emulated || sparing()) && kind == AmgCycle::k) continue;
      check_both<double, double>(gpu(), task);
      check_both<float, float>(gpu(), task);
    }
  }
}

/// Rows shorter and longer than the entries in flight: 1 to 3, and of a square of A up to 13.
TEST_F(AmgRowLists, RowsOfAnyLength) {
  CycleCase one = aggregated(1, 1, {});
  one.has_inverse = false;
  check<double, float>(gpu(), one, "row-templates");
  // So many rows that lists of their own for all of them do not fit.
  CycleCase line("line", shifted_poisson(300, 1));
  line.coarsen(linear_interpolation(300)).coarsen(linear_interpolation(150));
  check_both<double, float>(gpu(), line);
  const EigenSparse<double> plane = shifted_poisson(21, 15);
  CycleCase wide("square of the plane", EigenSparse<double>(plane * plane));
  wide.has_inverse = false;
  check_both<double, float>(gpu(), wide);
}

TEST_F(AmgRowLists, MoreTilesThanABlockTakes) {
  const CycleCase task = aggregated(47, 31, {4, 3});
  ASSERT_GT(task.a[0].rows(), 256 * static_cast<int>(cuda::amg_raked_tiles));
  check_both<double, float>(gpu(), task);
}

/// By the raking kernel with sums, whose blocks come round several times.
TEST_F(AmgRowLists, InnerProductsOfRakedRows) {
  const int side = repetitions(1500, 150);
  const CycleCase task = aggregated(side, side, {4, 4, 4, 100});
  const std::vector<double> r = random_values<double>(static_cast<std::size_t>(task.a[0].rows()), 1);
  const auto hierarchy = on_device(make_hierarchy<double>(task), gpu());
  AmgLayoutTuning raked = listed;
  raked.least_raked_rows = 1;
  const auto cycle = cuda::make_amg_cycle(hierarchy, task.options, raked);
  ASSERT_TRUE(cycle->layouts()[0].is_raked);
  const auto on_gpu = Array<double>::copy_of(r, gpu());
  Array<double> z(on_gpu.size(), Init::zero, gpu());
  Array<ProductDots> sums(1, Init::zero, gpu());
  cycle->enqueued()->enqueue(on_gpu.span(), z.span(), on_gpu.span(), sums.data());
  const Array<double> found = z.to(Device{});
  EXPECT_EQ(std::vector<double>(found.begin(), found.end()), image(gpu(), *cycle, r));
  long double wz = 0.0L;
  long double zz = 0.0L;
  for (std::size_t i = 0; i < r.size(); ++i) {
    const long double value = found[static_cast<std::int64_t>(i)];
    wz += r[i] * value;
    zz += value * value;
  }
  const ProductDots dots = sums.to(Device{})[0];
  EXPECT_GT(zz, 1.0L);
  EXPECT_NEAR(dots.yy, static_cast<double>(zz), 1e-12 * static_cast<double>(zz));
  EXPECT_NEAR(dots.wy, static_cast<double>(wz), 1e-12 * static_cast<double>(zz));
}

TEST_F(AmgRowLists, RowsThatDoNotRepeatStayInSlicedEll) {
  EigenSparse<double> a(700, 700);
  std::vector<Eigen::Triplet<double>> entries;
  const std::vector<double> random = random_values<double>(1400, 3);
  for (int i = 0; i < 700; ++i) {
    entries.emplace_back(i, i, 9.0);
    for (const int k : {2 * i, 2 * i + 1}) {
      const int j = static_cast<int>(699.0 * std::abs(random[static_cast<std::size_t>(k)]));
      if (i == j) continue;
      entries.emplace_back(i, j, -1.0);
      entries.emplace_back(j, i, -1.0);
    }
  }
  a.setFromTriplets(entries.begin(), entries.end());
  CycleCase task("scattered", a);
  task.has_inverse = false;
  const auto cycle = cuda::make_amg_cycle(on_device(make_hierarchy<double>(task), gpu()), task.options, listed);
  EXPECT_EQ(cycle->layouts()[0].name, "sliced-ell");
}

/// The rows of a hub's neighbours are on no list: such matrices stay in their layouts.
TEST_F(AmgRowLists, ExceptionsKeepTheOtherLayouts) {
  const CycleCase hub = with_hub(400);
  const auto cycle = cuda::make_amg_cycle(on_device(make_hierarchy<double>(hub), gpu()), hub.options,
                                          {.least_sliced_rows = 1, .least_listed_rows = 1});
  EXPECT_EQ(cycle->layouts()[0].name, "csr");
}

/// New values: those of the lists, one that differs, and again.
TEST_F(AmgRowLists, RefreshTakesNewValues) {
  const CycleCase task = aggregated(13, 11, {4, 3});
  EigenSparse<double> changed = task.a[0];
  changed.coeffRef(7, 7) += 1.0;
  const std::vector<double> r = random_values<double>(143, 5);
  const auto cycle = cuda::make_amg_cycle(on_device(make_hierarchy<double>(task), gpu()), task.options, listed);
  for (const EigenSparse<double>& a : {task.a[0], changed, with_any_values(task.a[0]), task.a[0]}) {
    const CycleCase other = with_finest(task, a);
    const detail::AmgHierarchy<double> hierarchy = make_hierarchy<double>(other);
    const detail::AmgHierarchy<double> there = on_device(hierarchy, gpu());
    cycle->refresh(there);
    const std::vector<double> z = image(gpu(), *cycle, r);
    expect_cycle<double, float>(CycleOracle<double, float>(other, hierarchy), r, z);
    EXPECT_EQ(z, image(gpu(), *cuda::make_amg_cycle(there, other.options, sliced), r));
  }
}

}  // namespace
}  // namespace tessera::testing
