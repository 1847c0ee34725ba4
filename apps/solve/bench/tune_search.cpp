// The search of `tune`.
#include "tune_search.hpp"

#include "interrupt.hpp"
#include "text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

namespace tessera::cli {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// What a trial really ran: auto replaced by its choice.
[[nodiscard]] TuneCandidate taken(const TuneTrial& trial) {
  TuneCandidate result = trial.candidate;
  if (result.configuration.method != "auto") return result;
  result.configuration = {trial.record.chosen.method, trial.record.chosen.precond, "auto"};
  if (result.configuration.method == "direct") result.configuration.precond = "auto";
  return result;
}

struct KernelTime {
  std::string name;
  double total_ms = 0.0;  ///< set-up and the products of a solve
  double product_ms = 0.0;
};

/// Kernels that passed their check, the fastest in total first. \param document of compare
[[nodiscard]] std::vector<KernelTime> kernel_times(const Json& document, double products) {
  std::vector<KernelTime> kernels;
  for (const Json& row : document.at("cases")) {
    const std::string name = row.at("kernel");
    const bool is_variant = name.find(':') != std::string::npos;  // no --spmv has it
    if (row.at("kind") != "product" || is_variant || row.at("result").at("status") != "pass") continue;
    const double product_ms = row.at("product_ms").at("warm").at("median");
    const Json& setup = row.at("setup_ms");
    const double setup_ms = setup.is_object() ? setup.at("median").get<double>() : 0.0;
    kernels.push_back({name, setup_ms + products * product_ms, product_ms});
  }
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const KernelTime& a, const KernelTime& b) { return a.total_ms < b.total_ms; });
  return kernels;
}

/// Whether other work of the machine took the processor away, so that the times say little.
[[nodiscard]] bool was_disturbed(const BenchRecord& record) {
  constexpr double least_share = 0.7;
  const double ms = record.read_ms + record.setup_ms + record.solve_ms;
  const bool is_on_host = record.device.empty() || record.device == "host";
  return is_on_host && record.cpu_ms < least_share * (std::isfinite(ms) ? ms : record.wall_ms);
}

}  // namespace

double TuneTrial::ms() const { return times.empty() ? infinite : *std::min_element(times.begin(), times.end()); }

double predicted_ms(const Json& document, double setup_ms) {
  const Json& rows = document.at("history").at("rows");
  const Json& target = document.at("result").at("residual").at("target");
  if (rows.size() < 4 || !target.is_number()) return infinite;
  const auto least_until = [&](std::size_t end) {
    double least = infinite;
    for (std::size_t row = 0; row < end; ++row) {
      if (rows[row][2].is_number()) least = std::min(least, rows[row][2].get<double>());
    }
    return least;
  };
  const std::size_t middle = rows.size() / 2;
  const double end = rows.back()[1].get<double>();
  const double seconds = end - rows[middle - 1][1].get<double>();
  const double reached = least_until(rows.size());
  const double decades = std::log10(least_until(middle) / reached);
  const double to_go = std::max(std::log10(reached / target.get<double>()), 0.0);
  return decades > 0.0 ? setup_ms + 1e3 * (end + seconds * to_go / decades) : infinite;
}

std::optional<ExitCode> TuneSearch::inspect() {
  Layer more;
  more["no-spy"] = setting_of("1");
  if (matrix_.is_file) more["cache"] = setting_of(scratch_);
  const Stopwatch watch;
  const IsolatedRun run =
      run_isolated(process_options(Command::inspect, options_, matrix_, more), {.seconds = budget_seconds_});
  stop_if_interrupted();
  overhead_ms_ = watch.milliseconds();
  const Json document = document_of(run);
  if (document.is_object()) {
    facts_ = tune_facts(document);
    return std::nullopt;
  }
  if (run.end == IsolatedRun::End::time_limit) {
    write_stderr("solve: error: reading and inspecting the matrix takes longer than --budget\n");
    return ExitCode::not_converged;
  }
  write_stderr(run.err);
  return run.exit_code > 0 ? static_cast<ExitCode>(run.exit_code) : ExitCode::internal_error;
}

