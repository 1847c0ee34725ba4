// A run by PETSc: request, result, report.
#include "engine.hpp"
#include "interrupt.hpp"
#include "option_values.hpp"
#include "outputs.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "run_output.hpp"
#include "run_warnings.hpp"
#include "settings.hpp"

#include "core/stopwatch.hpp"
#include "support/precond.hpp"
#include "tessera/binary_matrix.hpp"

#include <fmt/format.h>
#include <system_error>

#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <span>
#include <utility>

namespace tessera::cli {

namespace {

using petsc::EngineRequest;
using petsc::EngineResult;
using petsc::MatrixSource;
using petsc::PrecondSource;
using petsc::VectorSource;

void take_matrix(const ProblemSettings& problem, EngineRequest& request) {
  if (problem.source == Source::file) {
    if (problem.name == "-") {
      throw UsageError("--engine petsc reads no matrix from standard input",
                       "solve convert IN A.tsb writes a file that is read in parts");
    }
    std::error_code ignored;
    const bool is_binary = std::filesystem::is_regular_file(problem.path, ignored) && is_binary_matrix(problem.path);
    request.source = is_binary ? MatrixSource::binary : MatrixSource::matrix_market;
    request.path = problem.path;
    request.duplicates = problem.duplicates;
    return;
  }
  constexpr std::array<std::pair<std::string_view, MatrixSource>, 3> grids{{{"poisson2d", MatrixSource::poisson2d},
                                                                            {"poisson3d", MatrixSource::poisson3d},
                                                                            {"convdiff", MatrixSource::convdiff}}};
  const GeneratorSpec& generator = problem.generator;
  for (const auto& [family, source] : grids) {
    if (generator.family != family || !generator.size || !generator.parameters.empty()) continue;
    request.source = source;
    request.size = *generator.size;
    request.path = problem.name;
    return;
  }
  throw UsageError(fmt::format("--engine petsc makes no matrix {}: each process makes its rows of --poisson2d, "
                               "--poisson3d and --convdiff alone",
                               problem.name),
                   "solve convert --generate NAME A.tsb writes a file that is read in parts");
}

[[nodiscard]] VectorSource source_of(const VectorSettings& settings) {
  using Kind = VectorSettings::Kind;
  if (settings.columns > 1) throw UsageError("--engine petsc takes one right-hand side at a time");
  VectorSource source;
  source.path = settings.path;
  source.index = settings.index;
  switch (settings.kind) {
    case Kind::zero:
      source.kind = VectorSource::Kind::zero;
      break;
    case Kind::ones:
      source.kind = VectorSource::Kind::ones;
      break;
    case Kind::a_ones:
      source.kind = VectorSource::Kind::a_ones;
      break;
    case Kind::a_random:
      source.kind = VectorSource::Kind::a_random;
      break;
    case Kind::random:
      source.kind = VectorSource::Kind::random;
      break;
    case Kind::unit:
      source.kind = VectorSource::Kind::unit;
      break;
    case Kind::rhs:
      source.kind = VectorSource::Kind::rhs;
      break;
    case Kind::file:
      source.kind = VectorSource::Kind::file;
      break;
  }
  return source;
}

void take_method(const RunSettings& settings, EngineRequest& request) {
  if (settings.solver.side == PreconditionerSide::left) {
    throw UsageError("--precond-side left does not run with --engine petsc");
  }
  if (settings.method == Method::automatic) return;
  request.method = settings.method.iterative();
  if (request.method && *request.method != IterativeMethod::idr) return;
  throw UsageError(fmt::format("--method {} does not run with --engine petsc", support::to_string(settings.method)),
                   "--method cg, bicgstab, gmres, minres, chebyshev or richardson");
}

void take_precond(const PrecondSettings& settings, EngineRequest& request) {
  switch (settings.precond) {
    case Precond::automatic:
      request.precond = PrecondSource::automatic;
      return;
    case Precond::none:
      request.precond = PrecondSource::none;
      return;
    case Precond::jacobi:
      request.precond = PrecondSource::jacobi;
      return;
    default:
      break;
  }
  support::PrecondRequest named;
  named.precond = settings.precond;
  named.factors = settings.factors;
  named.fsai = settings.fsai;
  named.spai = settings.spai;
  named.polynomial = settings.polynomial;
  request.precond = PrecondSource::tessera;
  request.precond_name = support::name_of(named);
}

[[nodiscard]] EngineRequest engine_request(const Options& options, const RunSettings& settings) {
  EngineRequest request;
  take_matrix(settings.problem, request);
  request.rhs = source_of(settings.rhs);
  request.rhs_is_named = settings.rhs_given;
  request.x0 = source_of(settings.x0);
  take_method(settings, request);
  take_precond(settings.precond, request);
  request.solver = settings.solver;
  request.solver.stop_cause = interruption;
  request.threads = static_cast<int>(count_or_auto_option(options, "threads", 0));
  request.wants_solution = options.given("output");
  return request;
}

[[nodiscard]] RunOutcome outcome_of(const RunSettings& settings, EngineResult& result) {
  RunOutcome outcome;
  outcome.problem = settings.problem.name;
  outcome.from_file = settings.problem.source == Source::file;
  outcome.matrix = std::move(result.matrix);
  outcome.duplicates = result.duplicates;
  outcome.pattern = result.header.field == MatrixMarketField::pattern;
  outcome.precision = Precision::fp64;
  outcome.threads = 1;
  outcome.plan.reason = "each process multiplies its rows";
  outcome.memory.matrix = result.matrix_bytes;
  outcome.memory.vectors = result.vector_bytes;
  outcome.method = result.method;
  outcome.method_reason = result.method_reason;
  outcome.precond.name = result.precond;
  outcome.precond.reason = result.precond_reason;
  VectorSettings rhs = settings.rhs;
  if (result.rhs_replaced) rhs.kind = VectorSettings::Kind::a_random;
  outcome.rhs = describe(rhs);
  outcome.rhs_replaced = result.rhs_replaced;
  outcome.x0 = describe(settings.x0);
  outcome.relative_tolerance = settings.solver.relative_tolerance;
  outcome.absolute_tolerance = settings.solver.absolute_tolerance;
  outcome.base = settings.solver.base;
  outcome.report = std::move(result.report);
  if (result.error) outcome.error = KnownError{result.error->largest, result.error->relative};
  // Not computed.
  outcome.accuracy.backward.componentwise = outcome.accuracy.backward.attainable =
      std::numeric_limits<double>::quiet_NaN();
  outcome.engine = result.info;
  warn_about_run(outcome, outcome.warnings);
  return outcome;
}

}  // namespace

ExitCode run_with_petsc(const Options& options, const Invocation& invocation) {
  if (launch().number > 0) fall_silent();
  require_petsc_options(options);
  const RunSettings settings = run_settings(options);
  EngineRequest request = engine_request(options, settings);
  check_outputs(settings.output, input_files(options, settings.problem, {settings.rhs.path, settings.x0.path}));
  Progress progress(options, settings.output, settings.machine);
  progress.phase("starting PETSc");
  const std::unique_ptr<petsc::Engine> engine = start_petsc(speak_of_failure);
  const bool is_first = engine->is_first();
  if (!is_first) fall_silent();
  request.phase = [&](const std::string& text) {
    if (is_first) progress.phase(text);
  };
  request.solver.observer = [&](const IterationInfo& info) {
    if (is_first) progress.update(info);
    return ends_with_iteration() ? Control::stop : Control::proceed;
  };
  progress.phase(loading_text(settings.problem));
  EngineResult result = engine->solve(request);
  if (!is_first) return ExitCode::success;
  RunOutcome outcome = outcome_of(settings, result);
  progress.conclude(outcome.warnings);
  return deliver_run(outcome, settings.output, options, invocation,
                     [&](const std::string& path, const std::vector<std::string>& comments) {
                       write_solution<double>(path, std::span<const double>(result.solution), comments);
                     });
}

}  // namespace tessera::cli
