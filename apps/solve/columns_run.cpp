// Several right-hand sides as a run of the command.
#include "columns_run.hpp"

#include "ladder_run.hpp"
#include "solve_limits.hpp"

#include "core/stopwatch.hpp"
#include "support/system.hpp"
#include "tessera/accuracy.hpp"
#include "tessera/error.hpp"
#include "tessera/multiple_right_sides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace tessera::cli {

namespace {

using Kind = VectorSettings::Kind;

[[nodiscard]] ReadOptions read_options(const MachineSettings& machine) {
  ReadOptions options;
  options.device = machine.host;
  options.memory_limit_bytes = machine.host_limit_bytes();
  return options;
}

/// Seeds of the columns of right-hand sides are even steps from that of the first, those of guesses odd ones.
template <class T>
[[nodiscard]] MultiVector<T> random_columns(std::int64_t rows, std::int64_t columns, std::uint64_t first_seed) {
  MultiVector<T> result{{}, rows, columns};
  for (std::int64_t j = 0; j < columns; ++j) {
    const auto column = support::random_vector<T>(rows, first_seed + 2 * static_cast<std::uint64_t>(j));
    result.elements.insert(result.elements.end(), column.begin(), column.end());
  }
  return result;
}

template <class T>
[[nodiscard]] MultiVector<T> read_columns_of(const std::string& path, std::int64_t rows, const MachineSettings& machine,
                                             const std::string& what) {
  try {
    return read_multi_vector<T>(path, rows, read_options(machine));
  } catch (const DimensionError& error) {
    throw DimensionError(fmt::format("{} {}, the rows of the matrix", what, error.what()));
  }
}

/// Columns [first, ...) with b and x on the host.
template <class T>
[[nodiscard]] std::vector<SolveReport> solve_from_host(Method method, const support::SystemOperators<T>& system,
                                                       const MultiVectorView<const T>& b, const MultiVectorView<T>& x,
                                                       const SolverOptions& options) {
  // Method direct is Richardson iteration with its factors.
  const IterativeMethod iteration = method.iterative().value_or(IterativeMethod::richardson);
  const SolverOptions own = method == Method::direct ? support::refinement_options(options) : options;
  const Device device = system.A.device();
  if (device.is_host()) return solve_columns<T>(iteration, system.A, system.M, b, x, own);
  const Stopwatch uploading;
  const auto device_b = Array<T>::copy_of(b.elements(), device);
  auto device_x = Array<T>::copy_of(std::span<const T>(x.elements()), device);
  const double upload_ms = uploading.milliseconds();
  auto reports = solve_columns<T>(iteration, system.A, system.M, {device_b.span(), b.rows(), b.columns()},
                                  {device_x.span(), x.rows(), x.columns()}, own);
  const Stopwatch downloading;
  tessera::detail::copy_bytes(Device{}, x.data(), device, device_x.data(), device_x.bytes());
  for (SolveReport& report : reports) {
    report.timings.upload_ms = upload_ms;
    report.timings.download_ms = downloading.milliseconds();
  }
  return reports;
}

[[nodiscard]] int severity(Status status) {
  switch (status) {
    case Status::converged:
      return 0;
    case Status::max_iterations:
      return 1;
    case Status::time_limit:
      return 2;
    case Status::stagnated:
      return 3;
    case Status::diverged:
      return 4;
    case Status::breakdown:
      return 5;
    case Status::not_finite:
      return 6;
    case Status::interrupted:
      return 7;
  }
  return 7;
}

/// The solve of all columns, as it goes on.
template <class T>
class RightSides {
 public:
  RightSides(const RunSettings& settings, const SpmvPlan<T>& A, const MultiVector<T>& b, MultiVector<T>& x,
             const SolverOptions& solver, RunOutcome& outcome)
      : settings_(settings), A_(A), b_(b.view()), x_(x.view()), solver_(solver), outcome_(outcome) {
    outcome.columns.resize(static_cast<std::size_t>(b.columns));
  }

