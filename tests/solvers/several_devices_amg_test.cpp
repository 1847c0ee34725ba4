/// AMG on several hosts: its cycle against dense textbook formulas and the bits of one device, whole solves against
/// those of one device.
#include "tessera/amg_several_devices.hpp"

#include "tests/solvers/amg_cycle_oracle.hpp"
#include "tests/solvers/amg_ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {
namespace {

using Values = std::vector<double>;

DeviceGroup hosts(int count) {
  return DeviceGroup(std::vector<Device>(static_cast<std::size_t>(count), Device::host(1)));
}

TEST(LevelColumns, AscendAroundTheOwnRows) {
  const Csr<double> a = poisson2d<double>(7, 9);
  const Partition partition = uneven(63, 3);
  for (int rank = 0; rank < 3; ++rank) {
    const index_t first = partition.first_row(rank);
    const index_t last = partition.first_row(rank + 1);
    detail::LevelColumnFinder finder(partition, rank, Device::host(2));
    finder.mark(a.view(), first, last);
    const detail::LevelColumns columns = finder.number();
    EXPECT_EQ(columns.lower, rank == 0 ? 0 : 7);
    EXPECT_EQ(columns.size(), last - first + (rank == 1 ? 14 : 7));
    // The columns of the matrix by their numbers.
    std::vector<index_t> global(columns.halo.begin(), columns.halo.begin() + columns.lower);
    for (index_t row = first; row < last; ++row) global.push_back(row);
    global.insert(global.end(), columns.halo.begin() + columns.lower, columns.halo.end());
    EXPECT_TRUE(std::is_sorted(global.begin(), global.end()));
    const Csr<double> own = finder.rows(a.view(), first, last, columns.size());
    validate(own.view());
    ASSERT_EQ(own.rows(), last - first);
    for (index_t row = 0; row < own.rows(); ++row) {
      const offset_t begin = a.row_offsets()[first + row];
      ASSERT_EQ(own.row_offsets()[row + 1] - own.row_offsets()[row], a.row_offsets()[first + row + 1] - begin);
      for (offset_t k = own.row_offsets()[row]; k < own.row_offsets()[row + 1]; ++k) {
        const offset_t of_whole = begin + k - own.row_offsets()[row];
        EXPECT_EQ(global[static_cast<std::size_t>(own.columns()[k])], a.columns()[of_whole]);
        EXPECT_EQ(own.values()[k], a.values()[of_whole]);
      }
    }
  }
}

TEST(PartitionOfCoarse, PutsAggregatesWhereTheirRowsLie) {
  // Rows 0 to 9 in aggregates {0, 1}, {2, 3, 4, 5}, {6, 7}, {8}; row 9 in none.
  const std::vector<index_t> aggregates{0, 0, 1, 1, 1, 1, 2, 2, 3, -1};
  const auto first_row = [&](std::vector<index_t> fine, index_t block, index_t coarse, int part) {
    return detail::partition_of_coarse(Partition(std::move(fine)), Array<index_t>::copy_of(aggregates), block, 4,
                                       coarse)
        .first_row(part);
  };
  EXPECT_EQ(first_row({0, 5, 10}, 1, 4, 1), 2);
  EXPECT_EQ(first_row({0, 4, 10}, 1, 4, 1), 2);  // the second one has its middle in row 3.5
  EXPECT_EQ(first_row({0, 3, 10}, 1, 4, 1), 1);
  // Two unknowns per node, three vectors per aggregate.
  EXPECT_EQ(first_row({0, 10, 20}, 2, 12, 1), 6);
  // No part is empty.
  EXPECT_EQ(first_row({0, 1, 10}, 1, 4, 1), 1);
  EXPECT_EQ(first_row({0, 9, 10}, 1, 4, 1), 3);
  EXPECT_EQ(first_row({0, 1, 2, 3, 10}, 1, 4, 2), 2);
}

/// Every number of shared levels, uneven parts. On the host rows are summed as on one device.
template <class T, class V>
void check_cycle(CycleCase task) {
  SCOPED_TRACE(describe(task));
  task.options.precision = sizeof(V) == sizeof(float) ? AmgPrecision::single : AmgPrecision::full;
  const detail::AmgHierarchy<T> whole = make_hierarchy<T>(task);
  const CycleOracle<T, V> oracle(task, whole);
  const std::vector<T> r = random_values<T>(static_cast<std::size_t>(task.a[0].rows()), 1);
  std::vector<T> of_one(r.size());
  host::make_amg_cycle(whole, task.options)->apply(r, of_one);
  std::vector<T> z = of_one;
  for (const int ranks : {2, 3}) {
    if (ranks == 2 && sizeof(T) == sizeof(V)) continue;
    for (std::size_t levels = 0; levels <= task.a.size(); ++levels) {
      if (!can_share(whole, levels, ranks)) continue;
      SCOPED_TRACE(std::to_string(levels) + " levels on " + std::to_string(ranks));
      const auto hierarchy = shared_out(make_hierarchy<T>(task), levels, ranks);
      const CycleOnRanks<T> cycle(hosts(ranks), hierarchy, task.options);
      z = cycle.image(r);
      EXPECT_EQ(z, of_one);
    }
  }
  expect_cycle<T, V>(oracle, r, z);
}

TEST(AmgCycleOnSeveralDevices, EqualsTheTextbookFormulaAndTheBitsOfOneDevice) {
  for (const CycleCase& task : cycle_cases()) {
    if (task.options.cycle != AmgCycle::v) continue;
    check_cycle<double, double>(task);
    check_cycle<double, float>(task);
    check_cycle<float, float>(task);
  }
}

/// The matrices of whole solves, with levels enough for several to be shared out.
struct System {
  std::string name;
  Csr<double> a;
  AmgOptions options;
  bool is_shared = true;
};

/// A grid with one row and column full of small entries.
Csr<double> with_weak_hub() {
  Eigen::MatrixXd dense = shifted_poisson(30, 30);
  constexpr int hub = 437;
  for (int i = 0; i < dense.rows(); ++i) {
    if (i == hub || dense(i, hub) != 0.0) continue;
    dense(i, hub) = dense(hub, i) = -0.01;
    dense(i, i) += 0.01;
    dense(hub, hub) += 0.01;
  }
  return to_csr<double>(dense.sparseView())->to(Device{});
}

std::vector<System> systems() {
  std::vector<System> result;
  result.push_back({"poisson2d", poisson2d<double>(60, 55), {.coarsest_rows = 20}});
  result.push_back({"27 points", poisson3d<double>(15, 14, 13, Stencil3d::twentyseven_point), {.coarsest_rows = 10}});
  result.push_back({"chebyshev", anisotropic2d<double>(50, 41, 0.1), {.coarsest_rows = 20}});
  result.back().options.smoother = AmgSmoother::chebyshev;
  result.back().options.precision = AmgPrecision::full;
  result.push_back({"nodes of two unknowns", poisson2d<double>(40, 30), {.coarsest_rows = 20, .block_size = 2}});
  result.push_back({"nodes of three unknowns, found", elasticity3d<double>(7), {.coarsest_rows = 20}});
  result.push_back({"hub row", with_weak_hub(), {.coarsest_rows = 20}});
  // The hub's aggregate takes all rows: the next level has fewer rows than there are devices.
  const EigenSparse<double> hub = with_hubs(700, {350}).a[0];
  result.push_back({"one aggregate", to_csr<double>(hub)->to(Device{}), {.coarsest_rows = 20}, false});
  result.push_back({"full second level", generate<double>(parse_generator("plgraph:8000")), {}});
  result.push_back({"whole on every device", poisson2d<double>(12, 9), {}, false});
  return result;
}

double largest_difference(const Values& x, const Values& y) {
  double largest = 0.0;
  double difference = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    largest = std::max(largest, std::abs(x[i]));
    difference = std::max(difference, std::abs(x[i] - y[i]));
  }
  return difference / largest;
}

