/// PageRank by the power method.
///
/// L. Page, S. Brin, R. Motwani, T. Winograd, The PageRank Citation Ranking: Bringing Order to the Web, 1999; policies
/// for vertices without out-links after A. N. Langville, C. D. Meyer, Deeper Inside PageRank, Internet Math. 1(3),
/// 2004.
///
/// What a step reads and writes is noted in solvers/rank/: product_loop.cpp, and fused_loop.cpp for GPUs.
#include "tessera/pagerank.hpp"

#include "core/stopwatch.hpp"
#include "solvers/rank/fused_loop.hpp"
#include "solvers/rank/rank_loop.hpp"
#include "spmv/plan_internals.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

namespace {

constexpr std::int64_t reserved_history = 65536;

/// Largest distance of two distributions.
double diameter(RankNorm norm) {
  switch (norm) {
    case RankNorm::l1:
      return 2.0;
    case RankNorm::l2:
      return std::numbers::sqrt2;
    case RankNorm::linf:
      break;
  }
  return 1.0;
}

void check_options(const PageRankOptions& options) {
  if (!(options.damping >= 0.0 && options.damping < 1.0)) {
    throw InvalidArgument(fmt::format("damping must be in [0, 1), got {}", options.damping));
  }
  const double limit = diameter(options.norm);
  if (!(options.tolerance >= 0.0 && options.tolerance < limit)) {
    throw InvalidArgument(
        fmt::format("tolerance must be in [0, {:.6g}) in the norm {}, in which no two distributions are further apart; "
                    "got {}",
                    limit, to_string(options.norm), options.tolerance));
  }
  if (options.max_iterations < 0) {
    throw InvalidArgument(fmt::format("max_iterations must be >= 0, got {}", options.max_iterations));
  }
  if (!(options.time_limit_seconds >= 0.0)) {
    throw InvalidArgument(fmt::format("time_limit_seconds must be >= 0, got {}", options.time_limit_seconds));
  }
}

/// Sums to 1; empty when uniform. On the host.
template <class T>
Array<T> teleport_distribution(std::span<const double> weights, index_t vertices) {
  if (weights.empty()) return {};
  if (static_cast<std::int64_t>(weights.size()) != vertices) {
    throw DimensionError(
        fmt::format("personalization must have one weight a vertex: {}, got {}", vertices, weights.size()));
  }
  double largest = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0.0) || std::isinf(weights[i])) {
      throw InvalidArgument(fmt::format(
          "personalization must be finite and not negative, but vertex {} (counted from 0) has {}", i, weights[i]));
    }
    largest = std::max(largest, weights[i]);
  }
  if (largest == 0.0) throw InvalidArgument("personalization sums to 0");
  // Divided by the largest first, so that neither the sum nor its inverse leaves the range of the type.
  passes::CompensatedSum sum;
  for (const double weight : weights) sum.add(weight / largest);
  Array<T> result(vertices, Init::none);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    result.data()[i] = static_cast<T>(weights[i] / largest / sum.value());
  }
  return result;
}

template <class T>
class PageRank {
 public:
  /// \param plan of the in-links \param teleport sums to 1, on the host; empty when uniform. All but `teleport` outlive
  /// the solve.
  PageRank(const TransitionMatrix<T>& transition, const SpmvPlan<T>& plan, const PageRankOptions& options,
           Array<T> teleport)
      : transition_(transition), options_(options), plan_(plan), teleport_(std::move(teleport)) {
    result_.plan = plan_.info();
    result_.timings.plan_ms = result_.plan.build_ms;
    result_.dangling_count = static_cast<index_t>(transition.dangling().size());
    result_.change = std::numeric_limits<double>::infinity();
    if (options.keep_history) {
      result_.history.reserve(static_cast<std::size_t>(std::min(options.max_iterations, reserved_history)));
    }
    if (plan_.rows() == 0) return;
    const Stopwatch watch;
    loop_ = make_loop();
    result_.timings.upload_ms = result_.plan.upload_ms + (plan_.device().is_host() ? 0.0 : watch.milliseconds());
  }

