#include "compare/comparison.hpp"
#include "compare/oracle.hpp"
#include "core/stopwatch.hpp"
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

/// The end of one run.
struct SolveRun {
  Status status = Status::interrupted;
  std::string reason;
  std::int64_t iterations = 0;
  std::int64_t spmv_count = 0;
  double residual = 0.0;  ///< as the solver reports it
  double target = 0.0;
  double setup_ms = 0.0;  ///< kernel and preconditioner
  double solve_ms = 0.0;
};

/// One solver with one kernel, run from the start as often as asked.
class SolveTask {
 public:
  SolveTask() = default;
  virtual ~SolveTask() = default;
  SolveTask(const SolveTask&) = delete;
  SolveTask& operator=(const SolveTask&) = delete;

  /// Drops the kernel of the run before and puts the initial guess in place.
  virtual void prepare() = 0;
  virtual SolveRun run() = 0;
  /// The residual of the latest run, computed apart.
  [[nodiscard]] virtual CheckedResidual check() const = 0;
};

template <class T>
class KrylovTask final : public SolveTask {
 public:
  KrylovTask(Solver solver, const SolveInputs<T>& inputs, const Candidate<T>& candidate)
      : solver_(solver), inputs_(inputs), candidate_(candidate) {}

  void prepare() override {
    kernel_.product.reset();
    precond_.inverse.reset();
    x_ = inputs_.vectors.x0;
  }

  SolveRun run() override {
    const Stopwatch setup;
    kernel_ = candidate_.plan(inputs_.on_device);
    precond_ = support::prepare_precond(inputs_.precond, inputs_.facts, inputs_.on_device->view(), inputs_.device,
                                        inputs_.name);
    SolveRun result;
    result.setup_ms = setup.milliseconds() - kernel_.info.upload_ms;
    const support::Method method = solver_ == Solver::cg ? support::Method::cg : support::Method::bicgstab;
    const Stopwatch solve;
    SolveReport report = support::solve_from_host<T>(method, {*kernel_.product, *precond_.inverse}, inputs_.vectors.b,
                                                     x_, inputs_.solver);
    result.solve_ms = solve.milliseconds() - report.timings.upload_ms - report.timings.download_ms;
    result.status = report.status;
    result.reason = std::move(report.reason);
    result.iterations = report.iterations;
    result.spmv_count = report.spmv_count;
    result.residual = report.true_residual;
    result.target = report.target;
    return result;
  }

  [[nodiscard]] CheckedResidual check() const override {
    return checked_residual<T>(inputs_.matrix->view(), inputs_.vectors.b, x_);
  }

 private:
  Solver solver_;
  const SolveInputs<T>& inputs_;
  const Candidate<T>& candidate_;
  PlannedKernel<T> kernel_;
  support::PreparedPrecond<T> precond_;
  std::vector<T> x_;
};

template <class T>
class PageRankTask final : public SolveTask {
 public:
  PageRankTask(const SolveInputs<T>& inputs, const Candidate<T>& candidate)
      : inputs_(inputs), options_(inputs.pagerank) {
    options_.spmv = candidate.options;
  }

  void prepare() override { result_.reset(); }

  SolveRun run() override {
    result_.emplace(pagerank(*inputs_.transition, options_));
    SolveRun result;
    result.setup_ms = result_->timings.plan_ms;
    result.solve_ms = result_->timings.solve_ms;
    result.status = result_->status;
    result.reason = result_->reason;
    result.iterations = result_->iterations;
    result.spmv_count = result_->spmv_count;
    result.residual = result_->change;
    result.target = options_.tolerance;
    return result;
  }

  [[nodiscard]] CheckedResidual check() const override {
    return checked_rank_change<T>(inputs_.matrix->view(), options_.damping, result_->ranks.span());
  }

 private:
  const SolveInputs<T>& inputs_;
  PageRankOptions options_;
  std::optional<PageRankResult<T>> result_;
};

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

template <class T>
[[nodiscard]] std::unique_ptr<SolveTask> make_solve_task(Solver solver, const SolveInputs<T>& inputs,
                                                         const Candidate<T>& candidate) {
  if (solver == Solver::pagerank) return std::make_unique<PageRankTask<T>>(inputs, candidate);
  return std::make_unique<KrylovTask<T>>(solver, inputs, candidate);
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

/// Speed-up of whole solves and when the set-up pays, per solver.
void derive(const Settings& settings, std::vector<SolveRow>& rows) {
  const auto per_product = [](const SolveRow& row) {
    return row.spmv_count > 0 ? row.solve.summary.median / static_cast<double>(row.spmv_count) : 0.0;
  };
  for (SolveRow& row : rows) {
    const auto reference = std::find_if(rows.begin(), rows.end(), [&](const SolveRow& other) {
      return other.reference && other.passed && other.solver == row.solver;
    });
    if (reference == rows.end()) continue;
    row.total.speed_up = speed_up(reference->total, row.total, settings.seed);
    row.solve.speed_up = speed_up(reference->solve, row.solve, settings.seed);
    if (row.reference) continue;
    row.pays = pays_after(row.setup.summary.median - reference->setup.summary.median, per_product(*reference),
                          per_product(row), row.solve.speed_up);
  }
}

}  // namespace

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

  constexpr std::uint64_t solver_vectors = 14;
  const std::uint64_t transition = ranks ? matrix->bytes() : 0;
  support::require_memory(settings.memory_limit_bytes, matrix->bytes(),
                          transition + solver_vectors * static_cast<std::uint64_t>(matrix->rows()) * sizeof(T),
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
  // Chosen once; a preconditioner that the user wants and the matrix does not allow is refused here.
  inputs.precond =
      support::prepare_precond(settings.precond, subject.facts, matrix->view(), settings.host, subject.name)
          .choice.precond;
  outcome.precond = to_string(inputs.precond);
  return inputs;
}

template <class T>
void compare_solves(const Settings& settings, const SolveInputs<T>& inputs, const std::vector<Candidate<T>>& candidates,
                    Outcome& outcome) {
  if (settings.solvers.empty()) return;
  outcome.solves.resize(settings.solvers.size() * candidates.size());
  std::vector<TimedSolve> solves(outcome.solves.size());
  std::vector<TimedSolve*> timed;
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
      if (stopped(settings)) continue;
      begin_phase(settings, fmt::format("solving with {} and kernel {}", to_string(solver), row.kernel));
      solves[place] = {&row, make_solve_task(solver, inputs, candidates[i])};
      if (run_first(solves[place])) timed.push_back(&solves[place]);
    }
  }
  begin_phase(settings, fmt::format("timing {} solves in turn", timed.size()));
  if (!stopped(settings)) time_solves(settings, timed);
  derive(settings, outcome.solves);
}

template void compare_solves(const Settings&, const SolveInputs<float>&, const std::vector<Candidate<float>>&,
                             Outcome&);
template void compare_solves(const Settings&, const SolveInputs<double>&, const std::vector<Candidate<double>>&,
                             Outcome&);

}  // namespace tessera::compare