TEST(AmgOnSeveralDevices, SolvesAsOneDevice) {
  const SolverOptions solver{.relative_tolerance = 1e-10};
  for (const System& system : systems()) {
    const Csr<double>& a = system.a;
    const Values b = random_values<double>(static_cast<std::size_t>(a.rows()), 17);
    const Amg<double> amg(a.view(), system.options);
    const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()));
    Values of_one(b.size());
    const SolveReport one = cg<double>(plan, amg, b, of_one, solver);
    ASSERT_TRUE(one.converged()) << system.name << ": " << one.reason;
    for (const int ranks : {1, 2, 3}) {
      SCOPED_TRACE(system.name + " on " + std::to_string(ranks));
      const DistributedMatrix<double> matrix(hosts(ranks), a.view(), uneven(a.rows(), ranks));
      const DistributedAmg<double> M(matrix, a.view(), system.options, {.least_rows = 150});
      EXPECT_EQ(M.info().hierarchy.levels.size(), amg.hierarchy().levels.size());
      EXPECT_EQ(M.info().shared_levels > 0, system.is_shared || (ranks == 1 && a.rows() >= 150));
      EXPECT_EQ(M.info().is_symmetric, amg.info().is_symmetric);
      Values of_amg(b.size());
      amg.LinearOperator<double>::apply(b, of_amg);
      Values z(b.size());
      M.apply(b, z);
      EXPECT_EQ(z, of_amg);
      Values x(b.size());
      const SolveReport report = cg<double>(matrix, M, b, x, solver);
      EXPECT_TRUE(report.converged()) << report.reason;
      expect_honest(report, a.view(), b, x);
      EXPECT_NEAR(static_cast<double>(report.iterations), static_cast<double>(one.iterations), 1.0);
      // Both have ‖b - A x‖ <= 1e-10 ‖b‖, and κ(A) is below 1e4.
      EXPECT_LE(largest_difference(of_one, x), 1e-5);
      Values again(b.size());
      EXPECT_EQ(cg<double>(matrix, M, b, again, solver).iterations, report.iterations);
      EXPECT_EQ(again, x);
    }
  }
}

