/// \file
/// PageRank by the power method: its element operations, and the loops that iterate. Solves are in pagerank_batch.cpp,
/// the loops in pagerank_loops.cpp, the scalars of an iteration in spmv/common/pagerank_iteration.hpp.
#pragma once

#include "preprocess/transition.hpp"
#include "solvers/fused/ops.hpp"
#include "spmv/common/pagerank_iteration.hpp"
#include "spmv/common/rank_product.hpp"
#include "tessera/array.hpp"
#include "tessera/pagerank.hpp"

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>

namespace tessera::detail {

/// x = the first iterate; y = x / out weight.
template <class T>
struct PagerankStart {
  using Sums = RankSums;
  double uniform;
  const T* first;  ///< v, or x itself; null: uniform
  const T* out_inverse;
  T* x;
  T* y;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, RankSums& sums) const {
    x[i] = first == nullptr ? static_cast<T>(uniform) : first[i];
    y[i] = x[i] * out_inverse[i];
    sums.total.add(static_cast<double>(x[i]));
    sums.dangling.add(out_inverse[i] == T{0} ? static_cast<double>(x[i]) : 0.0);
  }
};

/// The power method after the product q = Wᵀ y: x' = d (q + dangling(x)) + (1 - d) v, y' = x' / out weight.
template <class T>
struct PagerankUpdate {
  using Sums = RankSums;
  RankWeights weight;
  const T* product;
  const T* teleport;  ///< never null: any vector may stand in where its weight is 0
  const T* out_inverse;
  T* x;
  T* y;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, RankSums& sums) const {
    const auto old = static_cast<double>(x[i]);
    const double self = out_inverse[i] == T{0} ? weight.self * old : 0.0;
    const double rank = weight.links * static_cast<double>(product[i]) +
                        weight.teleport * static_cast<double>(teleport[i]) + weight.constant + self;
    x[i] = static_cast<T>(rank);
    const auto kept = static_cast<double>(x[i]);
    y[i] = x[i] * out_inverse[i];
    sums.total.add(kept);
    sums.dangling.add(out_inverse[i] == T{0} ? kept : 0.0);
    const double difference = std::abs(kept - old);
    sums.l1 += difference;
    sums.squares += difference * difference;
    sums.largest += Largest{difference};
  }
};

/// x = scale from with Σ x. Both may be one vector.
template <class T>
struct PagerankScale {
  using Sums = CompensatedSum;
  double scale;
  const T* from;
  T* x;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, CompensatedSum& total) const {
    x[i] = static_cast<T>(static_cast<double>(from[i]) * scale);
    total.add(static_cast<double>(x[i]));
  }
};

/// Scaled ranks: y = first iterate / divisor. Element i of both is at i * stride, for interleaved vectors.
template <class T>
struct PagerankStartScaled {
  using Sums = RankSums;
  double uniform;
  const T* first;  ///< null: uniform
  const index_t* degrees;
  T* y;
  std::int64_t stride = 1;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, RankSums& sums) const {
    const double divisor = rank_divisor(degrees[i]);
    const double rank = first == nullptr ? uniform : static_cast<double>(first[i * stride]);
    const T scaled = static_cast<T>(rank * inverse_divisor(divisor));
    y[i * stride] = scaled;
    const double kept = static_cast<double>(scaled) * divisor;
    sums.total.add(kept);
    sums.dangling.add(degrees[i] == 0 ? kept : 0.0);
  }
};

/// Scaled ranks: x = scale y divisor with Σ x.
template <class T>
struct PagerankUnscale {
  using Sums = CompensatedSum;
  double scale;
  const T* y;
  const index_t* degrees;
  T* x;
  std::int64_t stride = 1;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, CompensatedSum& total) const {
    x[i] = static_cast<T>(static_cast<double>(y[i * stride]) * rank_divisor(degrees[i]) * scale);
    total.add(static_cast<double>(x[i]));
  }
};

/// Faults and the largest of teleport weights.
struct TeleportSurvey {
  using Sums = WeightSurvey;
  const double* weights;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, WeightSurvey& survey) const { survey.add(i, weights[i]); }
};

/// Σ weights / largest
struct TeleportTotal {
  using Sums = CompensatedSum;
  const double* weights;
  double largest;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, CompensatedSum& total) const { total.add(weights[i] / largest); }
};

/// v = weights / largest / total, or uniform without weights. Element i of v is at i * stride.
template <class T>
struct TeleportFill {
  using Sums = fused::NoSum;
  const double* weights;  ///< null: uniform
  double largest;
  double total;
  double uniform;
  T* v;
  std::int64_t stride;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, fused::NoSum& /*sum*/) const {
    v[i * stride] = static_cast<T>(weights == nullptr ? uniform : weights[i] / largest / total);
  }
};

