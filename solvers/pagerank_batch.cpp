/// PageRank of some vectors on one plan.
///
/// Memory movement per iteration: see pagerank_loops.cpp.
#include "solvers/pagerank_batch.hpp"

#include "core/stopwatch.hpp"
#include "solvers/pagerank_progress.hpp"
#include "spmv/plan_internals.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tessera::detail {

template <class T>
RankBatch<T>::RankBatch(const TransitionMatrix<T>& transition, const SpmvPlan<T>& plan, const PageRankOptions& options,
                        std::span<const TeleportWeights> wanted)
    : transition_(transition), plan_(plan), info_(plan.info()) {
  if (plan_.rows() == 0) return;
  const Stopwatch watch;
  make_loop(options, wanted);
  if (!plan_.device().is_host()) upload_ms_ = watch.milliseconds();
}

/// The loop of the most vectors that the plan and their number allow.
template <class T>
void RankBatch<T>::make_loop(const PageRankOptions& options, std::span<const TeleportWeights> wanted) {
  std::size_t width = most_rank_vectors;
  std::unique_ptr<RankProduct<T>> fused;
  for (; width > 0 && !fused; width /= 2) {
    if (width > wanted.size()) continue;
    fused = PlanInternals::kernel(plan_).make_rank_product(plan_.matrix(), static_cast<int>(width));
    if (fused) break;
  }
  width = fused ? width : 1;
  const auto taken = wanted.first(width);
  RankRules rules = rank_rules<T>(options, plan_.rows());
  rules.uniform_teleport =
      std::all_of(taken.begin(), taken.end(), [](const TeleportWeights& each) { return each.weights.empty(); });
  const auto vectors = static_cast<std::int64_t>(width);
  Array<T> teleport(rules.uniform_teleport ? 0 : plan_.rows() * vectors, Init::none, plan_.device());
  if (!is_at_home()) elsewhere_ = Array<T>(teleport.size(), Init::none, transition_.device());
  if (!fused) {
    loop_ = make_product_rank_loop(plan_, transition_, rules, std::move(teleport));
    return;
  }
  // The fused product adds in a fixed order, also where products of the plan do not.
  info_.determinism = std::max(info_.determinism, Determinism::run_to_run);
  loop_ = make_fused_rank_loop(std::move(fused), transition_, rules, std::move(teleport), static_cast<int>(width),
                               plan_.device());
}

template <class T>
void RankBatch<T>::start(std::span<const TeleportWeights> teleports, std::span<const T> initial) {
  const Stopwatch watch;
  if (const std::span<T> v = loop_->teleport(); !v.empty()) {
    const std::span<T> filled = is_at_home() ? v : elsewhere_.span();
    fill_teleports(teleports, transition_.vertices(), transition_.device(), filled);
    if (!is_at_home()) copy_bytes(plan_.device(), v.data(), transition_.device(), filled.data(), v.size_bytes());
  }
  loop_->start(initial);
  if (!plan_.device().is_host()) upload_ms_ += watch.milliseconds();
}

template <class T>
PageRankReport RankBatch<T>::of_empty_graph() const {
  PageRankReport report;
  report.plan = info_;
  report.timings.plan_ms = info_.build_ms;
  report.timings.upload_ms = info_.upload_ms;
  report.status = Status::converged;
  report.reason = "the graph is empty";
  return report;
}

template <class T>
std::vector<PageRankReport> RankBatch<T>::run(std::span<const TeleportWeights> teleports,
                                              const PageRankOptions& options, std::span<const T> initial) {
  if (!loop_) return {of_empty_graph()};
  start(teleports, initial);
  std::vector<RankProgress<T>> vectors;
  vectors.reserve(static_cast<std::size_t>(loop_->vectors()));
  for (int k = 0; k < loop_->vectors(); ++k) vectors.emplace_back(options, info_, *loop_, k);
  for (RankProgress<T>& vector : vectors) vector.begin();
  const auto has_ended = [](const RankProgress<T>& vector) { return vector.has_ended(); };
  while (!std::all_of(vectors.begin(), vectors.end(), has_ended)) {
    loop_->run(loop_->iterations_per_check());
    for (RankProgress<T>& vector : vectors) vector.follow();
  }
  std::vector<PageRankReport> reports;
  const double upload_ms = info_.upload_ms + std::exchange(upload_ms_, 0.0);
  for (RankProgress<T>& vector : vectors) {
    reports.push_back(vector.take_report());
    reports.back().dangling_count = static_cast<index_t>(transition_.dangling().size());
    reports.back().timings.upload_ms = upload_ms;
  }
  return reports;
}

template <class T>
Array<T> RankBatch<T>::take_ranks(int vector, PageRankReport& report) {
  if (!loop_) return Array<T>(0, Init::none, transition_.device());
  const Stopwatch watch;
  FinalRanks<T> found = loop_->take_ranks(vector);
  report.sum = found.sum;
  report.timings.solve_ms += watch.milliseconds();
  if (is_at_home()) return std::move(found.ranks);
  const Stopwatch downloading;
  Array<T> ranks = found.ranks.to(transition_.device());
  report.timings.download_ms = downloading.milliseconds();
  return ranks;
}

template <class T>
void RankBatch<T>::write_ranks(std::span<T> ranks, PageRankReport& report) {
  if (!loop_) return;
  const Stopwatch watch;
  const std::span<T> written = is_at_home() ? ranks : loop_->room();
  report.sum = loop_->write_ranks(0, written);
  report.timings.solve_ms += watch.milliseconds();
  if (is_at_home()) return;
  const Stopwatch downloading;
  copy_bytes(transition_.device(), ranks.data(), plan_.device(), written.data(), written.size_bytes());
  report.timings.download_ms = downloading.milliseconds();
}

template class RankBatch<float>;
template class RankBatch<double>;

}  // namespace tessera::detail
