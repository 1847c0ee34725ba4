/// BiCGSTAB on several devices, with hosts for devices, against one device.
#include "tessera/several_devices.hpp"
#include "tests/solvers/systems.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {
namespace {

using Vector = std::vector<double>;

struct Solution {
  SolveReport report;
  Vector x;
};

constexpr auto identity = GroupPreconditioner::identity;
constexpr auto jacobi = GroupPreconditioner::jacobi;

Solution solve_on(int ranks, const Csr<double>& a, const Vector& b, GroupPreconditioner precond,
                  const SolverOptions& options = {}) {
  const DeviceGroup hosts(std::vector<Device>(static_cast<std::size_t>(ranks), Device::host(1)));
  const DistributedMatrix<double> matrix(hosts, a.view());
  Solution result{.report = {}, .x = Vector(b.size())};
  result.report = bicgstab<double>(matrix, precond, b, result.x, options);
  return result;
}

Solution solve_on_one(const Csr<double>& a, const Vector& b, GroupPreconditioner precond,
                      const SolverOptions& options = {}) {
  const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()));
  Solution result{.report = {}, .x = Vector(b.size())};
  result.report = precond == identity
                      ? bicgstab<double>(plan, b, result.x, options)
                      : bicgstab<double>(plan, JacobiPreconditioner<double>(a.view()), b, result.x, options);
  return result;
}

/// max |x - y| / max |y|
double distance(const Vector& x, const Vector& y) {
  double largest = 0.0;
  double difference = 0.0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    largest = std::max(largest, std::abs(y[i]));
    difference = std::max(difference, std::abs(x[i] - y[i]));
  }
  return difference / largest;
}

std::vector<std::pair<std::string, Csr<double>>> general_matrices() {
  std::vector<std::pair<std::string, Csr<double>>> result;
  result.emplace_back("convection 2d", convection_diffusion<double>(25, 20, 1, {.x = 3.0, .y = -1.0}));
  result.emplace_back("convection 3d", convection_diffusion<double>(9, 10, 8, {.x = 0.5, .y = 2.0, .z = -4.0}));
  result.emplace_back("one-sided", tridiagonal<double>(300, 0.0, 2.0, -1.0));
  return result;
}

TEST(BicgstabOnSeveralDevices, SolvesAsOneDevice) {
  for (const auto& [name, a] : general_matrices()) {
    const Vector b = random_values<double>(static_cast<std::size_t>(a.rows()), 17);
    for (const auto precond : {identity, jacobi}) {
      const SolverOptions options{.relative_tolerance = 1e-11};
      const Solution one = solve_on_one(a, b, precond, options);
      for (const int ranks : {1, 2, 4}) {
        SCOPED_TRACE(name + ", " + std::to_string(ranks) + " ranks");
        const Solution several = solve_on(ranks, a, b, precond, options);
        EXPECT_EQ(several.report.status, Status::converged) << several.report.reason;
        expect_honest(several.report, a.view(), b, several.x);
        // Rounding changes the path of BiCGSTAB, a little.
        EXPECT_NEAR(static_cast<double>(several.report.iterations), static_cast<double>(one.report.iterations),
                    3.0 + 0.1 * static_cast<double>(one.report.iterations));
        EXPECT_EQ(several.report.preconditioner_count > 0, precond == jacobi);
        EXPECT_LE(distance(several.x, one.x), 1e-8);
        // The sums of one rank are those of one device.
        if (ranks == 1) {
          EXPECT_EQ(several.x, one.x);
        }
      }
    }
  }
}

/// Some iterations in, all scalars are those of one device within rounding, those of a random r̂ too.
TEST(BicgstabOnSeveralDevices, HasTheScalarsOfOneDevice) {
  const Csr<double> a = convection_diffusion<double>(23, 19, 1, {.x = 1.0, .y = 2.0});
  const Vector b = random_values<double>(static_cast<std::size_t>(a.rows()), 4);
  for (const Shadow shadow : {Shadow::r0, Shadow::random}) {
    const SolverOptions options{.max_iterations = 4, .shadow = shadow};
    const Solution one = solve_on_one(a, b, jacobi, options);
    const Solution several = solve_on(3, a, b, jacobi, options);
    ASSERT_EQ(several.report.iterations, 4);
    EXPECT_LE(distance(several.x, one.x), 1e-12);
    EXPECT_NEAR(several.report.recurrence_residual, one.report.recurrence_residual,
                1e-11 * one.report.recurrence_residual);
  }
}

TEST(BicgstabOnSeveralDevices, GivesTheSameBitsFromRunToRun) {
  const Csr<double> a = convection_diffusion<double>(40, 37, 1, {.x = 2.0});
  const Vector b = random_values<double>(static_cast<std::size_t>(a.rows()), 1);
  const Solution first = solve_on(3, a, b, jacobi);
  for (int run = 0; run < 5; ++run) {
    const Solution again = solve_on(3, a, b, jacobi);
    EXPECT_EQ(again.x, first.x);
    EXPECT_EQ(again.report.reason, first.report.reason);
  }
}