const TuneTrial* TuneSearch::best() const {
  const auto least = std::min_element(trials_.begin(), trials_.end(),
                                      [](const TuneTrial& a, const TuneTrial& b) { return a.ms() < b.ms(); });
  return least == trials_.end() || least->times.empty() ? nullptr : &*least;
}

void TuneSearch::search() {
  constexpr double share_of_candidates = 0.5;
  constexpr double share_of_neighbours = 0.7;
  constexpr double share_of_kernels = 0.85;
  TuneCandidates candidates = tune_candidates(facts_);
  for (const std::string& reason : candidates.skipped) notes_.push_back("not tried: " + reason);
  add(std::move(candidates.tried));
  eliminate(share_of_candidates);
  if (best() == nullptr) return eliminate(1.0);
  // A better neighbour has neighbours of its own.
  for (int pass = 0; pass < 2; ++pass) {
    add(tune_neighbours(taken(*best()), facts_));
    eliminate(share_of_neighbours);
  }
  try_kernels(share_of_kernels);
  repeat_best();
}

void TuneSearch::add(std::vector<TuneCandidate> candidates) {
  for (TuneCandidate& candidate : candidates) {
    const bool known =
        std::any_of(trials_.begin(), trials_.end(), [&](const TuneTrial& each) { return each.candidate == candidate; });
    if (!known) trials_.push_back({.candidate = std::move(candidate)});
  }
}

/// In the order of their predictions, then of the list.
std::vector<std::size_t> TuneSearch::open_trials() const {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    if (trials_[i].is_open) open.push_back(i);
  }
  std::stable_sort(open.begin(), open.end(),
                   [&](std::size_t a, std::size_t b) { return trials_[a].predicted_ms < trials_[b].predicted_ms; });
  return open;
}

/// Runs all open trials, in rounds of rising caps until one solves the system. From then on a run may take a little
/// longer than the best one. One that was disturbed is made again.
void TuneSearch::eliminate(double share) {
  constexpr double slack = 1.15;
  constexpr double slack_ms = 1.0;
  constexpr double growth = 4.0;
  for (double round_ms = 1e3 * budget_seconds_ / 20.0;; round_ms *= growth) {
    const std::vector<std::size_t> open = open_trials();
    if (open.empty()) return;
    for (const std::size_t each : open) {
      if (seconds_left(share) <= 0.0) return;
      TuneTrial& trial = trials_[each];
      const TuneTrial* leader = best();
      const double cap_ms = leader == nullptr ? round_ms : slack * leader->ms() + slack_ms;
      if (leader != nullptr && trial.cap_ms >= cap_ms) {
        trial.is_open = false;
      } else {
        run(trial, std::min(cap_ms, 1e3 * seconds_left(share)));
      }
    }
  }
}

void TuneSearch::run(TuneTrial& trial, double cap_ms) {
  Layer more;
  for (const auto& [name, value] : trial.candidate.more) more[name] = setting_of(value);
  more["max-time"] = setting_of(fmt::format("{}s", cap_ms * 1e-3));
  if (matrix_.is_file) more["cache"] = setting_of(scratch_);
  RunLimits limits;
  limits.seconds = 1e-3 * (cap_ms + 2.0 * overhead_ms_);
  trial.cap_ms = cap_ms;
  ++trial.runs;
  const IsolatedRun run = run_isolated(run_options(options_, matrix_, trial.candidate.configuration, more), limits);
  stop_if_interrupted();
  judge(trial, run);
}

void TuneSearch::judge(TuneTrial& trial, const IsolatedRun& run) {
  BenchRecord planned;
  planned.limit_seconds = 1e-3 * trial.cap_ms;
  const BenchRecord record = record_of(planned, run);
  const double ms = record.setup_ms + record.solve_ms;
  if (run.end == IsolatedRun::End::exited && std::isfinite(ms)) {
    overhead_ms_ = std::max(overhead_ms_, record.wall_ms - ms);
  }
  // Of several runs the fastest counts.
  if (trial.times.empty() || (record.solved && ms < trial.ms())) trial.record = record;
  if (record.solved) trial.times.push_back(ms);
  const bool is_stopped = trial.times.empty() && record.status == "time_limit";
  trial.is_open = is_stopped;
  if (!trial.times.empty()) {
    trial.outcome = "solved";
  } else if (is_stopped) {
    const Json document = document_of(run);
    trial.predicted_ms = document.is_object() ? predicted_ms(document, record.setup_ms) : infinite;
    trial.outcome = fmt::format("stopped after {} ms", short_number(trial.cap_ms));
  } else {
    trial.outcome = record.chosen.method.empty() ? record.reason : record.status;
    return;
  }
  constexpr int most_runs = 3;
  constexpr double hopeless = 10.0;
  const bool has_hope = trial.times.empty() || trial.ms() < hopeless * best()->ms();
  if (was_disturbed(record) && trial.runs < most_runs && has_hope) {
    trial.is_open = true;
    trial.cap_ms = 0.0;
  }
}

