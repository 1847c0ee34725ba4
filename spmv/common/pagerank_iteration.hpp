/// \file
/// PageRank: what one iteration of the power method computes from its sums, and what it computes for one vertex. Shared
/// by the host and the kernels of a GPU, so that a GPU iterates without the host.
///
/// Scaled ranks are divided by the out-degree, y_i = x_i / max(degree_i, 1). A product with a pattern matrix reads y,
/// and an iteration keeps nothing else. A product never reads a vertex without out-links, so there y_i = x_i.
#pragma once

#include "core/host_device.hpp"
#include "core/sums.hpp"
#include "tessera/pagerank.hpp"
#include "tessera/types.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

namespace tessera::detail {

/// Sums over all ranks of one iteration.
struct RankSums {
  CompensatedSum total;     ///< Σ x'
  CompensatedSum dangling;  ///< Σ x' over vertices without out-links
  double l1 = 0.0;          ///< Σ |x' - x|
  double squares = 0.0;     ///< Σ (x' - x)²
  Largest largest;          ///< max |x' - x|

  TESSERA_HOST_DEVICE RankSums& operator+=(const RankSums& other) noexcept {
    total += other.total;
    dangling += other.dangling;
    l1 += other.l1;
    squares += other.squares;
    largest += other.largest;
    return *this;
  }
};

/// x' = links * product + constant + teleport * v (+ self * x for a dangling vertex). Aligned so that a GPU reads the
/// first two at once.
struct alignas(16) RankWeights {
  double links = 0.0;
  double constant = 0.0;
  double teleport = 0.0;
  double self = 0.0;
};

/// Iterations whose changes a state remembers.
inline constexpr int remembered_changes = 64;

/// Stagnation: the change has not fallen within this many iterations and is at most this many machine epsilons. An
/// iteration contracts the L1 distance of distributions by the damping, so above that size the change falls.
inline constexpr std::int64_t stagnation_window = 50;
inline constexpr double rounding_level = 1000.0;

/// Constants of a solve.
struct RankRules {
  double damping = 0.0;
  double vertices = 0.0;
  Dangling dangling = Dangling::teleport;
  bool uniform_teleport = true;
  RankNorm norm = RankNorm::l1;
  double tolerance = 0.0;
  double rounding = 0.0;  ///< L1 change that rounding alone may cause
  std::int64_t max_iterations = 0;
};

/// \tparam T of the ranks \param vertices at least 1
template <class T>
[[nodiscard]] RankRules rank_rules(const PageRankOptions& options, std::int64_t vertices) {
  RankRules rules;
  rules.damping = options.damping;
  rules.vertices = static_cast<double>(vertices);
  rules.dangling = options.dangling;
  rules.uniform_teleport = options.personalization.empty();
  rules.norm = options.norm;
  rules.tolerance = options.tolerance;
  rules.rounding = rounding_level * static_cast<double>(std::numeric_limits<T>::epsilon());
  rules.max_iterations = options.max_iterations;
  return rules;
}

/// Scalars that one iteration passes to the next.
struct RankState {
  std::int32_t halt = 0;                                  ///< not 0: the iteration has ended
  Status status = Status::max_iterations;                 ///< why, once halted
  std::int64_t iteration = 0;                             ///< completed
  double norm = std::numeric_limits<double>::infinity();  ///< change of the latest iteration, in the norm of the rules
  RankWeights weights;                                    ///< of the next iteration
  RankSums sums;                                          ///< over the present ranks
  double best = std::numeric_limits<double>::infinity();  ///< lowest change so far, L1
  std::int64_t best_iteration = 0;
  double changes[remembered_changes] = {};  ///< entry i % size: of iteration i, from 1 on
};

/// ‖x' - x‖ in the given norm.
[[nodiscard]] TESSERA_HOST_DEVICE inline double rank_change(const RankSums& sums, RankNorm norm) noexcept {
  return norm == RankNorm::l1 ? sums.l1 : norm == RankNorm::l2 ? std::sqrt(sums.squares) : sums.largest.value;
}

/// Weights of the iteration from ranks x with these sums: s = Σ x, m = mass of the dangling vertices / s. Each
/// iteration divides by the sum that the one before found, so errors of Σ x never accumulate.
[[nodiscard]] TESSERA_HOST_DEVICE inline RankWeights rank_weights(const RankRules& rules,
                                                                  const RankSums& sums) noexcept {
  const double d = rules.damping;
  const double s = sums.total.value();
  const double m = sums.dangling.value() / s;
  RankWeights result{.links = d / s, .teleport = 1.0 - d};
  switch (rules.dangling) {
    case Dangling::teleport:
      result.teleport += d * m;
      break;
    case Dangling::uniform:
      result.constant = d * m / rules.vertices;
      break;
    case Dangling::self:
      result.self = d / s;
      break;
    case Dangling::drop: {
      const double kept = d * (1.0 - m) + (1.0 - d);
      result.links /= kept;
      result.teleport /= kept;
      break;
    }
  }
  if (!rules.uniform_teleport) return result;
  result.constant += result.teleport / rules.vertices;
  result.teleport = 0.0;
  return result;
}

TESSERA_HOST_DEVICE inline void halt(RankState& state, Status status) noexcept {
  state.halt = 1;
  state.status = status;
}

/// Before the first iteration, at the teleport distribution.
[[nodiscard]] inline RankState first_rank_state(const RankRules& rules, const RankSums& sums) noexcept {
  RankState state;
  state.sums = sums;
  state.weights = rank_weights(rules, sums);
  if (rules.max_iterations <= 0) halt(state, Status::max_iterations);
  return state;
}

/// After an iteration with these sums: the next weights, and whether there is a next one.
TESSERA_HOST_DEVICE inline void finish_iteration(const RankRules& rules, RankState& state,
                                                 const RankSums& sums) noexcept {
  ++state.iteration;
  state.sums = sums;
  state.norm = rank_change(sums, rules.norm);
  state.changes[state.iteration % remembered_changes] = state.norm;
  state.weights = rank_weights(rules, sums);
  if (!std::isfinite(sums.total.value())) return halt(state, Status::not_finite);
  if (state.norm <= rules.tolerance) return halt(state, Status::converged);
  if (sums.l1 < state.best) {
    state.best = sums.l1;
    state.best_iteration = state.iteration;
  }
  const bool no_progress = state.iteration - state.best_iteration >= stagnation_window;
  if (no_progress && sums.l1 <= rules.rounding) return halt(state, Status::stagnated);
  if (state.iteration >= rules.max_iterations) halt(state, Status::max_iterations);
}

/// What one thread sums: plain sums of some thousand terms at most. RankSums collects them.
struct RankParts {
  double total = 0.0;
  double dangling = 0.0;
  double l1 = 0.0;
  double other = 0.0;  ///< norm l2: the squares; linf: the largest change

  [[nodiscard]] TESSERA_HOST_DEVICE RankSums sums(RankNorm norm) const noexcept {
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
/// call with many branches; this is an approximation to 20 bits and one correction that triples them.
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
/// \param base constant, teleport and self terms of RankWeights \param link_sum Σ y over the in-links
/// \param scaled the old y \param divisor max(degree, 1) \param dangling degree = 0
/// \param norm of the change; l1 is always summed \param parts gets the row's terms \returns y' = x' / divisor
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE inline T update_scaled_rank(double links, double base, T link_sum, T scaled,
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

/// The same by degree. \param v teleport probability; any number where its weight is 0
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE inline T update_scaled_rank(const RankWeights& weights, T link_sum, T v,
                                                              index_t degree, T scaled, RankNorm norm,
                                                              RankParts& parts) noexcept {
  const double divisor = rank_divisor(degree);
  double base = weights.constant + weights.teleport * static_cast<double>(v);
  if (degree == 0) base += weights.self * static_cast<double>(scaled);
  return update_scaled_rank(weights.links, base, link_sum, scaled, divisor, degree == 0, norm, parts);
}

}  // namespace tessera::detail
