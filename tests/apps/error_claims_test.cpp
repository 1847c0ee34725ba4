/// Claims beside solutions of systems drawn by seeds that were not used to choose a threshold, and of scaled ones.
#include "compare/claim_runs.hpp"

#include "tessera/iterative_solver.hpp"
#include "tessera/ladder.hpp"
#include "tessera/report.hpp"
#include "tessera/spmv.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
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

/// Guesses that leave nothing to do, hide all but one mode, and drown b in rounding.
std::vector<std::vector<double>> first_guesses(const KnownSystem& system) {
  std::vector<std::vector<double>> guesses(3, system.exact);
  for (std::size_t i = 0; i < system.exact.size(); ++i) {
    const double sign = i % 3 == 0 ? -1.0 : 1.0;
    guesses[1][i] += 1e-3 * sign;
    guesses[2][i] = 1e9 * sign;
  }
  return guesses;
}

TEST(ErrorClaims, FirstGuessesHideNoError) {
  std::size_t solved = 0;
  const auto check = [&](const std::vector<KnownSystem>& systems) {
    for (const KnownSystem& system : systems) {
      const std::vector<std::vector<double>> guesses = first_guesses(system);
      for (std::size_t i = 0; i < guesses.size(); ++i) {
        for (const ClaimOutcome& outcome : solve_every_way(system, guesses[i])) {
          ++solved;
          EXPECT_FALSE(outcome.is_silent())
              << outcome.way << ", " << outcome.system << ", guess " << i << ": " << outcome.claim << " by "
              << outcome.source << " " << outcome.claimed << ", error " << outcome.error;
        }
      }
    }
  };
  check(hard_systems(1, first_seed));
  check(ordinary_systems(1, first_seed));
  EXPECT_GE(solved, 150U);
}

/// ‖b - A x‖₂ in long double, and what rounding leaves of it in double.
struct LongDoubleResidual {
  double norm = 0.0;
  double rounding = 0.0;
};
LongDoubleResidual residual_of(const KnownSystem& system, const std::vector<double>& x) {
  const CsrView<double> A = system.matrix.view();
  long double squares = 0.0L;
  long double sizes = 0.0L;
  for (index_t row = 0; row < A.rows; ++row) {
    auto r = static_cast<long double>(system.b[static_cast<std::size_t>(row)]);
    long double size = std::abs(r);
    const offset_t end = A.row_offsets[static_cast<std::size_t>(row) + 1];
    for (offset_t k = A.row_offsets[static_cast<std::size_t>(row)]; k < end; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const long double term =
          static_cast<long double>(A.values[at]) * static_cast<long double>(x[static_cast<std::size_t>(A.columns[at])]);
      r -= term;
      size += std::abs(term);
    }
    squares += r * r;
    sizes += size * size;
  }
  constexpr double roundings = 64.0 * 2.22e-16;
  return {static_cast<double>(std::sqrt(squares)), roundings * static_cast<double>(std::sqrt(sizes))};
}

/// Every status that a limit, a guess or the matrix brings about tells the residual of the x it returns, and
/// `converged` is said exactly where this one meets the target.
TEST(Statuses, TellTheResidualOfTheirXFromAnyFirstGuess) {
  std::set<Status> seen;
  for (const SystemClass kind : {SystemClass::singular, SystemClass::penalty, SystemClass::nonnormal,
                                 SystemClass::diffusion, SystemClass::convection, SystemClass::indefinite}) {
    const KnownSystem system = known_system(kind, first_seed);
    const SpmvPlan<double> A(Csr<double>::copy_of(system.matrix.view()));
    for (const std::vector<double>& guess : first_guesses(system)) {
      for (const MethodInfo& method : iterative_methods()) {
        for (int limit = 0; limit < 5; ++limit) {
          SolverOptions options;
          options.max_iterations = limit == 0 ? 7 : 400;
          options.stagnation_window = limit == 1 ? 20 : 0;
          options.divergence_tolerance = limit == 2 ? 10.0 : 1e5;
          if (limit == 3) options.time_limit_seconds = 0.0;
          if (limit == 4) {
            options.observer = [](const IterationInfo& info) {
              return info.iteration < 3 ? Control::proceed : Control::stop;
            };
          }
          std::vector<double> x = guess;
          const SolveReport report = IterativeSolver<double>(method.method, A, options).solve(system.b, x);
          seen.insert(report.status);
          const LongDoubleResidual found = residual_of(system, x);
          if (!std::isfinite(found.norm)) {
            EXPECT_FALSE(report.converged());
            continue;
          }
          const auto where = fmt::format("{} of {}, limit {}: {}", method.name, system.name, limit, report.reason);
          EXPECT_NEAR(report.true_residual, found.norm, found.rounding + 1e-12 * found.norm) << where;
          EXPECT_EQ(report.converged(), report.true_residual <= report.target) << where;
          EXPECT_LE(found.norm, residual_of(system, guess).norm * (1.0 + 1e-12) + found.rounding) << where;
        }
      }
    }
  }
  for (const Status status : {Status::converged, Status::max_iterations, Status::time_limit, Status::breakdown,
                              Status::diverged, Status::stagnated, Status::interrupted}) {
    EXPECT_EQ(seen.count(status), 1U) << to_string(status);
  }
}

}  // namespace
}  // namespace tessera::compare