void TuneSearch::try_kernels(double share) {
  const TuneCandidate winner = taken(*best());
  const BenchRecord& record = best()->record;
  if (winner.configuration.method == "direct") {
    notes_.emplace_back("kernels not tried: direct factors need few products");
    return;
  }
  Layer more;
  more["kernels"] = setting_of("all");
  more["repeat"] = setting_of("3");
  more["warmup"] = setting_of("1");
  more["min-time"] = setting_of("0.01s");
  if (matrix_.is_file) more["cache"] = setting_of(scratch_);
  if (!options_.given("device")) more["device"] = setting_of(record.device == "host" ? "host" : "cuda");
  const double seconds = seconds_left(share);
  if (seconds <= 0.0) {
    notes_.emplace_back("kernels not tried: no time was left");
    return;
  }
  const IsolatedRun run =
      run_isolated(process_options(Command::compare, options_, matrix_, more), {.seconds = seconds});
  stop_if_interrupted();
  const Json document = document_of(run);
  if (!document.is_object() || run.end != IsolatedRun::End::exited) {
    notes_.push_back("kernels not tried: " + (error_of(run).empty() ? "no time was left" : error_of(run)));
    return;
  }
  const std::vector<KernelTime> kernels = kernel_times(document, static_cast<double>(record.products));
  const auto current = std::find_if(kernels.begin(), kernels.end(),
                                    [&](const KernelTime& each) { return each.name == record.chosen.kernel; });
  std::string line = "products:";
  std::vector<TuneCandidate> faster;
  constexpr std::size_t most = 2;
  constexpr double clear = 0.98;
  for (const KernelTime& kernel : kernels) {
    line += fmt::format("{} {} {} us", kernel.name == kernels.front().name ? "" : ",", kernel.name,
                        short_number(1e3 * kernel.product_ms));
    const bool is_faster = current == kernels.end() || kernel.total_ms < clear * current->total_ms;
    if (!is_faster || kernel.name == record.chosen.kernel || faster.size() == most) continue;
    faster.push_back(winner);
    faster.back().configuration.kernel = kernel.name;
  }
  notes_.push_back(line);
  add(std::move(faster));
  eliminate(share);
}

/// A first measurement may be disturbed, and the least of several decides: those near the best, in turn. Whoever is
/// still behind after a second measurement takes part no more.
void TuneSearch::repeat_best() {
  constexpr double near_at_first = 2.0;
  constexpr double near = 1.15;
  constexpr double noise_ms = 0.05;
  constexpr std::size_t most = 6;
  constexpr int rounds = 4;
  const auto is_near = [&](std::size_t trial, double factor) {
    return trials_[trial].ms() <= factor * best()->ms() + noise_ms;
  };
  std::vector<std::size_t> finalists;
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    if (is_near(i, near_at_first)) finalists.push_back(i);
  }
  std::stable_sort(finalists.begin(), finalists.end(),
                   [&](std::size_t a, std::size_t b) { return trials_[a].ms() < trials_[b].ms(); });
  finalists.resize(std::min(finalists.size(), most));
  for (int round = 0; round < rounds; ++round) {
    for (const std::size_t each : finalists) {
      if (round > 0 && !is_near(each, near)) continue;
      const double expected_ms = trials_[each].ms() + overhead_ms_;
      if (1e3 * seconds_left(1.0) < expected_ms) return;
      run(trials_[each], 4.0 * trials_[each].ms() + 1.0);
    }
  }
}

}  // namespace tessera::cli
