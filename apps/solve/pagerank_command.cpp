#include "commands.hpp"
#include "device_choice.hpp"
#include "dry_run.hpp"
#include "errors.hpp"
#include "interrupt.hpp"
#include "outputs.hpp"
#include "personalization.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "report/history_plot.hpp"
#include "report_json.hpp"
#include "summary_text.hpp"

#include "core/stopwatch.hpp"
#include "support/machine.hpp"
#include "tessera/error.hpp"
#include "tessera/pagerank.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace tessera::cli {

namespace {

template <class T>
struct Ranked {
  PageRankOutcome outcome;
  std::vector<T> ranks;  ///< scaled as they are written
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
  outcome.kernel_chosen_by_user = settings.pagerank.spmv.algorithm != SpmvAlgorithm::automatic;
  outcome.edges = transition.edges();
  outcome.personalized = settings.personalize.has_value();
  outcome.sum_to_vertices = settings.sum_to_vertices;
  outcome.scale = settings.sum_to_vertices ? static_cast<double>(transition.vertices()) : 1.0;
  outcome.memory.matrix += transition.bytes();
}

template <class T>
void take_result(PageRankResult<T>&& result, std::int64_t top, Ranked<T>& ranked) {
  PageRankOutcome& outcome = ranked.outcome;
  outcome.status = result.status;
  outcome.reason = std::move(result.reason);
  outcome.iterations = result.iterations;
  outcome.spmv_count = result.spmv_count;
  outcome.change = result.change;
  outcome.sum = result.sum * outcome.scale;
  outcome.dangling_count = result.dangling_count;
  outcome.plan = result.plan;
  outcome.memory.plan = result.plan.bytes;
  outcome.history = std::move(result.history);
  outcome.timings = result.timings;
  outcome.top = top_ranks<T>(result.ranks.span(), top);
  ranked.ranks.assign(result.ranks.begin(), result.ranks.end());
  for (T& rank : ranked.ranks) rank = static_cast<T>(static_cast<double>(rank) * outcome.scale);
}

void add_warnings(const PageRankOutcome& outcome, Warnings& warnings) {
  warn_about_cache(outcome, warnings);
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

template <class T>
[[nodiscard]] Ranked<T> rank_graph(PageRankSettings settings, Progress& progress) {
  Ranked<T> ranked;
  PageRankOutcome& outcome = ranked.outcome;
  MachineSettings& machine = settings.machine;

  progress.phase(loading_text(settings.problem));
  const InputMatrix<T> problem = load_input<T>(settings.problem, machine);
  decide_device(*problem.matrix, machine, settings.pagerank.spmv, progress);
  const auto vertices = static_cast<std::uint64_t>(problem.matrix->rows());
  // Ranks old and new, their scaled copy, the teleport distribution, and the ranks handed out.
  constexpr std::uint64_t vectors = 6;
  outcome.memory.vectors = vectors * vertices * sizeof(T);
  const std::uint64_t matrix_bytes = problem.matrix->bytes();
  support::require_memory(machine.memory_limit_bytes, matrix_bytes, matrix_bytes + outcome.memory.vectors,
                          "the transition matrix and the ranks");

  progress.phase("making the transition matrix");
  const Stopwatch plan_timer;
  const TransitionMatrix<T> transition = make_transition(problem, machine.host);
  const double transition_ms = plan_timer.milliseconds();
  describe_graph(settings, problem, transition, outcome);

  std::vector<double> personalization;
  PageRankOptions options = settings.pagerank;
  if (settings.personalize) {
    personalization = jump_weights(*settings.personalize, transition.vertices(), machine);
    options.personalization = personalization;
  }
  options.tolerance = tolerance_of(settings, transition.vertices());
  options.observer = [&progress](const IterationInfo& info) {
    keep_partial_results();
    progress.update(info);
    return interrupt_signal() == 0 ? Control::proceed : Control::stop;
  };
  options.stop_cause = interruption;
  progress.phase("ranking");
  take_result(pagerank(transition, options), settings.top, ranked);
  outcome.timings.read_ms = problem.read_ms;
  outcome.timings.plan_ms += transition_ms;
  outcome.options = options;
  outcome.options.personalization = {};
  outcome.options.observer = nullptr;
  outcome.options.stop_cause = nullptr;
  add_warnings(outcome, outcome.warnings);
  return ranked;
}

template <class T>
[[nodiscard]] ExitCode pagerank_typed(const PageRankSettings& settings, const Options& options,
                                      const Invocation& invocation) {
  Progress progress(options, settings.output, settings.machine);
  Ranked<T> ranked = rank_graph<T>(settings, progress);
  PageRankOutcome& outcome = ranked.outcome;
  progress.conclude(outcome.warnings);

  Deliverables results;
  results.write_vector = [&](const std::string& path) {
    const Stopwatch timer;
    write_solution<T>(path, ranked.ranks,
                      {fmt::format("PageRank of {}, damping {}: {}", outcome.problem, outcome.options.damping,
                                   to_string(outcome.status))});
    outcome.write_ms = timer.milliseconds();
  };
  results.history = [&] { return history_csv(outcome.history); };
  results.summary = [&] { return pagerank_summary(outcome, settings.output); };
  results.plot = [&](std::size_t width, bool is_utf8) {
    return history_plot(outcome.history, "||x' - x||", outcome.options.tolerance, width, is_utf8);
  };
  if (settings.top_given) results.requested = [&] { return top_rows(outcome); };
  results.json = [&](ExitCode code) { return document_text(pagerank_json(outcome, options, invocation, code)); };
  return deliver(settings.output, exit_code_of(outcome.status, interrupt_signal(), settings.output.exit_zero), results);
}

}  // namespace

ExitCode pagerank_command(const Options& options, const Invocation& invocation) {
  const PageRankSettings settings = pagerank_settings(options);
  const std::string weights = settings.personalize ? settings.personalize->file : std::string();
  check_outputs(settings.output, input_files(options, settings.problem, {weights}));
  if (options.flag("dry-run")) return forecast_pagerank(settings, options, invocation);
  return settings.machine.precision == Precision::fp64 ? pagerank_typed<double>(settings, options, invocation)
                                                       : pagerank_typed<float>(settings, options, invocation);
}

}  // namespace tessera::cli
