#include "compare/solves.hpp"

#include "compare/solve_check.hpp"
#include "compare/solve_task.hpp"
#include "interrupt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>

namespace tessera::cli {

namespace {

/// One row with what runs it.
struct Entry {
  SolveRow* row = nullptr;
  std::unique_ptr<SolveTask> task;
};

[[nodiscard]] Times times_of(std::vector<double> samples) {
  const TimingSummary summary = summarise(samples);
  return {std::move(samples), summary, {}, {}};
}

void fail(SolveRow& row, std::string reason) {
  row.passed = false;
  row.reason = std::move(reason);
  row.setup = {};
  row.solve = {};
  row.total = {};
}

/// Holds the latest run of a task against the residual computed apart.
void check_run(Entry& entry, const SolveRun& run) {
  SolveRow& row = *entry.row;
  const CheckedResidual checked = entry.task->check();
  row.checked_residual = checked.value;
  row.allowance = checked.allowance;
  if (run.status != Status::converged || checked.value <= run.target + checked.allowance) return;
  fail(row,
       fmt::format("said to have converged to {:.3g}, but the residual computed apart is {:.3g} (rounding explains "
                   "{:.1g})",
                   run.target, checked.value, checked.allowance));
}

/// The verified run before any time counts. \returns whether the row may be timed
[[nodiscard]] bool run_first(Entry& entry) {
  SolveRow& row = *entry.row;
  try {
    entry.task->prepare();
    const SolveRun run = entry.task->run();
    row.status = run.status;
    row.status_reason = run.reason;
    if (run.status == Status::interrupted) return false;
    row.solved = true;
    row.iterations = run.iterations;
    row.min_iterations = run.iterations;
    row.max_iterations = run.iterations;
    row.spmv_count = run.spmv_count;
    row.target = run.target;
    row.reported_residual = run.residual;
    check_run(entry, run);
  } catch (const std::exception& error) {
    fail(row, error.what());
  }
  return row.passed;
}

/// Times of the runs of one entry as they come in.
struct Recorder {
  Entry* entry = nullptr;
  std::vector<double> setup;
  std::vector<double> solve;
  std::vector<double> total;
  SolveRun latest;

  void run() {
    latest = entry->task->run();
    if (latest.status == Status::interrupted) return;  // cut short: not a time
    setup.push_back(latest.setup_ms);
    solve.push_back(latest.solve_ms);
    total.push_back(latest.setup_ms + latest.solve_ms);
    SolveRow& row = *entry->row;
    row.min_iterations = std::min(row.min_iterations, latest.iterations);
    row.max_iterations = std::max(row.max_iterations, latest.iterations);
    // The first ending that is not convergence stays.
    if (row.status == Status::converged && latest.status != Status::converged) {
      row.status = latest.status;
      row.status_reason = latest.reason;
    }
  }
};

void time_entries(const CompareSettings& settings, std::vector<Entry*>& entries) {
  std::vector<Recorder> recorders;
  recorders.reserve(entries.size());
  for (Entry* entry : entries) recorders.push_back({entry, {}, {}, {}, {}});
  std::vector<TimingCandidate> timed;
  timed.reserve(recorders.size());
  for (Recorder& recorder : recorders) {
    timed.push_back({recorder.entry->row->kernel, [&recorder] { recorder.run(); },
                     [&recorder] { recorder.entry->task->prepare(); }});
  }
  static_cast<void>(time_interleaved(timed, solve_timing(settings)));
  for (Recorder& recorder : recorders) {
    SolveRow& row = *recorder.entry->row;
    row.setup = times_of(std::move(recorder.setup));
    row.solve = times_of(std::move(recorder.solve));
    row.total = times_of(std::move(recorder.total));
    if (row.total.measured() && recorder.latest.status != Status::interrupted) {
      check_run(*recorder.entry, recorder.latest);
    }
  }
}

/// Speed-up of whole solves and when the set-up pays, per solver.
void derive(const CompareSettings& settings, std::vector<SolveRow>& rows) {
  const auto per_product = [](const SolveRow& row) {
    return row.spmv_count > 0 ? row.solve.summary.median / static_cast<double>(row.spmv_count) : 0.0;
  };
  for (SolveRow& row : rows) {
    const auto reference = std::find_if(rows.begin(), rows.end(), [&](const SolveRow& other) {
      return other.reference && other.passed && other.solver == row.solver;
    });
    if (reference == rows.end()) continue;
    row.total.speed_up = speed_up(reference->total, row.total, settings.machine.seed);
    row.solve.speed_up = speed_up(reference->solve, row.solve, settings.machine.seed);
    if (row.reference) continue;
    row.pays = pays_after(row.setup.summary.median - reference->setup.summary.median, per_product(*reference),
                          per_product(row), row.solve.speed_up);
  }
}

}  // namespace

template <class T>
void compare_solves(const CompareSettings& settings, const SolveInputs<T>& inputs,
                    const std::vector<Candidate<T>>& candidates, Progress& progress, CompareOutcome& outcome) {
  if (settings.solvers.empty()) return;
  outcome.solves.resize(settings.solvers.size() * candidates.size());
  std::vector<Entry> entries(outcome.solves.size());
  std::vector<Entry*> timed;
  std::size_t place = 0;
  for (const Solver solver : settings.solvers) {
    for (std::size_t i = 0; i < candidates.size(); ++i, ++place) {
      SolveRow& row = outcome.solves[place];
      row.solver = solver;
      row.kernel = candidates[i].name;
      row.reference = candidates[i].name == outcome.reference;
      row.passed = outcome.products[i].passed;
      if (!row.passed) {
        row.reason = "the kernel failed its check";
        continue;
      }
      if (interrupt_signal() != 0) continue;
      progress.phase(fmt::format("solving with {} and kernel {}", to_string(solver), row.kernel));
      entries[place] = {&row, make_solve_task(solver, inputs, candidates[i])};
      if (run_first(entries[place])) timed.push_back(&entries[place]);
    }
  }
  progress.phase(fmt::format("timing {} solves in turn", timed.size()));
  if (interrupt_signal() == 0) time_entries(settings, timed);
  derive(settings, outcome.solves);
}

template void compare_solves(const CompareSettings&, const SolveInputs<float>&, const std::vector<Candidate<float>>&,
                             Progress&, CompareOutcome&);
template void compare_solves(const CompareSettings&, const SolveInputs<double>&, const std::vector<Candidate<double>>&,
                             Progress&, CompareOutcome&);

}  // namespace tessera::cli
