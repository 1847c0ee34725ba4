#include "bench/krylov_tolerance.hpp"

#include "bench/krylov_rows.hpp"
#include "bench/speedup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tessera::bench {

namespace {

/// One solve from the start to the tolerance, judged apart. \returns its seconds
double first_solve(KrylovSystem& system, KrylovRow& row, const ToleranceLimits& limits) {
  // The recurrence drifts from the computed residual by rounding; beyond a hundredth it deceives.
  constexpr double drift = 1.01;
  const TimingClock clock = timing_clock(system.device());
  row.samples = {clock([&] { row.outcome = row.contender.solve(limits.max_iterations, limits.tolerance); })};
  row.true_residual = system.true_residual();
  const bool reached = row.true_residual <= drift * limits.tolerance;
  if (row.outcome.ending == "converged" && !reached) {
    row.wrong = true;
    row.failure = fmt::format("said to have converged, but the residual computed apart is {:.3g}", row.true_residual);
  } else if (!reached) {
    row.failure = fmt::format("{}, residual {:.3g}", row.outcome.ending, row.true_residual);
  }
  return 1e-3 * row.samples.front();
}

/// Rounds of all that converged, as many as fit; the first solve of each counts where none does.
void time_solves(KrylovSystem& system, std::vector<KrylovRow>& rows, const ToleranceLimits& limits, double seconds,
                 int most_rounds) {
  std::vector<TimingCandidate> candidates;
  std::vector<KrylovRow*> order;
  double round_seconds = 0.0;
  for (KrylovRow& row : rows) {
    if (!row.failure.empty()) continue;
    round_seconds += 1e-3 * row.samples.front();
    order.push_back(&row);
    candidates.push_back({row.contender.name,
                          [&row, &limits] {
                            row.outcome = row.contender.solve(limits.max_iterations, limits.tolerance);
                            if (row.outcome.ending != "converged") row.failure = "converged once, then not";
                          },
                          {}});
  }
  const int rounds = static_cast<int>(std::min<double>(most_rounds, seconds / std::max(round_seconds, 1e-6)));
  if (rounds > 0 && !candidates.empty()) {
    TimingOptions options;
    options.warmup = 0;
    options.min_rounds = options.max_rounds = rounds;
    options.min_seconds = 0.0;
    options.clock = timing_clock(system.device());
    TimingSamples samples = time_interleaved(candidates, options);
    for (std::size_t i = 0; i < order.size(); ++i) order[i]->samples = std::move(samples[i]);
  }
  for (KrylovRow* row : order) {
    if (!row->failure.empty()) continue;
    for (double& sample : row->samples) sample += row->contender.setup_ms;
    row->time = summarise(row->samples);
  }
}

Json tolerance_row(const std::vector<KrylovRow>& rows, const KrylovRow& row, const std::string& table_row,
                   SetupTable& table) {
  Json json = facts_of(row);
  const bool converged = row.time.count > 0;
  if (!converged) {
    json["reason"] = row.failure;
    if (row.outcome.iterations > 0) json["first_solve_ms"] = row.samples.front();
    table.add(table_row, row.contender.name, row.outcome.iterations > 0 ? row.outcome.ending : "not run");
    fmt::print("  {:15} {:6} iterations  {}\n", row.contender.name, row.outcome.iterations, row.failure);
    return json;
  }
  json["setup_and_solve"] = json_of(row.time);
  add_speedups(rows, row, json);
  table.add(table_row, row.contender.name, row.time.median, row.contender.setup_ms);
  fmt::print("  {:15} {:10.3f} ({:.3f}) ms {:6} iterations  residual {:.3e}{}\n", row.contender.name, row.time.median,
             row.contender.setup_ms, row.outcome.iterations, row.true_residual, speedup_text(json));
  return json;
}

}  // namespace

Json measure_to_tolerance(KrylovContenders& contenders, const KrylovTask& task, const ToleranceLimits& limits,
                          const SolverBenchSettings& settings, SetupTable& table) {
  constexpr std::size_t always_run = 4;  // by hand, by hand with fewer checks, `auto`, merbit
  constexpr int most_rounds = 11;
  KrylovSystem& system = contenders.system();
  std::vector<KrylovRow> rows = rows_of(contenders, task);
  double spent = 0.0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].failure.empty()) continue;
    if (i >= always_run && spent > settings.seconds) {
      rows[i].failure = fmt::format("not run: {:.1f} s are spent", spent);
      continue;
    }
    spent += first_solve(system, rows[i], limits);
  }
  time_solves(system, rows, limits, settings.seconds - spent, settings.rounds > 0 ? settings.rounds : most_rounds);
  Json json = header(system, task);
  json["tolerance"] = limits.tolerance;
  json["max_iterations"] = limits.max_iterations;
  fmt::print("{} {}, {} unknowns: to {:g}, total (set-up), upload {:.2f} ms apart\n", system.name(), task.name(),
             system.host().rows(), limits.tolerance, system.upload_ms());
  const std::string table_row = system.name() + " " + task.name();
  for (const KrylovRow& row : rows) json["solvers"].push_back(tolerance_row(rows, row, table_row, table));
  std::fflush(stdout);
  return json;
}

}  // namespace tessera::bench
