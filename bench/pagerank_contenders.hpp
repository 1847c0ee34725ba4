/// \file
/// All that compute PageRank of one graph: Tessera with each kernel, and the loop written by hand.
#pragma once

#include "bench/hand_written_pagerank.hpp"
#include "bench/solver_bench_settings.hpp"
#include "tessera/pagerank.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tessera::bench {

inline constexpr double pagerank_damping = 0.85;

/// One run from uniform ranks.
struct RankRun {
  double setup_ms = 0.0;
  double upload_ms = 0.0;
  double solve_ms = 0.0;
  std::int64_t iterations = 0;
};

struct RankContender {
  std::string name;
  std::string refusal;                                    ///< empty: it may run
  std::function<RankRun(std::int64_t iterations)> run{};  ///< \throws as pagerank()
  std::function<std::vector<double>()> ranks{};           ///< of the latest run
};

/// A graph, by in-links, for all contenders.
class RankContenders {
 public:
  /// \param transition without weights
  RankContenders(const TransitionMatrix<double>& transition, const Device& device, const SolverBenchSettings& settings);

  /// The loops written by hand first, then wanted_kernels(). They live as long as this.
  [[nodiscard]] const std::vector<RankContender>& all() const noexcept { return contenders_; }

 private:
  void add_hand_written(const Device& device);
  void add_kernel(SpmvAlgorithm algorithm, const Device& device);

  const TransitionMatrix<double>& transition_;
  std::unique_ptr<HandWrittenPageRank> loop_;
  std::vector<RankContender> contenders_;
};

}  // namespace tessera::bench