/// <r, A r> = 0 for a skew-symmetric A: breakdowns in α and ω, restarts with a random r̂, the same on all ranks.
TEST(BicgstabOnSeveralDevices, BreaksDownAndRestartsAsOneDevice) {
  const Csr<double> a = from_dense<double>({{0, 2, 0, 1}, {-2, 0, 3, 0}, {0, -3, 0, 1}, {-1, 0, -1, 0}}, 4);
  const Vector b{3, 1, -2, -2};
  const Solution one = solve_on_one(a, b, identity);
  for (const int ranks : {2, 4}) {
    const Solution several = solve_on(ranks, a, b, identity);
    EXPECT_TRUE(several.report.converged()) << several.report.reason;
    expect_honest(several.report, a.view(), b, several.x);
    EXPECT_GE(several.report.restarts, 1);
    ASSERT_FALSE(several.report.breakdowns.empty());
    EXPECT_EQ(several.report.breakdowns.front().kind, one.report.breakdowns.front().kind);
    EXPECT_EQ(several.report.breakdowns.front().iteration, one.report.breakdowns.front().iteration);
    for (const double value : several.x) EXPECT_NEAR(value, 1.0, 1e-6);
  }
  const Solution first = solve_on(2, a, b, identity, {.breakdown_restarts = 0});
  EXPECT_EQ(first.report.status, Status::breakdown);
  EXPECT_EQ(first.report.breakdown, Breakdown::alpha);
}

TEST(BicgstabOnSeveralDevices, EndsAsOneDeviceDoes) {
  const Csr<double> a = convection_diffusion<double>(12, 12, 1, {.x = 1.0});
  const Vector b = random_values<double>(144, 2);

  const Solution limited = solve_on(2, a, b, identity, {.max_iterations = 3});
  EXPECT_EQ(limited.report.status, Status::max_iterations);
  EXPECT_EQ(limited.report.iterations, 3);
  EXPECT_EQ(solve_on(3, a, b, identity, {.time_limit_seconds = 0.0}).report.status, Status::time_limit);

  SolverOptions watched{.keep_history = true};
  watched.observer = [](const IterationInfo& info) { return info.iteration == 4 ? Control::stop : Control::proceed; };
  const Solution stopped = solve_on(3, a, b, identity, watched);
  EXPECT_EQ(stopped.report.status, Status::interrupted);
  EXPECT_EQ(stopped.report.iterations, 4);
  EXPECT_EQ(stopped.report.history.size(), 5U);

  // s vanishes after half an iteration.
  const Csr<double> diagonal = tridiagonal<double>(60, 0.0, 2.0, 0.0);
  const Vector right = random_values<double>(60, 1);
  const Solution half = solve_on(2, diagonal, right, identity);
  EXPECT_TRUE(half.report.converged()) << half.report.reason;
  EXPECT_EQ(half.report.iterations, 1);
  expect_honest(half.report, diagonal.view(), right, half.x);

  Vector bad = b;
  bad[100] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(solve_on(2, a, bad, identity).report.reason, "b[100] is nan");

  const DistributedMatrix<double> matrix(DeviceGroup({Device::host(1), Device::host(1)}), a.view());
  Vector x(144);
  SolverOptions left;
  left.side = PreconditionerSide::left;
  EXPECT_THROW(static_cast<void>(bicgstab<double>(matrix, jacobi, b, x, left)), InvalidArgument);
}

/// In float, with residuals that are summed in double, as a plan of one device sums them.
TEST(SinglePrecisionOnSeveralDevices, SolvesAsOneDevice) {
  const Csr<float> a = poisson3d<float>(9, 8, 7);
  const std::vector<float> b = random_values<float>(static_cast<std::size_t>(a.rows()), 17);
  const SpmvPlan<float> plan(Csr<float>::copy_of(a.view()));
  const SolverOptions options{.relative_tolerance = 1e-5};
  for (const int ranks : {1, 2, 3}) {
    const DeviceGroup hosts(std::vector<Device>(static_cast<std::size_t>(ranks), Device::host(1)));
    const DistributedMatrix<float> matrix(hosts, a.view());
    for (const bool by_cg : {true, false}) {
      std::vector<float> x(b.size());
      std::vector<float> wanted(b.size());
      const SolveReport one = by_cg ? cg<float>(plan, b, wanted, options) : bicgstab<float>(plan, b, wanted, options);
      const SolveReport report =
          by_cg ? cg<float>(matrix, identity, b, x, options) : bicgstab<float>(matrix, identity, b, x, options);
      EXPECT_EQ(report.status, Status::converged) << report.reason;
      expect_honest(report, a.view(), b, x);
      EXPECT_NEAR(static_cast<double>(report.iterations), static_cast<double>(one.iterations), 2.0);
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], wanted[i], 1e-3F) << i;
    }
  }
}

/// Where products in float could not tell: the residual of x0 = the solution, rounded.
TEST(SinglePrecisionOnSeveralDevices, SumsResidualsInDouble) {
  const Csr<float> a = poisson2d<float>(20, 20);
  const std::vector<float> b = random_values<float>(400, 3);
  const SpmvPlan<float> plan(Csr<float>::copy_of(a.view()));
  const DistributedMatrix<float> matrix(DeviceGroup({Device::host(1), Device::host(1)}), a.view());
  std::vector<float> x(400);
  ASSERT_TRUE(cg<float>(plan, b, x, {.relative_tolerance = 1e-6}).converged());
  std::vector<float> again = x;
  const SolveReport report = cg<float>(matrix, identity, b, again, {.max_iterations = 0});
  expect_honest(report, a.view(), b, again);
}

}  // namespace
}  // namespace tessera::testing
