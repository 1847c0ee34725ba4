/// \file
/// PageRank by the power method: its element operations, and the loops that iterate. The solve is in pagerank.cpp, the
/// loops are in pagerank_loops.cpp, the scalars of an iteration in spmv/common/pagerank_iteration.hpp.
#pragma once

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

/// x = v, or uniform without v; y = x / out weight.
template <class T>
struct PagerankStart {
  using Sums = RankSums;
  double uniform;
  const T* teleport;  ///< v; null: uniform
  const T* out_inverse;
  T* x;
  T* y;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, RankSums& sums) const {
    x[i] = teleport == nullptr ? static_cast<T>(uniform) : teleport[i];
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

/// x = scale x with Σ x.
template <class T>
struct PagerankScale {
  using Sums = CompensatedSum;
  double scale;
  T* x;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, CompensatedSum& total) const {
    x[i] = static_cast<T>(static_cast<double>(x[i]) * scale);
    total.add(static_cast<double>(x[i]));
  }
};

/// Scaled ranks: y = v / divisor, uniform without v. Element i of y and v is at i * stride, for interleaved vectors.
template <class T>
struct PagerankStartScaled {
  using Sums = RankSums;
  double uniform;
  const T* teleport;  ///< v; null: uniform
  const index_t* degrees;
  T* y;
  std::int64_t stride = 1;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, RankSums& sums) const {
    const double divisor = rank_divisor(degrees[i]);
    const double v = teleport == nullptr ? uniform : static_cast<double>(teleport[i * stride]);
    const T scaled = static_cast<T>(v * inverse_divisor(divisor));
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

template <class T>
using PagerankOps =
    fused::OpList<PagerankStart<T>, PagerankUpdate<T>, PagerankScale<T>, PagerankStartScaled<T>, PagerankUnscale<T>>;

/// Ranks, on the device where they were computed, and their sum.
template <class T>
struct FinalRanks {
  Array<T> ranks;
  double sum = 0.0;
};

/// Iterates one or several vectors. Each starts from its teleport distribution and has its own state.
template <class T>
class RankLoop {
 public:
  RankLoop() = default;
  RankLoop(const RankLoop&) = delete;
  RankLoop& operator=(const RankLoop&) = delete;
  virtual ~RankLoop() = default;

  [[nodiscard]] virtual int vectors() const noexcept { return 1; }
  /// When run() last returned. \param vector in [0, vectors()), here and below
  [[nodiscard]] virtual const RankState& state(int vector) const noexcept = 0;
  /// Up to `iterations` iterations of every vector; a vector stops when its state halts. Allocates nothing.
  /// \param iterations at most remembered_changes
  virtual void run(int iterations) = 0;
  /// The ranks scaled to sum 1. Once per vector, after all iterations.
  [[nodiscard]] virtual FinalRanks<T> take_ranks(int vector) = 0;
  /// Iterations per run() where nobody has to see each one.
  [[nodiscard]] virtual int iterations_per_check() const noexcept { return 1; }
};

/// Per iteration one product with the plan and one operation on the vectors, on the host or a GPU.
/// \param plan of transition.in_links(); plan and transition outlive the loop
/// \param teleport sums to 1, on the plan's device; empty when uniform
template <class T>
[[nodiscard]] std::unique_ptr<RankLoop<T>> make_product_rank_loop(const SpmvPlan<T>& plan,
                                                                  const TransitionMatrix<T>& transition,
                                                                  const RankRules& rules, Array<T> teleport);

/// Per iteration one fused product on a GPU, where the state lies too.
/// \param product on `device`; the kernel and matrix that it was made for outlive the loop
/// \param degrees out-links per vertex, on the host
/// \param teleport one distribution per vector, interleaved as in RankVectors, on `device`; empty when all are uniform
/// \param vectors that the product was made for
/// \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] std::unique_ptr<RankLoop<T>> make_fused_rank_loop(std::unique_ptr<RankProduct<T>> product,
                                                                std::span<const index_t> degrees,
                                                                const RankRules& rules, Array<T> teleport, int vectors,
                                                                const Device& device);

/// \param weights one per vertex, >= 0; empty means uniform
/// \returns the teleport distribution, weights scaled to sum 1, on the host; empty when uniform
/// \throws DimensionError for another number of weights; InvalidArgument when one is negative or not finite, or all are
/// 0
template <class T>
[[nodiscard]] Array<T> teleport_distribution(std::span<const double> weights, index_t vertices);

/// Distributions side by side: vertex i of vector k is element i * teleports.size() + k.
/// \param teleports on the host, of teleport_distribution() \returns on the host; empty where all are uniform
template <class T>
[[nodiscard]] Array<T> interleave_teleports(std::span<const Array<T>> teleports, index_t vertices);

}  // namespace tessera::detail
