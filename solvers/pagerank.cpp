/// PageRank by the power method.
///
/// L. Page, S. Brin, R. Motwani, T. Winograd, The PageRank Citation Ranking: Bringing Order to the Web, 1999; policies
/// for vertices without out-links after A. N. Langville, C. D. Meyer, Deeper Inside PageRank, Internet Math. 1(3),
/// 2004.
#include "tessera/pagerank.hpp"

#include "core/stopwatch.hpp"
#include "solvers/pagerank_batch.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

namespace tessera {

namespace {

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

}  // namespace

namespace detail {

void check_rank_options(const PageRankOptions& options) {
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

std::int64_t most_rank_iterations(const PageRankOptions& options) {
  const double largest_distance = diameter(RankNorm::l1);  // which bounds the other norms
  if (!(options.damping > 0.0)) return std::min<std::int64_t>(2, options.max_iterations);
  if (!(options.tolerance > 0.0)) return options.max_iterations;
  const double needed = std::ceil(std::log(options.tolerance / largest_distance) / std::log(options.damping)) + 2.0;
  return static_cast<std::int64_t>(std::min(std::max(needed, 1.0), static_cast<double>(options.max_iterations)));
}

SpmvOptions rank_plan_options(const SpmvOptions& options, const Device& home) {
  SpmvOptions result = options;
  result.rank_products = true;
  if (home.is_host()) return result;
  if (!options.device.is_host() && !options.device.shares_context_with(home)) {
    throw InvalidArgument(
        fmt::format("the transition matrix lies on {}: its PageRank runs there, in the same context, not "
                    "in another one on {}",
                    home.name(), options.device.name()));
  }
  result.device = home;
  return result;
}

}  // namespace detail

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
  detail::check_rank_options(options);
  const Device& home = transition.device();
  SpmvOptions plan_options = detail::rank_plan_options(options.spmv, home);
  plan_options.expected_applications =
      std::min(plan_options.expected_applications, detail::most_rank_iterations(options));
  const auto teleport = detail::look_at_teleport(options.personalization, transition.vertices(), home);
  const SpmvPlan<T> plan(transition.in_links(), plan_options);
  detail::RankBatch<T> batch(transition, plan, options, {&teleport, 1});
  PageRankReport report = std::move(batch.run({&teleport, 1}, options).front());
  Array<T> ranks = batch.take_ranks(0, report);
  return {std::move(report), std::move(ranks)};
}

template <class T>
std::vector<PageRankResult<T>> pagerank_multi(const TransitionMatrix<T>& transition,
                                              std::span<const std::span<const double>> personalizations,
                                              const PageRankOptions& options) {
  detail::check_rank_options(options);
  if (!options.personalization.empty()) {
    throw InvalidArgument("pagerank_multi: personalizations are given beside the options, which must have none");
  }
  const Device& home = transition.device();
  SpmvOptions plan_options = detail::rank_plan_options(options.spmv, home);
  std::vector<detail::TeleportWeights> teleports;
  teleports.reserve(personalizations.size());
  for (const auto weights : personalizations) {
    teleports.push_back(detail::look_at_teleport(weights, transition.vertices(), home));
  }
  // Products of several vectors count once.
  const std::int64_t products = (std::ssize(teleports) + detail::most_rank_vectors - 1) / detail::most_rank_vectors *
                                detail::most_rank_iterations(options);
  plan_options.expected_applications = std::min(plan_options.expected_applications, products);
  const SpmvPlan<T> plan(transition.in_links(), plan_options);
  const Stopwatch watch;
  std::vector<PageRankResult<T>> results;
  results.reserve(teleports.size());
  while (results.size() < teleports.size()) {
    PageRankOptions left = options;
    left.time_limit_seconds = std::max(options.time_limit_seconds - watch.seconds(), 0.0);
    const auto waiting = std::span<const detail::TeleportWeights>(teleports).subspan(results.size());
    detail::RankBatch<T> batch(transition, plan, left, waiting);
    auto reports = batch.run(waiting.first(static_cast<std::size_t>(batch.vectors())), left);
    for (int k = 0; k < batch.vectors(); ++k) {
      PageRankReport& report = reports[static_cast<std::size_t>(k)];
      Array<T> ranks = batch.take_ranks(k, report);
      results.push_back({std::move(report), std::move(ranks)});
    }
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
