// Solves that try the claims beside a solution.
#include "compare/claim_runs.hpp"

#include "core/stopwatch.hpp"
#include "support/error_gate.hpp"
#include "support/precond.hpp"
#include "support/system.hpp"

#include "tessera/error.hpp"
#include "tessera/ladder.hpp"
#include "tessera/spmv.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace tessera::compare {

namespace {

using support::Method;

constexpr double floor_of_claims = 1e-15;

struct SolverCombination {
  std::string name;
  Method method = Method::automatic;
  support::PrecondRequest precond;
};

[[nodiscard]] std::vector<SolverCombination> ways_of(const KnownSystem& system) {
  std::vector<SolverCombination> ways{{"auto", Method::automatic, {}}};
  const auto add = [&](std::string name, Method method, support::Precond precond, FactorKind kind = FactorKind::ilu0) {
    support::PrecondRequest request;
    request.precond = precond;
    request.factors.kind = kind;
    ways.push_back({std::move(name), method, request});
  };
  using support::Precond;
  if (system.definite) {
    add("cg none", Method::cg, Precond::none);
    add("cg jacobi", Method::cg, Precond::jacobi);
    add("cg ic0", Method::cg, Precond::factors, FactorKind::ic0);
    add("cg amg", Method::cg, Precond::amg);
  }
  if (system.symmetric) add("minres none", Method::minres, Precond::none);
  add("bicgstab none", Method::bicgstab, Precond::none);
  add("bicgstab jacobi", Method::bicgstab, Precond::jacobi);
  add("bicgstab ilu0", Method::bicgstab, Precond::factors, FactorKind::ilu0);
  add("gmres none", Method::gmres, Precond::none);
  add("gmres ilutp", Method::gmres, Precond::factors, FactorKind::ilutp);
  add("idr jacobi", Method::idr, Precond::jacobi);
  add("direct", Method::direct, Precond::direct);
  return ways;
}

[[nodiscard]] double error_of(const std::vector<double>& x, const KnownSystem& system) {
  double error = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    error = std::max(error, std::abs(x[i] - system.exact[i]));
    size = std::max(size, std::abs(x[i]));
  }
  return error / size;
}

/// Nothing where the solve does not end as converged.
[[nodiscard]] std::optional<ClaimOutcome> run(const KnownSystem& system, const SolverCombination& way,
                                              std::span<const double> first_guess) {
  constexpr double large = 1e-3;
  const SpmvPlan<double> A(Csr<double>::copy_of(system.matrix.view()),
                           {.algorithm = SpmvAlgorithm::csr, .device = Device{}});
  const MatrixStatistics facts = statistics(system.matrix.view());
  std::vector<double> x(system.exact.size(), 0.0);
  std::copy(first_guess.begin(), first_guess.end(), x.begin());
  SolverOptions options;
  options.max_iterations = 3000;
  options.time_limit_seconds = 10.0;
  const Stopwatch watch;
  ClaimOutcome outcome;
  outcome.system = system.name;
  outcome.way = way.name;
  std::optional<ErrorEstimate> estimate;
  try {
    if (way.method == Method::automatic) {
      LadderOptions ladder;
      ladder.solver = options;
      const LadderReport report = solve<double>(A, facts, system.b, x, ladder);
      if (!report.report.converged() || report.rungs.empty()) return std::nullopt;
      estimate = report.rungs[report.rung].error;
      outcome.backward = report.backward.componentwise;
      outcome.solve_ms = watch.milliseconds();
    } else {
      const auto M = support::prepare_precond<double>(way.precond, {facts, A.matrix(), Device{}, system.name, &A});
      SolveReport report = support::solve_from_host<double>(way.method, {A, *M.inverse}, system.b, x, options);
      if (!report.converged()) return std::nullopt;
      outcome.solve_ms = watch.milliseconds();
      const support::Accuracy accuracy = support::assess_accuracy<double>(
          {{A, *M.inverse}, A.matrix(), facts, way.method, system.b, x, options}, ErrorGate::warn, report);
      estimate = accuracy.estimate;
      outcome.backward = accuracy.backward.componentwise;
    }
  } catch (const Error&) {
    return std::nullopt;
  }
  outcome.error = error_of(x, system);
  if (!estimate) return std::nullopt;
  outcome.claim = to_string(estimate->claim);
  outcome.source = to_string(estimate->source);
  outcome.claimed = estimate->relative_error;
  outcome.gate_ms = estimate->ms;
  if (way.method == Method::automatic) outcome.solve_ms -= estimate->ms;
  outcome.warned = !estimate->is_known() || estimate->relative_error > large;
  return outcome;
}

}  // namespace

bool ClaimOutcome::is_silent() const {
  constexpr double allowance = 10.0;
  return !warned && error > allowance * std::max(claimed, floor_of_claims);
}

bool ClaimOutcome::is_needless() const {
  constexpr double good = 1e-6;
  return warned && error <= good;
}

std::vector<ClaimOutcome> solve_every_way(const KnownSystem& system, std::span<const double> first_guess) {
  std::vector<ClaimOutcome> outcomes;
  for (const SolverCombination& way : ways_of(system)) {
    if (auto outcome = run(system, way, first_guess)) outcomes.push_back(std::move(*outcome));
  }
  return outcomes;
}

}  // namespace tessera::compare