TEST(AmgOnSeveralDevices, SharesOutSeveralLevels) {
  const Csr<double> a = poisson2d<double>(60, 55);
  const DistributedMatrix<double> matrix(hosts(3), a.view());
  const DistributedAmg<double> M(matrix, a.view(), {.coarsest_rows = 20}, {.least_rows = 50});
  EXPECT_GE(M.info().shared_levels, 2);
  EXPECT_LT(static_cast<std::size_t>(M.info().shared_levels), M.info().hierarchy.levels.size());
  ASSERT_EQ(M.info().bytes.size(), 3U);
  std::uint64_t all = 0;
  for (const std::uint64_t bytes : M.info().bytes) {
    EXPECT_GT(bytes, 3300U / 3 * 5 * 8);
    all += bytes;
  }
  for (const AmgLevelInfo& level : M.info().hierarchy.levels) {
    EXPECT_EQ(level.layout, &level == &M.info().hierarchy.levels.back() ? "dense" : "csr");
    EXPECT_GT(level.bytes, 0U);
    all -= level.bytes;
  }
  EXPECT_EQ(all, 0U);
  // A hierarchy that ends without an inverse is shared out to its end.
  const DistributedAmg<double> smoother(matrix, a.view(), {.max_levels = 1}, {.least_rows = 50});
  EXPECT_EQ(smoother.info().shared_levels, 1);
  const Values b = random_values<double>(3300, 3);
  Values x(3300);
  EXPECT_TRUE(cg<double>(matrix, smoother, b, x).converged());
}

TEST(AmgOnSeveralDevices, BicgstabSolvesAsOneDevice) {
  const Csr<double> a = convection_diffusion<double>(45, 40, 1, {.x = 0.3, .y = -0.2});
  const Values b = random_values<double>(static_cast<std::size_t>(a.rows()), 5);
  const SolverOptions solver{.relative_tolerance = 1e-10};
  const AmgOptions options{.coarsest_rows = 20};
  Values of_one(b.size());
  const SolveReport one = bicgstab<double>(SpmvPlan<double>(Csr<double>::copy_of(a.view())),
                                           Amg<double>(a.view(), options), b, of_one, solver);
  for (const int ranks : {2, 3}) {
    const DistributedMatrix<double> matrix(hosts(ranks), a.view());
    const DistributedAmg<double> M(matrix, a.view(), options, {.least_rows = 100});
    EXPECT_FALSE(M.info().is_symmetric);
    Values x(b.size());
    const SolveReport report = bicgstab<double>(matrix, M, b, x, solver);
    EXPECT_TRUE(report.converged()) << report.reason;
    expect_honest(report, a.view(), b, x);
    EXPECT_NEAR(static_cast<double>(report.iterations), static_cast<double>(one.iterations), 2.0);
    EXPECT_LE(largest_difference(of_one, x), 1e-6);
  }
}

TEST(AmgOnSeveralDevices, SolvesInSinglePrecision) {
  const Csr<float> a = poisson2d<float>(40, 33);
  const std::vector<float> b = random_values<float>(static_cast<std::size_t>(a.rows()), 5);
  const DistributedMatrix<float> matrix(hosts(2), a.view());
  const DistributedAmg<float> M(matrix, a.view(), {.coarsest_rows = 20}, {.least_rows = 100});
  const SolverOptions solver{.relative_tolerance = 1e-5};
  for (const bool by_cg : {true, false}) {
    std::vector<float> x(b.size());
    const SolveReport report = by_cg ? cg<float>(matrix, M, b, x, solver) : bicgstab<float>(matrix, M, b, x, solver);
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_LE(report.iterations, 20);
    expect_honest(report, a.view(), b, x);
  }
}

