/// The recurrence's residual drifts from b - A x; a solver that trusts it reports success above its own tolerance.
#include "tests/solvers/systems.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace tessera::testing {
namespace {

/// The reported residual is b - A x as in long double; converged only if it is small.
template <class T>
void expect_verified(const System<T>& system, const SolveReport& report) {
  system.expect_honest(report);
  const ResidualOracle oracle = residual_oracle(system.plan.matrix(), system.b, system.x);
  EXPECT_TRUE(!report.converged() || oracle.norm <= report.target + oracle.bound) << report.reason;
}

TEST(TrueResidual, UnattainableToleranceStagnates) {
  for (const double tolerance : {1e-15, 1e-17, 0.0}) {
    SCOPED_TRACE(tolerance);
    System<double> spd(anisotropic2d<double>(40, 40, 1e-4));
    const SolveReport cg = spd.cg({.relative_tolerance = tolerance, .max_iterations = 100000});
    EXPECT_EQ(cg.status, Status::stagnated) << cg.reason;
    EXPECT_NE(cg.reason.find("attainable accuracy"), std::string::npos) << cg.reason;
    EXPECT_LT(cg.true_residual, 1e-12 * cg.b_norm) << "as accurate as the type allows";
    expect_verified(spd, cg);

    System<double> general(convection_diffusion<double>(20, 20, 1, {.x = 2.0}));
    const SolveReport bicgstab = general.bicgstab({.relative_tolerance = tolerance, .max_iterations = 100000});
    EXPECT_NE(bicgstab.status, Status::max_iterations) << bicgstab.reason;
    EXPECT_LT(bicgstab.true_residual, 1e-12 * bicgstab.b_norm);
    expect_verified(general, bicgstab);
  }
}

/// Default tolerance, single precision: 1e-8 is out of reach, and said to be.
TEST(TrueResidual, SinglePrecisionDoesNotClaimDoublePrecision) {
  System<float> system(poisson2d<float>(50, 50));
  const SolveReport cg = system.cg();
  EXPECT_EQ(cg.status, Status::stagnated) << cg.reason;
  EXPECT_LT(cg.true_residual, 1e-5 * cg.b_norm);
  expect_verified(system, cg);
  System<float> general(convection_diffusion<float>(20, 20, 1, {.x = 2.0}));
  const SolveReport bicgstab = general.bicgstab();
  EXPECT_LT(bicgstab.true_residual, 1e-5 * bicgstab.b_norm);
  expect_verified(general, bicgstab);
}

/// A residual summed in single precision can vanish although the residual of the same x does not: converged must hold
/// for sums in double.
TEST(TrueResidual, SinglePrecisionIsJudgedInDouble) {
  int converged = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const std::vector<float> entries = random_values<float>(4, 2 * seed);
    System<float> system(diagonal_matrix<float>({1.0F + entries[0] * entries[0], 2.0F + entries[1]}));
    system.b = {entries[2], entries[3]};
    const SolveReport report = seed % 2 == 0 ? system.cg() : system.bicgstab();
    expect_verified(system, report);
    converged += report.converged() ? 1 : 0;
  }
  EXPECT_LT(converged, 400) << "1e-8 is below the spacing of float: most systems have no such x";
}

/// A guess of size 1e12 is cancelled during the solve: the recurrence does not see rounding errors of that size.
TEST(TrueResidual, HugeFirstIterateLeavesItsRoundingErrors) {
  for (const double guess : {1e6, 1e10}) {
    System<double> spd(poisson2d<double>(20, 20));
    spd.x = random_values<double>(spd.size(), 1);
    for (double& value : spd.x) value *= guess;
    const SolveReport cg = spd.cg({.relative_tolerance = 1e-12});
    EXPECT_TRUE(cg.converged()) << cg.reason;
    EXPECT_GT(cg.replacements, 0);
    expect_verified(spd, cg);

    System<double> general(convection_diffusion<double>(20, 20, 1, {.x = 2.0}));
    general.x = random_values<double>(general.size(), 1);
    for (double& value : general.x) value *= guess;
    const SolveReport bicgstab = general.bicgstab({.relative_tolerance = 1e-12});
    EXPECT_TRUE(bicgstab.converged()) << bicgstab.reason;
    EXPECT_GT(bicgstab.replacements + bicgstab.restarts, 0);
    expect_verified(general, bicgstab);
  }
}

TEST(TrueResidual, PeriodicReplacementIsCountedAndConverges) {
  System<double> system(poisson2d<double>(30, 30));
  const SolveReport plain = system.cg();
  System<double> replaced(poisson2d<double>(30, 30));
  const SolveReport report = replaced.cg({.replacement_interval = 10});
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_EQ(report.replacements, (report.iterations - 1) / 10);
  EXPECT_LE(report.iterations, plain.iterations + 2) << "search directions are kept";
  EXPECT_EQ(report.spmv_count, 1 + report.iterations + report.replacements + 1);
  expect_verified(replaced, report);
}

/// Past convergence r underflows; 0/0 must not reach x.
TEST(TrueResidual, IteratingPastConvergenceIsHarmless) {
  System<double> spd(diagonal_matrix<double>({1.0, 2.0, 3.0, 4.0}));
  const SolveReport cg = spd.cg({.relative_tolerance = 0.0});
  expect_verified(spd, cg);
  for (const double value : spd.x) EXPECT_NEAR(value, 1.0, 1e-14);
  System<double> general(tridiagonal<double>(50, -1.0, 3.0, -1.5));
  const SolveReport bicgstab = general.bicgstab({.relative_tolerance = 0.0, .replacement_interval = 3});
  expect_verified(general, bicgstab);
  for (const double value : general.x) EXPECT_NEAR(value, 1.0, 1e-13);
}

/// Condition number 1e14: the residual may be small while x is not accurate, but what is reported is the residual.
TEST(TrueResidual, IllConditionedSystem) {
  std::vector<double> entries(200);
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = std::pow(10.0, -14.0 * static_cast<double>(i) / 199.0);
  System<double> system(diagonal_matrix(entries));
  expect_verified(system, system.cg({.relative_tolerance = 1e-10, .max_iterations = 3000}));
  system.x.assign(200, 0.0);
  expect_verified(system, system.bicgstab({.relative_tolerance = 1e-10, .max_iterations = 3000}));
}

}  // namespace
}  // namespace tessera::testing
