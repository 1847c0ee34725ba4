/// \file
/// PageRank: what its loops (pagerank_loops.cpp) iterate on: all vertices of a graph, or those of one rank of a group
/// of devices.
#pragma once

#include "solvers/pagerank.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace tessera::detail {

/// The elements of y that other ranks have. A vector of a rank holds its own vertices, then those. Calls are
/// collective.
template <class T>
class RankHalo {
 public:
  RankHalo() = default;
  RankHalo(const RankHalo&) = delete;
  RankHalo& operator=(const RankHalo&) = delete;
  virtual ~RankHalo() = default;

  /// Fills the elements of others in y, once its own are complete.
  virtual void fetch(std::span<T> y) = 0;
  /// After a fetch(): returns once all ranks have theirs, so that y may change.
  virtual void release() = 0;
};

/// Vertices of a loop. Spans outlive it.
template <class T>
struct RankOperands {
  Device device;  ///< of the loop. Where it is a rank, sums are over all ranks, which run their loops in step
  Device home;    ///< of the spans, and of ranks handed in
  std::span<const T> inverse_out_weight;
  std::span<const index_t> out_degree;
  std::int64_t elements = 0;    ///< of y, which a product reads: the vertices, then the halo
  RankHalo<T>* halo = nullptr;  ///< null: no product needs other ranks

  [[nodiscard]] static RankOperands all_of(const TransitionMatrix<T>& transition, const Device& device) {
    return {.device = device,
            .home = transition.device(),
            .inverse_out_weight = transition.inverse_out_weight(),
            .out_degree = transition.out_degree(),
            .elements = transition.vertices()};
  }
};

/// The loops of the functions of these names. The plan multiplies the in-links of the vertices of `operands`.
template <class T>
[[nodiscard]] std::unique_ptr<RankLoop<T>> make_product_rank_loop(const SpmvPlan<T>& plan,
                                                                  const RankOperands<T>& operands,
                                                                  const RankRules& rules, Array<T> teleport);
/// \param connect gets the vectors before the first iteration; may be empty
template <class T>
[[nodiscard]] std::unique_ptr<RankLoop<T>> make_fused_rank_loop(
    std::unique_ptr<RankProduct<T>> product, const RankOperands<T>& operands, const RankRules& rules, Array<T> teleport,
    int vectors, const std::function<void(const RankVectors<T>&)>& connect = {});

}  // namespace tessera::detail
