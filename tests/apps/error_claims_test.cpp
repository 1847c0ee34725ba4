/// Claims beside solutions of systems drawn by seeds that were not used to choose a threshold, and of scaled ones.
#include "compare/claim_runs.hpp"

#include "tessera/ladder.hpp"
#include "tessera/spmv.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace tessera::compare {
namespace {

constexpr std::uint64_t first_seed = 5001;

TEST(ErrorClaims, NoErrorOfHardSystemsGoesUnsaid) {
  std::size_t warned = 0;
  std::size_t solved = 0;
  for (const KnownSystem& system : hard_systems(4, first_seed)) {
    for (const ClaimOutcome& outcome : solve_every_way(system)) {
      ++solved;
      if (outcome.warned) ++warned;
      EXPECT_FALSE(outcome.is_silent()) << outcome.way << ", " << outcome.system << ": " << outcome.claim << " by "
                                        << outcome.source << " " << outcome.claimed << ", error " << outcome.error;
    }
  }
  EXPECT_GE(solved, 150U);
  EXPECT_GE(warned, solved / 4) << "hard systems are hard";
}

TEST(ErrorClaims, OrdinarySystemsAreClaimedClosely) {
  std::vector<double> ratios;
  for (const KnownSystem& system : ordinary_systems(3, first_seed)) {
    for (const ClaimOutcome& outcome : solve_every_way(system)) {
      EXPECT_FALSE(outcome.is_silent()) << outcome.way << ", " << outcome.system;
      EXPECT_FALSE(outcome.is_needless()) << outcome.way << ", " << outcome.system;
      if (!outcome.warned) ratios.push_back(outcome.claimed / std::max(outcome.error, 1e-15));
    }
  }
  ASSERT_GE(ratios.size(), 100U);
  std::sort(ratios.begin(), ratios.end());
  EXPECT_LE(ratios[ratios.size() / 2], 30.0);
  EXPECT_LE(ratios.back(), 1e4);
}

/// b and x of 2^-600 and 2^600: statuses, claims and residuals are those of the plain system, in its units.
TEST(ErrorClaims, ScaleDoesNotMatter) {
  for (const SystemClass kind :
       {SystemClass::singular, SystemClass::scaled, SystemClass::diffusion, SystemClass::shift}) {
    const KnownSystem system = known_system(kind, first_seed);
    const SpmvPlan<double> A(Csr<double>::copy_of(system.matrix.view()));
    const MatrixStatistics facts = statistics(system.matrix.view());
    for (const ErrorGate gate : {ErrorGate::off, ErrorGate::warn, ErrorGate::repair}) {
      std::vector<LadderReport> reports;
      for (const int exponent : {0, -600, 600}) {
        std::vector<double> b = system.b;
        for (double& value : b) value = std::ldexp(value, exponent);
        std::vector<double> x(b.size(), 0.0);
        reports.push_back(solve<double>(A, facts, b, x, {.solver = {}, .gate = gate}));
        const LadderReport& plain = reports.front();
        const LadderReport& found = reports.back();
        EXPECT_EQ(found.report.status, plain.report.status) << system.name << " " << exponent;
        EXPECT_EQ(found.report.true_residual, std::ldexp(plain.report.true_residual, exponent)) << system.name;
        EXPECT_GT(found.report.true_residual, 0.0);
        ASSERT_EQ(found.rungs.size(), plain.rungs.size());
        const auto& error = found.rungs[found.rung].error;
        const auto& same = plain.rungs[plain.rung].error;
        ASSERT_EQ(error.has_value(), same.has_value());
        if (!error) continue;
        EXPECT_EQ(error->claim, same->claim) << system.name;
        EXPECT_NEAR(error->relative_error, same->relative_error, 1e-6 * same->relative_error) << system.name;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::compare
