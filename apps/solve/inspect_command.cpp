#include "calibration_file.hpp"
#include "commands.hpp"
#include "errors.hpp"
#include "inspect.hpp"
#include "interrupt.hpp"
#include "option_values.hpp"
#include "outputs.hpp"
#include "problem.hpp"
#include "progress.hpp"

#include "core/stopwatch.hpp"
#include "support/machine.hpp"
#include "support/precond.hpp"
#include "support/system.hpp"
#include "tessera/error.hpp"
#include "tessera/ladder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace tessera::cli {

double symmetry_tolerance(Precision precision) { return precision == Precision::fp64 ? 0x1p-40 : 0x1p-18; }

ValueSymmetry value_symmetry(const InspectOutcome& outcome) {
  const MatrixDetails& d = outcome.details;
  if (outcome.matrix.symmetry == Symmetry::numerical) return ValueSymmetry::exact;
  if (outcome.matrix.symmetry == Symmetry::skew) return ValueSymmetry::skew;
  const bool comparable = outcome.components && outcome.matrix.not_finite == 0;
  return comparable && d.asymmetry <= symmetry_tolerance(outcome.precision) ? ValueSymmetry::rounding
                                                                            : ValueSymmetry::none;
}

bool looks_like_graph(const InspectOutcome& outcome) {
  const MatrixStatistics& m = outcome.matrix;
  if (!outcome.components || m.nnz == 0) return false;
  return outcome.details.ones == m.nnz && m.diagonal_missing > 0;
}

namespace {

void warn_about_values(const InspectOutcome& outcome, Warnings& warnings) {
  const MatrixStatistics& m = outcome.matrix;
  const MatrixDetails& d = outcome.details;
  if (value_symmetry(outcome) == ValueSymmetry::rounding) {
    warnings.push_back(
        {"W101", fmt::format("symmetric up to rounding only (|a_ij - a_ji| <= {:.2g} max |a|): --method auto takes "
                             "bicgstab; --method cg will do if the matrix is meant to be symmetric",
                             d.asymmetry)});
  }
  constexpr double wide = 1e8;
  if (d.row_norm_min > 0.0 && d.row_norm_max / d.row_norm_min > wide) {
    warnings.push_back({"W102", fmt::format("row norms span a factor of {:.1e}: ||b - A x|| is governed by the largest "
                                            "rows; scale the rows, and check the solution, not the residual alone",
                                            d.row_norm_max / d.row_norm_min)});
  }
  const index_t holes = m.diagonal_missing + m.diagonal_zero;
  if (holes > 0) {
    warnings.push_back({"W103", fmt::format("{} of {} diagonal entries are missing or zero: --precond jacobi refuses "
                                            "the matrix",
                                            holes, std::min(m.rows, m.cols))});
  }
  if (m.symmetry == Symmetry::numerical && m.diagonal_negative > 0) {
    const bool all = m.diagonal_negative == m.rows;
    warnings.push_back({"W104", all ? std::string("symmetric with a negative diagonal: if -A is positive definite, "
                                                  "solve that with cg")
                                    : fmt::format("symmetric, but {} of {} diagonal entries are negative: indefinite, "
                                                  "cg breaks down",
                                                  m.diagonal_negative, m.rows)});
  }
}

void warn_about_positions(const InspectOutcome& outcome, Warnings& warnings) {
  const MatrixStatistics& m = outcome.matrix;
  if (m.empty_rows + m.empty_cols > 0) {
    warnings.push_back({"W105", fmt::format("{} empty rows and {} empty columns: the matrix is singular", m.empty_rows,
                                            m.empty_cols)});
  }
  if (outcome.components->count > 1 && m.nnz > 0) {
    warnings.push_back(
        {"W106", fmt::format("the matrix falls into {} independent blocks, the largest with {} of {} rows",
                             outcome.components->count, outcome.components->largest, m.rows)});
  }
}

}  // namespace

