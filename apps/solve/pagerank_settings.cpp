// Settings of pagerank: damping, jumps and the tolerance.
#include "errors.hpp"
#include "option_values.hpp"
#include "settings.hpp"
#include "system_ordering.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace tessera::cli {

namespace {

constexpr double unbounded = std::numeric_limits<double>::max();

void set_tolerance(const Options& options, PageRankSettings& settings) {
  constexpr Choices<RankNorm, 3> norms{{{"l1", RankNorm::l1}, {"l2", RankNorm::l2}, {"linf", RankNorm::linf}}};
  settings.pagerank.norm = choice_option(options, "norm", norms);
  settings.pagerank.tolerance = number_option(options, "tol", 0.0, unbounded);
  if (!options.given("tol-per-node")) return;
  if (options.given("tol")) throw UsageError("--tol and --tol-per-node exclude each other");
  if (settings.pagerank.norm != RankNorm::l1) throw UsageError("--tol-per-node is defined in the l1 norm only");
  settings.tolerance_per_vertex = number_option(options, "tol-per-node", 0.0, unbounded);
}

/// Whether vertices may have names: --labels, or a file that is not known to hold a matrix.
[[nodiscard]] bool may_have_names(const ProblemSettings& problem, const RankingSettings& ranking) {
  if (!ranking.labels.empty()) return true;
  constexpr std::array<std::string_view, 4> matrices{".mtx", ".mtx.gz", ".tsb", ".tiles"};
  return problem.source == Source::file && std::none_of(matrices.begin(), matrices.end(), [&](std::string_view suffix) {
           return problem.path.ends_with(suffix);
         });
}

}  // namespace

PageRankSettings pagerank_settings(const Options& options) {
  PageRankSettings result;
  result.problem = problem_settings(options);
  result.output = output_settings(options);
  constexpr Choices<int, 1> methods{{{"pagerank", 0}}};
  static_cast<void>(choice_option(options, "method", methods));
  PageRankOptions& rank = result.pagerank;
  rank.damping = damping_option(options);
  constexpr Choices<Dangling, 4> policies{{{"teleport", Dangling::teleport},
                                           {"uniform", Dangling::uniform},
                                           {"self", Dangling::self},
                                           {"drop", Dangling::drop}}};
  rank.dangling = choice_option(options, "dangling", policies);
  set_tolerance(options, result);
  rank.max_iterations = count_option(options, "max-iters");
  rank.time_limit_seconds = seconds_option(options, "max-time");
  rank.keep_history = result.output.wants_history();
  rank.history_rows = result.output.history_rows();
  result.ranking = ranking_settings(options);
  if (const auto text = options.text("personalize")) {
    result.personalize = parse_personalizations(*text, may_have_names(result.problem, result.ranking));
  }
  constexpr Choices<bool, 2> sums{{{"1", false}, {"n", true}}};
  result.sum_to_vertices = choice_option(options, "sum", sums);
  result.ordering = named_ordering(options);
  result.machine = machine_settings(options);
  rank.spmv = spmv_settings(options, result.machine);
  return result;
}

}  // namespace tessera::cli