  [[nodiscard]] PageRankResult<T> run();

 private:
  [[nodiscard]] std::unique_ptr<RankLoop<T>> make_loop();
  void iterate();
  void download();
  [[nodiscard]] Control show_steps();
  [[nodiscard]] Control show();
  [[nodiscard]] bool is_late() const { return watch_.seconds() > options_.time_limit_seconds; }
  [[nodiscard]] std::string reason() const;

  const TransitionMatrix<T>& transition_;
  const PageRankOptions& options_;
  const SpmvPlan<T>& plan_;
  Array<T> teleport_;
  std::unique_ptr<RankLoop<T>> loop_;
  PageRankResult<T> result_;
  Stopwatch watch_;
};

template <class T>
std::unique_ptr<RankLoop<T>> PageRank<T>::make_loop() {
  const RankRules rules = rank_rules<T>(options_, plan_.rows());
  if (!plan_.device().is_host()) teleport_ = teleport_.to(plan_.device());
  auto fused = make_rank_product(plan_.device(), PlanInternals::kernel(plan_), plan_.matrix());
  if (fused) {
    // Its sums are added in a fixed order, also where products of the plan are not.
    result_.plan.determinism = std::max(result_.plan.determinism, Determinism::run_to_run);
    return make_fused_rank_loop(std::move(fused), transition_.out_degree(), rules, std::move(teleport_),
                                plan_.device());
  }
  return make_product_rank_loop(plan_, transition_, rules, std::move(teleport_));
}

template <class T>
PageRankResult<T> PageRank<T>::run() {
  watch_ = Stopwatch{};
  if (plan_.rows() == 0) {
    result_.status = Status::converged;
    result_.reason = "the graph is empty";
    result_.change = 0.0;
    return std::move(result_);
  }
  iterate();
  result_.reason = reason();
  FinalRanks<T> final_ranks = loop_->take_ranks();
  result_.sum = final_ranks.sum;
  result_.timings.solve_ms = watch_.milliseconds();
  result_.ranks = std::move(final_ranks.ranks);
  if (!plan_.device().is_host()) download();
  return std::move(result_);
}

/// The ranks to the host.
template <class T>
void PageRank<T>::download() {
  const Stopwatch watch;
  result_.ranks = result_.ranks.to(Device{});
  result_.timings.download_ms = watch.milliseconds();
}

template <class T>
void PageRank<T>::iterate() {
  if (show() == Control::stop) {
    result_.status = Status::interrupted;
    return;
  }
  // Who looks at every step, or at the clock, gets to see every step before the next begins.
  const bool is_watched = options_.observer || options_.time_limit_seconds < std::numeric_limits<double>::infinity();
  const int steps = is_watched ? 1 : loop_->steps_at_once();
  const RankState& state = loop_->state();
  result_.status = Status::max_iterations;
  while (state.halt == 0) {
    loop_->run(steps);
    const Control control = show_steps();
    if (state.halt != 0 && state.status != Status::max_iterations) {
      result_.status = state.status;
      return;
    }
    if (is_late() || control == Control::stop) {
      result_.status = is_late() ? Status::time_limit : Status::interrupted;
      return;
    }
  }
}

/// All steps that nobody has seen yet.
template <class T>
Control PageRank<T>::show_steps() {
  const RankState& state = loop_->state();
  Control control = Control::proceed;
  while (result_.iterations < state.iteration) {
    ++result_.iterations;
    ++result_.spmv_count;
    result_.change = state.changes[result_.iterations % remembered_changes];
    control = show();
  }
  return control;
}

/// History and observer.
template <class T>
Control PageRank<T>::show() {
  const double seconds = watch_.seconds();
  if (options_.keep_history && result_.iterations > 0) {
    result_.history.push_back({result_.iterations, seconds, result_.change, std::numeric_limits<double>::quiet_NaN()});
  }
  if (!options_.observer) return Control::proceed;
  return options_.observer({result_.iterations, options_.max_iterations, result_.change, options_.tolerance, seconds});
}

