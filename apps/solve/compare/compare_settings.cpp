#include "compare/compare_settings.hpp"

#include "compare/word_list.hpp"
#include "interrupt.hpp"
#include "option_values.hpp"
#include "usage_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tessera::cli {

std::string_view to_string(Solver solver) {
  switch (solver) {
    case Solver::cg:
      return "cg";
    case Solver::bicgstab:
      return "bicgstab";
    case Solver::pagerank:
      return "pagerank";
  }
  return "cg";
}

std::string_view to_string(SortKey key) {
  switch (key) {
    case SortKey::total:
      return "total";
    case SortKey::spmv:
      return "spmv";
    case SortKey::setup:
      return "setup";
    case SortKey::error:
      return "error";
    case SortKey::memory:
      return "memory";
  }
  return "total";
}

namespace {

constexpr double unbounded = std::numeric_limits<double>::max();
constexpr std::int64_t most_rounds = 1'000'000;

[[nodiscard]] std::vector<Solver> solver_list(const Options& options) {
  constexpr std::array solvers{Solver::cg, Solver::bicgstab, Solver::pagerank};
  const auto text = options.text("solvers");
  if (!text) return {};
  std::vector<std::string_view> known;
  known.reserve(solvers.size());
  for (const Solver solver : solvers) known.push_back(to_string(solver));
  std::vector<Solver> result;
  for (const std::string& word : parse_word_list("solvers", *text, known)) {
    const auto place = std::find(known.begin(), known.end(), word) - known.begin();
    result.push_back(solvers[static_cast<std::size_t>(place)]);
  }
  return result;
}

/// An option of a solver that is not run would be ignored; ignored options are refused.
void require_used(const Options& options, const std::vector<Solver>& solvers) {
  const auto runs = [&](Solver solver) { return std::find(solvers.begin(), solvers.end(), solver) != solvers.end(); };
  const bool krylov = runs(Solver::cg) || runs(Solver::bicgstab);
  const auto refuse = [&](std::string_view name, bool used, std::string_view needed) {
    if (used || !options.typed(name)) return;
    throw UsageError(fmt::format("option --{} has no effect on products", name),
                     fmt::format("add --solvers {}", needed));
  };
  for (const std::string_view name : {"rhs", "x0", "precond", "rtol", "atol", "norm-base", "dtol", "stagnation",
                                      "restart-on-breakdown", "replace-residual"}) {
    refuse(name, krylov, "cg or --solvers bicgstab");
  }
  refuse("shadow", runs(Solver::bicgstab), "bicgstab");
  for (const std::string_view name : {"damping", "tol"}) refuse(name, runs(Solver::pagerank), "pagerank");
  for (const std::string_view name : {"max-iters", "max-time"}) refuse(name, !solvers.empty(), "cg, for instance");
}

[[nodiscard]] TimingSettings timing_settings(const Options& options) {
  TimingSettings result;
  constexpr int most_warmups = 1000;
  result.warmup = static_cast<int>(count_option(options, "warmup", 0, most_warmups));
  result.rounds = count_or_auto_option(options, "repeat", 0, most_rounds);
  result.min_seconds = seconds_option(options, "min-time");
  if (!std::isfinite(result.min_seconds)) refuse_text("min-time", *options.text("min-time"), "a time such as 0.5s");
  result.noise = number_option(options, "noise", 0.0, unbounded);
  result.cold = options.flag("cold");
  return result;
}

[[nodiscard]] PageRankOptions pagerank_options(const Options& options) {
  PageRankOptions result;
  result.damping = number_option(options, "damping", 0.0, 1.0);
  if (result.damping >= 1.0) refuse_text("damping", *options.text("damping"), "a number in [0, 1)");
  result.tolerance = number_option(options, "tol", 0.0, unbounded);
  result.max_iterations = count_option(options, "max-iters");
  result.time_limit_seconds = seconds_option(options, "max-time");
  return result;
}

[[nodiscard]] TimingOptions timing_options(const CompareSettings& settings, int min_rounds, int max_rounds) {
  constexpr double patience = 10.0;
  const TimingSettings& timing = settings.timing;
  TimingOptions result;
  result.warmup = timing.warmup;
  result.min_rounds = timing.rounds > 0 ? static_cast<int>(timing.rounds) : min_rounds;
  result.max_rounds = timing.rounds > 0 ? static_cast<int>(timing.rounds) : max_rounds;
  result.min_seconds = timing.min_seconds;
  result.max_seconds = patience * timing.min_seconds;
  result.noise = timing.noise;
  result.seed = settings.machine.seed;
  if (!settings.machine.device.is_host()) {
    // The time from the call to the start of the work is then a small part.
    constexpr double device_sample_ms = 1.0;
    result.min_sample_ms = device_sample_ms;
    result.clock = timing_clock(settings.machine.device);
  }
  result.stop_early = [] { return interrupt_signal() != 0; };
  return result;
}

}  // namespace

CompareSettings compare_settings(const Options& options) {
  CompareSettings result;
  result.problem = problem_settings(options);
  result.output = output_settings(options);
  result.solvers = solver_list(options);
  require_used(options, result.solvers);
  result.kernels = options.text("kernels").value_or("all");
  result.applies = count_option(options, "applies", 1);
  constexpr std::array<std::pair<std::string_view, SortKey>, 5> keys{{{"total", SortKey::total},
                                                                      {"spmv", SortKey::spmv},
                                                                      {"setup", SortKey::setup},
                                                                      {"error", SortKey::error},
                                                                      {"memory", SortKey::memory}}};
  result.sort = choice_option(options, "sort", keys);
  result.timing = timing_settings(options);
  result.rhs = rhs_settings(options);
  result.x0 = x0_settings(options);
  result.precond = precond_setting(options);
  result.solver = solver_settings(options);
  result.pagerank = pagerank_options(options);
  result.baseline = options.text("baseline");
  if (options.given("fail-if-slower")) {
    if (!result.baseline) throw UsageError("--fail-if-slower needs something to be slower than", "add --baseline FILE");
    result.fail_if_slower = number_option(options, "fail-if-slower", 0.0, unbounded);
  }
  result.machine = machine_settings(options);
  return result;
}

TimingOptions product_timing(const CompareSettings& settings) {
  constexpr int least = 10;
  constexpr int most = 1000;
  return timing_options(settings, least, most);
}

TimingOptions solve_timing(const CompareSettings& settings) {
  constexpr int least = 3;
  constexpr int most = 100;
  TimingOptions result = timing_options(settings, least, most);
  result.warmup = 0;  // the verified solve before was one
  result.min_sample_ms = 0.0;
  result.clock = {};
  return result;
}

}  // namespace tessera::cli
