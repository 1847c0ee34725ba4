/// PageRank by the power method.
///
/// L. Page, S. Brin, R. Motwani, T. Winograd, The PageRank Citation Ranking: Bringing Order to the Web, 1999; policies
/// for vertices without out-links after A. N. Langville, C. D. Meyer, Deeper Inside PageRank, Internet Math. 1(3),
/// 2004.
///
/// Memory movement per iteration: see pagerank_loops.cpp.
#include "tessera/pagerank.hpp"

#include "core/history.hpp"
#include "core/stopwatch.hpp"
#include "solvers/pagerank.hpp"
#include "solvers/stopping.hpp"
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

/// The result of one vector of a loop, as it grows.
template <class T>
class PageRank {
 public:
  /// \param vector of the loop. All outlive the solve.
  PageRank(const PageRankOptions& options, const PlanInfo& info, detail::RankLoop<T>& loop, int vector)
      : options_(options), loop_(&loop), vector_(vector), history_step_(options.history_rows) {
    result_.plan = info;
    result_.timings.plan_ms = result_.plan.build_ms;
    result_.change = std::numeric_limits<double>::infinity();
    if (options.keep_history) {
      result_.history.reserve(static_cast<std::size_t>(std::min(options.max_iterations, reserved_history)));
    }
  }

  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }
  /// Shows iteration 0 to the observer.
  void begin();
  /// Takes the iterations that the loop has made since; ends after the last one.
  void follow();
  /// Fetches the ranks. \param upload_ms of vectors
  [[nodiscard]] PageRankResult<T> finish(index_t dangling_count, double upload_ms);

 private:
  void end(Status status);
  [[nodiscard]] Control show();
  [[nodiscard]] std::string reason() const;

  const PageRankOptions& options_;
  detail::RankLoop<T>* loop_;
  int vector_;
  bool has_ended_ = false;
  bool has_stopped_ = false;  ///< the observer asked to stop
  detail::HistoryStep history_step_;
  PageRankResult<T> result_;
  Stopwatch watch_;
};

template <class T>
void PageRank<T>::end(Status status) {
  has_ended_ = true;
  result_.status = status;
}

template <class T>
void PageRank<T>::begin() {
  watch_ = Stopwatch{};
  if (show() == Control::stop) return end(Status::interrupted);
  if (loop_->state(vector_).halt != 0) end(loop_->state(vector_).status);
}

template <class T>
void PageRank<T>::follow() {
  if (has_ended_) return;
  const detail::RankState& state = loop_->state(vector_);
  Control control = Control::proceed;
  while (result_.iterations < state.iteration) {
    ++result_.iterations;
    ++result_.spmv_count;
    result_.change = state.changes[result_.iterations % detail::remembered_changes];
    if (show() == Control::stop) control = Control::stop;
  }
  if (state.halt != 0 && state.status != Status::max_iterations) return end(state.status);
  if (watch_.seconds() > options_.time_limit_seconds) return end(Status::time_limit);
  if (control == Control::stop) return end(Status::interrupted);
  if (state.halt != 0) end(state.status);
}

template <class T>
PageRankResult<T> PageRank<T>::finish(index_t dangling_count, double upload_ms) {
  result_.dangling_count = dangling_count;
  result_.timings.upload_ms = result_.plan.upload_ms + upload_ms;
  result_.reason = reason();
  detail::FinalRanks<T> final_ranks = loop_->take_ranks(vector_);
  result_.sum = final_ranks.sum;
  result_.timings.solve_ms = watch_.milliseconds();
  result_.ranks = std::move(final_ranks.ranks);
  if (result_.ranks.device().is_host()) return std::move(result_);
  const Stopwatch watch;
  result_.ranks = result_.ranks.to(Device{});
  result_.timings.download_ms = watch.milliseconds();
  return std::move(result_);
}

/// History and observer.
template <class T>
Control PageRank<T>::show() {
  const double seconds = watch_.seconds();
  if (options_.keep_history && result_.iterations > 0) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    history_step_.append(result_.history, {result_.iterations, seconds, result_.change, none});
  }
  if (!options_.observer || has_stopped_) return Control::proceed;
  const Control control =
      options_.observer({result_.iterations, options_.max_iterations, result_.change, options_.tolerance, seconds});
  has_stopped_ = control == Control::stop;
  return control;
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
      cause = fmt::format("{} after iteration {}; ", detail::stop_words(options_.stop_cause), result_.iterations);
      break;
    case Status::not_finite:
      cause = "a rank is not finite; ";
      break;
    case Status::stagnated:
      cause = fmt::format("attainable accuracy of the type reached: no lower change within {} iterations; ",
                          detail::stagnation_window);
      break;
    default:
      break;
  }
  if (result_.iterations == 0) return cause + "no iteration was made";
  return fmt::format("{}||x' - x||_{} = {:.6g} {} tolerance = {:.6g}", cause, to_string(options_.norm), result_.change,
                     result_.change <= options_.tolerance ? "<=" : ">", options_.tolerance);
}