Advice advise(const InspectOutcome& outcome) {
  const MatrixStatistics& m = outcome.matrix;
  Advice advice;
  if (!outcome.components) {
    advice.method = "lsmr";
    advice.method_reason =
        fmt::format("{} x {}: least squares; A x = b and PageRank need a square matrix", m.rows, m.cols);
    advice.precond = "none";
    advice.precond_reason = "x is the solution of least norm; jacobi scales the columns";
    advice.command = fmt::format("solve {}", source_words(outcome));
    return advice;
  }
  if (looks_like_graph(outcome)) {
    advice.method = "pagerank";
    advice.method_reason = fmt::format("it looks like a graph: {}, {} of {} diagonal entries missing",
                                       outcome.pattern ? "no values" : "all values are 1", m.diagonal_missing, m.rows);
    advice.command = "solve pagerank " + source_words(outcome);
    return advice;
  }
  const support::MethodChoice method = support::choose_method(Method::automatic, m);
  const support::PrecondChoice precond = support::choose_precond(Precond::automatic, m);
  advice.method = to_string(method.method);
  advice.method_reason = method.reason;
  advice.precond = to_string(precond.precond);
  advice.precond_reason = precond.reason + ", first; then the rungs of the ladder";
  advice.command = fmt::format("solve {}", source_words(outcome));
  return advice;
}

Warnings inspect_warnings(const InspectOutcome& outcome) {
  Warnings warnings;
  warn_about_duplicates(outcome, warnings);
  warn_about_rounding(outcome, warnings);
  if (!outcome.calibration_note.empty()) warnings.push_back({"W107", outcome.calibration_note});
  if (!outcome.components || looks_like_graph(outcome)) return warnings;
  warn_about_values(outcome, warnings);
  warn_about_positions(outcome, warnings);
  return warnings;
}

