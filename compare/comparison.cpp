#include "compare/comparison.hpp"

#include "compare/baseline.hpp"
#include "support/machine.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>

namespace tessera::compare {

namespace {

/// Names what stayed noisiest.
void warn_of_noise(Outcome& outcome) {
  double worst = 0.0;
  std::string name;
  const auto consider = [&](const Times& times, const std::string& label) {
    if (times.summary.noise() <= std::max(worst, outcome.noise)) return;
    worst = times.summary.noise();
    name = label;
  };
  for (const KernelRow& row : outcome.products) {
    consider(row.warm, "the product of " + row.kernel);
    consider(row.cold, "the cold product of " + row.kernel);
  }
  for (const SolveRow& row : outcome.solves) {
    consider(row.total, fmt::format("{} with {}", to_string(row.solver), row_name(row)));
  }
  if (name.empty()) return;
  outcome.warnings.push_back(
      {"W020",
       fmt::format("timings did not settle to {:.3g} %: the middle half of the samples of {} spans {:.2g} % of the "
                   "median; a quieter machine or a longer --min-time helps",
                   100 * outcome.noise, name, 100 * worst)});
}

/// Why a kernel that does not take every matrix refuses this one; empty where it takes it, or would fail otherwise.
template <class T>
[[nodiscard]] std::string refusal_of(const Candidate<T>& candidate, const std::shared_ptr<const Csr<T>>& matrix) {
  if (candidate.options.algorithm != SpmvAlgorithm::patterns && candidate.options.algorithm != SpmvAlgorithm::sell) {
    return {};
  }
  try {
    static_cast<void>(candidate.plan(matrix));
  } catch (const NotSupported& error) {
    return error.what();
  } catch (const Error&) {  // the comparison says so, with a row
    return {};
  }
  return {};
}

/// The candidates that can be set up here; warns of the others.
template <class T>
[[nodiscard]] std::vector<Candidate<T>> available(const std::vector<Candidate<T>>& all,
                                                  const std::shared_ptr<const Csr<T>>& matrix,
                                                  support::Warnings& warnings) {
  std::vector<Candidate<T>> able;
  for (const Candidate<T>& candidate : all) {
    const std::string why = candidate.unavailable.empty() ? refusal_of(candidate, matrix) : candidate.unavailable;
    if (why.empty()) {
      able.push_back(candidate);
    } else {
      warnings.push_back({"W023", fmt::format("{} takes no part: {}", candidate.name, why)});
    }
  }
  return able;
}

template <class T>
[[nodiscard]] MeasuredOn measured_on(const Settings& settings, const Subject<T>& subject) {
  const std::string precision = std::is_same_v<T, double> ? "fp64" : "fp32";
  const Csr<T>& matrix = *subject.matrix;
  return {matrix.rows(),
          matrix.cols(),
          matrix.nnz(),
          matrix.is_pattern() ? "pattern" : precision,
          precision,
          support::cpu_name(),
          support::gpu_name(settings.device),
          settings.host.threads()};
}

}  // namespace

TimingOptions timing_options(const Settings& settings, int min_rounds, int max_rounds) {
  constexpr double patience = 10.0;
  const TimingSettings& timing = settings.timing;
  TimingOptions result;
  result.warmup = timing.warmup;
  result.min_rounds = timing.rounds > 0 ? static_cast<int>(timing.rounds) : min_rounds;
  result.max_rounds = timing.rounds > 0 ? static_cast<int>(timing.rounds) : max_rounds;
  result.min_seconds = timing.min_seconds;
  result.max_seconds = patience * timing.min_seconds;
  result.noise = timing.noise;
  result.seed = settings.seed;
  result.stop_early = settings.stop;
  return result;
}

template <class T>
Outcome compare_kernels(const Settings& settings, const Subject<T>& subject,
                        const std::vector<Candidate<T>>& candidates) {
  Outcome outcome;
  const std::vector<Candidate<T>> able = available(candidates, subject.matrix, outcome.warnings);
  outcome.applies = settings.applies;
  outcome.sort = settings.sort;
  outcome.noise = settings.timing.noise;
  outcome.fail_if_slower = settings.fail_if_slower;
  std::optional<Baseline> baseline;
  if (settings.baseline) {
    baseline = read_baseline(*settings.baseline);
    check_baseline(*baseline, measured_on(settings, subject), outcome.warnings);
  }
  const SolveInputs<T> inputs = solve_inputs(settings, subject, outcome);
  compare_products(settings, subject, able, outcome);
  if (!settings.solvers.empty()) compare_solves(settings, inputs, able, outcome);
  outcome.interrupted = stopped(settings);
  if (baseline) {
    hold_against_baseline(*baseline, settings.fail_if_slower.value_or(std::numeric_limits<double>::infinity()),
                          outcome);
  }
  sort_rows(outcome.products, settings.sort);
  sort_rows(outcome.solves);
  warn_of_noise(outcome);
  return outcome;
}

template Outcome compare_kernels(const Settings&, const Subject<float>&, const std::vector<Candidate<float>>&);
template Outcome compare_kernels(const Settings&, const Subject<double>&, const std::vector<Candidate<double>>&);

}  // namespace tessera::compare