  /// Columns first, first + 1, ... by one method.
  void solve_from(std::int64_t first, Method method, const support::PreparedPrecond<T>& M) {
    const std::int64_t count = b_.columns() - first;
    if (count == 0) return;
    auto reports = solve_from_host<T>(method, {A_, *M.inverse}, b_.columns(first, count), x_.columns(first, count),
                                      options_left());
    for (std::int64_t j = 0; j < count; ++j) {
      take(first + j, std::string(to_string(method)), outcome_.precond.name,
           std::move(reports[static_cast<std::size_t>(j)]));
    }
  }

  /// None of them: their set-up met a limit.
  void give_up(Method method) {
    for (std::int64_t j = 0; j < b_.columns(); ++j) {
      take(j, to_string(method), outcome_.precond.name,
           report_of_guess<T>(A_, b_.column(j), x_.column(j), options_left()));
    }
  }

  /// One column by the ladder. \param outcome gets what is said of the rung
  void climb_with(std::int64_t j, RunOutcome& outcome) {
    climb<T>(settings_, A_, b_.column(j), x_.column(j), options_left(), outcome);
    take(j, outcome.method, outcome.precond.name, std::move(outcome.report));
  }
  /// The same, of which only the report is kept.
  void climb_again(std::int64_t j) {
    RunOutcome own = outcome_;
    climb_with(j, own);
  }

  [[nodiscard]] const SolveReport& report(std::int64_t j) const { return at(j).report; }

  /// The limit of time is that of the whole run.
  [[nodiscard]] SolverOptions options_left() const {
    SolverOptions result = solver_;
    result.time_limit_seconds = std::max(0.0, solver_.time_limit_seconds - watch_.seconds());
    return result;
  }

 private:
  [[nodiscard]] ColumnOutcome& at(std::int64_t j) const { return outcome_.columns[static_cast<std::size_t>(j)]; }
  void take(std::int64_t j, const std::string& method, const std::string& precond, SolveReport report) {
    at(j) = {method, precond, std::move(report)};
  }

