/// AMG on several GPUs: its cycle against dense textbook formulas, whole solves against those of hosts. An emulated GPU
/// serves as several ranks, since all send before any waits, as long as no loop sums over them by kernels.
#include "tessera/amg_several_devices.hpp"
#include "tests/solvers/amg_cycle_oracle.hpp"
#include "tests/solvers/amg_ranks.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera::testing {
namespace {

using Values = std::vector<double>;

class SeveralGpusAmg : public CudaTest {
 protected:
  [[nodiscard]] static DeviceGroup group(bool peer_access, int ranks = 2) {
    const bool has_second = !gpu_is_emulated && survey_cuda().devices.size() > 1;
    std::vector<Device> devices;
    for (int rank = 0; rank < ranks; ++rank) devices.push_back(Device::cuda(has_second ? rank % 2 : 0));
    return DeviceGroup(devices, {.patience_seconds = 10.0, .peer_access = peer_access});
  }
};

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
