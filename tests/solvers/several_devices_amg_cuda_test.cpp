/// AMG on several GPUs: its cycle against dense textbook formulas, whole solves against those of hosts.
#include "tessera/amg_several_devices.hpp"

#include "core/row_slice.hpp"
#include "solvers/amg/galerkin_rows.hpp"
#include "solvers/amg/setup.hpp"
#include "solvers/amg/setup_ranks.hpp"
#include "tessera/assemble.hpp"
#include "tests/solvers/amg_cycle_oracle.hpp"
#include "tests/solvers/amg_ranks.hpp"
#include "tests/solvers/gpu_groups.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

using Values = std::vector<double>;

class SeveralGpusAmg : public GpuGroups {};

template <class T, class V>
void check_cycle(const DeviceGroup& group, CycleCase task) {
  SCOPED_TRACE(describe(task));
  task.options.precision = sizeof(V) == sizeof(float) ? AmgPrecision::single : AmgPrecision::full;
  const detail::AmgHierarchy<T> whole = make_hierarchy<T>(task);
  const CycleOracle<T, V> oracle(task, whole);
  const std::vector<T> r = random_values<T>(static_cast<std::size_t>(task.a[0].rows()), 1);
  for (std::size_t levels = 0; levels <= task.a.size(); ++levels) {
    if (!can_share(whole, levels, group.size())) continue;
    SCOPED_TRACE(levels);
    const auto hierarchy = shared_out(make_hierarchy<T>(task), levels, group.size());
    const CycleOnRanks<T> cycle(group, hierarchy, task.options);
    const std::vector<T> z = cycle.image(r);
    expect_cycle<T, V>(oracle, r, z);
    ASSERT_EQ(cycle.image(r, repetitions(50, 3)), z);
  }
}

TEST_F(SeveralGpusAmg, CyclesEqualTheTextbookFormula) {
  for (const bool peer_access : {true, false}) {
    const DeviceGroup two = group(peer_access);
    const DeviceGroup three = group(peer_access, 3);
    std::size_t number = 0;
    for (const CycleCase& task : cycle_cases()) {
      if (task.options.cycle != AmgCycle::v || number++ % (gpu_is_emulated ? 16 : 1) != 0) continue;
      check_cycle<double, float>(three, task);
      check_cycle<double, double>(two, task);
      if (!sparing()) check_cycle<float, float>(two, task);
    }
  }
}

TEST_F(SeveralGpusAmg, NumberColumnsAsTheHostDoes) {
  const Csr<double> grid = poisson2d<double>(7, 9);
  const Csr<double> graph = rmat<double>({.scale = 6});  // a pattern with empty rows
  for (const Csr<double>* const a : {&grid, &graph}) {
    const Csr<double> there = a->to(gpu());
    const Partition partition = uneven(a->rows(), 3);
    for (int rank = 0; rank < 3; ++rank) {
      const index_t first = partition.first_row(rank);
      const index_t last = partition.first_row(rank + 1);
      for (const bool all : {false, true}) {
        detail::LevelColumnFinder of_host(partition, rank, Device{});
        detail::LevelColumnFinder of_gpu(partition, rank, gpu());
        all ? of_host.mark_all() : of_host.mark(a->view(), first, last);
        all ? of_gpu.mark_all() : of_gpu.mark(there.view(), first, last);
        const detail::LevelColumns expected = of_host.number();
        const detail::LevelColumns columns = of_gpu.number();
        EXPECT_EQ(columns.halo, expected.halo);
        EXPECT_EQ(columns.halo_offsets, expected.halo_offsets);
        EXPECT_EQ(columns.lower, expected.lower);
        EXPECT_EQ(columns.rows, expected.rows);
        const Csr<double> rows = of_host.rows(a->view(), first, last, expected.size());
        const Csr<double> rows_there = of_gpu.rows(there.view(), first, last, columns.size()).to(Device{});
        validate(rows_there.view());
        EXPECT_TRUE(std::ranges::equal(rows_there.row_offsets(), rows.row_offsets()));
        EXPECT_TRUE(std::ranges::equal(rows_there.columns(), rows.columns()));
        EXPECT_TRUE(std::ranges::equal(rows_there.values(), rows.values()));
      }
    }
  }
}