template <class T>
std::string PageRank<T>::reason() const {
  std::string cause;
  switch (result_.status) {
    case Status::max_iterations:
      cause = fmt::format("iteration limit {} reached; ", options_.max_iterations);
      break;
    case Status::time_limit:
      cause = fmt::format("time limit {} s passed; ", options_.time_limit_seconds);
      break;
    case Status::interrupted:
      cause = fmt::format("stopped by the observer after iteration {}; ", result_.iterations);
      break;
    case Status::not_finite:
      cause = "a rank is not finite; ";
      break;
    case Status::stagnated:
      cause = fmt::format("attainable accuracy of the type reached: no lower change within {} iterations; ",
                          stagnation_window);
      break;
    default:
      break;
  }
  if (result_.iterations == 0) return cause + "no step was made";
  return fmt::format("{}||x' - x||_{} = {:.6g} {} tolerance = {:.6g}", cause, to_string(options_.norm), result_.change,
                     result_.change <= options_.tolerance ? "<=" : ">", options_.tolerance);
}

}  // namespace

std::string_view to_string(Dangling dangling) {
  switch (dangling) {
    case Dangling::teleport:
      return "teleport";
    case Dangling::uniform:
      return "uniform";
    case Dangling::self:
      return "self";
    case Dangling::drop:
      return "drop";
  }
  return "unknown";
}

std::string_view to_string(RankNorm norm) {
  switch (norm) {
    case RankNorm::l1:
      return "l1";
    case RankNorm::l2:
      return "l2";
    case RankNorm::linf:
      return "linf";
  }
  return "unknown";
}

template <class T>
PageRankResult<T> pagerank(const TransitionMatrix<T>& transition, const PageRankOptions& options) {
  check_options(options);
  Array<T> teleport = teleport_distribution<T>(options.personalization, transition.vertices());
  const SpmvPlan<T> plan(transition.in_links(), options.spmv);
  return PageRank<T>(transition, plan, options, std::move(teleport)).run();
}

template <class T>
std::vector<PageRankResult<T>> pagerank_multi(const TransitionMatrix<T>& transition,
                                              std::span<const std::span<const double>> personalizations,
                                              const PageRankOptions& options) {
  check_options(options);
  if (!options.personalization.empty()) {
    throw InvalidArgument("pagerank_multi: personalizations are given beside the options, which must have none");
  }
  if (options.observer) throw InvalidArgument("pagerank_multi: no observer, since several vectors have no one order");
  std::vector<Array<T>> teleports;
  teleports.reserve(personalizations.size());
  for (const auto weights : personalizations) {
    teleports.push_back(teleport_distribution<T>(weights, transition.vertices()));
  }
  const SpmvPlan<T> plan(transition.in_links(), options.spmv);
  const Stopwatch watch;
  std::vector<PageRankResult<T>> results;
  results.reserve(teleports.size());
  for (std::size_t k = 0; k < teleports.size(); ++k) {
    PageRankOptions of_one = options;
    of_one.personalization = personalizations[k];
    of_one.time_limit_seconds = std::max(options.time_limit_seconds - watch.seconds(), 0.0);
    results.push_back(PageRank<T>(transition, plan, of_one, std::move(teleports[k])).run());
  }
  return results;
}

template PageRankResult<float> pagerank<float>(const TransitionMatrix<float>&, const PageRankOptions&);
template PageRankResult<double> pagerank<double>(const TransitionMatrix<double>&, const PageRankOptions&);
template std::vector<PageRankResult<float>> pagerank_multi(const TransitionMatrix<float>&,
                                                           std::span<const std::span<const double>>,
                                                           const PageRankOptions&);
template std::vector<PageRankResult<double>> pagerank_multi(const TransitionMatrix<double>&,
                                                            std::span<const std::span<const double>>,
                                                            const PageRankOptions&);

}  // namespace tessera
