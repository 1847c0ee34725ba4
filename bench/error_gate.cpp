/// Claims of the error gate against errors that are known: systems of tests/support/trust_systems.hpp by methods and
/// preconditioners. Per group: solutions, claims below a tenth of the error, medians of claim over error, warnings and
/// needless ones, and what the gate costs of set-up and solve.
#include "bench/report.hpp"

#include "support/error_gate.hpp"
#include "support/precond.hpp"
#include "support/system.hpp"
#include "tests/support/trust_systems.hpp"

#include "tessera/ladder.hpp"
#include "tessera/spmv.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace tessera;
using support::Json;
using support::Method;
using testing::TrustSystem;

struct Way {
  std::string name;
  Method method = Method::automatic;
  support::PrecondRequest precond;
};

[[nodiscard]] std::vector<Way> ways_of(const TrustSystem& system) {
  std::vector<Way> ways{{"auto", Method::automatic, {}}};
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

struct Outcome {
  std::string system;
  std::string way;
  std::string claim;
  std::string source;
  double claimed = 0.0;
  double error = 0.0;
  double backward = 0.0;
  double gate_ms = 0.0;
  double solve_ms = 0.0;
  bool warned = false;
};

[[nodiscard]] double error_of(const std::vector<double>& x, const TrustSystem& system) {
  double error = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    error = std::max(error, std::abs(x[i] - system.exact[i]));
    size = std::max(size, std::abs(x[i]));
  }
  return error / size;
}

/// Nothing where the solve does not end as converged.
[[nodiscard]] std::optional<Outcome> run(const TrustSystem& system, const Way& way) {
  constexpr double large = 1e-3;
  const SpmvPlan<double> A(Csr<double>::copy_of(system.matrix.view()),
                           {.algorithm = SpmvAlgorithm::csr, .device = Device{}});
  const MatrixStatistics facts = statistics(system.matrix.view());
  std::vector<double> x(system.exact.size(), 0.0);
  SolverOptions options;
  options.max_iterations = 3000;
  options.time_limit_seconds = 10.0;
  const Stopwatch watch;
  Outcome outcome;
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

[[nodiscard]] double median(std::vector<double> values) {
  if (values.empty()) return std::nan("");
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

[[nodiscard]] Json summary(const std::vector<Outcome>& outcomes) {
  std::vector<double> ratios;
  std::vector<double> costs;
  std::map<std::string, int> claims;
  std::map<std::string, int> sources;
  std::int64_t good = 0;
  std::int64_t needless = 0;
  std::int64_t warned = 0;
  std::int64_t silent = 0;
  double worst = 0.0;
  constexpr double floor = 1e-15;
  constexpr double allowance = 10.0;
  constexpr double good_error = 1e-6;
  for (const Outcome& each : outcomes) {
    ++claims[each.claim];
    ++sources[each.source];
    costs.push_back(each.gate_ms / each.solve_ms);
    if (each.warned) ++warned;
    if (each.error <= good_error) ++good;
    if (each.error <= good_error && each.warned) ++needless;
    if (each.warned) continue;
    ratios.push_back(std::max(each.claimed, floor) / std::max(each.error, floor));
    worst = std::max(worst, ratios.back());
    if (each.error > allowance * std::max(each.claimed, floor)) ++silent;
  }
  return {{"solutions", outcomes.size()},
          {"silent", silent},
          {"warned", warned},
          {"good", good},
          {"needless", needless},
          {"claim_over_error_median", median(ratios)},
          {"claim_over_error_worst", worst},
          {"cost_median", median(costs)},
          {"claims", claims},
          {"sources", sources}};
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t per_class = 50;
  std::uint64_t first_seed = 1;
  std::string output;
  bool shows_all = false;
  CLI::App app("Claims of the error gate against errors that are known");
  app.add_option("--per-class", per_class, "systems of each of twelve classes");
  app.add_option("--seed", first_seed, "the first one");
  app.add_option("--json", output, "file for the results");
  app.add_flag("--all", shows_all, "a line for every silent or needless one");
  CLI11_PARSE(app, argc, argv);

  std::map<std::string, std::vector<Outcome>> groups;
  const auto run_all = [&](const std::vector<TrustSystem>& systems, const std::string& kind) {
    for (const TrustSystem& system : systems) {
      for (const Way& way : ways_of(system)) {
        const auto outcome = run(system, way);
        if (!outcome) continue;
        groups[kind].push_back(*outcome);
        groups[kind + " " + std::string(to_string(system.kind))].push_back(*outcome);
        if (shows_all && !outcome->warned && outcome->claimed > 1e4 * std::max(outcome->error, 1e-15)) {
          fmt::print("far      {:<16} {:<56} {} by {} {:.1e}, error {:.1e}, backward {:.1e}\n", outcome->way,
                     outcome->system, outcome->claim, outcome->source, outcome->claimed, outcome->error,
                     outcome->backward);
        }
        groups[kind + " by " + outcome->source].push_back(*outcome);
        groups[kind + " way " + outcome->way].push_back(*outcome);
        const bool is_silent = !outcome->warned && outcome->error > 10.0 * std::max(outcome->claimed, 1e-15);
        const bool is_needless = outcome->warned && outcome->error <= 1e-6;
        if (shows_all && (is_silent || is_needless)) {
          fmt::print("{} {:<16} {:<56} {} by {} {:.1e}, error {:.1e}, backward {:.1e}\n",
                     is_silent ? "SILENT  " : "needless", outcome->way, outcome->system, outcome->claim,
                     outcome->source, outcome->claimed, outcome->error, outcome->backward);
        }
      }
    }
  };
  run_all(testing::hard_systems(per_class, first_seed), "hard");
  run_all(testing::ordinary_systems(per_class, first_seed), "ordinary");

  Json json = bench::document("error_gate");
  json["per_class"] = per_class;
  json["first_seed"] = first_seed;
  fmt::print("{:<22}{:>8}{:>8}{:>8}{:>8}{:>10}{:>12}{:>12}{:>8}  claims, sources\n", "", "solved", "silent", "warned",
             "good", "needless", "claim/error", "worst", "cost");
  for (const auto& [name, outcomes] : groups) {
    const Json row = summary(outcomes);
    json["groups"][name] = row;
    fmt::print("{:<22}{:>8}{:>8}{:>8}{:>8}{:>10}{:>12.2g}{:>12.2g}{:>8.2f}  {} {}\n", name, outcomes.size(),
               row["silent"].get<int>(), row["warned"].get<int>(), row["good"].get<int>(), row["needless"].get<int>(),
               row["claim_over_error_median"].get<double>(), row["claim_over_error_worst"].get<double>(),
               row["cost_median"].get<double>(), row["claims"].dump(), row["sources"].dump());
  }
  if (!output.empty()) bench::write(json, output);
  return 0;
}
