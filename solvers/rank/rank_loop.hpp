/// \file
/// The steps of PageRank, whatever runs them: on the host or a GPU a product with any plan and a pass over the vectors,
/// or on a GPU one fused product a step that keeps its state there.
#pragma once

#include "spmv/pagerank_iteration.hpp"
#include "tessera/array.hpp"
#include "tessera/pagerank.hpp"

#include <cstdint>
#include <memory>

namespace tessera {

/// Ranks, on the device where they were computed, and their sum.
template <class T>
struct FinalRanks {
  Array<T> ranks;
  double sum = 0.0;
};

/// Iterates one or several vectors, each from its teleport distribution and with a state of its own.
template <class T>
class RankLoop {
 public:
  RankLoop() = default;
  RankLoop(const RankLoop&) = delete;
  RankLoop& operator=(const RankLoop&) = delete;
  virtual ~RankLoop() = default;

  [[nodiscard]] virtual int vectors() const noexcept { return 1; }
  /// As of the latest step that run() returned from. \param vector in [0, vectors()), here and below
  [[nodiscard]] virtual const detail::RankState& state(int vector) const noexcept = 0;
  /// Makes up to `steps` steps of every vector, no more once its state has halted. Allocates nothing.
  /// \param steps at most detail::remembered_changes
  virtual void run(int steps) = 0;
  /// The ranks scaled to sum 1. Once a vector, after all steps.
  [[nodiscard]] virtual FinalRanks<T> take_ranks(int vector) = 0;
  /// How many steps run() should be asked for where nobody looks at each one.
  [[nodiscard]] virtual int iterations_per_check() const noexcept { return 1; }
};

/// A product with the plan of the in-links and a pass over the vectors a step.
/// \param plan of transition.in_links(), outlives the loop, as transition does \param teleport sums to 1, on the plan's
/// device; empty when uniform
template <class T>
[[nodiscard]] std::unique_ptr<RankLoop<T>> make_product_rank_loop(const SpmvPlan<T>& plan,
                                                                  const TransitionMatrix<T>& transition,
                                                                  const detail::RankRules& rules, Array<T> teleport);

extern template std::unique_ptr<RankLoop<float>> make_product_rank_loop(const SpmvPlan<float>&,
                                                                        const TransitionMatrix<float>&,
                                                                        const detail::RankRules&, Array<float>);
extern template std::unique_ptr<RankLoop<double>> make_product_rank_loop(const SpmvPlan<double>&,
                                                                         const TransitionMatrix<double>&,
                                                                         const detail::RankRules&, Array<double>);

}  // namespace tessera
