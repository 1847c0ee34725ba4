#include "commands.hpp"
#include "device_choice.hpp"
#include "device_forecast.hpp"
#include "dry_run.hpp"
#include "errors.hpp"
#include "foreign_options.hpp"
#include "group_run.hpp"
#include "interrupt.hpp"
#include "option_values.hpp"
#include "outputs.hpp"
#include "personalization.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "report/history_plot.hpp"
#include "report_json.hpp"
#include "run_warnings.hpp"
#include "summary_text.hpp"
#include "system_ordering.hpp"

#include "core/stopwatch.hpp"
#include "core/structure_passes.hpp"
#include "support/machine.hpp"
#include "tessera/error.hpp"
#include "tessera/ordering.hpp"
#include "tessera/pagerank.hpp"
#include "tessera/pagerank_several_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::cli {

namespace {

/// On several devices.
constexpr auto foreign_options = std::to_array<ForeignOption>({
    {"determinism", "none|run", "sums depend on the number of devices"},
    {"plan-info", "", ""},
});

template <class T>
struct Ranked {
  PageRankOutcome outcome;
  MultiVector<T> ranks;  ///< scaled as they are written, a column per distribution of jumps
};

/// The tolerance that the options ask for at this number of vertices. \throws UsageError for a vacuous one
[[nodiscard]] double tolerance_of(const PageRankSettings& settings, index_t vertices) {
  if (!settings.tolerance_per_vertex) return settings.pagerank.tolerance;
  const double threshold = *settings.tolerance_per_vertex * static_cast<double>(vertices);
  constexpr double largest_l1_distance = 2.0;
  if (threshold >= largest_l1_distance) {
    throw UsageError(fmt::format("--tol-per-node {} with {} vertices stops at a change of {:.3g} in l1, which any two "
                                 "distributions meet (they differ by at most 2)",
                                 *settings.tolerance_per_vertex, vertices, threshold),
                     "--tol 1e-9 --norm l1 does not depend on the number of vertices");
  }
  return threshold;
}

template <class T>
void describe_graph(const PageRankSettings& settings, const InputMatrix<T>& problem,
                    const TransitionMatrix<T>& transition, PageRankOutcome& outcome) {
  const Stopwatch timer;
  report_input(settings.problem, settings.machine, problem, outcome);
  describe_matrix(problem.matrix->view(), settings.output, settings.machine.host, outcome);
  outcome.inspect_ms = timer.milliseconds();
  outcome.kernel_chosen_by_user = names_kernel(settings.pagerank.spmv.algorithm);
  outcome.edges = transition.edges();
  outcome.personalized = !settings.personalize.empty();
  outcome.sum_to_vertices = settings.sum_to_vertices;
  outcome.scale = settings.sum_to_vertices ? static_cast<double>(transition.vertices()) : 1.0;
  outcome.memory.matrix += transition.bytes();
}

/// Which of two endings tells more of what went wrong.
[[nodiscard]] bool is_worse(const PageRankReport& a, const PageRankReport& b) {
  const auto gravity = [](const PageRankReport& report) {
    const ExitCode code = exit_code_of(report.status, 0, false);
    return code == ExitCode::success ? 0 : code == ExitCode::not_converged ? 1 : 2;
  };
  return gravity(a) != gravity(b) ? gravity(a) > gravity(b) : a.iterations > b.iterations;
}

/// The facts of one report.
void take_report(const PageRankReport& report, PageRankOutcome& outcome) {
  outcome.status = report.status;
  outcome.reason = report.reason;
  outcome.iterations = report.iterations;
  outcome.spmv_count = report.spmv_count;
  outcome.change = report.change;
  outcome.sum = report.sum * outcome.scale;
  outcome.dangling_count = report.dangling_count;
  outcome.plan = report.plan;
  outcome.memory.plan = report.plan.bytes;
  outcome.history = report.history;
  outcome.timings = report.timings;
}

template <class T>
void take_results(std::vector<PageRankResult<T>>&& results, const std::vector<JumpWeights>& jumps, std::int64_t top,
                  Ranked<T>& ranked) {
  PageRankOutcome& outcome = ranked.outcome;
  ranked.ranks.rows = results.front().ranks.size();
  ranked.ranks.columns = std::ssize(results);
  const bool are_several = results.size() > 1;
  for (std::size_t k = 0; k < results.size(); ++k) {
    PageRankResult<T>& result = results[k];
    for (T& rank : result.ranks) rank = static_cast<T>(static_cast<double>(rank) * outcome.scale);
    ranked.ranks.elements.insert(ranked.ranks.elements.end(), result.ranks.begin(), result.ranks.end());
    outcome.rankings.push_back(make_ranking<T>(are_several ? fmt::format("vector {}: {}", k + 1, jumps[k].title) : "",
                                               result.ranks.span(), top));
    if (are_several) outcome.vectors.push_back({jumps[k].title, result});
    if (k == 0 || is_worse(result, results[outcome.worst_vector])) outcome.worst_vector = k;
  }
  take_report(results[outcome.worst_vector], outcome);
  if (!are_several) return;
  outcome.spmv_count = 0;
  outcome.timings.solve_ms = outcome.timings.download_ms = 0.0;
  for (const PageRankResult<T>& result : results) {
    outcome.spmv_count += result.spmv_count;
    outcome.timings.solve_ms += result.timings.solve_ms;
    outcome.timings.download_ms += result.timings.download_ms;
  }
}

void add_warnings(const PageRankOutcome& outcome, Warnings& warnings) {
  warn_about_cache(outcome, warnings);
  warn_about_streaming(outcome, warnings);
  warn_about_rounding(outcome, warnings);
  if (outcome.duplicates > 0) {
    const std::string_view fate =
        outcome.pattern ? "count once" : "have the sum of their weights; --unweighted counts them once";
    warnings.push_back({"W001", fmt::format("{} repeated links of {} {}", outcome.duplicates, outcome.problem, fate)});
  }
  if (outcome.status == Status::max_iterations || outcome.status == Status::time_limit) {
    warnings.push_back(
        {"W006",
         "iteration or time limit reached before convergence: raise --max-iters or --max-time, or loosen --tol"});
  }
}

template <class T>
[[nodiscard]] TransitionMatrix<T> make_transition(const InputMatrix<T>& problem, const Device& device) {
  try {
    return TransitionMatrix<T>(problem.matrix->view(), device);
  } catch (const InvalidMatrix& error) {
    throw InvalidMatrix(fmt::format("{}: {}", problem.name, error.what()));
  }
}

/// Brings the graph into the numbering that the user asks for. \param outcome its memory is that of graph and ranks
/// \returns the vertex of the file per vertex; empty for the natural numbering. \throws OutOfMemory
template <class T>
[[nodiscard]] std::vector<index_t> renumber(const PageRankSettings& settings, TransitionMatrix<T>& transition,
                                            PageRankOutcome& outcome) {
  if (!settings.ordering) return {};
  const Ordering kind = *settings.ordering;
  if (kind != Ordering::natural) {
    const Csr<T>& in_links = *transition.in_links();
    require_memory_of_ordering(
        predicted_graph_ordering_bytes<T>(kind, outcome.matrix, detail::longest_row(in_links.row_offsets().span()),
                                          !in_links.is_pattern(), Device{}.threads()),
        {.limit_bytes = settings.machine.host_limit_bytes(),
         .held_bytes = outcome.memory.matrix,
         .later_bytes = settings.machine.device.is_host() ? outcome.memory.vectors : 0},
        "the graph");
  }
  std::vector<index_t> order = reorder_graph(kind, transition, outcome.ordering.emplace());
  outcome.memory.matrix += outcome.ordering->bytes;
  return order;
}

/// Into the numbering of the file. \param ranks on the host
template <class T>
void scatter_ranks(std::span<const index_t> order, Array<T>& ranks) {
  if (order.empty()) return;
  const std::vector<T> outer = scattered<T>(order, std::as_const(ranks).span());
  std::copy(outer.begin(), outer.end(), ranks.begin());
}

/// One result per distribution of jumps; one where there is none.
template <class T>
[[nodiscard]] std::vector<PageRankResult<T>> rank_all(const TransitionMatrix<T>& transition,
                                                      const std::vector<JumpWeights>& jumps, PageRankOptions options) {
  std::vector<PageRankResult<T>> results;
  if (jumps.size() <= 1) {
    if (!jumps.empty()) options.personalization = jumps.front().weights;
    results.push_back(pagerank(transition, options));
    return results;
  }
  std::vector<std::span<const double>> weights;
  weights.reserve(jumps.size());
  for (const JumpWeights& jump : jumps) weights.emplace_back(jump.weights);
  return pagerank_multi<T>(transition, weights, options);
}

/// The same on several devices, one vector after the other.
template <class T>
[[nodiscard]] std::vector<PageRankResult<T>> rank_all(const DistributedTransitionMatrix<T>& transition,
                                                      const std::vector<JumpWeights>& jumps, PageRankOptions options) {
  const Stopwatch watch;
  const double limit = options.time_limit_seconds;
  std::vector<PageRankResult<T>> results;
  for (std::size_t k = 0; k < std::max<std::size_t>(jumps.size(), 1); ++k) {
    if (k < jumps.size()) options.personalization = jumps[k].weights;
    options.time_limit_seconds = std::max(limit - watch.seconds(), 0.0);
    results.push_back(pagerank(transition, options));
  }
  return results;
}

/// \param group null: one device
template <class T>
[[nodiscard]] std::vector<PageRankResult<T>> rank_on(const DeviceGroup* group, const PageRankSettings& settings,
                                                     const TransitionMatrix<T>& transition,
                                                     const std::vector<JumpWeights>& jumps,
                                                     const PageRankOptions& options, Progress& progress,
                                                     PageRankOutcome& outcome) {
  if (group == nullptr) {
    progress.phase("ranking");
    return rank_all(transition, jumps, options);
  }
  progress.phase(fmt::format("sharing the graph out to {} devices", group->size()));
  const Partition partition = Partition::by_nonzeros(transition.in_links()->view(), group->size());
  if (settings.machine.memory_limit_bytes > 0) {
    require_devices_hold(forecast_of_devices(settings, transition, partition, *group));
  }
  const Stopwatch plan_timer;
  const DistributedTransitionMatrix<T> shared(*group, transition, partition, options.spmv);
  const double plan_ms = plan_timer.milliseconds();
  take_parts(shared, outcome);
  progress.phase(fmt::format("ranking on {} devices", group->size()));
  std::vector<PageRankResult<T>> results = rank_all(shared, jumps, options);
  for (PageRankResult<T>& result : results) {
    result.plan.bytes = 0;  // counted with the matrix
    result.timings.plan_ms = plan_ms;
  }
  return results;
}

template <class T>
[[nodiscard]] Ranked<T> rank_graph(PageRankSettings settings, const DeviceGroup* group, Progress& progress) {
  Ranked<T> ranked;
  PageRankOutcome& outcome = ranked.outcome;
  MachineSettings& machine = settings.machine;

  progress.phase(loading_text(settings.problem));
  const InputMatrix<T> problem = load_input<T>(settings.problem, machine);
  decide_device(*problem.matrix, machine, settings.pagerank.spmv, progress);
  const auto vertices = static_cast<std::uint64_t>(problem.matrix->rows());
  outcome.names = vertex_names(settings.ranking, problem.matrix->rows(), problem.labels);
  std::vector<JumpWeights> jumps = jump_weights(settings.personalize, problem.matrix->rows(), outcome.names, machine);
  // Ranks old and new, their scaled copy, and the teleport distribution; and the ranks handed out.
  constexpr std::uint64_t vectors = 5;
  outcome.memory.vectors = (vectors + std::max<std::uint64_t>(jumps.size(), 1)) * vertices * sizeof(T);
  const std::uint64_t matrix_bytes = problem.matrix->bytes();
  SpmvOptions& spmv = settings.pagerank.spmv;
  if (group != nullptr) {
    // The limit is of each device.
    support::require_memory(machine.host_limit_bytes(), matrix_bytes, matrix_bytes + outcome.memory.vectors,
                            "the transition matrix and the ranks");
  } else if (may_stream(spmv)) {
    spmv.memory_limit_bytes = memory_beside_vectors(machine, matrix_bytes, outcome.memory.vectors, "the ranks");
  } else {
    support::require_memory(machine.memory_limit_bytes, matrix_bytes, matrix_bytes + outcome.memory.vectors,
                            "the transition matrix and the ranks");
  }

  progress.phase("making the transition matrix");
  const Stopwatch plan_timer;
  TransitionMatrix<T> transition = make_transition(problem, machine.host);
  double transition_ms = plan_timer.milliseconds();
  describe_graph(settings, problem, transition, outcome);
  if (settings.ordering) progress.phase("numbering the vertices");
  const std::vector<index_t> order = renumber(settings, transition, outcome);
  if (outcome.ordering) transition_ms += outcome.ordering->ms;
  if (!order.empty()) {
    for (JumpWeights& jump : jumps) jump.weights = gathered<double>(order, jump.weights);
  }

  PageRankOptions options = settings.pagerank;
  options.tolerance = tolerance_of(settings, transition.vertices());
  options.observer = progress.observer();
  options.stop_cause = interruption;
  std::vector<PageRankResult<T>> results = rank_on(group, settings, transition, jumps, options, progress, outcome);
  keep_partial_results();
  for (PageRankResult<T>& result : results) scatter_ranks(order, result.ranks);
  take_results(std::move(results), jumps, settings.ranking.top, ranked);
  outcome.timings.read_ms = problem.read_ms;
  outcome.timings.plan_ms += transition_ms;
  outcome.options = options;
  outcome.options.personalization = {};
  outcome.options.observer = nullptr;
  outcome.options.stop_cause = nullptr;
  add_warnings(outcome, outcome.warnings);
  return ranked;
}

/// "rank", or "rank_1", "rank_2", ...
[[nodiscard]] std::vector<std::string> headings_of(const PageRankOutcome& outcome) {
  if (outcome.vectors.empty()) return {"rank"};
  std::vector<std::string> headings;
  for (std::size_t k = 1; k <= outcome.vectors.size(); ++k) headings.push_back(fmt::format("rank_{}", k));
  return headings;
}

template <class T>
[[nodiscard]] ExitCode pagerank_typed(const PageRankSettings& settings, const Options& options,
                                      const Invocation& invocation) {
  std::optional<DeviceGroup> group;
  if (uses_several_devices(options)) group = device_group(options);
  Progress progress(options, settings.output, settings.machine);
  Ranked<T> ranked = rank_graph<T>(settings, group ? &*group : nullptr, progress);
  PageRankOutcome& outcome = ranked.outcome;
  progress.conclude(outcome.warnings);

  Deliverables results;
  results.write_vector = [&](const std::string& path) {
    const Stopwatch timer;
    write_scores(path, ranked.ranks, outcome.names, headings_of(outcome),
                 {fmt::format("PageRank of {}, damping {}: {}", outcome.problem, outcome.options.damping,
                              to_string(outcome.status))});
    outcome.write_ms = timer.milliseconds();
  };
  results.history = [&] { return history_csv(outcome.history); };
  results.summary = [&] { return pagerank_summary(outcome, settings.output); };
  results.plot = [&](std::size_t width, bool is_utf8) {
    return history_plot(outcome.history, "||x' - x||", outcome.options.tolerance, width, is_utf8);
  };
  results.csv = [&] { return rankings_csv(outcome.rankings, outcome.names, false); };
  if (settings.ranking.top_given) {
    results.requested = [&] { return all_ranking_rows(outcome.rankings, outcome.names); };
  }
  results.json = [&](ExitCode code) { return document_text(pagerank_json(outcome, options, invocation, code)); };
  return deliver(settings.output, exit_code_of(outcome.status, interrupt_signal(), settings.output.exit_zero), results);
}

}  // namespace

ExitCode pagerank_command(const Options& options, const Invocation& invocation) {
  if (uses_several_devices(options)) require_no_foreign(options, foreign_options, "several devices");
  const PageRankSettings settings = pagerank_settings(options);
  std::vector<std::string> inputs{settings.ranking.labels};
  for (const Personalization& each : settings.personalize) {
    if (each.is_file()) inputs.push_back(each.text);
  }
  check_outputs(settings.output, input_files(options, settings.problem, inputs));
  if (options.flag("dry-run")) {
    return uses_several_devices(options) ? forecast_group_pagerank(settings, options, invocation)
                                         : forecast_pagerank(settings, options, invocation);
  }
  return settings.machine.precision == Precision::fp64 ? pagerank_typed<double>(settings, options, invocation)
                                                       : pagerank_typed<float>(settings, options, invocation);
}

}  // namespace tessera::cli
