// A run on several devices: the matrix is shared out, the solver of one device runs on each.
#include "group_run.hpp"

#include "device_forecast.hpp"
#include "dry_run.hpp"
#include "foreign_options.hpp"
#include "group_numbering.hpp"
#include "interrupt.hpp"
#include "option_values.hpp"
#include "outputs.hpp"
#include "precond_settings.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "run_output.hpp"
#include "run_warnings.hpp"
#include "settings.hpp"
#include "summary_text.hpp"

#include "core/stopwatch.hpp"
#include "support/machine.hpp"
#include "tessera/amg_several_devices.hpp"
#include "tessera/several_devices.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tessera::cli {

namespace {

constexpr std::string_view where = "several devices";

constexpr auto foreign_options = std::to_array<ForeignOption>({
    {"precision", "fp64|fp32", "corrections in fp64 run on one device"},
    {"error-gate", "auto|off", "the error of x is not estimated there"},
    {"determinism", "none|run", "sums depend on the number of devices"},
    {"plan-info", "", ""},
    {"damp", "0", "least squares run on one device"},
});

[[nodiscard]] std::string device_text(const Options& options) { return options.text("device").value_or(""); }

/// Only what the library has there.
void require_offered(const RunSettings& settings) {
  const Method method = settings.method;
  const auto iterative = method == Method::automatic ? std::nullopt : method.iterative();
  if (iterative != IterativeMethod::cg && iterative != IterativeMethod::bicgstab) {
    throw UsageError(fmt::format("--method {} does not run on several devices", support::to_string(method)),
                     "--method cg or bicgstab, or one device");
  }
  const Precond precond = settings.precond.precond;
  if (precond != Precond::automatic && precond != Precond::none && precond != Precond::jacobi &&
      precond != Precond::amg) {
    throw UsageError("on several devices the preconditioner is none, jacobi or amg",
                     "--precond jacobi or amg, or one device");
  }
  const AmgCycle cycle = settings.precond.amg.cycle;
  if (precond == Precond::amg && cycle != AmgCycle::v) {
    throw UsageError(fmt::format("--precond-opt cycle={} does not run on several devices", to_string(cycle)),
                     "cycle=v, or one device");
  }
  if (settings.rhs.columns > 1) throw UsageError("several devices take one right-hand side at a time");
}

[[nodiscard]] GroupPreconditioner precond_of(const PrecondSettings& settings, RunOutcome& outcome) {
  const bool is_none = settings.precond == Precond::none;
  outcome.precond.name = is_none ? "none" : "jacobi";
  if (settings.precond == Precond::automatic) outcome.precond.reason = "always jacobi on several devices";
  return is_none ? GroupPreconditioner::identity : GroupPreconditioner::jacobi;
}

/// \param precond a GroupPreconditioner or a DistributedAmg
template <class T, class M>
[[nodiscard]] SolveReport solve_by(IterativeMethod method, const DistributedMatrix<T>& matrix, const M& precond,
                                   std::span<const T> b, std::span<T> x, const SolverOptions& options) {
  return method == IterativeMethod::cg ? cg<T>(matrix, precond, b, x, options)
                                       : bicgstab<T>(matrix, precond, b, x, options);
}

template <class T>
[[nodiscard]] DistributedAmg<T> set_up_amg(const RunSettings& settings, const CsrView<T>& a,
                                           const DistributedMatrix<T>& matrix, RunOutcome& outcome) {
  const support::PrecondRequest request =
      precond_request(settings.precond, settings.problem, matrix.rows(), settings.machine);
  DistributedAmg<T> M(matrix, a, request.amg);
  const DistributedAmgInfo& info = M.info();
  PrecondOutcome& precond = outcome.precond;
  precond.name = "amg";
  precond.hierarchy = info.hierarchy;
  precond.shared_levels = info.shared_levels;
  precond.info = {
      .name = "amg", .setup_ms = info.setup_ms + info.share_ms + info.check_ms, .is_symmetric = info.is_symmetric};
  for (const std::uint64_t bytes : info.bytes) precond.info.bytes += bytes;
  outcome.memory.precond = precond.info.bytes;
  return M;
}

/// With the preconditioner that the settings name.
template <class T>
[[nodiscard]] SolveReport solve_with(const RunSettings& settings, const CsrView<T>& a,
                                     const DistributedMatrix<T>& matrix, std::span<const T> b, std::span<T> x,
                                     const SolverOptions& solver, Progress& progress, RunOutcome& outcome) {
  const IterativeMethod method = *settings.method.iterative();
  const auto solving = [&] {
    progress.phase(fmt::format("solving with {} and precond {} on {} devices", outcome.method, outcome.precond.name,
                               matrix.group().size()));
  };
  if (settings.precond.precond != Precond::amg) {
    const GroupPreconditioner precond = precond_of(settings.precond, outcome);
    solving();
    return solve_by<T>(method, matrix, precond, b, x, solver);
  }
  progress.phase("setting up the preconditioner");
  const Stopwatch timer;
  const DistributedAmg<T> M = set_up_amg<T>(settings, a, matrix, outcome);
  const double setup_ms = timer.milliseconds();
  solving();
  SolveReport report = solve_by<T>(method, matrix, M, b, x, solver);
  report.timings.preconditioner_ms = setup_ms;
  return report;
}

template <class T>
void describe(const RunSettings& settings, const InputMatrix<T>& problem, RunOutcome& outcome) {
  const Stopwatch timer;
  report_input(settings.problem, settings.machine, problem, outcome);
  outcome.kernel_chosen_by_user = names_kernel(settings.spmv.algorithm);
  outcome.method = to_string(settings.method);
  outcome.relative_tolerance = settings.solver.relative_tolerance;
  outcome.absolute_tolerance = settings.solver.absolute_tolerance;
  outcome.base = settings.solver.base;
  describe_matrix(problem.matrix->view(), settings.output, settings.machine.host, outcome);
  outcome.inspect_ms = timer.milliseconds();
  // Not computed.
  outcome.accuracy.backward.componentwise = outcome.accuracy.backward.attainable =
      std::numeric_limits<double>::quiet_NaN();
}

void take_plan(double plan_ms, RunOutcome& outcome) {
  outcome.plan.algorithm = parse_spmv_algorithm(outcome.parts.front().kernel);
  outcome.plan.reason = outcome.parts.front().reason;
  outcome.plan.determinism = Determinism::run_to_run;
  outcome.plan.build_ms = plan_ms;
}

template <class T>
struct GroupSolution {
  RunOutcome outcome;
  std::vector<T> x;
};

template <class T>
[[nodiscard]] GroupSolution<T> solve_on(const DeviceGroup& group, RunSettings settings, const GroupNumbering& numbering,
                                        Progress& progress) {
  GroupSolution<T> result;
  RunOutcome& outcome = result.outcome;
  progress.phase(loading_text(settings.problem));
  const InputMatrix<T> problem = load_input<T>(settings.problem, settings.machine);
  progress.phase("inspecting the matrix");
  describe(settings, problem, outcome);
  progress.phase(fmt::format("sharing the matrix out to {} devices", group.size()));
  const NumberedSystem<T> system = number_for_group(problem.matrix->view(), outcome.matrix, group.size(), numbering);
  const OrderedSystem<T>& ordering = system.ordering;
  const CsrView<T> a = system.matrix(*problem.matrix);
  outcome.ordering = ordering.facts;
  outcome.ordering->bytes = ordering.bytes();
  if (settings.machine.memory_limit_bytes > 0) {
    require_devices_hold(forecast_of_devices(settings, a, outcome.matrix, system.partition, group));
  }
  const Stopwatch plan_timer;
  const DistributedMatrix<T> matrix(group, a, system.partition, settings.spmv);
  const double plan_ms = ordering.facts.ms + plan_timer.milliseconds();
  outcome.memory.matrix = 0;
  take_parts(matrix, outcome);
  take_plan(plan_ms, outcome);
  progress.phase("preparing vectors");
  const SpmvPlan<T> on_host(problem.matrix, {.algorithm = SpmvAlgorithm::csr, .device = settings.machine.host});
  const std::vector<T> b =
      make_rhs<T>(settings.rhs, settings.rhs_given, problem.matrix->view(), on_host, settings.machine);
  outcome.rhs = describe(settings.rhs);
  outcome.x0 = describe(settings.x0);
  result.x = settings.x0.kind == VectorSettings::Kind::rhs
                 ? b
                 : make_vector<T>(settings.x0, on_host, settings.machine, settings.machine.seed + 1, "initial guess");
  SolverOptions solver = settings.solver;
  solver.observer = progress.observer();
  solver.stop_cause = interruption;
  std::vector<T> x = ordering.gathered(result.x);
  outcome.report = solve_with<T>(settings, a, matrix, ordering.gathered(b), x, solver, progress, outcome);
  result.x = ordering.scattered(std::move(x));
  outcome.report.timings.read_ms = problem.read_ms;
  outcome.report.timings.plan_ms = plan_ms;
  outcome.error = known_error<T>(result.x, settings.rhs, settings.machine.seed);
  warn_about_run(outcome, outcome.warnings);
  return result;
}

template <class T>
[[nodiscard]] ExitCode run_typed(const RunSettings& settings, const Options& options, const Invocation& invocation) {
  const DeviceGroup group = device_group(options);
  Progress progress(options, settings.output, settings.machine);
  GroupSolution<T> solved = solve_on<T>(group, settings, group_numbering(options, settings), progress);
  RunOutcome& outcome = solved.outcome;
  progress.conclude(outcome.warnings);
  return deliver_run(outcome, settings.output, options, invocation,
                     [&](const std::string& path, const std::vector<std::string>& comments) {
                       write_solution<T>(path, std::span<const T>(solved.x), comments);
                     });
}

}  // namespace