template <class Failure, class Function>
void expect_refusal(const std::string& words, const Function& function) {
  try {
    function();
    FAIL() << "not refused: " << words;
  } catch (const Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find(words), std::string::npos) << failure.what();
  }
}

TEST(AmgOnSeveralDevices, RefusesAsOneDevice) {
  const Csr<double> a = poisson2d<double>(20, 15);
  const DistributedMatrix<double> matrix(hosts(2), a.view());
  const auto make = [&](const Csr<double>& of, const AmgOptions& options = {}, index_t least_rows = 10) {
    const DistributedAmg<double> M(matrix, of.view(), options, {.least_rows = least_rows});
  };
  Values values(a.values().begin(), a.values().end());
  const offset_t diagonal =
      std::find(a.columns().begin() + a.row_offsets()[250], a.columns().begin() + a.row_offsets()[251], 250) -
      a.columns().begin();
  values[static_cast<std::size_t>(diagonal)] = 0.0;
  const Csr<double> zero = a.with_values(Array<double>::copy_of(values));
  expect_refusal<InvalidMatrix>("row 251", [&] { make(zero); });
  for (const AmgCycle cycle : {AmgCycle::w, AmgCycle::k}) {
    AmgOptions options;
    options.cycle = cycle;
    expect_refusal<NotSupported>("the cycle " + std::string(to_string(cycle)), [&] { make(a, options); });
  }
  expect_refusal<InvalidArgument>("AmgOptions::sweeps", [&] { make(a, {.sweeps = 0}); });
  expect_refusal<InvalidArgument>("least_rows must be at least 1, got 0", [&] { make(a, {}, 0); });
  expect_refusal<DimensionError>("300 x 300", [&] { make(poisson2d<double>(20, 14)); });
  // Values beyond float, in the cycle of all ranks.
  Values huge(a.values().begin(), a.values().end());
  for (double& value : huge) value *= 1e-60;
  expect_refusal<InvalidMatrix>("NaN or infinity", [&] { make(a.with_values(Array<double>::copy_of(huge))); });
}

TEST(AmgOnSeveralDevices, RefusesAnotherGroupPartitionOrSize) {
  const Csr<double> a = poisson2d<double>(20, 15);
  const DeviceGroup group = hosts(2);
  const DistributedMatrix<double> matrix(group, a.view());
  const DistributedAmg<double> M(matrix, a.view());
  const Values b(300, 1.0);
  Values x(300);
  const DistributedMatrix<double> other_group(hosts(2), a.view());
  EXPECT_THROW(static_cast<void>(cg<double>(other_group, M, b, x)), InvalidArgument);
  const DistributedMatrix<double> other_partition(group, a.view(), uneven(300, 2));
  EXPECT_THROW(static_cast<void>(cg<double>(other_partition, M, b, x)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(bicgstab<double>(matrix, M, Values(299), x)), DimensionError);
  EXPECT_THROW(M.apply(b, std::span(x).first(299)), DimensionError);
  EXPECT_TRUE(cg<double>(matrix, M, b, x).converged());
}

/// A rank that gives up in the middle of a cycle ends it on all.
TEST(AmgOnSeveralDevices, ARankThatFailsEndsTheCycle) {
  CycleCase task = aggregated(9, 7, {3});
  const auto hierarchy = shared_out(make_hierarchy<double>(task), 1, 3);
  const DeviceGroup group = hosts(3);
  std::vector<std::vector<detail::LevelColumns>> all(2, std::vector<detail::LevelColumns>(3));
  const auto work = [&](int rank) {
    const Device device = group.impl()->rank(rank, hierarchy.partitions[0].first_row(rank), 63);
    auto shares = detail::shares_of(hierarchy, rank, *group.impl()->communicator, all, Device::host(1));
    const auto cycle = host::make_distributed_cycle(hierarchy, std::move(shares), task.options, device);
    if (rank == 1) throw OutOfMemory(1, 0, "cuda:1");
    const auto rows = static_cast<std::size_t>(hierarchy.partitions[0].rows_of(rank));
    const Values r(rows, 1.0);
    Values z(rows);
    cycle->apply(r, z);
  };
  EXPECT_THROW(group.impl()->run(work), OutOfMemory);
}

}  // namespace
}  // namespace tessera::testing