  const RunSettings& settings_;
  const SpmvPlan<T>& A_;
  MultiVectorView<const T> b_;
  MultiVectorView<T> x_;
  const SolverOptions& solver_;
  RunOutcome& outcome_;
  Stopwatch watch_;
};

/// What sets up the preconditioner of a rung for all other columns; nothing where a rung serves one column alone: it
/// works on -A, or on the host where A is on a GPU.
[[nodiscard]] std::optional<PrecondSettings> settings_of_rung(const RunSettings& settings, const RunOutcome& outcome) {
  const LadderReport& ladder = outcome.ladder->ladder;
  if (ladder.rungs.empty() || ladder.facts.negated) return std::nullopt;
  const RungReport& rung = ladder.rungs[ladder.rung];
  if (rung.on_host != settings.machine.device.is_host()) return std::nullopt;
  PrecondSettings result = settings.precond;
  switch (rung.plan.precond) {
    case RungPrecond::none:
      result.precond = Precond::none;
      break;
    case RungPrecond::jacobi:
      result.precond = Precond::jacobi;
      break;
    case RungPrecond::amg:
      result.precond = Precond::amg;
      break;
    case RungPrecond::incomplete_factors:
      result.precond = Precond::factors;
      result.factors = rung.plan.factors;
      break;
    case RungPrecond::direct:
      result.precond = Precond::direct;
      break;
  }
  return result;
}

[[nodiscard]] Method method_of(RungMethod rung) {
  if (rung == RungMethod::direct) return Method::direct;
  return parse_iterative_method(to_string(rung));
}

/// \returns the time of setting up the rung again
template <class T>
double climb_first(RightSides<T>& sides, const RunSettings& settings, const SetUpPrecond<T>& set_up, Progress& progress,
                   RunOutcome& outcome) {
  const auto columns = static_cast<std::int64_t>(outcome.columns.size());
  const auto goes_on = [&](std::int64_t j) {
    return sides.report(j).status != Status::interrupted && sides.report(j).status != Status::time_limit;
  };
  // A column that is solved by its guess tells of no rung.
  std::int64_t next = 0;
  do {
    progress.phase(fmt::format("solving column {} of {}", next + 1, columns));
    sides.climb_with(next++, outcome);
  } while (next < columns && outcome.ladder->ladder.rungs.empty() && goes_on(next - 1));
  if (next == columns) return 0.0;
  const auto shared = settings_of_rung(settings, outcome);
  if (!shared || !sides.report(next - 1).converged()) {
    for (; next < columns; ++next) sides.climb_again(next);
    return 0.0;
  }
  const RungReport& rung = outcome.ladder->ladder.rungs[outcome.ladder->ladder.rung];
  const Stopwatch timer;
  SolverOptions left = sides.options_left();
  const auto M = set_up(*shared, left);
  const double ms = timer.milliseconds();
  progress.phase(fmt::format("solving columns {} to {} with {}", next + 1, columns, rung.plan.command_options()));
  if (M) sides.solve_from(next, method_of(rung.plan.method), *M);
  for (; next < columns; ++next) {
    if (!M || (!sides.report(next).converged() && goes_on(next))) sides.climb_again(next);
  }
  return ms;
}

/// The report of the worst column, with the times of all.
void conclude(RunOutcome& outcome, double solve_ms, double precond_ms) {
  const auto is_worse = [](const ColumnOutcome& a, const ColumnOutcome& b) {
    const int sa = severity(a.report.status);
    const int sb = severity(b.report.status);
    if (sa != sb) return sa > sb;
    // Of zeros and of what is not finite nothing is compared.
    return a.report.true_residual * b.report.target > b.report.true_residual * a.report.target;
  };
  std::size_t worst = 0;
  for (std::size_t j = 1; j < outcome.columns.size(); ++j) {
    if (is_worse(outcome.columns[j], outcome.columns[worst])) worst = j;
  }
  outcome.worst_column = worst;
  outcome.report = outcome.columns[worst].report;
  outcome.method = outcome.columns[worst].method;
  outcome.precond.name = outcome.columns[worst].precond;
  outcome.report.timings.solve_ms = solve_ms;
  outcome.report.timings.preconditioner_ms = precond_ms;
  if (outcome.ladder) outcome.ladder->rest_ms = 0.0;  // a part of these
}

/// Of the worst column, whatever was found out of the others.
template <class T>
void judge_worst(const SpmvPlan<T>& A, const MultiVectorView<const T>& b, const MultiVectorView<const T>& x,
                 RunOutcome& outcome) {
  outcome.accuracy = {};
  if (!std::isfinite(outcome.report.true_residual)) return;
  const auto j = static_cast<std::int64_t>(outcome.worst_column);
  const Stopwatch watch;
  const Device device = A.device();
  const auto own_b = Array<T>::copy_of(b.column(j), device);
  const auto own_x = Array<T>::copy_of(x.column(j), device);
  outcome.accuracy.backward = backward_error<T>(A.matrix(), own_b.span(), own_x.span(), device);
  outcome.accuracy.ms = watch.milliseconds();
}

}  // namespace

std::int64_t rhs_columns(const RunSettings& settings, std::int64_t rows) {
  if (settings.rhs.kind != Kind::file) return settings.rhs.columns;
  if (const auto columns = columns_of_file(settings.rhs.path, rows)) return std::max<std::int64_t>(1, *columns);
  if (!settings.rhs.path.ends_with(".mtx.gz")) return 1;
  return read_columns_of<float>(settings.rhs.path, rows, settings.machine, "right-hand side").columns;
}