DeviceGroup device_group(const Options& options) {
  try {
    return DeviceGroup::parse(device_text(options));
  } catch (const InvalidArgument& error) {
    throw OptionError("device", fmt::format("option --device: {}", error.what()), "--device cuda:0,1 or cuda:all");
  }
}

bool uses_several_devices(const Options& options) { return DeviceGroup::is_group(device_text(options)); }

ExitCode run_on_several_devices(const Options& options, const Invocation& invocation) {
  require_no_foreign(options, foreign_options, where);
  const RunSettings settings = run_settings(options);
  require_offered(settings);
  check_outputs(settings.output, input_files(options, settings.problem,
                                             {settings.rhs.path, settings.x0.path, settings.precond.coordinates_file,
                                              settings.precond.near_nullspace_file}));
  if (options.flag("dry-run")) return forecast_group_run(settings, options, invocation);
  return settings.machine.precision == Precision::fp64 ? run_typed<double>(settings, options, invocation)
                                                       : run_typed<float>(settings, options, invocation);
}

std::string parts_lines(const CommonOutcome& outcome) {
  std::string text = ordering_line(outcome);
  for (const DevicePart& part : outcome.parts) {
    std::string halo = "no halo";
    if (part.halo > 0) {
      halo = fmt::format("halo {} from {}, {} nonzeros there{}", counted(part.halo, "element"),
                         counted(part.neighbours, "device"), part.halo_nnz,
                         part.halo_kernel.empty() ? "" : fmt::format(" ({})", part.halo_kernel));
    }
    text += line("device", fmt::format("{}: rows {} to {}, {} nonzeros, {}, {}", part.device, part.first_row + 1,
                                       part.first_row + part.rows, part.nnz, halo, size_text(part.memory_bytes)));
  }
  if (outcome.parts.size() > 1 && !outcome.device.is_host() && !outcome.has_peer_access) {
    text += line("", "GPUs that do not reach each other's memory: halos are copied, the host drives the loop");
  }
  return text;
}

Json parts_json(const CommonOutcome& outcome) {
  Json json = Json::array();
  for (const DevicePart& part : outcome.parts) {
    json.push_back({{"device", part.device},
                    {"first_row", part.first_row},
                    {"rows", part.rows},
                    {"nnz", part.nnz},
                    {"halo", part.halo},
                    {"halo_nnz", part.halo_nnz},
                    {"boundary_rows", part.boundary_rows},
                    {"neighbours", part.neighbours},
                    {"kernel", part.kernel},
                    {"halo_kernel", part.halo_kernel},
                    {"bytes", part.memory_bytes}});
  }
  return json;
}

}  // namespace tessera::cli
