/// \file
/// Ranks kept divided by the out-degree, y_i = x_i / max(degree_i, 1): what a product with a pattern matrix reads, and
/// all that an iteration has to keep. Vertices without out-links are never read by a product, so there y_i = x_i.
#pragma once

#include "core/host_device.hpp"
#include "solvers/passes/rank_steps.hpp"
#include "tessera/types.hpp"

#include <cmath>

namespace tessera {

/// What one thread adds up of a step: plain sums of some thousand terms at most, which RankSums then collects.
struct RankParts {
  double total = 0.0;
  double dangling = 0.0;
  double l1 = 0.0;
  double squares = 0.0;
  double largest = 0.0;

  [[nodiscard]] TESSERA_HOST_DEVICE passes::RankSums sums() const noexcept {
    return {{total, 0.0}, {dangling, 0.0}, l1, squares, {largest}};
  }
};

[[nodiscard]] TESSERA_HOST_DEVICE inline double rank_divisor(index_t degree) noexcept {
  return degree > 0 ? static_cast<double>(degree) : 1.0;
}

/// 1 / divisor to about one unit in the last place, for an integer of [1, 2^31]. On a GPU a division in double is a
/// call with many branches; this is one approximation in float and two steps of Newton's method.
[[nodiscard]] TESSERA_HOST_DEVICE inline double inverse_divisor(double divisor) noexcept {
#ifdef __CUDA_ARCH__
  const auto first = static_cast<double>(__fdividef(1.0F, static_cast<float>(divisor)));
#else
  const auto first = static_cast<double>(1.0F / static_cast<float>(divisor));
#endif
  const double second = std::fma(first, std::fma(-divisor, first, 1.0), first);
  return std::fma(second, std::fma(-divisor, second, 1.0), second);
}

/// x' = links * link_sum + teleport * v + constant (+ self * x for a dangling vertex).
/// \param link_sum of y over the in-links \param v of the teleport distribution; any number where its weight is 0
/// \param scaled y before the step \param parts what the row adds to the sums is added here \returns y' = x' / divisor
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE inline T scaled_rank_step(const passes::RankWeights& weights, T link_sum, T v,
                                                            index_t degree, T scaled, RankParts& parts) noexcept {
  const double divisor = rank_divisor(degree);
  const double old = static_cast<double>(scaled) * divisor;
  const double self = degree == 0 ? weights.self * old : 0.0;
  const double rank = weights.links * static_cast<double>(link_sum) + weights.teleport * static_cast<double>(v) +
                      weights.constant + self;
  const T result = static_cast<T>(rank * inverse_divisor(divisor));
  const double kept = static_cast<double>(result) * divisor;
  const double difference = std::fabs(kept - old);
  parts.total += kept;
  parts.dangling += degree == 0 ? kept : 0.0;
  parts.l1 += difference;
  parts.squares += difference * difference;
  parts.largest = difference <= parts.largest ? parts.largest : difference;
  return result;
}

}  // namespace tessera
