// Least squares as a run of the command: its checks, its solve, summary and JSON.
#include "least_squares.hpp"

#include "problem.hpp"
#include "summary_text.hpp"

#include "core/stopwatch.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

namespace tessera::cli {

namespace {

void require_applicable(const RunSettings& settings, Method method, const MatrixStatistics& matrix) {
  const std::string name = support::to_string(method);
  if (!settings.option_of_square_systems.empty()) {
    throw UsageError(fmt::format("option --{} does not apply to {}", settings.option_of_square_systems, name),
                     "least squares end by --rtol, --max-iters and --max-time");
  }
  if (settings.is_mixed) {
    throw UsageError(fmt::format("--precision mixed does not apply to {}", name), "--precision fp64 or fp32");
  }
  const Precond precond = settings.precond.precond;
  if (precond != Precond::automatic && precond != Precond::none && precond != Precond::jacobi) {
    throw UsageError(fmt::format("option --precond {} does not apply to {}", support::to_string(precond), name),
                     "--precond jacobi scales the columns to norm 1");
  }
  if (settings.x0.kind == VectorSettings::Kind::rhs && matrix.rows != matrix.cols) {
    throw UsageError(fmt::format("option --x0 rhs: b has {} elements, x has {}", matrix.rows, matrix.cols));
  }
}

[[nodiscard]] LeastSquaresOptions least_squares_options(const RunSettings& settings, const SolverOptions& solver) {
  LeastSquaresOptions options;
  options.relative_tolerance = options.residual_tolerance = solver.relative_tolerance;
  options.damping = settings.damping;
  options.max_iterations = solver.max_iterations;
  options.time_limit_seconds = solver.time_limit_seconds;
  options.stagnation_window = solver.stagnation_window;
  options.keep_history = solver.keep_history;
  options.history_rows = solver.history_rows;
  options.observer = solver.observer;
  options.stop_cause = solver.stop_cause;
  return options;
}

template <class T>
[[nodiscard]] LeastSquaresReport solve_there(Method method, const SpmvPlan<T>& A, const FusedOperator<T>& D,
                                             std::span<const T> b, std::span<T> x, const LeastSquaresOptions& options) {
  return method == Method::cgls ? cgls<T>(A, D, b, x, options) : lsmr<T>(A, D, b, x, options);
}

/// b and x on the device of A and x back, or as they are.
template <class T>
[[nodiscard]] LeastSquaresReport solve_where_a_lies(Method method, const SpmvPlan<T>& A, const FusedOperator<T>& D,
                                                    std::span<const T> b, std::span<T> x,
                                                    const LeastSquaresOptions& options) {
  const Device device = A.device();
  if (device.is_host()) return solve_there<T>(method, A, D, b, x, options);
  const Stopwatch uploading;
  const auto device_b = Array<T>::copy_of(b, device);
  auto device_x = Array<T>::copy_of(std::span<const T>(x), device);
  const double upload_ms = uploading.milliseconds();
  LeastSquaresReport report = solve_there<T>(method, A, D, device_b.span(), device_x.span(), options);
  const Stopwatch downloading;
  tessera::detail::copy_bytes(Device{}, x.data(), device, device_x.data(), device_x.bytes());
  report.timings.upload_ms = upload_ms;
  report.timings.download_ms = downloading.milliseconds();
  return report;
}

}  // namespace

support::MethodChoice method_of_run(const RunSettings& settings, const std::string& name,
                                    const MatrixStatistics& matrix) {
  support::MethodChoice choice = support::choose_method(settings.method, matrix);
  const FactorKind kind = settings.precond.factors.kind;
  const bool drops_by_rows =
      settings.precond.precond == support::Precond::factors && (kind == FactorKind::ilut || kind == FactorKind::ilutp);
  if (settings.method == Method::automatic && choice.method == Method::cg && drops_by_rows) {
    choice = {Method::bicgstab, fmt::format("{} is not symmetric", to_string(kind))};
  }
  if (settings.damping > 0.0 && !support::is_least_squares(choice.method)) {
    choice = {Method::lsmr, "--damp asks for least squares"};
  }
  if (support::is_least_squares(choice.method)) {
    require_applicable(settings, choice.method, matrix);
  } else if (matrix.rows != matrix.cols) {
    throw DimensionError(
        fmt::format("{}: the matrix is {} x {}, {} needs a square one; --method lsmr solves min ||A x - b||", name,
                    matrix.rows, matrix.cols, support::to_string(choice.method)));
  }
  return choice;
}

std::string option_of_square_systems(const Options& options) {
  constexpr std::array<std::string_view, 8> all{
      "atol", "norm-base", "dtol", "restart-on-breakdown", "replace-residual", "shadow", "restart", "error-gate"};
  const auto* const typed =
      std::find_if(all.begin(), all.end(), [&](std::string_view name) { return options.typed(name); });
  return typed == all.end() ? std::string() : std::string(*typed);
}

std::uint64_t least_squares_bytes(const RunSettings& settings, Method method, std::int64_t rows, std::int64_t cols,
                                  std::size_t element) {
  // b, u and the product, which may have two buffers; x, and the vectors that tessera/least_squares.hpp names.
  constexpr std::uint64_t of_rows = 4;
  std::uint64_t of_cols = method == Method::cgls ? 5 : 7;
  if (settings.precond.precond == Precond::jacobi) of_cols += 2;
  if (settings.damping > 0.0 && method == Method::lsmr) ++of_cols;
  return (of_rows * static_cast<std::uint64_t>(rows) + of_cols * static_cast<std::uint64_t>(cols)) * element;
}

template <class T>
std::vector<T> least_squares_guess(const RunSettings& settings, const SpmvPlan<T>& A, std::span<const T> b) {
  using Kind = VectorSettings::Kind;
  const MachineSettings& machine = settings.machine;
  if (settings.x0.kind == Kind::rhs) return {b.begin(), b.end()};
  if (settings.x0.kind == Kind::random) return support::random_vector<T>(A.cols(), machine.seed + 1);
  if (settings.x0.kind == Kind::file) {
    return read_vector_of<T>(settings.x0.path, A.cols(), machine, "initial guess", "columns");
  }
  return std::vector<T>(static_cast<std::size_t>(A.cols()), T{0});
}

template <class T>
void fit_least_squares(const RunSettings& settings, const SpmvPlan<T>& A, Method method, std::span<const T> b,
                       std::span<T> x, const SolverOptions& solver, RunOutcome& outcome) {
  const bool is_scaled = settings.precond.precond == Precond::jacobi;
  std::unique_ptr<FusedOperator<T>> D = std::make_unique<IdentityOperator<T>>(A.cols(), A.device());
  if (is_scaled) {
    auto scaling = std::make_unique<ColumnNormPreconditioner<T>>(A.matrix(), settings.damping, A.device());
    outcome.precond.info = scaling->info();
    outcome.precond.name = outcome.precond.info.name;
    outcome.memory.precond = outcome.precond.info.bytes;
    D = std::move(scaling);
  } else if (settings.precond.precond == Precond::automatic) {
    outcome.precond.reason = "x is the solution of least norm";
  }
  const double precond_ms = outcome.precond.info.setup_ms;
  LeastSquaresReport report = solve_where_a_lies<T>(method, A, *D, b, x, least_squares_options(settings, solver));
  report.timings.preconditioner_ms = precond_ms;
  outcome.report = report;
  report.history.clear();
  outcome.least_squares = LeastSquaresOutcome{settings.damping, std::move(report)};
  // Nothing is said of it: b need not be in the range of A.
  outcome.accuracy.backward.componentwise = outcome.accuracy.backward.attainable = std::nan("");
}

std::string least_squares_lines(const RunOutcome& outcome) {
  const LeastSquaresReport& report = outcome.least_squares->report;
  const bool is_damped = outcome.least_squares->damping > 0.0;
  std::string status = fmt::format("{} after {}, {} with A, {} with A'", to_string(report.status),
                                   counted(report.iterations, "iteration"), counted(report.spmv_count, "product"),
                                   counted(report.transposed_count, "product"));
  // The line below tells the norms.
  const std::string cause = report.reason.substr(0, report.reason.find("; ||"));
  if (!report.converged() && !cause.starts_with("||")) status += ": " + cause;
  std::string text = line("status", status);
  if (!std::isfinite(report.true_residual)) return text + line("residual", "not computed: " + report.reason);
  const bool by_residual = report.ended_by == LeastSquaresTest::residual;
  text += line("residual",
               fmt::format("||b - A x|| = {:.2e}, ||A'(b - A x){}|| = {:.2e}, ||x|| = {:.2e}", report.true_residual,
                           is_damped ? " - damp^2 x" : "", report.normal_residual, report.x_norm));
  const std::string_view r = is_damped ? "||(b - A x, damp x)||" : "||b - A x||";
  text += line("test", by_residual ? fmt::format("{} = {:.2e} <= {:.2e} = rtol * ||b||: the system is consistent", r,
                                                 report.damped_residual, report.target)
                                   : fmt::format("||A'r|| / (||A|| ||r||) = {:.2e} {} rtol = {:.2e}", report.optimality,
                                                 report.converged() ? "<=" : ">", outcome.relative_tolerance));
  if (report.matrix_norm > 0.0) {
    text += line("estimates",
                 fmt::format("||A|| at least {:.3g}, cond(A) at least {:.3g}", report.matrix_norm, report.condition));
  }
  return text;
}

Json least_squares_json(const LeastSquaresOutcome& outcome) {
  const LeastSquaresReport& report = outcome.report;
  Json json;
  put_number(json, "damping", outcome.damping);
  json["test"] = to_string(report.ended_by);
  json["transposed_count"] = report.transposed_count;
  put_number(json, "normal_residual", report.normal_residual);
  put_number(json, "damped_residual", report.damped_residual);
  put_number(json, "optimality", report.optimality);
  put_number(json, "x_norm", report.x_norm);
  put_number(json, "matrix_norm", report.matrix_norm);
  put_number(json, "condition", report.condition);
  return json;
}

template std::vector<float> least_squares_guess(const RunSettings&, const SpmvPlan<float>&, std::span<const float>);
template std::vector<double> least_squares_guess(const RunSettings&, const SpmvPlan<double>&, std::span<const double>);
template void fit_least_squares(const RunSettings&, const SpmvPlan<float>&, Method, std::span<const float>,
                                std::span<float>, const SolverOptions&, RunOutcome&);
template void fit_least_squares(const RunSettings&, const SpmvPlan<double>&, Method, std::span<const double>,
                                std::span<double>, const SolverOptions&, RunOutcome&);

}  // namespace tessera::cli
