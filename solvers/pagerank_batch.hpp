/// \file
/// PageRank of some vectors on one plan, as often as wanted.
#pragma once

#include "solvers/pagerank.hpp"
#include "tessera/pagerank.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tessera::detail {

/// \throws InvalidArgument as pagerank()
void check_rank_options(const PageRankOptions& options);

/// Those of the plan with the in-links: for ranks, and on the device of a transition matrix that lies on a GPU.
/// \throws InvalidArgument for another GPU, or another context on it
[[nodiscard]] SpmvOptions rank_plan_options(const SpmvOptions& options, const Device& home);

/// Iterations after which a ranking has met its tolerance: each takes the change times the damping, and two
/// distributions are at most 2 apart. At most max_iterations.
[[nodiscard]] std::int64_t most_rank_iterations(const PageRankOptions& options);

/// Vectors that iterate together: a loop, and what reads it.
template <class T>
class RankBatch {
 public:
  /// Of the first `wanted` vectors as many as the plan takes at a time. \param wanted at least one; says which ones are
  /// uniform \param transition,plan outlive the batch
  RankBatch(const TransitionMatrix<T>& transition, const SpmvPlan<T>& plan, const PageRankOptions& options,
            std::span<const TeleportWeights> wanted);

  [[nodiscard]] int vectors() const noexcept { return loop_ ? loop_->vectors() : 1; }

  /// \param teleports vectors() of them, uniform where those of the construction were all uniform
  /// \param options as at the construction, but for limits of time
  /// \param initial as RankLoop::start() \returns a report per vector, whose sum is missing
  [[nodiscard]] std::vector<PageRankReport> run(std::span<const TeleportWeights> teleports,
                                                const PageRankOptions& options, std::span<const T> initial = {});

  /// The ranks of a vector, where the transition matrix lies. Once per vector; then run() must not be called again.
  [[nodiscard]] Array<T> take_ranks(int vector, PageRankReport& report);
  /// Writes the ranks of the only vector. \param ranks where the transition matrix lies
  void write_ranks(std::span<T> ranks, PageRankReport& report);

 private:
  void make_loop(const PageRankOptions& options, std::span<const TeleportWeights> wanted);
  void start(std::span<const TeleportWeights> teleports, std::span<const T> initial);
  [[nodiscard]] PageRankReport of_empty_graph() const;
  /// Whether the iteration runs where the transition matrix lies.
  [[nodiscard]] bool is_at_home() const noexcept { return transition_.device() == plan_.device(); }

  const TransitionMatrix<T>& transition_;
  const SpmvPlan<T>& plan_;
  PlanInfo info_;
  double upload_ms_ = 0.0;             ///< of vectors, not yet reported
  Array<T> elsewhere_;                 ///< teleports, where the transition matrix lies on another device
  std::unique_ptr<RankLoop<T>> loop_;  ///< null for the empty graph
};

}  // namespace tessera::detail
