/// \file
/// Ranks kept divided by the out-degree, y_i = x_i / max(degree_i, 1): what a product with a pattern matrix reads, and
/// all that an iteration has to keep. Vertices without out-links are never read by a product, so there y_i = x_i.
#pragma once

#include "core/host_device.hpp"
#include "solvers/passes/rank_steps.hpp"
#include "tessera/pagerank.hpp"
#include "tessera/types.hpp"

#include <cmath>

namespace tessera {

/// What one thread adds up of a step: plain sums of some thousand terms at most, which RankSums then collects.
struct RankParts {
  double total = 0.0;
  double dangling = 0.0;
  double l1 = 0.0;
  double other = 0.0;  ///< of the squares with the norm l2, the largest change with linf

  [[nodiscard]] TESSERA_HOST_DEVICE passes::RankSums sums(RankNorm norm) const noexcept {
    const double squares = norm == RankNorm::l2 ? other : 0.0;
    const double largest = norm == RankNorm::linf ? other : 0.0;
    return {{total, 0.0}, {dangling, 0.0}, l1, squares, {largest}};
  }
};

[[nodiscard]] TESSERA_HOST_DEVICE inline double rank_divisor(index_t degree) noexcept {
  const index_t divisor = degree > 0 ? degree : 1;
#ifdef __CUDA_ARCH__
  // The integer as the last digits of 2^52 + divisor: conversions have a quarter of the rate of additions.
  return __hiloint2double(0x43300000, divisor) - 0x1p52;
#else
  return static_cast<double>(divisor);
#endif
}

/// 1 / divisor to about one unit in the last place, for an integer of [1, 2^31]. On a GPU a division in double is a
/// call with many branches; this is an approximation to 20 bits and one step that triples them.
[[nodiscard]] TESSERA_HOST_DEVICE inline double inverse_divisor(double divisor) noexcept {
#ifdef __CUDA_ARCH__
  double first;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(first) : "d"(divisor));
#else
  const auto first = static_cast<double>(1.0F / static_cast<float>(divisor));
#endif
  // 1 / divisor = first / (1 - error) = first (1 + error + error² + …)
  const double error = std::fma(-divisor, first, 1.0);
  return std::fma(first, std::fma(error, error, error), first);
}

/// x' = links * link_sum + base.
/// \param base what does not come by links: see RankWeights \param link_sum of y over the in-links \param scaled y
/// before the step \param divisor of the row \param dangling whether it has no out-links \param norm in which the
/// change is wanted besides l1 \param parts what the row adds to the sums is added here \returns y' = x' / divisor
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE inline T scaled_rank_step(double links, double base, T link_sum, T scaled,
                                                            double divisor, bool dangling, RankNorm norm,
                                                            RankParts& parts) noexcept {
  const double rank = std::fma(links, static_cast<double>(link_sum), base);
  const T result = static_cast<T>(rank * inverse_divisor(divisor));
  const auto kept = static_cast<double>(result);
  const double moved = std::fabs(kept - static_cast<double>(scaled));
  parts.total = std::fma(kept, divisor, parts.total);
  if (dangling) parts.dangling += kept;
  parts.l1 = std::fma(moved, divisor, parts.l1);
  if (norm == RankNorm::l1) return result;
  const double difference = moved * divisor;
  if (norm == RankNorm::l2) parts.other += difference * difference;
  if (norm == RankNorm::linf && !(difference <= parts.other)) parts.other = difference;
  return result;
}

/// The same by degree. \param v of the teleport distribution; any number where its weight is 0
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE inline T scaled_rank_step(const passes::RankWeights& weights, T link_sum, T v,
                                                            index_t degree, T scaled, RankNorm norm,
                                                            RankParts& parts) noexcept {
  const double divisor = rank_divisor(degree);
  double base = weights.constant + weights.teleport * static_cast<double>(v);
  if (degree == 0) base += weights.self * static_cast<double>(scaled);
  return scaled_rank_step(weights.links, base, link_sum, scaled, divisor, degree == 0, norm, parts);
}

}  // namespace tessera
