#include "compare_command.hpp"

#include "commands.hpp"
#include "compare_report.hpp"
#include "dry_run.hpp"
#include "errors.hpp"
#include "interrupt.hpp"
#include "option_values.hpp"
#include "outputs.hpp"
#include "precond_settings.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "system_ordering.hpp"

#include "core/stopwatch.hpp"
#include "tessera/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

namespace tessera::cli {

namespace {

constexpr double unbounded = std::numeric_limits<double>::max();
constexpr std::int64_t most_rounds = 1'000'000;

[[nodiscard]] std::vector<compare::Solver> solver_list(const Options& options) {
  const std::vector<compare::Solver> solvers = compare::known_solvers();
  const auto text = options.text("solvers");
  if (!text) return {};
  std::vector<std::string_view> known;
  known.reserve(solvers.size());
  for (const compare::Solver solver : solvers) known.push_back(to_string(solver));
  std::vector<compare::Solver> result;
  for (const std::string& word : parse_word_list("solvers", *text, known)) {
    const auto place = std::find(known.begin(), known.end(), word) - known.begin();
    result.push_back(solvers[static_cast<std::size_t>(place)]);
  }
  return result;
}

/// An option of a solver that is not run would be ignored; ignored options are refused.
void require_used(const Options& options, const std::vector<compare::Solver>& solvers) {
  const auto runs = [&](compare::Solver solver) {
    return std::find(solvers.begin(), solvers.end(), solver) != solvers.end();
  };
  const bool krylov = std::any_of(solvers.begin(), solvers.end(),
                                  [](compare::Solver solver) { return solver != compare::Solver::pagerank; });
  const auto refuse = [&](std::string_view name, bool used, std::string_view needed) {
    if (used || !options.typed(name)) return;
    throw UsageError(fmt::format("option --{} has no effect on products", name),
                     fmt::format("add --solvers {}", needed));
  };
  for (const std::string_view name : {"rhs", "x0", "precond", "preconds", "precond-opt", "block", "rtol", "atol",
                                      "norm-base", "dtol", "stagnation", "restart-on-breakdown", "replace-residual"}) {
    refuse(name, krylov, "cg or --solvers bicgstab");
  }
  refuse("shadow", runs(compare::Solver::bicgstab), "bicgstab");
  refuse("restart", runs(compare::Solver::gmres), "gmres");
  for (const std::string_view name : {"damping", "tol"}) refuse(name, runs(compare::Solver::pagerank), "pagerank");
  for (const std::string_view name : {"max-iters", "max-time"}) refuse(name, !solvers.empty(), "cg, for instance");
}

[[nodiscard]] compare::TimingSettings timing_settings(const Options& options) {
  compare::TimingSettings result;
  constexpr int most_warmups = 1000;
  result.warmup = static_cast<int>(count_option(options, "warmup", 0, most_warmups));
  result.rounds = count_or_auto_option(options, "repeat", 0, most_rounds);
  result.min_seconds = seconds_option(options, "min-time");
  if (!std::isfinite(result.min_seconds)) refuse_text("min-time", *options.text("min-time"), "a time such as 0.5s");
  result.noise = number_option(options, "noise", 0.0, unbounded);
  result.cold = options.flag("cold");
  return result;
}

/// \throws UsageError beside blocks, coordinates and near-nullspaces of the file
[[nodiscard]] std::optional<Ordering> compared_ordering(const Options& options,
                                                        const std::vector<PrecondSettings>& preconds) {
  const std::optional<Ordering> named = named_ordering(options);
  if (named.value_or(Ordering::natural) == Ordering::natural) return named;
  for (const PrecondSettings& each : preconds) require_free_numbering(each, to_string(*named));
  return named;
}

[[nodiscard]] PageRankOptions pagerank_options(const Options& options) {
  PageRankOptions result;
  result.damping = damping_option(options);
  result.tolerance = number_option(options, "tol", 0.0, unbounded);
  result.max_iterations = count_option(options, "max-iters");
  result.time_limit_seconds = seconds_option(options, "max-time");
  return result;
}

}  // namespace

CompareSettings compare_settings(const Options& options) {
  CompareSettings result;
  compare::Settings& comparison = result.comparison;
  result.problem = problem_settings(options);
  result.output = output_settings(options);
  comparison.solvers = solver_list(options);
  require_used(options, comparison.solvers);
  result.kernels = options.text("kernels").value_or("all");
  comparison.applies = count_option(options, "applies", 1);
  constexpr std::array<std::pair<std::string_view, compare::SortKey>, 5> keys{{{"total", compare::SortKey::total},
                                                                               {"spmv", compare::SortKey::spmv},
                                                                               {"setup", compare::SortKey::setup},
                                                                               {"error", compare::SortKey::error},
                                                                               {"memory", compare::SortKey::memory}}};
  comparison.sort = choice_option(options, "sort", keys);
  comparison.timing = timing_settings(options);
  result.rhs = rhs_settings(options);
  if (result.rhs.columns > 1) throw OptionError("rhs", "compare takes one right-hand side", "-b random");
  result.rhs_given = options.given("rhs");
  result.x0 = x0_settings(options);
  result.preconds = precond_list(options);
  result.ordering = compared_ordering(options, result.preconds);
  comparison.solver = solver_settings(options);
  comparison.pagerank = pagerank_options(options);
  comparison.baseline = options.text("baseline");
  if (options.given("fail-if-slower")) {
    if (!comparison.baseline)
      throw UsageError("--fail-if-slower needs something to be slower than", "add --baseline FILE");
    comparison.fail_if_slower = number_option(options, "fail-if-slower", 0.0, unbounded);
  }
  result.machine = machine_settings(options);
  comparison.device = result.machine.device;
  comparison.host = result.machine.host;
  comparison.memory_limit_bytes = result.machine.memory_limit_bytes;
  comparison.seed = result.machine.seed;
  return result;
}

namespace {

/// The names of the list as this version spells them, so that documents of other versions repeat their runs.
[[nodiscard]] std::string with_current_names(std::string_view list) {
  std::string result;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (begin > 0) result += ',';
    result += compare::current_name(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

}  // namespace

template <class T>
std::vector<compare::Candidate<T>> choose_candidates(std::vector<compare::Candidate<T>> table,
                                                     const std::string& wanted) {
  if (wanted == "all") return table;
  std::vector<std::string_view> known{"all"};
  for (const compare::Candidate<T>& candidate : table) known.push_back(candidate.name);
  const std::vector<std::string> words = parse_word_list("kernels", with_current_names(wanted), known);
  if (std::find(words.begin(), words.end(), "all") != words.end()) return table;
  const std::string reference = compare::reference_of(table);
  std::vector<compare::Candidate<T>> chosen;
  for (compare::Candidate<T>& candidate : table) {
    const bool named = std::find(words.begin(), words.end(), candidate.name) != words.end();
    if (named && !candidate.unavailable.empty()) {
      throw UsageError(fmt::format("--kernels {}: {}", candidate.name, candidate.unavailable));
    }
    if (named || candidate.name == reference) chosen.push_back(std::move(candidate));
  }
  return chosen;
}

ExitCode exit_code_of(const compare::Outcome& outcome, int signal, bool exit_zero) {
  const bool only_memory = outcome.lacked_memory_alone();
  if ((outcome.failed() && !only_memory) || !outcome.slower.empty()) return ExitCode::verification_failed;
  if (outcome.failed()) return ExitCode::out_of_memory;
  if (outcome.interrupted) return exit_code_of(Status::interrupted, signal, exit_zero);
  ExitCode worst = ExitCode::success;
  for (const compare::SolveRow& row : outcome.solves) {
    worst = std::max(worst, exit_code_of(row.status, signal, exit_zero),
                     [](ExitCode a, ExitCode b) { return static_cast<int>(a) < static_cast<int>(b); });
  }
  return worst;
}

namespace {

/// \param rhs of the settings, changed where make_rhs() changes it
template <class T>
[[nodiscard]] compare::SystemVectors<T> make_vectors(const CompareSettings& settings, const InputMatrix<T>& problem,
                                                     VectorSettings& rhs) {
  SpmvOptions plain;
  plain.algorithm = SpmvAlgorithm::csr;
  plain.device = settings.machine.host;
  const SpmvPlan<T> A(problem.matrix, plain);
  const std::uint64_t seed = settings.machine.seed;
  compare::SystemVectors<T> vectors;
  vectors.b = make_rhs<T>(rhs, settings.rhs_given, problem.matrix->view(), A, settings.machine);
  vectors.x0 = settings.x0.kind == VectorSettings::Kind::rhs
                   ? vectors.b
                   : make_vector<T>(settings.x0, A, settings.machine, seed + 1, "initial guess");
  return vectors;
}

/// The matrix once in the numbering that all kernels work in. \param outcome its memory is that of the matrix
template <class T>
[[nodiscard]] OrderedSystem<T> reorder(const CompareSettings& settings, const Csr<T>& matrix, CompareOutcome& outcome) {
  OrderedSystem<T> system =
      order_system(matrix, settings.ordering.value_or(Ordering::natural), outcome.matrix,
                   {.limit_bytes = settings.machine.memory_limit_bytes, .held_bytes = outcome.memory.matrix});
  outcome.memory.matrix += system.bytes();
  if (settings.ordering) outcome.ordering = system.facts;
  return system;
}

template <class T>
[[nodiscard]] CompareOutcome compare_loaded(const CompareSettings& settings,
                                            const std::vector<compare::Candidate<T>>& candidates, Progress& progress) {
  CompareOutcome outcome;
  progress.phase(loading_text(settings.problem));
  const InputMatrix<T> problem = load_input<T>(settings.problem, settings.machine);
  progress.phase("inspecting the matrix");
  const Stopwatch watch;
  report_input(settings.problem, settings.machine, problem, outcome);
  describe_matrix(problem.matrix->view(), settings.output, settings.machine.host, outcome);
  outcome.inspect_ms = watch.milliseconds();

  if (settings.ordering) progress.phase("numbering the rows");
  const OrderedSystem<T> system = reorder(settings, *problem.matrix, outcome);
  compare::Settings comparison = settings.comparison;
  comparison.phase = [&progress](const std::string& text) { progress.phase(text); };
  comparison.preconds.clear();
  for (const PrecondSettings& each : settings.preconds) {
    comparison.preconds.push_back(precond_request(each, settings.problem, problem.matrix->rows(), settings.machine));
    comparison.preconds.back().held_bytes = outcome.memory.matrix;
  }
  comparison.stop = ends_with_iteration;
  VectorSettings rhs = settings.rhs;
  comparison.solver.stop_cause = comparison.pagerank.stop_cause = interruption;
  compare::Subject<T> subject{problem.matrix, outcome.matrix, problem.name, [&] {
                                const compare::SystemVectors<T> named = make_vectors(settings, problem, rhs);
                                return compare::SystemVectors<T>{system.gathered(named.b), system.gathered(named.x0)};
                              }};
  if (system.reordered) {
    subject.source = std::exchange(subject.matrix, system.reordered);
    subject.order = system.order;
  }
  static_cast<compare::Outcome&>(outcome) = compare::compare_kernels(comparison, subject, candidates);
  keep_partial_results();
  outcome.memory.vectors = outcome.vector_bytes;
  outcome.memory.plan = outcome.plan_bytes;
  outcome.memory.precond = outcome.precond_bytes;
  warn_about_cache(outcome, outcome.warnings);
  warn_about_rounding(outcome, outcome.warnings);
  outcome.rhs_replaced = rhs.kind != settings.rhs.kind;
  if (outcome.rhs_replaced) warn_about_replaced_rhs(outcome.warnings);
  for (const Warning& warning : outcome.compare::Outcome::warnings) outcome.warnings.push_back(warning);
  return outcome;
}

}  // namespace

template <class T>
ExitCode compare_and_report(const CompareSettings& settings, const std::vector<compare::Candidate<T>>& candidates,
                            const Options& options, const Invocation& invocation) {
  Progress progress(options, settings.output, settings.machine);
  CompareOutcome outcome = compare_loaded(settings, candidates, progress);
  progress.conclude(outcome.warnings);

  Deliverables results;
  results.summary = [&] { return compare_summary(outcome, settings.output.width); };
  results.csv = [&] { return compare_csv(outcome); };
  results.markdown = [&] { return compare_markdown(outcome); };
  results.json = [&](ExitCode code) { return document_text(compare_json(outcome, options, invocation, code)); };
  return deliver(settings.output, exit_code_of(outcome, interrupt_signal(), settings.output.exit_zero), results);
}

namespace {

template <class T>
[[nodiscard]] ExitCode compare_registered(const CompareSettings& settings, const Options& options,
                                          const Invocation& invocation) {
  const auto candidates =
      choose_candidates(compare::registered_candidates<T>(settings.machine.device), settings.kernels);
  return compare_and_report(settings, candidates, options, invocation);
}

}  // namespace

template std::vector<compare::Candidate<float>> choose_candidates(std::vector<compare::Candidate<float>>,
                                                                  const std::string&);
template std::vector<compare::Candidate<double>> choose_candidates(std::vector<compare::Candidate<double>>,
                                                                   const std::string&);
template ExitCode compare_and_report(const CompareSettings&, const std::vector<compare::Candidate<float>>&,
                                     const Options&, const Invocation&);
template ExitCode compare_and_report(const CompareSettings&, const std::vector<compare::Candidate<double>>&,
                                     const Options&, const Invocation&);

ExitCode compare_command(const Options& options, const Invocation& invocation) {
  const CompareSettings settings = compare_settings(options);
  const PrecondSettings& precond = settings.preconds.front();  // all have the same files
  check_outputs(settings.output,
                input_files(options, settings.problem,
                            {settings.rhs.path, settings.x0.path, settings.comparison.baseline.value_or(""),
                             precond.coordinates_file, precond.near_nullspace_file}));
  if (options.flag("dry-run")) return forecast_compare(settings, options, invocation);
  return settings.machine.precision == Precision::fp64 ? compare_registered<double>(settings, options, invocation)
                                                       : compare_registered<float>(settings, options, invocation);
}

}  // namespace tessera::cli
