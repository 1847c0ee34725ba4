#include "bench/krylov_measure.hpp"

#include "bench/krylov_contenders.hpp"
#include "bench/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::bench {

namespace {

/// A contender and what its runs have shown.
struct KrylovRow {
  KrylovContender contender;
  KrylovOutcome outcome{};
  double true_residual = 0.0;
  std::string failure{};  ///< empty: its times count
  bool wrong = false;     ///< it said of itself what is not so
  std::vector<double> samples{};
  TimingSummary time{};
};

/// A row for each contender; those refused have failed.
std::vector<KrylovRow> rows_of(KrylovContenders& contenders, const KrylovTask& task) {
  std::vector<KrylovRow> rows;
  for (KrylovContender& contender : contenders.of(task)) {
    KrylovRow row{std::move(contender)};
    row.failure = row.contender.refusal;
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Problem and task.
Json header(KrylovSystem& system, const KrylovTask& task) {
  return {{"problem", system.name()},
          {"method", to_string(task.method)},
          {"preconditioner", task.jacobi ? "jacobi" : "none"},
          {"unknowns", system.host().rows()},
          {"nonzeros", system.host().nnz()},
          {"upload_ms", system.upload_ms()}};
}

/// Everything but times.
Json facts_of(const KrylovRow& row) {
  return {{"solver", row.contender.name},
          {"pass", !row.wrong},
          {"refused", !row.contender.refusal.empty()},
          {"setup_ms", row.contender.setup_ms},
          {"partition_ms", row.contender.partition_ms},
          {"iterations", row.outcome.iterations},
          {"ending", row.outcome.ending},
          {"mends", row.outcome.mends},
          {"reported_residual", row.outcome.residual},
          {"true_residual", row.true_residual}};
}

/// Adds the ratios against the hand-written loops, where they and this have times.
void add_speedups(const std::vector<KrylovRow>& rows, const KrylovRow& row, Json& json) {
  for (const std::string_view name : {hand_written_name, batched_name}) {
    for (const KrylovRow& baseline : rows) {
      if (baseline.contender.name != name || &baseline == &row || baseline.time.count == 0) continue;
      add_speedup(json, baseline.contender.name, baseline.samples, row.samples);
    }
  }
}

constexpr std::int64_t least_iterations = 8;
/// How far the residual that a solver reports may lie from the one computed apart within so few iterations, relative to
/// the larger of it and ‖b‖.
constexpr double residual_drift = 1e-6;

/// Iterations of a short solve: of GMRES a cycle, since its iterations are not alike.
std::int64_t short_solve(const KrylovTask& task) { return task.method == KrylovMethod::gmres ? gmres_restart : 8; }

/// Iterations that a long solve does beyond the short one.
std::int64_t asked_for(const KrylovTask& task, std::int64_t iterations) {
  if (task.method != KrylovMethod::gmres) return iterations;
  return (iterations + gmres_restart - 1) / gmres_restart * gmres_restart;
}

constexpr std::int64_t small_system = 1'000'000;
constexpr int rounds_of_small = 51;
constexpr int rounds_of_large = 5;

/// Bytes that an iteration must move: the matrix with 32-bit offsets a product, and the vectors of passes that are
/// fused as far as the recurrence allows (solvers/cg.cpp, solvers/bicgstab.cpp).
double least_iteration_bytes(const Csr<double>& a, const KrylovTask& task) {
  const double n = a.rows();
  const double matrix = 12.0 * static_cast<double>(a.nnz()) + 4.0 * (n + 1.0);
  if (task.method == KrylovMethod::cg) return matrix + 8.0 * n * (task.jacobi ? 13.0 : 11.0);
  if (task.method == KrylovMethod::gmres)
    return matrix + 8.0 * n * (2.0 * (gmres_restart + 1) / 2.0 + (task.jacobi ? 11.0 : 10.0));
  if (task.method == KrylovMethod::idr) return matrix + 8.0 * n * (task.jacobi ? 25.0 : 24.0);
  return 2.0 * matrix + 8.0 * n * (task.jacobi ? 23.0 : 19.0);
}

bool ended_early(const KrylovRow& row, std::int64_t iterations) {
  return row.outcome.iterations != iterations || row.outcome.mends != 0;
}

/// One long solve, whose time does not count, and whether it did what it says.
void check_long_solve(KrylovSystem& system, KrylovRow& row, std::int64_t iterations) {
  row.outcome = row.contender.solve(iterations, 0.0);
  row.true_residual = system.true_residual();
  row.failure.clear();
  if (ended_early(row, iterations)) {
    row.failure = fmt::format("{} after {} of {} iterations, mended {} times", row.outcome.ending,
                              row.outcome.iterations, iterations, row.outcome.mends);
  } else if (const double drift = std::abs(row.true_residual - row.outcome.residual);
             !(drift <= residual_drift * std::max(1.0, row.outcome.residual))) {
    row.wrong = true;
    row.failure = fmt::format("WRONG: residual {:.3g}, computed apart {:.3g}", row.outcome.residual, row.true_residual);
  }
}

/// The iterations that all contenders can do beyond the short solve; some need not even do the fewest.
std::int64_t iterations_for_all(KrylovSystem& system, std::vector<KrylovRow>& rows, std::int64_t wanted,
                                std::int64_t first) {
  for (std::int64_t timed = wanted;; timed = std::max(least_iterations, timed - first)) {
    bool all = true;
    for (KrylovRow& row : rows) {
      if (!row.contender.refusal.empty()) continue;
      check_long_solve(system, row, first + timed);
      all = all && !ended_early(row, first + timed);
    }
    if (all || timed <= least_iterations) return timed;
  }
}

/// \returns GB/s of a copy
double time_iterations(KrylovSystem& system, std::vector<KrylovRow>& rows, std::int64_t first, std::int64_t timed,
                       int rounds, compare::CopyYardstick& copy) {
  std::vector<TimingCandidate> candidates{{"copy", [&copy] { copy(); }, {}}};
  std::vector<KrylovRow*> order;
  for (KrylovRow& row : rows) {
    if (!row.failure.empty()) continue;
    order.push_back(&row);
    for (const std::int64_t iterations : {first, first + timed}) {
      candidates.push_back(
          {row.contender.name, [&row, iterations] { static_cast<void>(row.contender.solve(iterations, 0.0)); }, {}});
    }
  }
  TimingOptions options;
  options.warmup = 1;
  options.min_rounds = options.max_rounds = rounds;
  options.min_seconds = 0.0;
  options.clock = timing_clock(system.device());
  const TimingSamples samples = time_interleaved(candidates, options);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::vector<double>& quick = samples[2 * i + 1];
    const std::vector<double>& slow = samples[2 * i + 2];
    for (std::size_t round = 0; round < quick.size(); ++round) {
      order[i]->samples.push_back((slow[round] - quick[round]) / static_cast<double>(timed));
    }
    order[i]->time = summarise(order[i]->samples);
  }
  return compare::gbytes_per_second(copy.bytes(), summarise(samples[0]).median);
}

Json iteration_row(const std::vector<KrylovRow>& rows, const KrylovRow& row, double bytes, double copy_rate) {
  Json json = facts_of(row);
  if (!row.failure.empty()) {
    json["reason"] = row.failure;
    fmt::print("  {:15} {}\n", row.contender.name, row.failure);
    return json;
  }
  if (!(row.time.median > 0.0)) {
    json["reason"] = "lost in the noise of the clock";
    fmt::print("  {:15} lost in the noise of the clock\n", row.contender.name);
    return json;
  }
  const double share = bytes / row.time.median * 1e-6 / copy_rate;
  json["per_iteration"] = json_of(row.time);
  json["share_of_copy_bandwidth"] = share;
  add_speedups(rows, row, json);
  fmt::print("  {:15} ({:7.3f} ms) {:9.4f} ms [{:.4f}, {:.4f}] {:3.0f} % of copy{}\n", row.contender.name,
             row.contender.setup_ms, row.time.median, row.time.lower_quartile, row.time.upper_quartile, 100.0 * share,
             speedup_text(json));
  return json;
}

}  // namespace

Json measure_iterations(KrylovContenders& contenders, const KrylovTask& task, const SolverBenchSettings& settings,
                        compare::CopyYardstick& copy) {
  KrylovSystem& system = contenders.system();
  std::vector<KrylovRow> rows = rows_of(contenders, task);
  const std::int64_t first = short_solve(task);
  const std::int64_t timed = iterations_for_all(system, rows, asked_for(task, settings.iterations), first);
  const int standard = system.host().rows() <= small_system ? rounds_of_small : rounds_of_large;
  const double copy_rate =
      time_iterations(system, rows, first, timed, settings.rounds > 0 ? settings.rounds : standard, copy);
  const double bytes = least_iteration_bytes(system.host(), task);
  Json json = header(system, task);
  json["iterations_timed"] = timed;
  json["least_bytes"] = bytes;
  json["copy_gbytes_per_s"] = copy_rate;
  fmt::print("{} {}, {} unknowns, {} nonzeros: per iteration, of {} (copy {:.0f} GB/s)\n", system.name(), task.name(),
             system.host().rows(), system.host().nnz(), timed, copy_rate);
  for (const KrylovRow& row : rows) json["solvers"].push_back(iteration_row(rows, row, bytes, copy_rate));
  std::fflush(stdout);
  return json;
}

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
