#include "commands.hpp"
#include "delivery.hpp"
#include "inspect.hpp"
#include "interrupt.hpp"
#include "option_values.hpp"
#include "outputs.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "usage_error.hpp"
#include "verbose.hpp"

#include "core/stopwatch.hpp"
#include "support/machine.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::cli {

namespace {

[[nodiscard]] InspectSettings inspect_settings(const Options& options) {
  InspectSettings result;
  result.problem = problem_settings(options);
  result.machine = machine_settings(options);
  result.output = output_settings(options);
  constexpr std::int64_t largest_plot = 200;
  result.spy_cells = static_cast<int>(count_option(options, "spy", 1, largest_plot));
  if (options.flag("no-spy")) {
    if (options.given("spy")) throw UsageError("--spy and --no-spy contradict each other");
    result.spy_cells = 0;
  }
  return result;
}

/// A character is about twice as high as wide: N lines of 2 N columns for a square matrix, less in the direction in
/// which a rectangular one is short, and never more cells than rows or columns.
template <class T>
[[nodiscard]] SpyGrid make_spy(const CsrView<T>& matrix, int cells, const Device& device) {
  const double aspect = static_cast<double>(matrix.cols) / std::max(1.0, static_cast<double>(matrix.rows));
  const auto part = [&](double share) { return std::max(1, static_cast<int>(std::lround(cells * share))); };
  const int height = aspect > 1.0 ? part(1.0 / aspect) : cells;
  const int width = aspect < 1.0 ? part(2.0 * aspect) : 2 * cells;
  return spy(matrix, std::clamp(height, 1, std::max(1, matrix.rows)), std::clamp(width, 1, std::max(1, matrix.cols)),
             device);
}

template <class T>
[[nodiscard]] KernelCost cost_of(SpmvAlgorithm algorithm, const Problem<T>& problem, const Device& device) {
  KernelCost cost{algorithm, std::nullopt, {}};
  SpmvOptions options;
  options.algorithm = algorithm;
  options.device = device;
  try {
    cost.plan = SpmvPlan<T>(problem.matrix, options).info();
  } catch (const OutOfMemory& error) {
    cost.problem = error.what();
  } catch (const NotSupported& error) {  // a library is missing
    cost.problem = error.what();
  }
  return cost;
}

template <class T>
void measure_matrix(const InspectSettings& settings, const CsrView<T>& view, Progress& progress,
                    InspectOutcome& outcome) {
  const Device& device = settings.machine.host;
  progress.phase("inspecting rows and values");
  outcome.matrix = statistics(view, device);
  stop_if_interrupted();
  outcome.details = matrix_details(view, device);
  stop_if_interrupted();
  if (view.is_square()) {
    progress.phase("looking for components");
    outcome.components = connected_components(view, device);
    stop_if_interrupted();
    // Where every link has its way back, what is connected is strongly so.
    const bool undirected = outcome.details.mirrored == outcome.details.off_diagonal;
    outcome.strong_components = undirected ? *outcome.components : strong_components(view);
    stop_if_interrupted();
  }
  if (settings.spy_cells > 0) outcome.spy = make_spy(view, settings.spy_cells, device);
}

template <class T>
[[nodiscard]] InspectOutcome inspect(const InspectSettings& settings, Progress& progress) {
  InspectOutcome outcome;
  progress.phase(loading_text(settings.problem));
  const Problem<T> problem = load_problem<T>(settings.problem, settings.machine);
  stop_if_interrupted();
  take_problem(settings.problem, settings.machine, problem, outcome);
  outcome.header = problem.header;
  outcome.read_ms = problem.read_ms;
  const Stopwatch timer;
  measure_matrix(settings, problem.matrix->view(), progress, outcome);
  outcome.inspect_ms = timer.milliseconds();

  progress.phase("setting up each kernel");
  for (const SpmvAlgorithm algorithm : spmv_algorithms(settings.machine.device)) {
    outcome.kernels.push_back(cost_of(algorithm, problem, settings.machine.device));
    stop_if_interrupted();
  }
  const KernelCost chosen = cost_of(SpmvAlgorithm::automatic, problem, settings.machine.device);
  if (!chosen.plan)
    throw OutOfMemory(0, support::memory_budget(settings.machine.memory_limit_bytes), "the kernel that auto chooses");
  outcome.plan = *chosen.plan;
  outcome.memory.plan = outcome.plan.bytes;
  outcome.advice = advise(outcome);
  outcome.warnings = inspect_warnings(outcome);
  warn_about_cache(outcome, outcome.warnings);
  return outcome;
}

}  // namespace

ExitCode inspect_command(const Options& options, const Invocation& invocation) {
  const InspectSettings settings = inspect_settings(options);
  std::vector<std::string> inputs;
  if (settings.problem.source == Source::file) inputs.push_back(settings.problem.path);
  if (const auto config = options.guarded_config()) inputs.push_back(*config);
  check_outputs(settings.output, inputs);
  Progress progress(settings.output.progress, settings.output.verbosity);
  print_banner(options, settings.machine, progress);
  InspectOutcome outcome = settings.machine.precision == Precision::fp64 ? inspect<double>(settings, progress)
                                                                         : inspect<float>(settings, progress);
  progress.finish();
  if (!settings.output.quiet) progress.warn(outcome.warnings);

  Deliverables results;
  results.summary = [&] { return inspect_text(outcome); };
  results.json = [&](ExitCode code) { return document_text(inspect_json(outcome, options, invocation, code)); };
  return deliver(settings.output, ExitCode::success, results);
}

}  // namespace tessera::cli
