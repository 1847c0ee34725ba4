// solve hits and solve katz.
#include "centrality_command.hpp"

#include "commands.hpp"
#include "device_choice.hpp"
#include "dry_run.hpp"
#include "errors.hpp"
#include "interrupt.hpp"
#include "option_values.hpp"
#include "outputs.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "report/history_plot.hpp"
#include "report_json.hpp"
#include "summary_text.hpp"

#include "core/stopwatch.hpp"
#include "support/machine.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

namespace tessera::cli {

namespace {

struct CentralityOutcome : CommonOutcome {
  CentralityReport report;
  std::optional<HitsReport> hits;
  std::optional<KatzReport> katz;
  double tolerance = 0.0;
  VertexNames names;
  std::vector<Ranking> rankings;  ///< hubs and authorities, or Katz scores
};

template <class T>
struct Ranked {
  CentralityOutcome outcome;
  MultiVector<T> scores;
};

/// `auto`, or a number above 0.
[[nodiscard]] double alpha_option(const Options& options) {
  const std::string text = options.text("alpha").value_or("auto");
  if (text == "auto") return 0.0;
  const auto value = parse_number(text);
  if (!value || !(*value > 0.0)) refuse_text("alpha", text, "auto or a number above 0");
  return *value;
}

/// The scores on the host, where they are written.
template <class T>
void take_scores(Array<T>&& scores, std::string title, std::int64_t top, Ranked<T>& ranked) {
  const Array<T> here = scores.device().is_host() ? std::move(scores) : scores.to(Device{});
  ranked.scores.rows = here.size();
  ++ranked.scores.columns;
  ranked.scores.elements.insert(ranked.scores.elements.end(), here.begin(), here.end());
  ranked.outcome.rankings.push_back(make_ranking<T>(std::move(title), here.span(), top));
}

template <class T>
void compute_hits(const CentralitySettings& settings, const std::shared_ptr<const Csr<T>>& graph,
                  const CentralityOptions& iteration, Ranked<T>& ranked) {
  SpmvOptions options = settings.spmv;
  options.with_transpose = true;
  const SpmvPlan<T> plan(graph, options);
  Array<T> hubs(plan.rows(), Init::none, plan.device());
  Array<T> authorities(plan.cols(), Init::none, plan.device());
  ranked.outcome.hits = hits<T>(plan, hubs.span(), authorities.span(), iteration);
  ranked.outcome.report = *ranked.outcome.hits;
  ranked.outcome.plan = plan.info();
  take_scores(std::move(hubs), "hubs", settings.ranking.top, ranked);
  take_scores(std::move(authorities), "authorities", settings.ranking.top, ranked);
}

template <class T>
void compute_katz(const CentralitySettings& settings, const Csr<T>& graph, const KatzOptions& iteration,
                  Ranked<T>& ranked) {
  const Stopwatch timer;
  auto in_links = std::make_shared<const Csr<T>>(transpose(graph.view(), settings.machine.host));
  const double transpose_ms = timer.milliseconds();
  const SpmvPlan<T> plan(std::move(in_links), settings.spmv);
  Array<T> scores(plan.rows(), Init::none, plan.device());
  ranked.outcome.katz = katz<T>(plan, scores.span(), iteration);
  ranked.outcome.report = *ranked.outcome.katz;
  ranked.outcome.report.timings.plan_ms = transpose_ms;
  ranked.outcome.plan = plan.info();
  take_scores(std::move(scores), "", settings.ranking.top, ranked);
}

void add_warnings(CentralityOutcome& outcome) {
  warn_about_cache(outcome, outcome.warnings);
  warn_about_rounding(outcome, outcome.warnings);
  warn_about_duplicates(outcome, outcome.warnings);
  const Status status = outcome.report.status;
  if (status == Status::max_iterations || status == Status::time_limit) {
    outcome.warnings.push_back(
        {"W006",
         "iteration or time limit reached before convergence: raise --max-iters or --max-time, or loosen --tol"});
  }
  // The distance to the limit is this many times the change.
  constexpr double slow = 0.99;
  if (outcome.hits && outcome.report.converged() && outcome.hits->contraction > slow &&
      outcome.hits->contraction < 1.0) {
    outcome.warnings.push_back(
        {"W030", fmt::format("the change falls by a factor of {:.6f} per iteration only: hubs and authorities may be "
                             "off by {:.2g} in l1; tighten --tol",
                             outcome.hits->contraction, outcome.hits->residual / (1.0 - outcome.hits->contraction))});
  }
}

template <class T>
[[nodiscard]] Ranked<T> rank_graph(CentralitySettings settings, Progress& progress) {
  Ranked<T> ranked;
  CentralityOutcome& outcome = ranked.outcome;
  MachineSettings& machine = settings.machine;

  progress.phase(loading_text(settings.problem));
  const InputMatrix<T> problem = load_input<T>(settings.problem, machine);
  if (!problem.matrix->view().is_square()) {
    throw InvalidMatrix(fmt::format("{}: an adjacency matrix is square, but this one is {} x {}", problem.name,
                                    problem.matrix->rows(), problem.matrix->cols()));
  }
  decide_device(*problem.matrix, machine, settings.spmv, progress);
  const auto vertices = static_cast<std::uint64_t>(problem.matrix->rows());
  outcome.names = vertex_names(settings.ranking, problem.matrix->rows(), problem.labels);
  // Scores, products, ones, and the scores handed out.
  const std::uint64_t vectors = settings.is_hits ? 7 : 5;
  outcome.memory.vectors = vectors * vertices * sizeof(T);
  support::require_memory(machine.memory_limit_bytes, problem.matrix->bytes(),
                          problem.matrix->bytes() + outcome.memory.vectors, "the transpose and the scores");

  const Stopwatch inspecting;
  report_input(settings.problem, machine, problem, outcome);
  describe_matrix(problem.matrix->view(), settings.output, machine.host, outcome);
  outcome.memory.matrix = 2 * problem.matrix->bytes();  // with its transpose
  outcome.inspect_ms = inspecting.milliseconds();
  outcome.kernel_chosen_by_user = names_kernel(settings.spmv.algorithm);

  KatzOptions iteration = settings.iteration;
  outcome.tolerance = iteration.tolerance;
  iteration.observer = progress.observer();
  iteration.stop_cause = interruption;
  progress.phase("ranking");
  try {
    if (settings.is_hits) {
      compute_hits(settings, problem.matrix, iteration, ranked);
    } else {
      compute_katz(settings, *problem.matrix, iteration, ranked);
    }
  } catch (const InvalidMatrix& error) {
    throw InvalidMatrix(fmt::format("{}: {}", problem.name, error.what()));
  }
  keep_partial_results();
  outcome.memory.plan = outcome.plan.bytes;
  Timings& timings = outcome.report.timings;
  timings.read_ms = problem.read_ms;
  timings.plan_ms += outcome.plan.build_ms + (outcome.plan.transpose ? outcome.plan.transpose->build_ms : 0.0);
  timings.upload_ms = outcome.plan.upload_ms;
  add_warnings(outcome);
  return ranked;
}

[[nodiscard]] std::string precision_name(const CentralityOutcome& outcome) {
  return outcome.precision == Precision::fp64 ? "fp64" : "fp32";
}

[[nodiscard]] std::string definition_line(const CentralityOutcome& outcome) {
  if (outcome.hits)
    return line("hits", "hubs h = A a, authorities a = A'h, each with sum 1, in " + precision_name(outcome));
  const std::string bound = std::isnan(outcome.katz->spectral_bound)
                                ? std::string()
                                : fmt::format(" (rho(A) <= {:.6g})", outcome.katz->spectral_bound);
  return line("katz", fmt::format("x = alpha A'x + 1, alpha {:.6g}{}, scaled to ||x||_2 = 1, in {}",
                                  outcome.katz->alpha, bound, precision_name(outcome)));
}

/// What the tolerance is compared with.
[[nodiscard]] std::string check_line(const CentralityOutcome& outcome) {
  const double value = outcome.hits ? outcome.hits->residual : outcome.katz->error_bound;
  if (!std::isfinite(value)) return {};
  const std::string_view sign = value <= outcome.tolerance ? "<=" : ">";
  if (outcome.hits) {
    return line("change",
                fmt::format("max(||h' - h||_1, ||a' - a||_1) = {:.2e} {} {:.2e}", value, sign, outcome.tolerance));
  }
  return line("error", fmt::format("of every score at most {:.2e} {} {:.2e} of it", value, sign, outcome.tolerance));
}

[[nodiscard]] std::string summary(const CentralityOutcome& outcome, const OutputSettings& settings) {
  const Timings& timings = outcome.report.timings;
  std::string text = graph_line(outcome, outcome.matrix.nnz, settings.width);
  text += definition_line(outcome);
  text += kernel_lines(outcome, timings, settings);
  text += line("status", ending_text(outcome.report.status, outcome.report.reason, outcome.report.iterations, "max"));
  text += check_line(outcome);
  text +=
      line("time", fmt::format("{} {}, plan {}, solve {}", outcome.from_file ? "read" : "generate",
                               time_text(timings.read_ms), time_text(timings.plan_ms), time_text(timings.solve_ms)));
  if (outcome.katz) return text + ranking_tables(outcome.rankings, outcome.names, "score", 1);
  const std::span<const Ranking> both(outcome.rankings);
  return text + ranking_tables(both, outcome.names, "score", both.size());
}

[[nodiscard]] Json result_json(const CentralityOutcome& outcome, ExitCode code) {
  const CentralityReport& report = outcome.report;
  Json json;
  json["method"] = outcome.hits ? "hits" : "katz";
  json["status"] = to_string(report.status);
  json["reason"] = report.reason;
  json["exit_code"] = static_cast<int>(code);
  json["iterations"] = report.iterations;
  json["spmv_count"] = report.spmv_count;
  put_number(json, "tolerance", outcome.tolerance);
  if (outcome.hits) {
    put_number(json, "residual", outcome.hits->residual);
    put_number(json, "contraction", outcome.hits->contraction);
  } else {
    put_number(json, "alpha", outcome.katz->alpha);
    put_number(json, "spectral_bound", outcome.katz->spectral_bound);
    put_number(json, "error_bound", outcome.katz->error_bound);
    put_number(json, "sum", outcome.katz->sum);
  }
  json["vertices"] = outcome.matrix.rows;
  json["edges"] = outcome.matrix.nnz;
  json["index_base"] = 1;
  if (outcome.katz) {
    json["top"] = ranking_json(outcome.rankings[0], outcome.names, "score");
    return json;
  }
  json["hubs"] = ranking_json(outcome.rankings[0], outcome.names, "score");
  json["authorities"] = ranking_json(outcome.rankings[1], outcome.names, "score");
  return json;
}

[[nodiscard]] Json centrality_json(const CentralityOutcome& outcome, const Options& options,
                                   const Invocation& invocation, ExitCode code) {
  Json json = common_json("solve.centrality/1", outcome, options, invocation);
  json["result"] = result_json(outcome, code);
  put_tail(json, outcome, outcome.report.timings,
           {outcome.report.iterations, outcome.report.spmv_count, outcome.matrix.nnz, &outcome.report.history});
  return json;
}

template <class T>
[[nodiscard]] ExitCode centrality_typed(const CentralitySettings& settings, const Options& options,
                                        const Invocation& invocation) {
  Progress progress(options, settings.output, settings.machine);
  Ranked<T> ranked = rank_graph<T>(settings, progress);
  CentralityOutcome& outcome = ranked.outcome;
  progress.conclude(outcome.warnings);

  Deliverables results;
  results.write_vector = [&](const std::string& path) {
    const Stopwatch timer;
    const std::vector<std::string> headings =
        settings.is_hits ? std::vector<std::string>{"hub", "authority"} : std::vector<std::string>{"score"};
    write_scores(path, ranked.scores, outcome.names, headings,
                 {fmt::format("{} of {}: {}", settings.is_hits ? "Hubs and authorities" : "Katz centrality",
                              outcome.problem, to_string(outcome.report.status))});
    outcome.write_ms = timer.milliseconds();
  };
  results.history = [&] { return history_csv(outcome.report.history); };
  results.plot = [&](std::size_t width, bool is_utf8) {
    return history_plot(outcome.report.history, settings.is_hits ? "change" : "largest term", outcome.tolerance, width,
                        is_utf8);
  };
  results.csv = [&] { return rankings_csv(outcome.rankings, outcome.names, true); };
  results.summary = [&] { return summary(outcome, settings.output); };
  if (settings.ranking.top_given) {
    results.requested = [&] { return all_ranking_rows(outcome.rankings, outcome.names); };
  }
  results.json = [&](ExitCode code) { return document_text(centrality_json(outcome, options, invocation, code)); };
  return deliver(settings.output, exit_code_of(outcome.report.status, interrupt_signal(), settings.output.exit_zero),
                 results);
}

}  // namespace

CentralitySettings centrality_settings(const Options& options) {
  CentralitySettings result;
  result.problem = problem_settings(options);
  result.output = output_settings(options);
  result.is_hits = options.command() == Command::hits;
  KatzOptions& iteration = result.iteration;
  if (!result.is_hits) iteration.alpha = alpha_option(options);
  constexpr double below_one = 1.0 - std::numeric_limits<double>::epsilon();
  iteration.tolerance = number_option(options, "tol", 0.0, below_one);
  iteration.max_iterations = count_option(options, "max-iters");
  iteration.time_limit_seconds = seconds_option(options, "max-time");
  iteration.keep_history = result.output.wants_history();
  iteration.history_rows = result.output.history_rows();
  result.ranking = ranking_settings(options);
  result.machine = machine_settings(options);
  result.spmv = spmv_settings(options, result.machine);
  return result;
}

ExitCode centrality_command(const Options& options, const Invocation& invocation) {
  const CentralitySettings settings = centrality_settings(options);
  check_outputs(settings.output, input_files(options, settings.problem, {settings.ranking.labels}));
  if (options.flag("dry-run")) return forecast_centrality(settings, options, invocation);
  return settings.machine.precision == Precision::fp64 ? centrality_typed<double>(settings, options, invocation)
                                                       : centrality_typed<float>(settings, options, invocation);
}

}  // namespace tessera::cli
