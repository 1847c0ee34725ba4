/// Claims of the error gate against errors that are known: systems of compare/known_systems.hpp by methods and
/// preconditioners. Per group: solutions, claims below a tenth of the error, medians of claim over error, warnings and
/// needless ones, and what the gate costs of set-up and solve, in the median and at most.
#include "bench/report.hpp"

#include "compare/claim_runs.hpp"
#include "spmv/break_even.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace {

using tessera::bench::Json;
using tessera::compare::ClaimOutcome;
namespace bench = tessera::bench;
namespace compare = tessera::compare;

[[nodiscard]] Json summary(const std::vector<ClaimOutcome>& outcomes) {
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
  constexpr double good_error = 1e-6;
  for (const ClaimOutcome& each : outcomes) {
    ++claims[each.claim];
    ++sources[each.source];
    costs.push_back(each.gate_ms / each.solve_ms);
    if (each.warned) ++warned;
    if (each.error <= good_error) ++good;
    if (each.is_needless()) ++needless;
    if (each.is_silent()) ++silent;
    if (each.warned) continue;
    ratios.push_back(std::max(each.claimed, floor) / std::max(each.error, floor));
    worst = std::max(worst, ratios.back());
  }
  return {{"solutions", outcomes.size()},
          {"silent", silent},
          {"warned", warned},
          {"good", good},
          {"needless", needless},
          {"claim_over_error_median", ratios.empty() ? std::nan("") : tessera::detail::median(ratios)},
          {"claim_over_error_worst", worst},
          {"cost_median", costs.empty() ? std::nan("") : tessera::detail::median(costs)},
          {"cost_worst", costs.empty() ? std::nan("") : *std::max_element(costs.begin(), costs.end())},
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

  constexpr double long_ms = 10.0;
  std::map<std::string, std::vector<ClaimOutcome>> groups;
  const auto run_all = [&](const std::vector<compare::KnownSystem>& systems, const std::string& kind) {
    for (const compare::KnownSystem& system : systems) {
      for (const ClaimOutcome& outcome : compare::solve_every_way(system)) {
        const std::string time = outcome.solve_ms < long_ms ? " below 10 ms" : " of 10 ms";
        for (const std::string& group :
             {kind, kind + " " + std::string(to_string(system.kind)), kind + " by " + outcome.source, kind + time}) {
          groups[group].push_back(outcome);
        }
        if (shows_all && (outcome.is_silent() || outcome.is_needless())) {
          fmt::print("{} {:<16} {:<56} {} by {} {:.1e}, error {:.1e}, backward {:.1e}\n",
                     outcome.is_silent() ? "SILENT  " : "needless", outcome.way, outcome.system, outcome.claim,
                     outcome.source, outcome.claimed, outcome.error, outcome.backward);
        }
      }
    }
  };
  run_all(compare::hard_systems(per_class, first_seed), "hard");
  run_all(compare::ordinary_systems(per_class, first_seed), "ordinary");

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
