#include "compare/comparison.hpp"

#include "compare/baseline.hpp"
#include "compare/products.hpp"
#include "compare/solves.hpp"
#include "device_facts.hpp"
#include "interrupt.hpp"
#include "machine.hpp"
#include "timer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

namespace tessera::cli {

namespace {

template <class T>
void describe_problem(const CompareSettings& settings, const Problem<T>& problem, CompareOutcome& outcome) {
  const Timer timer;
  take_problem(settings.problem, settings.machine, problem, outcome);
  outcome.matrix = statistics(problem.matrix->view(), settings.machine.host);
  outcome.inspect_ms = timer.milliseconds();
  outcome.applies = settings.applies;
  outcome.sort = settings.sort;
  outcome.noise = settings.timing.noise;
  outcome.fail_if_slower = settings.fail_if_slower;
}

/// Names what stayed noisy, with the noisiest of each kind.
void warn_of_noise(CompareOutcome& outcome) {
  double worst = 0.0;
  std::string name;
  const auto look = [&](const Times& times, const std::string& label) {
    if (times.summary.noise() <= std::max(worst, outcome.noise)) return;
    worst = times.summary.noise();
    name = label;
  };
  for (const KernelRow& row : outcome.products) {
    look(row.warm, "the product of " + row.kernel);
    look(row.cold, "the cold product of " + row.kernel);
  }
  for (const SolveRow& row : outcome.solves)
    look(row.total, fmt::format("{} with {}", to_string(row.solver), row.kernel));
  if (name.empty()) return;
  outcome.warnings.push_back(
      {"W020", fmt::format("the times stayed noisier than {:.3g} %: half of those of {} spread over {:.2g} % of the "
                           "median; a quieter machine or a longer --min-time helps",
                           100 * outcome.noise, name, 100 * worst)});
}

/// By end-to-end time within each solver, whose rows are neighbours.
void sort_solves(std::vector<SolveRow>& rows) {
  const auto place = [&](Solver solver) {
    return std::find_if(rows.begin(), rows.end(), [solver](const SolveRow& row) { return row.solver == solver; }) -
           rows.begin();
  };
  std::map<Solver, std::ptrdiff_t> places;
  for (const SolveRow& row : rows) places.emplace(row.solver, place(row.solver));
  std::stable_sort(rows.begin(), rows.end(), [&places](const SolveRow& a, const SolveRow& b) {
    if (a.solver != b.solver) return places[a.solver] < places[b.solver];
    if (a.passed != b.passed) return a.passed;
    if (a.total.measured() != b.total.measured()) return a.total.measured();
    return a.total.summary.median < b.total.summary.median;
  });
}

/// Warns of those that cannot take part.
template <class T>
[[nodiscard]] std::vector<Candidate<T>> available(const std::vector<Candidate<T>>& all, Warnings& warnings) {
  std::vector<Candidate<T>> able;
  for (const Candidate<T>& candidate : all) {
    if (candidate.unavailable.empty()) {
      able.push_back(candidate);
    } else {
      warnings.push_back({"W023", fmt::format("{} takes no part: {}", candidate.name, candidate.unavailable)});
    }
  }
  return able;
}

}  // namespace

template <class T>
CompareOutcome compare(const CompareSettings& settings, const Problem<T>& problem,
                       const std::vector<Candidate<T>>& candidates, Progress& progress) {
  CompareOutcome outcome;
  const std::vector<Candidate<T>> able = available(candidates, outcome.warnings);
  progress.phase("inspecting the matrix");
  describe_problem(settings, problem, outcome);
  std::optional<Baseline> baseline;
  if (settings.baseline) {
    baseline = read_baseline(*settings.baseline);
    check_baseline(*baseline, cpu_name(), gpu_name(outcome.device), outcome);
  }
  const SolveInputs<T> inputs = solve_inputs(settings, problem, outcome);
  compare_products(settings, problem, able, progress, outcome);
  if (!settings.solvers.empty()) compare_solves(settings, inputs, able, progress, outcome);
  outcome.interrupted = interrupt_signal() != 0;
  if (baseline) {
    hold_against_baseline(*baseline, settings.fail_if_slower.value_or(std::numeric_limits<double>::infinity()),
                          outcome);
  }
  sort_rows(outcome.products, settings.sort);
  sort_solves(outcome.solves);
  warn_about_cache(outcome, outcome.warnings);
  warn_of_noise(outcome);
  return outcome;
}

template CompareOutcome compare(const CompareSettings&, const Problem<float>&, const std::vector<Candidate<float>>&,
                                Progress&);
template CompareOutcome compare(const CompareSettings&, const Problem<double>&, const std::vector<Candidate<double>>&,
                                Progress&);

}  // namespace tessera::cli