/// Some vectors on one plan, as many at a time as the plan allows.
template <class T>
class RankSolve {
 public:
  RankSolve(const TransitionMatrix<T>& transition, const SpmvPlan<T>& plan, const PageRankOptions& options)
      : transition_(transition), plan_(plan), options_(options) {}

  /// \param teleports on the host, at least one; an empty one is uniform
  /// \returns the results of the first of them, at least one
  [[nodiscard]] std::vector<PageRankResult<T>> run(std::span<const Array<T>> teleports);

 private:
  void make_loop(std::span<const Array<T>> teleports);
  [[nodiscard]] PageRankResult<T> of_empty_graph() const;

  const TransitionMatrix<T>& transition_;
  const SpmvPlan<T>& plan_;
  const PageRankOptions& options_;
  PlanInfo info_;
  std::unique_ptr<detail::RankLoop<T>> loop_;
};

/// The loop of the most vectors that the plan and their number allow.
template <class T>
void RankSolve<T>::make_loop(std::span<const Array<T>> teleports) {
  detail::RankRules rules = detail::rank_rules<T>(options_, plan_.rows());
  std::size_t width = detail::most_rank_vectors;
  std::unique_ptr<detail::RankProduct<T>> fused;
  for (; width > 0 && !fused; width /= 2) {
    if (width > teleports.size()) continue;
    fused = PlanInternals::kernel(plan_).make_rank_product(plan_.matrix(), static_cast<int>(width));
    if (fused) break;
  }
  width = fused ? width : 1;
  Array<T> teleport = detail::interleave_teleports(teleports.first(width), transition_.vertices());
  rules.uniform_teleport = teleport.empty();
  if (!plan_.device().is_host()) teleport = teleport.to(plan_.device());
  if (!fused) {
    loop_ = detail::make_product_rank_loop(plan_, transition_, rules, std::move(teleport));
    return;
  }
  // The fused product adds in a fixed order, also where products of the plan do not.
  info_.determinism = std::max(info_.determinism, Determinism::run_to_run);
  loop_ = detail::make_fused_rank_loop(std::move(fused), transition_.out_degree(), rules, std::move(teleport),
                                       static_cast<int>(width), plan_.device());
}

template <class T>
PageRankResult<T> RankSolve<T>::of_empty_graph() const {
  PageRankResult<T> result;
  result.plan = info_;
  result.timings.plan_ms = info_.build_ms;
  result.timings.upload_ms = info_.upload_ms;
  result.status = Status::converged;
  result.reason = "the graph is empty";
  return result;
}

template <class T>
std::vector<PageRankResult<T>> RankSolve<T>::run(std::span<const Array<T>> teleports) {
  std::vector<PageRankResult<T>> results;
  info_ = plan_.info();
  if (plan_.rows() == 0) {
    results.push_back(of_empty_graph());
    return results;
  }
  const Stopwatch uploading;
  make_loop(teleports);
  const double upload_ms = plan_.device().is_host() ? 0.0 : uploading.milliseconds();
  std::vector<PageRank<T>> vectors;
  vectors.reserve(static_cast<std::size_t>(loop_->vectors()));
  for (int k = 0; k < loop_->vectors(); ++k) vectors.emplace_back(options_, info_, *loop_, k);
  for (PageRank<T>& vector : vectors) vector.begin();
  while (!std::all_of(vectors.begin(), vectors.end(), [](const PageRank<T>& vector) { return vector.has_ended(); })) {
    loop_->run(loop_->iterations_per_check());
    for (PageRank<T>& vector : vectors) vector.follow();
  }
  const auto dangling_count = static_cast<index_t>(transition_.dangling().size());
  for (PageRank<T>& vector : vectors) results.push_back(vector.finish(dangling_count, upload_ms));
  return results;
}

[[nodiscard]] SpmvOptions for_ranks(SpmvOptions options) {
  options.rank_products = true;
  return options;
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
  std::vector<Array<T>> teleport;
  teleport.push_back(detail::teleport_distribution<T>(options.personalization, transition.vertices()));
  const SpmvPlan<T> plan(transition.in_links(), for_ranks(options.spmv));
  return std::move(RankSolve<T>(transition, plan, options).run(teleport).front());
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
    teleports.push_back(detail::teleport_distribution<T>(weights, transition.vertices()));
  }
  const SpmvPlan<T> plan(transition.in_links(), for_ranks(options.spmv));
  const Stopwatch watch;
  std::vector<PageRankResult<T>> results;
  results.reserve(teleports.size());
  while (results.size() < teleports.size()) {
    PageRankOptions left = options;
    left.time_limit_seconds = std::max(options.time_limit_seconds - watch.seconds(), 0.0);
    RankSolve<T> solve(transition, plan, left);
    const auto waiting = std::span(teleports).subspan(results.size());
    for (auto& result : solve.run(waiting)) results.push_back(std::move(result));
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
