/// PageRank on several devices: every rank runs the loop of one device on its vertices (solvers/pagerank_loops.cpp).
#include "core/stopwatch.hpp"
#include "solvers/distributed/peer_ranks.hpp"
#include "solvers/distributed/transition.hpp"
#include "solvers/pagerank_batch.hpp"
#include "solvers/pagerank_progress.hpp"
#include "spmv/common/rank_exchange.hpp"
#include "spmv/plan_internals.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace tessera {

namespace {

using detail::RankLoop;
using detail::RankRules;
using detail::TransitionPart;

/// The teleport distribution of the own vertices. \returns none where it is uniform
template <class T>
Array<T> local_teleport(const detail::TeleportWeights& teleport, const DevicePart& part, const Device& device) {
  if (teleport.weights.empty()) return Array<T>(0, Init::none, device);
  detail::TeleportWeights own = teleport;
  own.weights = teleport.weights.subspan(static_cast<std::size_t>(part.first_row), static_cast<std::size_t>(part.rows));
  Array<T> v(part.rows, Init::none);
  detail::fill_teleports<T>({&own, 1}, part.rows, Device{}, v.span());
  return v.to(device);
}

/// What ends the iterations of one rank, whatever its loop is.
template <class T>
struct RankIterations {
  std::unique_ptr<detail::RankExchange> exchange;  ///< null where the host drives the loop
  std::unique_ptr<RankLoop<T>> loop;
};

/// All ranks have the fused loop or none.
template <class T>
RankIterations<T> make_loop(TransitionPart<T>& part, const RankRules& rules, Array<T> teleport) {
  const Device& device = part.device();
  std::unique_ptr<detail::RankProduct<T>> fused;
  if (detail::rank_of(device)->exchange != nullptr) {
    fused = PlanInternals::kernel(part.plan()).make_rank_product(part.plan().matrix(), 1);
  }
  auto* const ending = dynamic_cast<detail::EndsByExchange*>(fused.get());
  const std::int64_t without = detail::sum_over_ranks(device, std::int64_t{ending == nullptr ? 1 : 0});
  RankIterations<T> result;
  if (without > 0) {
    result.loop = detail::make_product_rank_loop(part.plan(), part.operands(), rules, std::move(teleport));
    return result;
  }
  const auto connect = [&](const detail::RankVectors<T>& vectors) {
    const auto rows = static_cast<index_t>(part.plan().rows());
    result.exchange = cuda::make_peer_ranks(part.lists(), rows, vectors, device);
    ending->end_by(*result.exchange);
  };
  result.loop =
      detail::make_fused_rank_loop<T>(std::move(fused), part.operands(), rules, std::move(teleport), 1, connect);
  return result;
}

/// Progress is shown by the first rank alone.
PageRankOptions options_of(int rank, const PageRankOptions& options) {
  PageRankOptions own = options;
  if (rank == 0) return own;
  own.observer = {};
  own.keep_history = false;
  return own;
}

/// Iterates to the end that the first rank sees.
template <class T>
PageRankReport iterate(RankLoop<T>& loop, const PageRankOptions& options, const PlanInfo& info, const Device& device) {
  detail::RankProgress<T> progress(options, info, loop, 0);
  progress.begin();
  while (!detail::decided_by_first(device, progress.has_ended())) {
    loop.run(loop.iterations_per_check());
    progress.follow();
  }
  return progress.take_report();
}

}  // namespace

template <class T>
PageRankResult<T> pagerank(const DistributedTransitionMatrix<T>& transition, const PageRankOptions& options) {
  detail::check_rank_options(options);
  const index_t vertices = transition.vertices();
  const auto teleport = detail::look_at_teleport(options.personalization, vertices, Device{});
  const auto& impl = transition.impl();
  const RankRules rules = detail::rank_rules<T>(options, vertices);
  PageRankResult<T> result;
  result.ranks = Array<T>(vertices, Init::none);
  impl.group.impl()->run([&](int rank) {
    TransitionPart<T>& part = *impl.of_rank[static_cast<std::size_t>(rank)];
    const DevicePart& facts = impl.parts[static_cast<std::size_t>(rank)];
    const Device& device = part.device();
    const Stopwatch uploading;
    const RankIterations<T> made = make_loop(part, rules, local_teleport<T>(teleport, facts, detail::alone(device)));
    made.loop->start({});
    const double upload_ms = device.is_host() ? 0.0 : uploading.milliseconds();
    const PageRankOptions own = options_of(rank, options);
    PlanInfo info = part.plan().info();
    info.determinism = std::max(info.determinism, Determinism::run_to_run);
    PageRankReport report = iterate(*made.loop, own, info, device);
    const Stopwatch scaling;
    const std::span<T> scaled = made.loop->room();
    report.sum = made.loop->write_ranks(0, scaled.first(static_cast<std::size_t>(facts.rows)));
    report.timings.solve_ms += scaling.milliseconds();
    const Stopwatch downloading;
    detail::copy_bytes(Device{}, result.ranks.data() + facts.first_row, detail::alone(device), scaled.data(),
                       static_cast<std::uint64_t>(facts.rows) * sizeof(T));
    if (rank != 0) return;
    report.timings.upload_ms = info.upload_ms + upload_ms;
    report.timings.download_ms = device.is_host() ? 0.0 : downloading.milliseconds();
    report.dangling_count = impl.dangling;
    static_cast<PageRankReport&>(result) = std::move(report);
  });
  return result;
}

template PageRankResult<float> pagerank(const DistributedTransitionMatrix<float>&, const PageRankOptions&);
template PageRankResult<double> pagerank(const DistributedTransitionMatrix<double>&, const PageRankOptions&);

}  // namespace tessera