namespace {

[[nodiscard]] InspectSettings inspect_settings(const Options& options) {
  InspectSettings result;
  result.problem = problem_settings(options);
  result.machine = machine_settings(options);
  result.output = output_settings(options);
  if (!result.machine.device.is_host()) result.calibration_note = CalibrationFile(options).note();
  const std::vector<std::string_view> kernels = kernel_names();
  result.kernel = parse_spmv_algorithm(kernels[choose(options, "spmv", kernels)]);
  constexpr std::int64_t largest_plot = 200;
  result.spy_cells = static_cast<int>(count_option(options, "spy", 1, largest_plot));
  if (result.output.width > 0 && !options.given("spy") && !result.output.json) {
    constexpr std::size_t beside = 14;  // margin and edges
    result.spy_cells = std::min(result.spy_cells, static_cast<int>((result.output.width - beside) / 2));
  }
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
[[nodiscard]] KernelCost cost_of(SpmvAlgorithm algorithm, const InputMatrix<T>& problem, const Device& device) {
  KernelCost cost{algorithm, std::nullopt, {}, false};
  SpmvOptions options;
  options.algorithm = algorithm;
  options.device = device;
  try {
    cost.plan = SpmvPlan<T>(problem.matrix, options).info();
  } catch (const OutOfMemory& error) {
    cost.problem = error.what();
  } catch (const NotSupported& error) {  // rows do not repeat, or a library is missing
    cost.problem = error.what();
    cost.refused = true;
  }
  return cost;
}

template <class T>
void measure_matrix(const InspectSettings& settings, const CsrView<T>& view, Progress& progress,
                    InspectOutcome& outcome) {
  const Device& device = settings.machine.host;
  progress.phase("inspecting rows and values");
  describe_matrix(view, settings.output, device, outcome);
  stop_if_interrupted();
  outcome.details = matrix_details(view, device);
  outcome.tiles = estimate_tiles(view, device, TileSample::all());
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
[[nodiscard]] std::optional<AmgOutlook> amg_outlook(const CsrView<T>& view, const Device& device,
                                                    const InspectOutcome& outcome) {
  const MatrixStatistics& m = outcome.matrix;
  if (!view.is_square() || m.rows == 0 || looks_like_graph(outcome)) return std::nullopt;
  if (!m.full_diagonal() || m.diagonal_negative > 0 || m.not_finite > 0) return std::nullopt;
  const AmgOptions options;
  const double neighbours = support::strong_neighbours(view, options.strength_threshold, device);
  const auto rungs = plan_ladder(ladder_facts<T>(m));
  const bool tries =
      std::any_of(rungs.begin(), rungs.end(), [](const RungPlan& rung) { return rung.precond == RungPrecond::amg; });
  return AmgOutlook{support::predict_amg(m, neighbours, options), tries};
}

/// The plan of solve(), found out in as much time as reading and inspecting took. \param seconds of inspecting
template <class T>
[[nodiscard]] std::optional<BudgetedFacts> ladder_outlook(const CsrView<T>& view, double seconds,
                                                          const InspectOutcome& outcome) {
  const MatrixStatistics& m = outcome.matrix;
  if (!view.is_square() || m.rows == 0 || looks_like_graph(outcome) || m.not_finite > 0) return std::nullopt;
  // The order of a large matrix takes memory.
  constexpr offset_t most_entries_to_predict = 5'000'000;
  return facts_within<T>(outlook_seconds(outcome.read_ms / 1e3 + seconds), m, view, m.nnz <= most_entries_to_predict);
}

/// Of the kernels whose plans were made, with the bytes of these plans.
template <class T>
[[nodiscard]] std::optional<KernelPredictions> predict_kernels(const InputMatrix<T>& problem, const Device& device,
                                                               const std::vector<KernelCost>& kernels) {
  if (device.is_host()) return std::nullopt;
  SpmvOptions options;
  options.device = device;
  const Csr<T> on_device = problem.matrix->to(device);
  const detail::ProductTraits traits = detail::product_traits(on_device.view(), options);
  KernelPredictions result{device_figures(device), {}};
  for (const KernelCost& cost : kernels) {
    if (!cost.plan) continue;
    const auto predicted = detail::predict_product(
        cost.algorithm, detail::with_plan_bytes(traits, cost.algorithm, cost.plan->bytes), result.figures);
    if (predicted) result.kernels.push_back(*predicted);
  }
  std::stable_sort(result.kernels.begin(), result.kernels.end(),
                   [](const auto& a, const auto& b) { return a.ms < b.ms; });
  return result;
}

/// By the rules of a GPU, whether or not there is one.
template <class T>
[[nodiscard]] std::vector<detail::LayoutOutlook> layout_outlooks(const CsrView<T>& view, const Device& host,
                                                                 const TileEstimate& tiles) {
  if (view.nnz() == 0) return {};
  const detail::ValueFacts facts = detail::value_facts(view, host);
  std::vector<detail::LayoutOutlook> result = detail::outlook_on_patterns(view, facts, host);
  for (detail::LayoutOutlook& layout : detail::outlook_on_sell(view, facts)) result.push_back(std::move(layout));
  result.push_back(detail::outlook_on_tiles(view, tiles.fill));
  return result;
}

template <class T>
[[nodiscard]] InspectOutcome inspect(const InspectSettings& settings, Progress& progress) {
  InspectOutcome outcome;
  progress.phase(loading_text(settings.problem));
  const InputMatrix<T> problem = load_input<T>(settings.problem, settings.machine);
  stop_if_interrupted();
  report_input(settings.problem, settings.machine, problem, outcome);
  outcome.header = problem.header;
  outcome.read_ms = problem.read_ms;
  const Stopwatch timer;
  measure_matrix(settings, problem.matrix->view(), progress, outcome);
  outcome.amg = amg_outlook(problem.matrix->view(), settings.machine.host, outcome);
  progress.phase("predicting factors");
  outcome.ladder = ladder_outlook(problem.matrix->view(), timer.seconds(), outcome);
  stop_if_interrupted();
  progress.phase("looking for layouts of fewer bytes");
  outcome.layouts = layout_outlooks(problem.matrix->view(), settings.machine.host, outcome.tiles);
  stop_if_interrupted();
  outcome.inspect_ms = timer.milliseconds();

  progress.phase("setting up each kernel");
  for (const SpmvAlgorithm algorithm : spmv_algorithms(settings.machine.device)) {
    outcome.kernels.push_back(cost_of(algorithm, problem, settings.machine.device));
    stop_if_interrupted();
  }
  outcome.predictions = predict_kernels(problem, settings.machine.device, outcome.kernels);
  outcome.calibration_note = settings.calibration_note;
  const KernelCost chosen = cost_of(settings.kernel, problem, settings.machine.device);
  if (chosen.refused) throw NotSupported(chosen.problem);
  if (!chosen.plan) {
    throw OutOfMemory(0, support::memory_budget(settings.machine.memory_limit_bytes),
                      fmt::format("kernel {}", to_string(settings.kernel)));
  }
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
  check_outputs(settings.output, input_files(options, settings.problem));
  Progress progress(options, settings.output, settings.machine);
  InspectOutcome outcome = settings.machine.precision == Precision::fp64 ? inspect<double>(settings, progress)
                                                                         : inspect<float>(settings, progress);
  progress.conclude(outcome.warnings);

  Deliverables results;
  results.summary = [&] { return inspect_text(outcome, settings.output.width); };
  results.json = [&](ExitCode code) { return document_text(inspect_json(outcome, options, invocation, code)); };
  return deliver(settings.output, ExitCode::success, results);
}

}  // namespace tessera::cli
