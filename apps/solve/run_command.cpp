#include "commands.hpp"
#include "device_choice.hpp"
#include "interrupt.hpp"
#include "outputs.hpp"
#include "precond_report.hpp"
#include "precond_settings.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "report_json.hpp"
#include "summary_text.hpp"

#include "core/stopwatch.hpp"
#include "support/machine.hpp"
#include "support/system.hpp"
#include "tessera/error.hpp"
#include "tessera/solvers.hpp"
#include "tessera/spmv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <utility>

namespace tessera::cli {

namespace {

template <class T>
struct Solved {
  RunOutcome outcome;
  std::vector<T> x;
};

/// Right-hand side, solution and the work vectors of a method, those of a kernel with two output buffers included.
[[nodiscard]] std::uint64_t vector_bytes(Method method, std::int64_t rows, std::size_t element) {
  constexpr std::uint64_t cg_vectors = 8;
  constexpr std::uint64_t bicgstab_vectors = 12;
  const std::uint64_t vectors = method == Method::bicgstab ? bicgstab_vectors : cg_vectors;
  return vectors * static_cast<std::uint64_t>(rows) * element;
}

template <class T>
void require_square(const InputMatrix<T>& problem) {
  const Csr<T>& matrix = *problem.matrix;
  if (matrix.rows() == matrix.cols()) return;
  throw DimensionError(
      fmt::format("{}: the matrix is {} x {}, A x = b needs a square one", problem.name, matrix.rows(), matrix.cols()));
}

template <class T>
[[nodiscard]] double distance_from_ones(std::span<const T> x) {
  double largest = 0.0;
  for (const T value : x) {
    const double distance = std::fabs(static_cast<double>(value) - 1.0);
    if (std::isnan(distance)) return distance;
    largest = std::max(largest, distance);
  }
  return largest;
}

/// A tolerance below the rounding errors is reached only by luck.
void warn_of_precision(const RunOutcome& outcome, Warnings& warnings) {
  const bool single = outcome.precision == Precision::fp32;
  const double resolved =
      single ? static_cast<double>(std::numeric_limits<float>::epsilon()) : std::numeric_limits<double>::epsilon();
  if (outcome.relative_tolerance >= resolved || outcome.absolute_tolerance > 0.0) return;
  warnings.push_back({"W010", fmt::format("--rtol {:g} asks for more than {} resolves, which is about {:.1e} of ||b||",
                                          outcome.relative_tolerance, single ? "fp32" : "fp64", resolved)});
}

void add_warnings(const RunOutcome& outcome, Warnings& warnings) {
  const SolveReport& report = outcome.report;
  warn_about_cache(outcome, warnings);
  warn_about_precond(outcome.precond, outcome.method, warnings);
  warn_of_precision(outcome, warnings);
  warn_about_duplicates(outcome, warnings);
  if (outcome.pattern) {
    warnings.push_back({"W002", fmt::format("{} has no values: every nonzero counts as 1", outcome.problem)});
  }
  if (report.converged() && report.b_norm == 0.0 && outcome.matrix.rows > 0) {
    warnings.push_back(
        {"W003", fmt::format("the right-hand side {} is zero, so x = 0 solves the system; -b random asks "
                             "for more",
                             outcome.rhs)});
  }
  if (report.breakdown == Breakdown::indefinite && outcome.method == "cg") {
    warnings.push_back({"W004", "cg needs a positive definite matrix; try --method bicgstab"});
  }
  if (report.status == Status::stagnated) {
    warnings.push_back({"W005",
                        "the residual no longer falls: another --precond or --method may help, or --rtol asks "
                        "for more than this matrix gives in this precision"});
  }
  if (report.status == Status::max_iterations || report.status == Status::time_limit) {
    warnings.push_back({"W006", "the limit came first: raise --max-iters or --max-time, or loosen --rtol"});
  }
}

/// Facts, method and preconditioner; the plan is made by the caller because it outlives this.
template <class T>
void describe_problem(const RunSettings& settings, const InputMatrix<T>& problem, RunOutcome& outcome) {
  const Stopwatch timer;
  report_input(settings.problem, settings.machine, problem, outcome);
  outcome.kernel_chosen_by_user = settings.spmv.algorithm != SpmvAlgorithm::automatic;
  outcome.rhs = describe(settings.rhs);
  outcome.x0 = describe(settings.x0);
  outcome.relative_tolerance = settings.solver.relative_tolerance;
  outcome.absolute_tolerance = settings.solver.absolute_tolerance;
  outcome.base = settings.solver.base;
  outcome.matrix = statistics(problem.matrix->view(), settings.machine.host);
  outcome.inspect_ms = timer.milliseconds();
}

/// Right-hand side and initial guess.
template <class T>
struct SystemVectors {
  std::span<const T> b;
  std::span<const T> x0;
};

template <class T>
[[nodiscard]] support::PreparedPrecond<T> set_up_precond(const RunSettings& settings, const SpmvPlan<T>& A,
                                                         const SystemVectors<T>& vectors, const RunOutcome& outcome) {
  support::PrecondRequest request = precond_request(settings.precond, settings.problem, A.rows(), settings.machine);
  request.held_bytes = outcome.memory.matrix + outcome.memory.plan + outcome.memory.vectors;
  support::TrialSystem<T> trial{A, vectors.b, vectors.x0, settings.solver};
  trial.options.observer = [](const IterationInfo&) {
    return interrupt_signal() == 0 ? Control::proceed : Control::stop;
  };
  return support::prepare_precond<T>(request, {outcome.matrix, A.matrix(), settings.machine.device, outcome.problem},
                                     &trial);
}

template <class T>
[[nodiscard]] Solved<T> solve_system(RunSettings settings, Progress& progress) {
  Solved<T> result;
  RunOutcome& outcome = result.outcome;
  MachineSettings& machine = settings.machine;

  progress.phase(loading_text(settings.problem));
  const InputMatrix<T> problem = load_input<T>(settings.problem, machine);
  require_square(problem);
  decide_device(*problem.matrix, machine, settings.spmv, progress);
  progress.phase("inspecting the matrix");
  describe_problem(settings, problem, outcome);
  const support::MethodChoice method = support::choose_method(settings.method, outcome.matrix);
  outcome.method = to_string(method.method);
  outcome.method_reason = method.reason;
  if (settings.shadow_given && method.method == Method::cg) {
    outcome.warnings.push_back({"W008", "--shadow belongs to bicgstab and has no effect: cg was chosen"});
  }
  outcome.memory.vectors = vector_bytes(method.method, problem.matrix->rows(), sizeof(T));
  support::require_memory(machine.memory_limit_bytes, outcome.memory.matrix, outcome.memory.vectors,
                          "the vectors of " + outcome.method);

  progress.phase("planning the product");
  const Stopwatch plan_timer;
  const SpmvPlan<T> A(problem.matrix, settings.spmv);
  const double plan_ms = plan_timer.milliseconds() - A.info().upload_ms;
  outcome.plan = A.info();
  outcome.memory.plan = outcome.plan.bytes;

  progress.phase("preparing vectors and preconditioner");
  const std::vector<T> b = make_vector<T>(settings.rhs, A, machine, machine.seed, "right-hand side");
  result.x = settings.x0.kind == VectorSettings::Kind::rhs
                 ? b
                 : make_vector<T>(settings.x0, A, machine, machine.seed + 1, "initial guess");
  const Stopwatch precond_timer;
  const support::PreparedPrecond<T> M = set_up_precond<T>(settings, A, {b, result.x}, outcome);
  const double precond_ms = precond_timer.milliseconds();
  outcome.memory.precond = M.info.bytes;
  outcome.precond = {to_string(M.choice.precond), M.choice.reason, M.info, M.hierarchy, M.trial};

  progress.phase(fmt::format("solving with {} and precond {}", outcome.method, outcome.precond.name));
  SolverOptions solver = settings.solver;
  solver.observer = [&progress](const IterationInfo& info) {
    progress.update(info);
    return interrupt_signal() == 0 ? Control::proceed : Control::stop;
  };
  const std::span<T> x(result.x);
  outcome.report = support::solve_from_host<T>(method.method, {A, *M.inverse}, b, x, solver);
  outcome.report.timings.read_ms = problem.read_ms;
  outcome.report.timings.upload_ms += A.info().upload_ms;
  outcome.report.timings.plan_ms = plan_ms;
  outcome.report.timings.preconditioner_ms = precond_ms;

  if (settings.rhs.kind == VectorSettings::Kind::a_ones) outcome.error = distance_from_ones<T>(x);
  if (settings.output.plan_info && interrupt_signal() == 0) outcome.break_even = A.measure_break_even();
  add_warnings(outcome, outcome.warnings);
  return result;
}

template <class T>
[[nodiscard]] ExitCode run_typed(const RunSettings& settings, const Options& options, const Invocation& invocation) {
  Progress progress(options, settings.output, settings.machine);
  Solved<T> solved = solve_system<T>(settings, progress);
  RunOutcome& outcome = solved.outcome;
  progress.conclude(outcome.warnings);

  Deliverables results;
  results.write_vector = [&](const std::string& path) {
    const Stopwatch timer;
    write_solution<T>(path, solved.x,
                      {fmt::format("solution of {} with right-hand side {}: {}", outcome.problem, outcome.rhs,
                                   to_string(outcome.report.status))});
    outcome.write_ms = timer.milliseconds();
  };
  results.history = &outcome.report.history;
  results.summary = [&] { return run_summary(outcome, settings.output); };
  results.json = [&](ExitCode code) { return document_text(run_json(outcome, options, invocation, code)); };
  return deliver(settings.output, exit_code_of(outcome.report.status, interrupt_signal(), settings.output.exit_zero),
                 results);
}

}  // namespace

ExitCode run_command(const Options& options, const Invocation& invocation) {
  const RunSettings settings = run_settings(options);
  check_outputs(settings.output, input_files(options, settings.problem,
                                             {settings.rhs.path, settings.x0.path, settings.precond.coordinates_file,
                                              settings.precond.near_nullspace_file}));
  return settings.machine.precision == Precision::fp64 ? run_typed<double>(settings, options, invocation)
                                                       : run_typed<float>(settings, options, invocation);
}

}  // namespace tessera::cli
