#include "compare/comparison.hpp"
#include "compare/gate.hpp"
#include "compare/solve_tasks.hpp"
#include "support/machine.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::compare {

namespace {

/// Rounds of whole solves.
[[nodiscard]] TimingOptions solve_timing(const Settings& settings) {
  constexpr int least = 3;
  constexpr int most = 100;
  TimingOptions result = timing_options(settings, least, most);
  result.warmup = 0;  // the verified solve before was one
  result.min_sample_ms = 0.0;
  return result;
}

template <class T>
[[nodiscard]] std::shared_ptr<const TransitionMatrix<T>> make_transition(const Subject<T>& subject,
                                                                         const Device& device) {
  try {
    return std::make_shared<const TransitionMatrix<T>>(subject.matrix->view(), device);
  } catch (const InvalidMatrix& error) {
    throw InvalidMatrix(fmt::format("{}: {}", subject.name, error.what()));
  }
}

template <class T>
void require_square(const Subject<T>& subject) {
  const Csr<T>& matrix = *subject.matrix;
  if (matrix.rows() == matrix.cols()) return;
  throw DimensionError(fmt::format("{}: the matrix is {} x {}, --solvers needs a square one", subject.name,
                                   matrix.rows(), matrix.cols()));
}

/// One row with what runs it.
struct TimedSolve {
  SolveRow* row = nullptr;
  std::unique_ptr<SolveTask> task;
};

void fail(SolveRow& row, std::string reason) {
  row.passed = false;
  row.reason = std::move(reason);
  row.setup = {};
  row.solve = {};
  row.total = {};
}

/// Holds the latest run of a task against the residual computed apart.
void check_run(TimedSolve& entry, const SolveRun& run) {
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
[[nodiscard]] bool run_first(TimedSolve& entry) {
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
    row.out_of_memory = is_out_of_memory(error);
    fail(row, error.what());
  }
  return row.passed;
}

/// Times of the runs of one entry as they come in.
struct Recorder {
  TimedSolve* entry = nullptr;
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

void time_solves(const Settings& settings, std::vector<TimedSolve*>& solves) {
  std::vector<Recorder> recorders;
  recorders.reserve(solves.size());
  for (TimedSolve* entry : solves) recorders.push_back({entry, {}, {}, {}, {}});
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

/// The first row of the same solver that passed its check and is such; null if there is none.
template <class Predicate>
[[nodiscard]] const SolveRow* find_row(const std::vector<SolveRow>& rows, Solver solver, const Predicate& is_such) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const SolveRow& other) {
    return other.passed && other.solver == solver && is_such(other);
  });
  return found == rows.end() ? nullptr : &*found;
}

/// When a kernel pays against the reference kernel, with the same preconditioner.
void derive_kernel(const Settings& settings, const SolveRow* other, SolveRow& row) {
  if (other == nullptr || other == &row) return;
  const auto per_product = [](const SolveRow& each) {
    return each.spmv_count > 0 ? each.solve.summary.median / static_cast<double>(each.spmv_count) : 0.0;
  };
  row.pays = pays_after(row.setup.summary.median - other->setup.summary.median, per_product(*other), per_product(row),
                        speed_up(other->solve, row.solve, settings.seed));
}

/// When a preconditioner pays against the first one, with the same kernel.
void derive_precond(const Settings& settings, const SolveRow* other, SolveRow& row) {
  if (other == nullptr || other->precond == row.precond) return;
  row.pays_solves = pays_after(row.setup.summary.median - other->setup.summary.median, other->solve.summary.median,
                               row.solve.summary.median, speed_up(other->solve, row.solve, settings.seed));
}

/// Speed-up of whole solves and when the set-ups pay, per solver.
void derive(const Settings& settings, const Outcome& outcome, std::vector<SolveRow>& rows) {
  for (SolveRow& row : rows) {
    const SolveRow* reference = find_row(rows, row.solver, [](const SolveRow& other) { return other.reference; });
    if (reference != nullptr) {
      row.total.speed_up = speed_up(reference->total, row.total, settings.seed);
      row.solve.speed_up = speed_up(reference->solve, row.solve, settings.seed);
    }
    derive_kernel(settings,
                  find_row(rows, row.solver,
                           [&](const SolveRow& other) {
                             return other.kernel == outcome.reference && other.precond == row.precond;
                           }),
                  row);
    if (!row.preconds_compared) continue;
    derive_precond(settings,
                   find_row(rows, row.solver,
                            [&](const SolveRow& other) {
                              return other.kernel == row.kernel && other.precond == outcome.preconds.front();
                            }),
                   row);
  }
}

/// Chosen once, on the device; a preconditioner that the user wants and the matrix does not allow is refused here.
template <class T>
void choose_preconds(const Settings& settings, SolveInputs<T>& inputs, Outcome& outcome) {
  for (support::PrecondRequest request : settings.preconds) {
    begin_phase(settings, "setting up precond " + support::name_of(request));
    const auto prepared = support::prepare_precond<T>(request, precond_subject(inputs));
    if (prepared.hierarchy && !prepared.hierarchy->coarsens) {
      outcome.warnings.push_back({"W024", "amg does not coarsen this matrix: " + prepared.hierarchy->reason});
    }
    outcome.precond_bytes = std::max(outcome.precond_bytes, prepared.info.bytes);
    request.precond = prepared.choice.precond;
    outcome.preconds.push_back(support::name_of(request));
    inputs.preconds.push_back(std::move(request));
  }
}

}  // namespace

