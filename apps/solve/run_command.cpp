#include "columns_run.hpp"
#include "commands.hpp"
#include "device_choice.hpp"
#include "dry_run.hpp"
#include "engine.hpp"
#include "group_run.hpp"
#include "interrupt.hpp"
#include "ladder_run.hpp"
#include "least_squares.hpp"
#include "option_values.hpp"
#include "outputs.hpp"
#include "precond_settings.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "run_output.hpp"
#include "run_warnings.hpp"
#include "solve_limits.hpp"
#include "system_ordering.hpp"

#include "core/stopwatch.hpp"
#include "support/error_gate.hpp"
#include "support/machine.hpp"
#include "support/plan_memory.hpp"
#include "support/system.hpp"
#include "tessera/error.hpp"
#include "tessera/mixed_precision.hpp"
#include "tessera/solvers.hpp"
#include "tessera/spmv.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace tessera::cli {

namespace {

template <class T>
struct Solved {
  RunOutcome outcome;
  MultiVector<T> solution;  ///< one column per right-hand side

  [[nodiscard]] std::span<T> x() { return solution.elements; }
};

/// Facts, method and preconditioner; the plan is made by the caller because it outlives this.
template <class T>
void describe_problem(const RunSettings& settings, const InputMatrix<T>& problem, RunOutcome& outcome) {
  const Stopwatch timer;
  report_input(settings.problem, settings.machine, problem, outcome);
  outcome.kernel_chosen_by_user = names_kernel(settings.spmv.algorithm);
  outcome.rhs = describe(settings.rhs);
  outcome.x0 = describe(settings.x0);
  outcome.relative_tolerance = settings.solver.relative_tolerance;
  outcome.absolute_tolerance = settings.solver.absolute_tolerance;
  outcome.base = settings.solver.base;
  describe_matrix(problem.matrix->view(), settings.output, settings.machine.host, outcome);
  outcome.inspect_ms = timer.milliseconds();
}

template <class T>
[[nodiscard]] PrecondOutcome precond_outcome(const PrecondSettings& settings, const support::PreparedPrecond<T>& M) {
  PrecondOutcome outcome;
  support::PrecondRequest named;
  named.precond = M.choice.precond;
  named.factors = settings.factors;
  named.fsai = settings.fsai;
  named.spai = settings.spai;
  named.polynomial = settings.polynomial;
  outcome.name = support::name_of(named);
  outcome.reason = M.choice.reason;
  outcome.info = M.info;
  outcome.hierarchy = M.hierarchy;
  if (M.polynomial) outcome.polynomial = {settings.polynomial, *M.polynomial};
  if (M.factors) outcome.factors = {settings.factors, *M.factors};
  outcome.direct = M.direct;
  outcome.approximate_inverse = M.approximate_inverse;
  return outcome;
}

/// Nothing where a limit came first. \param solver its limit of time becomes what is left of it
/// \param outcome its memory is held already
template <class T>
[[nodiscard]] std::optional<support::PreparedPrecond<T>> set_up_precond(const PrecondSettings& precond,
                                                                        const RunSettings& settings,
                                                                        const SpmvPlan<T>& A, Method method,
                                                                        SolverOptions& solver, RunOutcome& outcome) {
  support::PrecondRequest request = precond_request(precond, settings.problem, A.rows(), settings.machine);
  request.definite = method.iterative() && method_info(*method.iterative()).matrix == MatrixClass::symmetric;
  request.held_bytes = outcome.memory.plan + outcome.memory.vectors;
  if (A.matrix_device() == A.device()) request.held_bytes += outcome.memory.matrix;
  auto M = set_up_within_limits(solver, [&] {
    return support::prepare_precond<T>(request,
                                       {outcome.matrix, A.matrix(), settings.machine.device, outcome.problem, &A});
  });
  outcome.precond = {};
  outcome.precond.name = support::name_of(request);
  if (M) outcome.precond = precond_outcome(precond, *M);
  outcome.memory.precond = outcome.precond.info.bytes;
  return M;
}

/// Errors of the solution, and with --error-gate repair a better one. \param options with what is left of the limits
template <class T>
void assess(const RunSettings& settings, const SpmvPlan<T>& A, const FusedOperator<T>& M, Method method,
            std::span<const T> b, SolverOptions options, Solved<T>& result) {
  RunOutcome& outcome = result.outcome;
  options.keep_history = false;
  options.observer = [](const IterationInfo&) { return ends_with_iteration() ? Control::stop : Control::proceed; };
  options.stop_cause = interruption;
  outcome.error_gate = settings.error_gate.value_or(ErrorGate::warn);
  const std::uint64_t limit = settings.machine.memory_limit_bytes;
  const MemoryUse& memory = outcome.memory;
  const std::uint64_t held = memory.matrix + memory.plan + memory.vectors + memory.precond;
  const std::uint64_t left = limit == 0 ? 0 : std::max<std::uint64_t>(1, limit - std::min(limit, held));
  outcome.accuracy = support::assess_accuracy<T>(
      {{A, M}, A.matrix(), outcome.matrix, method, b, result.x(), options, left}, outcome.error_gate, outcome.report);
}

/// With the method and the preconditioner of the user.
template <class T>
void solve_as_named(const RunSettings& settings, const SpmvPlan<T>& A, Method method, std::span<const T> b,
                    SolverOptions solver, Progress& progress, Solved<T>& result) {
  RunOutcome& outcome = result.outcome;
  progress.phase("setting up the preconditioner");
  const Stopwatch timer;
  const auto M = set_up_precond<T>(settings.precond, settings, A, method, solver, outcome);
  const double precond_ms = timer.milliseconds();
  if (M) progress.phase(fmt::format("solving with {} and precond {}", outcome.method, outcome.precond.name));
  outcome.report = M ? support::solve_from_host<T>(method, {A, *M->inverse}, b, result.x(), solver)
                     : report_of_guess<T>(A, b, result.x(), solver);
  outcome.report.timings.preconditioner_ms = precond_ms;
  progress.phase("checking the solution");
  solver.time_limit_seconds = std::max(0.0, settings.solver.time_limit_seconds - timer.seconds());
  const IdentityOperator<T> none(A.rows(), A.device());
  const FusedOperator<T>* inverse = &none;
  if (M) inverse = M->inverse.get();
  assess<T>(settings, A, *inverse, method, b, solver, result);
}

/// The matrix once more in fp32: its values on the host, and a plan.
[[nodiscard]] SpmvPlan<float> plan_in_single(const RunSettings& settings, const Csr<double>& matrix,
                                             MixedOutcome& mixed, MemoryUse& memory) {
  const std::uint64_t limit = settings.machine.memory_limit_bytes;
  const std::uint64_t held = memory.matrix + memory.plan + memory.vectors;
  const std::uint64_t values = matrix.is_pattern() ? 0 : static_cast<std::uint64_t>(matrix.nnz()) * sizeof(float);
  support::require_memory(limit, held, values, "the matrix in fp32");
  SingleMatrix single = single_matrix(matrix, settings.machine.host);
  mixed.is_exact = single.is_exact;
  mixed.exponent = single.exponent;
  support::require_memory_of_plan(limit, held + values, single.matrix.view(), settings.spmv);
  SpmvPlan<float> plan(std::move(single.matrix), settings.spmv);
  mixed.plan = plan.info();
  memory.matrix += values;
  memory.plan += mixed.plan.bytes;
  return plan;
}

/// The same in mixed precision: iterations and preconditioner in fp32.
void solve_in_mixed_precision(const RunSettings& settings, const Csr<double>& matrix, const SpmvPlan<double>& A,
                              Method method, std::span<const double> b, SolverOptions solver, Progress& progress,
                              Solved<double>& result) {
  RunOutcome& outcome = result.outcome;
  MixedOutcome& mixed = outcome.mixed.emplace();
  progress.phase("planning the product in fp32");
  const Stopwatch plan_timer;
  const SpmvPlan<float> single = plan_in_single(settings, matrix, mixed, outcome.memory);
  const double plan_ms = plan_timer.milliseconds();
  progress.phase("setting up the preconditioner");
  const Stopwatch timer;
  const auto M = set_up_precond<float>(settings.precond, settings, single, method, solver, outcome);
  const double precond_ms = timer.milliseconds();
  if (!M) {
    outcome.report = report_of_guess<double>(A, b, result.x(), solver);
    outcome.report.timings.preconditioner_ms = precond_ms;
    return assess<double>(settings, A, IdentityOperator<double>(A.rows(), A.device()), method, b, solver, result);
  }
  progress.phase(
      fmt::format("solving with {} and precond {} in mixed precision", outcome.method, outcome.precond.name));
  const Device device = A.device();
  const Stopwatch uploading;
  const auto device_b = Array<double>::copy_of(b, device);
  auto device_x = Array<double>::copy_of(result.x(), device);
  const double upload_ms = device.is_host() ? 0.0 : uploading.milliseconds();
  MixedSolveReport report = solve_mixed(method.iterative().value(), A, single, *M->inverse, device_b.span(),
                                        device_x.span(), solver, mixed.exponent);
  const Stopwatch downloading;
  detail::copy_bytes(Device{}, result.x().data(), device, device_x.data(), device_x.bytes());
  report.timings.download_ms = device.is_host() ? 0.0 : downloading.milliseconds();
  report.timings.upload_ms = upload_ms + mixed.plan.upload_ms;
  report.timings.plan_ms = plan_ms - mixed.plan.upload_ms;
  report.timings.preconditioner_ms = precond_ms;
  mixed.single_iterations = report.single_iterations;
  mixed.double_iterations = report.double_iterations;
  mixed.double_products = report.double_products;
  mixed.fallback = report.fallback;
  outcome.report = std::move(report);
  progress.phase("checking the solution");
  solver.time_limit_seconds = std::max(0.0, settings.solver.time_limit_seconds - timer.seconds());
  assess<double>(settings, A, WidenedPreconditioner(*M->inverse, mixed.exponent), method, b, solver, result);
}

/// In the numbering that the user asks for. \param outcome its memory is that of the matrix and the vectors
template <class T>
[[nodiscard]] OrderedSystem<T> reorder(const RunSettings& settings, const Csr<T>& matrix, bool is_least_squares,
                                       RunOutcome& outcome) {
  const Ordering kind = settings.ordering.value_or(Ordering::natural);
  require_square_ordering(kind, is_least_squares);
  const bool solves_on_host = settings.machine.device.is_host();
  OrderedSystem<T> system = order_system(matrix, kind, outcome.matrix,
                                         {.limit_bytes = settings.machine.host_limit_bytes(),
                                          .held_bytes = outcome.memory.matrix,
                                          .later_bytes = solves_on_host ? outcome.memory.vectors : 0});
  if (solves_on_host) outcome.memory.matrix += system.bytes();
  if (settings.ordering) outcome.ordering = system.facts;
  return system;
}

/// A in the numbering of the file, in which vectors are named.
template <class T>
[[nodiscard]] std::shared_ptr<const LinearOperator<T>> operator_of_file(const InputMatrix<T>& problem,
                                                                        const OrderedSystem<T>& system,
                                                                        const SpmvPlan<T>& A, const Device& host) {
  if (!system.reordered) return {std::shared_ptr<const void>(), &A};
  return std::make_shared<const SpmvPlan<T>>(problem.matrix,
                                             SpmvOptions{.algorithm = SpmvAlgorithm::csr, .device = host});
}

/// With one right-hand side: b, x and their solve.
template <class T>
void solve_one(RunSettings& settings, const InputMatrix<T>& problem, const OrderedSystem<T>& system,
               const SpmvPlan<T>& A, Method method, const SolverOptions& solver, Progress& progress,
               Solved<T>& result) {
  RunOutcome& outcome = result.outcome;
  const MachineSettings& machine = settings.machine;
  const auto named = operator_of_file(problem, system, A, machine.host);
  const std::vector<T> b =
      system.gathered(make_rhs<T>(settings.rhs, settings.rhs_given, problem.matrix->view(), *named, machine));
  outcome.rhs_replaced = outcome.rhs != describe(settings.rhs);
  outcome.rhs = describe(settings.rhs);
  if (support::is_least_squares(method)) {
    result.solution = {least_squares_guess<T>(settings, A, b), A.cols(), 1};
    progress.phase("solving with " + outcome.method);
    return fit_least_squares<T>(settings, A, method, b, result.x(), solver, outcome);
  }
  result.solution = {
      settings.x0.kind == VectorSettings::Kind::rhs
          ? b
          : system.gathered(make_vector<T>(settings.x0, *named, machine, machine.seed + 1, "initial guess")),
      A.rows(), 1};
  if (climbs(settings)) {
    progress.phase("solving");
    climb<T>(settings, A, b, result.x(), solver, outcome);
  } else if (settings.is_mixed) {
    if constexpr (std::is_same_v<T, double>) {
      solve_in_mixed_precision(settings, system.reordered ? *system.reordered : *problem.matrix, A, method, b, solver,
                               progress, result);
    }
  } else {
    solve_as_named<T>(settings, A, method, b, solver, progress, result);
  }
}

/// With several.
template <class T>
void solve_all(const RunSettings& settings, const OrderedSystem<T>& system, const SpmvPlan<T>& A, Method method,
               const SolverOptions& solver, Progress& progress, Solved<T>& result) {
  MultiVector<T> b = make_right_sides<T>(settings, A.rows());
  result.solution = make_guesses<T>(settings, b);
  system.gather_columns(b);
  system.gather_columns(result.solution);
  const SetUpPrecond<T> set_up = [&](const PrecondSettings& precond, SolverOptions& options) {
    return set_up_precond<T>(precond, settings, A, method, options, result.outcome);
  };
  solve_right_sides<T>(settings, A, method, b, result.solution, solver, set_up, progress, result.outcome);
}

/// A run that ended by itself, without a solution that is as good as it gets.
[[nodiscard]] bool wants_advice(const RunOutcome& outcome) {
  const Status status = outcome.report.status;
  return status != Status::converged && status != Status::interrupted && status != Status::not_finite &&
         !outcome.accuracy.backward_stable && outcome.matrix.not_finite == 0;
}

template <class T>
[[nodiscard]] Solved<T> solve_system(RunSettings settings, Progress& progress) {
  Solved<T> result;
  RunOutcome& outcome = result.outcome;
  MachineSettings& machine = settings.machine;

  const Stopwatch watch;
  progress.phase(loading_text(settings.problem));
  const InputMatrix<T> problem = load_input<T>(settings.problem, machine);
  decide_device(*problem.matrix, machine, settings.spmv, progress);
  progress.phase("inspecting the matrix");
  describe_problem(settings, problem, outcome);
  const support::MethodChoice method = method_of_run(settings, problem.name, outcome.matrix);
  const bool is_least_squares = support::is_least_squares(method.method);
  outcome.method = to_string(method.method);
  outcome.method_reason = method.reason;
  warn_about_copies(outcome.warnings);
  warn_about_unused(settings, method.method, outcome.warnings);
  const std::int64_t columns = rhs_columns(settings, problem.matrix->rows());
  check_columns(settings, method.method, columns);
  outcome.memory.vectors =
      is_least_squares
          ? least_squares_bytes(settings, method.method, outcome.matrix.rows, outcome.matrix.cols, sizeof(T))
          : vector_bytes(settings, method.method, problem.matrix->rows(), sizeof(T), columns);
  const std::string vectors_text = "the vectors of " + outcome.method;
  if (may_stream(settings.spmv)) {
    // And the diagonal of Jacobi.
    const std::uint64_t diagonal = static_cast<std::uint64_t>(outcome.matrix.rows) * sizeof(T);
    settings.spmv.memory_limit_bytes =
        memory_beside_vectors(machine, outcome.memory.matrix, outcome.memory.vectors + diagonal, vectors_text);
  } else {
    support::require_memory(machine.memory_limit_bytes, outcome.memory.matrix, outcome.memory.vectors, vectors_text);
  }

  progress.phase("planning the product");
  const OrderedSystem<T> system = reorder(settings, *problem.matrix, is_least_squares, outcome);
  settings.spmv.with_transpose = is_least_squares;
  const std::uint64_t transposed_bytes = is_least_squares ? outcome.memory.matrix : 0;
  support::require_memory_of_plan(machine.memory_limit_bytes,
                                  outcome.memory.matrix + transposed_bytes + outcome.memory.vectors,
                                  problem.matrix->view(), settings.spmv);
  const Stopwatch plan_timer;
  const SpmvPlan<T> A(system.reordered ? system.reordered : problem.matrix, settings.spmv);
  const double plan_ms = system.facts.ms + plan_timer.milliseconds() - A.info().upload_ms;
  outcome.plan = A.info();
  outcome.memory.plan = outcome.plan.bytes + (outcome.plan.transpose ? outcome.plan.transpose->bytes : 0);
  const bool is_streamed = !(A.matrix_device() == A.device());
  if (!machine.device.is_host() && !is_streamed) {
    outcome.memory.vectors += bytes_of_parts(settings, method.method, problem.matrix->rows(), problem.matrix->nnz(),
                                             problem.matrix->is_pattern() ? 0 : sizeof(T), columns);
  }
  if (settings.is_mixed && is_streamed) {
    throw NotSupported(
        "mixed precision keeps the matrix on the GPU in fp32, but it is streamed there: --precision fp64 or fp32");
  }

  progress.phase("preparing vectors");
  SolverOptions solver = settings.solver;
  solver.observer = progress.observer();
  solver.stop_cause = interruption;
  if (columns == 1) {
    solve_one<T>(settings, problem, system, A, method.method, solver, progress, result);
  } else {
    solve_all<T>(settings, system, A, method.method, solver, progress, result);
  }
  keep_partial_results();
  system.scatter_columns(result.solution);
  outcome.report.timings.read_ms = problem.read_ms;
  outcome.report.timings.upload_ms += A.info().upload_ms;
  outcome.report.timings.plan_ms += plan_ms;
  if (columns == 1 && !is_least_squares && wants_advice(outcome)) {
    // Under a limit on memory the direct solver is no advice either.
    advise<T>(problem.matrix->view(), machine.memory_limit_bytes == 0, watch.seconds(), outcome);
  }
  // Least squares may have other solutions.
  if (!is_least_squares) outcome.error = known_error<T>(result.x(), settings.rhs, machine.seed);
  if (settings.output.plan_info && interrupt_signal() == 0) outcome.break_even = A.measure_break_even();
  warn_about_run(outcome, outcome.warnings);
  return result;
}

template <class T>
[[nodiscard]] ExitCode run_typed(const RunSettings& settings, const Options& options, const Invocation& invocation) {
  Progress progress(options, settings.output, settings.machine);
  Solved<T> solved = solve_system<T>(settings, progress);
  RunOutcome& outcome = solved.outcome;
  progress.conclude(outcome.warnings);
  return deliver_run(outcome, settings.output, options, invocation,
                     [&](const std::string& path, const std::vector<std::string>& comments) {
                       write_solution<T>(path, solved.solution, comments);
                     });
}

}  // namespace

ExitCode run_command(const Options& options, const Invocation& invocation) {
  if (!uses_petsc(options) && uses_several_devices(options)) return run_on_several_devices(options, invocation);
  if (uses_petsc(options)) return run_with_petsc(options, invocation);
  RunSettings settings = run_settings(options);
  settings.ordering = ordering_beside(options, settings.precond);
  check_outputs(settings.output, input_files(options, settings.problem,
                                             {settings.rhs.path, settings.x0.path, settings.precond.coordinates_file,
                                              settings.precond.near_nullspace_file}));
  if (options.flag("dry-run")) return forecast_run(settings, options, invocation);
  return settings.machine.precision == Precision::fp64 ? run_typed<double>(settings, options, invocation)
                                                       : run_typed<float>(settings, options, invocation);
}

}  // namespace tessera::cli
