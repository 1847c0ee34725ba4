/// \file
/// Where an iteration of PageRank stands, and what follows from the sums of a step: the weights of the next one and
/// whether there is one. The same code for the host and for the last thread of a step on a GPU, so that an iteration
/// there asks nobody.
#pragma once

#include "core/host_device.hpp"
#include "solvers/passes/rank_steps.hpp"
#include "tessera/pagerank.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

namespace tessera {

/// Steps whose changes a state remembers.
inline constexpr int remembered_changes = 64;

/// Iterations without a lower change after which rounding is to blame, and the size in machine epsilons below which it
/// can be. A step contracts the L1 distance of distributions by the damping, so above that size the change falls.
inline constexpr std::int64_t stagnation_window = 50;
inline constexpr double rounding_level = 1000.0;

/// What stays the same from step to step.
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

/// Everything that a step needs of the ones before, besides the vectors.
struct RankState {
  std::int32_t halt = 0;                                  ///< not 0: no more steps
  Status status = Status::max_iterations;                 ///< why, once halted
  std::int64_t iteration = 0;                             ///< completed steps
  double norm = std::numeric_limits<double>::infinity();  ///< change of the latest step, in the norm of the rules
  passes::RankWeights weights;                            ///< of the next step
  passes::RankSums sums;                                  ///< over the present ranks
  double best = std::numeric_limits<double>::infinity();  ///< lowest change so far, L1
  std::int64_t best_iteration = 0;
  double changes[remembered_changes] = {};  ///< that of step i (from 1 on) in entry i % size
};

/// How far a step has moved the ranks.
[[nodiscard]] TESSERA_HOST_DEVICE inline double rank_change(const passes::RankSums& sums, RankNorm norm) noexcept {
  return norm == RankNorm::l1 ? sums.l1 : norm == RankNorm::l2 ? std::sqrt(sums.squares) : sums.largest.value;
}

/// Of the step from ranks x with these sums. With s = Σ x, m the mass of dangling vertices divided by s, and n
/// vertices: each step divides by the sum that the one before found, so that errors of Σ x never add up.
[[nodiscard]] TESSERA_HOST_DEVICE inline passes::RankWeights rank_weights(const RankRules& rules,
                                                                          const passes::RankSums& sums) noexcept {
  const double d = rules.damping;
  const double s = sums.total.value();
  const double m = sums.dangling.value() / s;
  passes::RankWeights result{.links = d / s, .teleport = 1.0 - d};
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

/// At the teleport distribution, before the first step.
[[nodiscard]] inline RankState first_rank_state(const RankRules& rules, const passes::RankSums& sums) noexcept {
  RankState state;
  state.sums = sums;
  state.weights = rank_weights(rules, sums);
  if (rules.max_iterations <= 0) halt(state, Status::max_iterations);
  return state;
}

/// After a step that found these sums.
TESSERA_HOST_DEVICE inline void finish_rank_step(const RankRules& rules, RankState& state,
                                                 const passes::RankSums& sums) noexcept {
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

}  // namespace tessera