std::uint64_t solver_vectors(const Settings& settings, std::int64_t rows) {
  constexpr std::uint64_t shared = 2;
  std::uint64_t most = 0;
  for (const Solver solver : settings.solvers) {
    most = std::max(most, support::vectors_of(method_of(solver), rows, settings.solver, false));
  }
  return most + shared;
}

template <class T>
SolveInputs<T> solve_inputs(const Settings& settings, const Subject<T>& subject, Outcome& outcome) {
  SolveInputs<T> inputs;
  if (settings.solvers.empty()) return inputs;
  require_square(subject);
  const auto matrix = subject.matrix;
  inputs.matrix = matrix;
  inputs.on_device = support::device_copy(matrix, settings.device);
  inputs.name = subject.name;
  inputs.device = settings.device;
  inputs.facts = subject.facts;
  const bool ranks =
      std::find(settings.solvers.begin(), settings.solvers.end(), Solver::pagerank) != settings.solvers.end();
  const bool solves = settings.solvers.size() > (ranks ? 1U : 0U);

  const std::uint64_t transition = ranks ? matrix->bytes() : 0;
  support::require_memory(
      settings.memory_limit_bytes, subject.matrix_bytes(),
      transition + solver_vectors(settings, matrix->rows()) * static_cast<std::uint64_t>(matrix->rows()) * sizeof(T),
      "the vectors of the solvers");

  const auto stop_when_asked = [stop = settings.stop](const IterationInfo&) {
    return stop && stop() ? Control::stop : Control::proceed;
  };
  if (ranks) {
    inputs.transition = make_transition(subject, settings.host);
    inputs.pagerank = settings.pagerank;
    inputs.pagerank.observer = stop_when_asked;
  }
  if (!solves) return inputs;
  inputs.solver = settings.solver;
  inputs.solver.observer = stop_when_asked;
  inputs.vectors = subject.vectors();
  choose_preconds(settings, inputs, outcome);
  return inputs;
}

namespace {

/// Each solver with each candidate, and those of linear systems with each preconditioner. Requests are null for
/// pagerank.
struct SolveCase {
  Solver solver = Solver::cg;
  std::size_t candidate = 0;
  const support::PrecondRequest* precond = nullptr;
};

template <class T>
[[nodiscard]] std::vector<SolveCase> all_cases(const Settings& settings, const SolveInputs<T>& inputs,
                                               std::size_t candidates) {
  std::vector<SolveCase> cases;
  for (const Solver solver : settings.solvers) {
    for (std::size_t i = 0; i < candidates; ++i) {
      if (solver == Solver::pagerank) {
        cases.push_back({solver, i, nullptr});
        continue;
      }
      for (const support::PrecondRequest& precond : inputs.preconds) cases.push_back({solver, i, &precond});
    }
  }
  return cases;
}

}  // namespace

template <class T>
void compare_solves(const Settings& settings, const SolveInputs<T>& inputs, const std::vector<Candidate<T>>& candidates,
                    Outcome& outcome) {
  if (settings.solvers.empty()) return;
  const std::vector<SolveCase> cases = all_cases(settings, inputs, candidates.size());
  outcome.solves.resize(cases.size());
  std::vector<TimedSolve> solves(cases.size());
  std::vector<TimedSolve*> timed;
  for (std::size_t place = 0; place < cases.size(); ++place) {
    const auto& [solver, i, precond] = cases[place];
    SolveRow& row = outcome.solves[place];
    row.solver = solver;
    row.kernel = candidates[i].name;
    row.precond = precond == nullptr ? std::string() : support::name_of(*precond);
    row.preconds_compared = precond != nullptr && inputs.preconds.size() > 1;
    row.reference = row.kernel == outcome.reference && (precond == nullptr || precond == inputs.preconds.data());
    row.passed = outcome.products[i].passed;
    if (!row.passed) {
      row.reason = "the kernel failed its check";
      continue;
    }
    if (stopped(settings)) continue;
    begin_phase(settings, fmt::format("solving with {} and kernel {}{}", to_string(solver), row.kernel,
                                      row.preconds_compared ? ", precond " + row.precond : ""));
    solves[place] = {&row, make_solve_task(solver, inputs, candidates[i], precond)};
    if (run_first(solves[place])) timed.push_back(&solves[place]);
  }
  begin_phase(settings, fmt::format("timing {} solves in turn", timed.size()));
  if (!stopped(settings)) time_solves(settings, timed);
  derive(settings, outcome, outcome.solves);
}

template SolveInputs<float> solve_inputs(const Settings&, const Subject<float>&, Outcome&);
template SolveInputs<double> solve_inputs(const Settings&, const Subject<double>&, Outcome&);
template void compare_solves(const Settings&, const SolveInputs<float>&, const std::vector<Candidate<float>>&,
                             Outcome&);
template void compare_solves(const Settings&, const SolveInputs<double>&, const std::vector<Candidate<double>>&,
                             Outcome&);

}  // namespace tessera::compare