void check_columns(const RunSettings& settings, Method method, std::int64_t columns) {
  if (columns == 1) return;
  if (support::is_least_squares(method)) {
    throw UsageError(
        fmt::format("{} takes one right-hand side at a time, there are {}", support::to_string(method), columns));
  }
  if (settings.is_mixed) {
    throw UsageError(fmt::format("--precision mixed applies to one right-hand side, there are {}", columns),
                     "--precision fp64, or one right-hand side at a time");
  }
  const auto& output = settings.output.vector;
  if (output && (output->ends_with(".txt") || output->ends_with(".csv"))) {
    throw UsageError(fmt::format("--output {} holds one column, the right-hand side has {}", *output, columns),
                     "a file .mtx or .mtx.gz holds all of them");
  }
  if (settings.error_gate.value_or(ErrorGate::off) != ErrorGate::off) {
    throw UsageError(fmt::format("option --error-gate applies to one right-hand side, there are {}", columns),
                     "--error-gate off, or one right-hand side at a time");
  }
}

template <class T>
MultiVector<T> make_right_sides(const RunSettings& settings, std::int64_t rows) {
  if (settings.rhs.kind == Kind::file) {
    return read_columns_of<T>(settings.rhs.path, rows, settings.machine, "right-hand side");
  }
  return random_columns<T>(rows, settings.rhs.columns, settings.machine.seed);
}

template <class T>
MultiVector<T> make_guesses(const RunSettings& settings, const MultiVector<T>& b) {
  switch (settings.x0.kind) {
    case Kind::rhs:
      return b;
    case Kind::random:
      return random_columns<T>(b.rows, b.columns, settings.machine.seed + 1);
    case Kind::file: {
      MultiVector<T> x = read_columns_of<T>(settings.x0.path, b.rows, settings.machine, "initial guess");
      if (x.columns == b.columns) return x;
      throw DimensionError(fmt::format("initial guess {} has {} columns, the right-hand side has {}", settings.x0.path,
                                       x.columns, b.columns));
    }
    default:
      return {std::vector<T>(b.elements.size(), T{0}), b.rows, b.columns};
  }
}

template <class T>
void solve_right_sides(const RunSettings& settings, const SpmvPlan<T>& A, Method method, const MultiVector<T>& b,
                       MultiVector<T>& x, const SolverOptions& solver, const SetUpPrecond<T>& set_up,
                       Progress& progress, RunOutcome& outcome) {
  RunSettings own = settings;
  own.error_gate = ErrorGate::off;
  RightSides<T> sides(own, A, b, x, solver, outcome);
  outcome.error_gate = ErrorGate::off;
  double precond_ms = 0.0;
  const Stopwatch watch;
  if (climbs(settings)) {
    precond_ms = climb_first<T>(sides, own, set_up, progress, outcome);
  } else {
    progress.phase("setting up the preconditioner");
    SolverOptions left = solver;
    const auto M = set_up(settings.precond, left);
    precond_ms = watch.milliseconds();
    progress.phase(
        fmt::format("solving {} columns with {} and precond {}", b.columns, outcome.method, outcome.precond.name));
    M ? sides.solve_from(0, method, *M) : sides.give_up(method);
  }
  conclude(outcome, watch.milliseconds() - precond_ms, precond_ms);
  judge_worst<T>(A, b.view(), std::as_const(x).view(), outcome);
}

template MultiVector<float> make_right_sides(const RunSettings&, std::int64_t);
template MultiVector<double> make_right_sides(const RunSettings&, std::int64_t);
template MultiVector<float> make_guesses(const RunSettings&, const MultiVector<float>&);
template MultiVector<double> make_guesses(const RunSettings&, const MultiVector<double>&);
template void solve_right_sides(const RunSettings&, const SpmvPlan<float>&, Method, const MultiVector<float>&,
                                MultiVector<float>&, const SolverOptions&, const SetUpPrecond<float>&, Progress&,
                                RunOutcome&);
template void solve_right_sides(const RunSettings&, const SpmvPlan<double>&, Method, const MultiVector<double>&,
                                MultiVector<double>&, const SolverOptions&, const SetUpPrecond<double>&, Progress&,
                                RunOutcome&);

}  // namespace tessera::cli
