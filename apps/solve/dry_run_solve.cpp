// Forecasts of a solve and of a ranking.
#include "centrality_command.hpp"
#include "dry_run.hpp"

#include "columns_run.hpp"
#include "device_choice.hpp"
#include "dry_run_precond.hpp"
#include "ladder_run.hpp"
#include "least_squares.hpp"
#include "system_ordering.hpp"

#include "core/memory_budget.hpp"
#include "solvers/ladder/error_claim.hpp"
#include "support/machine.hpp"
#include "support/plan_memory.hpp"
#include "support/system.hpp"
#include "tessera/error.hpp"
#include "tessera/ladder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace tessera::cli {

namespace {

/// The preconditioner of the first rung; those behind it are climbed only where it fails.
template <class T>
[[nodiscard]] PrecondForecast add_rungs(const RunSettings& settings, const ForecastMatrix<T>& matrix,
                                        Forecast& forecast) {
  constexpr offset_t most_entries_to_predict = 5'000'000;
  const bool predict = matrix.sizes.nnz <= most_entries_to_predict;
  PrecondForecast first;
  bool is_first = true;
  std::uint64_t most = 0;
  for (const RungPlan& rung : plan_ladder(ladder_facts<T>(matrix.sizes.facts), rung_method(settings.method))) {
    const std::optional<PrecondForecast> foretold = rung_forecast(rung, matrix, predict);
    if (std::exchange(is_first, false)) {
      first = foretold.value_or(PrecondForecast{});
      continue;
    }
    std::optional<std::uint64_t> bytes;
    if (foretold) bytes = foretold->phase.held_bytes + foretold->phase.passing_bytes;
    most = std::max(most, bytes.value_or(0));
    forecast.later.push_back({rung.command_options(), bytes, rung.reason});
  }
  forecast.climbing_bytes = most;
  return first;
}

template <class T>
void add_plan(const SpmvOptions& spmv, const MatrixForecast& matrix, Forecast& forecast) {
  const std::size_t value = matrix.pattern ? 0 : sizeof(T);
  ForecastPhase phase{"plan", support::most_plan_bytes(spmv.algorithm, matrix.rows, matrix.nnz, value), 0, {}, {}};
  // The structure is read to choose and to describe; csr5 writes all of it anew.
  const auto moved = static_cast<double>(matrix.bytes + phase.held_bytes);
  phase.passing_bytes = phase.held_bytes;
  phase.ms = ms_of_bytes(forecast, moved);
  phase.rests_on = moved_text(forecast, moved);
  forecast.phases.push_back(std::move(phase));
}

/// The matrix and its plan once more, in fp32; offsets and columns are shared.
void add_single_copy(const RunSettings& settings, const MatrixForecast& matrix, Forecast& forecast) {
  const std::size_t value = matrix.pattern ? 0 : sizeof(float);
  const std::uint64_t values = static_cast<std::uint64_t>(matrix.nnz) * value;
  const std::uint64_t plan = support::most_plan_bytes(settings.spmv.algorithm, matrix.rows, matrix.nnz, value);
  const auto moved = static_cast<double>(3 * values + plan);
  forecast.phases.push_back(
      {"fp32 copy", values + plan, plan, ms_of_bytes(forecast, moved), moved_text(forecast, moved)});
}

/// A GPU holds the matrix, its plan and the vectors once more. \param parts bytes of the matrix in parts, or 0
void add_upload(const MatrixForecast& matrix, const SpmvOptions& spmv, std::size_t element,
                const MachineSettings& machine, Forecast& forecast, std::uint64_t parts = 0) {
  forecast.device = machine.device.name();
  if (machine.device.is_host()) return;
  const std::uint64_t bytes =
      bytes_on_gpu({matrix.rows, matrix.nnz, matrix.pattern ? 0 : element, element, product_backends(spmv)}) + parts;
  std::string reason(no_gpu_time);
  if (machine.limits_gpu && bytes > machine.memory_limit_bytes && may_stream(spmv)) {
    reason = "more than --mem-limit allows there, so slices of the matrix cross the bus for every product; " + reason;
  }
  forecast.later.push_back({"memory of " + machine.device.name(), bytes, std::move(reason)});
}

void decide(const MatrixForecast& matrix, std::size_t element, MachineSettings& machine, SpmvOptions& spmv) {
  decide_device({matrix.rows, matrix.nnz, matrix.pattern ? 0 : element, element, product_backends(spmv)}, machine,
                spmv);
}

/// Of a matrix whose header alone was read, its size.
[[nodiscard]] MatrixStatistics facts_of(const MatrixForecast& matrix) {
  if (matrix.whole) return matrix.facts;
  MatrixStatistics sizes;
  sizes.rows = static_cast<index_t>(matrix.rows);
  sizes.cols = static_cast<index_t>(matrix.cols);
  return sizes;
}

/// Whether method and preconditioner are named, and cost what the sizes tell.
[[nodiscard]] bool header_is_enough(const RunSettings& settings) {
  const Precond precond = settings.precond.precond;
  const bool simple = precond == Precond::none || precond == Precond::jacobi;
  const bool is_natural = settings.ordering.value_or(Ordering::natural) == Ordering::natural;
  return simple && is_natural && settings.method != Method::automatic && settings.method != Method::direct;
}

/// lsmr and cgls: two products, and vectors of m and of n elements.
template <class T>
[[nodiscard]] Forecast least_squares_forecast(const RunSettings& settings, Method method,
                                              const ForecastMatrix<T>& matrix, Progress& progress) {
  Forecast forecast;
  const MatrixForecast& sizes = matrix.sizes;
  const std::uint64_t vectors = least_squares_bytes(settings, method, sizes.rows, sizes.cols, sizeof(T));
  progress.phase("measuring the speed of memory");
  measure_speed(settings.machine, 2 * sizes.bytes + vectors, forecast);
  forecast.matrices = {sizes};
  if (settings.ordering) forecast.ordering.emplace();
  forecast.phases.push_back(matrix.reading);
  add_upload(sizes, settings.spmv, sizeof(T), settings.machine, forecast);
  add_plan<T>(settings.spmv, sizes, forecast);
  MatrixForecast transposed = sizes;
  std::swap(transposed.rows, transposed.cols);
  add_plan<T>(settings.spmv, transposed, forecast);
  forecast.phases.back().name = "transpose";
  forecast.phases.back().held_bytes += sizes.bytes;
  add_vectors(vectors, "at most, of " + to_string(method), forecast);
  const bool is_scaled = settings.precond.precond == Precond::jacobi;
  if (is_scaled) {
    const std::uint64_t diagonal = static_cast<std::uint64_t>(sizes.cols) * sizeof(T);
    forecast.phases.push_back({"precond", diagonal, sizes.bytes, std::nullopt, "norms of columns, from the transpose"});
  }
  add_history(settings.output, settings.solver.max_iterations, forecast);
  // As at the head of lsmr.cpp and cgls.cpp, and the vectors of the products.
  const double of_rows = 3.0 + 2.0;
  const double of_cols = (method == Method::cgls ? 8.0 : 10.0) + 2.0 + (is_scaled ? 3.0 : 0.0);
  const double bytes =
      2.0 * static_cast<double>(sizes.bytes) +
      (of_rows * static_cast<double>(sizes.rows) + of_cols * static_cast<double>(sizes.cols)) * sizeof(T);
  add_iteration(bytes, settings.machine, forecast);
  add_vector_output(settings.output, sizes.cols, forecast);
  return forecast;
}

template <class T>
[[nodiscard]] Forecast solve_forecast(RunSettings settings, Progress& progress) {
  Forecast forecast;
  MachineSettings& machine = settings.machine;
  ForecastMatrix<T> matrix = look_at_matrix<T>(settings.problem, machine, header_is_enough(settings), progress);
  const MatrixForecast& sizes = matrix.sizes;
  decide(sizes, sizeof(T), machine, settings.spmv);
  const Method method = method_of_run(settings, sizes.name, facts_of(sizes)).method;
  const std::int64_t columns = rhs_columns(settings, sizes.rows);
  check_columns(settings, method, columns);
  const bool is_least_squares = support::is_least_squares(method);
  require_square_ordering(settings.ordering.value_or(Ordering::natural), is_least_squares);
  if (is_least_squares) return least_squares_forecast(settings, method, matrix, progress);
  progress.phase("measuring the speed of memory");
  const std::uint64_t vectors = vector_bytes(settings, method, sizes.rows, sizeof(T), columns);
  measure_speed(machine, sizes.bytes + vectors, forecast);
  forecast.matrices = {sizes};
  forecast.phases.push_back(matrix.reading);
  add_ordering(settings.ordering, matrix, progress, forecast);
  add_upload(sizes, settings.spmv, sizeof(T), machine, forecast,
             bytes_of_parts(settings, method, sizes.rows, sizes.nnz, sizes.pattern ? 0 : sizeof(T), columns));
  add_plan<T>(settings.spmv, sizes, forecast);
  if (settings.is_mixed) add_single_copy(settings, sizes, forecast);
  add_vectors(vectors,
              columns == 1 ? "at most, of " + to_string(method)
                           : fmt::format("at most, of {} with {} right-hand sides", to_string(method), columns),
              forecast);
  PrecondForecast precond =
      climbs(settings) ? add_rungs(settings, matrix, forecast) : precond_forecast(settings, matrix);
  const double n = static_cast<double>(sizes.rows) * sizeof(T);
  const bool is_diagonal = precond.phase.held_bytes > 0 && precond.phase.held_bytes <= static_cast<std::uint64_t>(n);
  if (is_diagonal) precond.phase.ms = ms_of_bytes(forecast, static_cast<double>(sizes.bytes));
  // Columns that share a product read the matrix once, those solved one by one in every iteration.
  const auto at_once = static_cast<double>(columns_at_once(settings, method, sizes.rows, columns));
  const double iteration = iteration_bytes(settings, method, sizes, sizeof(T), precond.applied_bytes, at_once);
  forecast.is_open = precond.is_open;
  forecast.phases.push_back(std::move(precond.phase));
  add_history(settings.output, settings.solver.max_iterations, forecast);
  add_iteration(iteration, machine, forecast);
  // The correction by which the error of x is estimated is a solve of its own.
  if (columns == 1 && settings.error_gate != ErrorGate::off) {
    // Beside its vectors noise, and factors where they are cheap.
    const std::uint64_t factors = detail::correcting_factors_bytes(sizes.rows, sizes.nnz);
    forecast.phases.push_back({"check", 0, vectors + 3 * static_cast<std::uint64_t>(n) + factors, std::nullopt,
                               "solves for the error of x, where they are needed"});
  }
  add_vector_output(settings.output, columns * sizes.rows, forecast);
  return forecast;
}

/// \param matrix read whole unless the ordering is natural
template <class T>
void add_graph_ordering(Ordering kind, const ForecastMatrix<T>& matrix, Forecast& forecast) {
  OrderingFacts& facts = forecast.ordering.emplace();
  if (kind == Ordering::natural) return;
  facts.name = to_string(kind);
  const CsrView<T> adjacency = matrix.matrix->view();
  std::vector<index_t> in_links(static_cast<std::size_t>(adjacency.cols));
  for (const index_t column : adjacency.columns) ++in_links[static_cast<std::size_t>(column)];
  const index_t most = in_links.empty() ? 0 : *std::max_element(in_links.begin(), in_links.end());
  const OrderingBytes bytes =
      predicted_graph_ordering_bytes<T>(kind, matrix.sizes.facts, most, !adjacency.is_pattern(), Device{}.threads());
  facts.bytes = bytes.held;
  forecast.phases.push_back({"ordering", bytes.held, bytes.passing, std::nullopt,
                             facts.name + ": the permutation, meanwhile its work space and the in-links once more; the "
                                          "time depends on the graph"});
}

template <class T>
[[nodiscard]] Forecast ranking_forecast(PageRankSettings settings, Progress& progress) {
  Forecast forecast;
  MachineSettings& machine = settings.machine;
  const bool is_natural = settings.ordering.value_or(Ordering::natural) == Ordering::natural;
  const ForecastMatrix<T> matrix = look_at_matrix<T>(settings.problem, machine, is_natural, progress);
  const MatrixForecast& sizes = matrix.sizes;
  require_square(sizes);
  decide(sizes, sizeof(T), machine, settings.pagerank.spmv);
  const auto n = static_cast<std::uint64_t>(sizes.rows);
  const std::uint64_t distributions = std::max<std::size_t>(settings.personalize.size(), 1);
  const std::uint64_t vectors = 5 + distributions;
  progress.phase("measuring the speed of memory");
  measure_speed(machine, 2 * sizes.bytes + vectors * n * sizeof(T), forecast);
  forecast.matrices = {sizes};
  forecast.phases.push_back(matrix.reading);
  add_upload(sizes, settings.pagerank.spmv, sizeof(T), machine, forecast);
  const std::uint64_t transition = sizes.bytes + n * (sizeof(T) + 2 * sizeof(index_t));
  // Each entry is read, counted and scattered.
  constexpr double passes = 6.0;
  const double moved = passes * static_cast<double>(sizes.bytes);
  forecast.phases.push_back({"transition", transition, n * (sizeof(offset_t) + sizeof(double)),
                             ms_of_bytes(forecast, moved), moved_text(forecast, moved)});
  if (settings.ordering) add_graph_ordering(*settings.ordering, matrix, forecast);
  add_plan<T>(settings.pagerank.spmv, sizes, forecast);
  add_vectors(vectors * n * sizeof(T), "ranks old, new, scaled and handed out, the distribution of jumps", forecast);
  if (!settings.personalize.empty()) {
    forecast.phases.push_back({"weights", distributions * n * sizeof(double), 0, std::nullopt, "of --personalize"});
  }
  const std::int64_t most = most_rankings(settings, sizes.rows);
  add_history(settings.output, most, forecast);
  constexpr double moved_vectors = 6.0;
  add_iteration(static_cast<double>(sizes.bytes) + moved_vectors * static_cast<double>(n * sizeof(T)), machine,
                forecast);
  forecast.iteration->most = most * static_cast<std::int64_t>(distributions);
  add_vector_output(settings.output, static_cast<std::int64_t>(distributions) * sizes.rows, forecast);
  return forecast;
}

/// HITS: A and its transpose; Katz centrality: the transpose alone.
template <class T>
[[nodiscard]] Forecast centrality_forecast(CentralitySettings settings, Progress& progress) {
  Forecast forecast;
  MachineSettings& machine = settings.machine;
  const ForecastMatrix<T> matrix = look_at_matrix<T>(settings.problem, machine, true, progress);
  const MatrixForecast& sizes = matrix.sizes;
  require_square(sizes);
  decide(sizes, sizeof(T), machine, settings.spmv);
  const auto n = static_cast<std::uint64_t>(sizes.rows);
  const std::uint64_t vectors = settings.is_hits ? 7 : 5;
  const double products = settings.is_hits ? 2.0 : 1.0;
  progress.phase("measuring the speed of memory");
  measure_speed(machine, 2 * sizes.bytes + vectors * n * sizeof(T), forecast);
  forecast.matrices = {sizes};
  forecast.phases.push_back(matrix.reading);
  // Each entry is read, counted and scattered.
  constexpr double passes = 6.0;
  const double moved = passes * static_cast<double>(sizes.bytes);
  forecast.phases.push_back(
      {"transpose", sizes.bytes, n * sizeof(offset_t), ms_of_bytes(forecast, moved), moved_text(forecast, moved)});
  add_upload(sizes, settings.spmv, sizeof(T), machine, forecast);
  add_plan<T>(settings.spmv, sizes, forecast);
  add_vectors(vectors * n * sizeof(T),
              settings.is_hits ? "hubs, authorities, their products, ones" : "scores, terms, their product, ones",
              forecast);
  add_history(settings.output, settings.iteration.max_iterations, forecast);
  add_iteration(products * static_cast<double>(sizes.bytes) + static_cast<double>(vectors * n * sizeof(T)), machine,
                forecast);
  forecast.iteration->most = settings.iteration.max_iterations;
  add_vector_output(settings.output, settings.is_hits ? 2 * sizes.rows : sizes.rows, forecast);
  return forecast;
}

}  // namespace

double iteration_bytes(const RunSettings& settings, Method method, const MatrixForecast& matrix, std::size_t element,
                       double applied_bytes, double columns) {
  const MethodInfo& work = method_info(method.iterative().value_or(IterativeMethod::richardson));
  const double n = static_cast<double>(matrix.rows) * static_cast<double>(element);
  return work.products_with_a * (static_cast<double>(matrix.bytes) + 2.0 * columns * n) +
         columns * (work.products_with_m * applied_bytes + moved_by(work, settings.solver) * n);
}

ExitCode forecast_run(const RunSettings& settings, const Options& options, const Invocation& invocation) {
  return forecast_command(settings, options, invocation, solve_forecast<double>, solve_forecast<float>);
}

ExitCode forecast_pagerank(const PageRankSettings& settings, const Options& options, const Invocation& invocation) {
  return forecast_command(settings, options, invocation, ranking_forecast<double>, ranking_forecast<float>);
}

ExitCode forecast_centrality(const CentralitySettings& settings, const Options& options, const Invocation& invocation) {
  return forecast_command(settings, options, invocation, centrality_forecast<double>, centrality_forecast<float>);
}

}  // namespace tessera::cli