TEST_F(SeveralGpusAmg, PartitionCoarseLevelsAsTheHostDoes) {
  std::mt19937 random(7);
  constexpr index_t aggregates = 40;
  // Along the nodes, with neighbours mixed, and some nodes in none.
  std::vector<index_t> of_node;
  for (index_t node = 0; node < 500; ++node) {
    const index_t near = node * aggregates / 500 + static_cast<index_t>(random() % 3) - 1;
    of_node.push_back(random() % 10 == 0 ? -1 : std::clamp(near, index_t{0}, aggregates - 1));
  }
  std::replace(of_node.begin(), of_node.end(), 7, 8);  // aggregate 7 has no rows
  const Array<index_t> here = Array<index_t>::copy_of(of_node);
  const Array<index_t> there = here.to(gpu());
  for (const index_t block : {1, 3}) {
    for (const int parts : {1, 2, 5}) {
      const Partition fine = uneven(500 * block, parts);
      const Partition expected = detail::partition_of_coarse(fine, here, block, aggregates, 2 * aggregates);
      const Partition found = detail::partition_of_coarse(fine, there, block, aggregates, 2 * aggregates);
      for (int part = 0; part <= parts; ++part) EXPECT_EQ(found.first_row(part), expected.first_row(part)) << part;
    }
  }
}

/// The hierarchy does not depend on where the matrix comes from.
TEST_F(SeveralGpusAmg, SetUpFromAMatrixOnAGpu) {
  const Csr<double> a = poisson2d<double>(20, 33);
  const AmgOptions options{.coarsest_rows = 20};
  const DistributedMatrix<double> A(group(false), a.view());
  const DistributedAmg<double> of_host(A, a.view(), options, {.least_rows = 100});
  const DistributedAmg<double> of_gpu(A, a.to(gpu()), options, {.least_rows = 100});
  EXPECT_EQ(of_gpu.info().shared_levels, of_host.info().shared_levels);
  EXPECT_EQ(of_gpu.info().bytes, of_host.info().bytes);
  const Values r = random_values<double>(static_cast<std::size_t>(a.rows()), 3);
  Values expected(r.size());
  of_host.apply(r, expected);
  Values z(r.size());
  of_gpu.apply(r, z);
  EXPECT_EQ(z, expected);
  // Hosts take it, too.
  const DistributedMatrix<double> of_hosts(DeviceGroup({Device::host(1), Device::host(1)}), a.view());
  Values from_gpu(r.size());
  Values from_host(r.size());
  DistributedAmg<double>(of_hosts, a.to(gpu()), options, {.least_rows = 100}).apply(r, from_gpu);
  DistributedAmg<double>(of_hosts, a.view(), options, {.least_rows = 100}).apply(r, from_host);
  EXPECT_EQ(from_gpu, from_host);
}

TEST_F(SeveralGpusAmg, SolveAsTheHostDoes) {
  const index_t side = gpu_is_emulated ? 20 : 300;
  const SolverOptions solver{.relative_tolerance = 1e-10};
  const Csr<double> a = poisson2d<double>(side, 33);
  const Csr<double> skew = convection_diffusion<double>(side, 33, 1, {.x = 0.3, .y = -0.2});
  const AmgOptions options{.coarsest_rows = 20};
  const DistributedAmgOptions sharing{.least_rows = 100};
  const Values b = random_values<double>(static_cast<std::size_t>(a.rows()), 5);
  const DeviceGroup on_hosts({Device::host(1), Device::host(1)});
  for (const Csr<double>* const matrix : {&a, &skew}) {
    const auto solve = [&](const DistributedMatrix<double>& A, const DistributedAmg<double>& M, Values& x) {
      return matrix == &a ? cg<double>(A, M, b, x, solver) : bicgstab<double>(A, M, b, x, solver);
    };
    const DistributedMatrix<double> of_hosts(on_hosts, matrix->view());
    Values wanted(b.size());
    const SolveReport expected =
        solve(of_hosts, DistributedAmg<double>(of_hosts, matrix->view(), options, sharing), wanted);
    for (const bool peer_access : {true, false}) {
      // Loops that sum over ranks by kernels have one rank on an emulated GPU.
      const int ranks = gpu_is_emulated && peer_access ? 1 : 2;
      const DistributedMatrix<double> A(group(peer_access, ranks), matrix->view());
      const DistributedAmg<double> M(A, matrix->view(), options, sharing);
      EXPECT_GE(M.info().shared_levels, 1);
      Values x(b.size());
      const SolveReport report = solve(A, M, x);
      EXPECT_TRUE(report.converged()) << report.reason;
      expect_honest(report, matrix->view(), b, x);
      EXPECT_NEAR(static_cast<double>(report.iterations), static_cast<double>(expected.iterations), 1.0);
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], wanted[i], 1e-6) << i;
      Values again(b.size());
      static_cast<void>(solve(A, M, again));
      EXPECT_EQ(again, x);
    }
  }
}

TEST_F(SeveralGpusAmg, SetUpFailsAsOnOneDevice) {
  const Csr<double> a = tridiagonal<double>(300, -1.0, 0.0, -1.0);
  const DistributedMatrix<double> A(group(false), a.view());
  EXPECT_THROW(DistributedAmg<double>(A, a.view()), InvalidMatrix);
}

}  // namespace
}  // namespace tessera::testing