template <class T>
using PagerankOps = fused::OpList<PagerankStart<T>, PagerankUpdate<T>, PagerankScale<T>, PagerankStartScaled<T>,
                                  PagerankUnscale<T>, TeleportSurvey, TeleportTotal, TeleportFill<T>>;

/// Ranks, on the device where they were computed, and their sum.
template <class T>
struct FinalRanks {
  Array<T> ranks;
  double sum = 0.0;
};

/// Iterates one or several vectors, each with its own state. start(), run() until the states halt, then the ranks; and
/// again. Nothing but the construction and the first run() allocates.
template <class T>
class RankLoop {
 public:
  RankLoop() = default;
  RankLoop(const RankLoop&) = delete;
  RankLoop& operator=(const RankLoop&) = delete;
  virtual ~RankLoop() = default;

  [[nodiscard]] virtual int vectors() const noexcept { return 1; }
  /// The teleport distributions, interleaved as in RankVectors, on the device of the loop; empty when all are uniform.
  /// To be written before start().
  [[nodiscard]] virtual std::span<T> teleport() noexcept = 0;
  /// Begins anew from the teleport distributions. \param initial ranks to begin from instead, where the transition
  /// matrix lies, only for a single vector; empty: none \throws InvalidArgument when their sum is not positive and
  /// finite
  virtual void start(std::span<const T> initial) = 0;
  /// When start() or run() last returned. \param vector in [0, vectors()), here and below
  [[nodiscard]] virtual const RankState& state(int vector) const noexcept = 0;
  /// Up to `iterations` iterations of every vector; a vector stops when its state halts. Allocates nothing.
  /// \param iterations at most remembered_changes
  virtual void run(int iterations) = 0;
  /// Writes the ranks scaled to sum 1. After all iterations. \param ranks on the device of the loop; may be room()
  /// \returns their sum
  virtual double write_ranks(int vector, std::span<T> ranks) = 0;
  /// Elements for the ranks of a single vector among those of the loop, which are free once all iterations are made.
  [[nodiscard]] virtual std::span<T> room() noexcept = 0;
  /// The ranks scaled to sum 1, in memory of the loop where that is free. Once per vector, after all iterations; then
  /// the loop cannot start again.
  [[nodiscard]] virtual FinalRanks<T> take_ranks(int vector) = 0;
  /// Iterations per run() where nobody has to see each one.
  [[nodiscard]] virtual int iterations_per_check() const noexcept { return 1; }
};

/// Per iteration one product with the plan and one operation on the vectors, on the host or a GPU.
/// \param plan of transition.in_links(); plan and transition outlive the loop
/// \param teleport on the plan's device; empty when uniform
template <class T>
[[nodiscard]] std::unique_ptr<RankLoop<T>> make_product_rank_loop(const SpmvPlan<T>& plan,
                                                                  const TransitionMatrix<T>& transition,
                                                                  const RankRules& rules, Array<T> teleport);

/// Per iteration one fused product on a GPU, where the state lies too.
/// \param product on `device`; the kernel and matrix that it was made for outlive the loop, as does the transition
/// matrix \param teleport one distribution per vector, interleaved as in RankVectors, on `device`; empty when all are
/// uniform \param vectors that the product was made for \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] std::unique_ptr<RankLoop<T>> make_fused_rank_loop(std::unique_ptr<RankProduct<T>> product,
                                                                const TransitionMatrix<T>& transition,
                                                                const RankRules& rules, Array<T> teleport, int vectors,
                                                                const Device& device);

/// Teleport weights that were looked through.
struct TeleportWeights {
  std::span<const double> weights;  ///< empty: uniform
  double largest = 1.0;
  double total = 1.0;  ///< of the weights over the largest one: neither it nor its inverse leaves the range of a double
};

/// \param weights one per vertex on `device`, >= 0; empty means uniform
/// \throws DimensionError for another number of weights; InvalidArgument when one is negative or not finite, or all are
/// 0
[[nodiscard]] TeleportWeights look_at_teleport(std::span<const double> weights, index_t vertices, const Device& device);

/// The distributions side by side: vertex i of vector k becomes element i * teleports.size() + k.
/// \param v on `device`, as the weights
template <class T>
void fill_teleports(std::span<const TeleportWeights> teleports, index_t vertices, const Device& device, std::span<T> v);

}  // namespace tessera::detail
