/// \file
/// The scalars of a Krylov loop and what follows from them, on the host or on a GPU. Norms are those of the scaled
/// problem (solvers/krylov.hpp). Comparisons are plain <= and >, without hidden slack.
#pragma once

#include "solvers/loop/loop_control.hpp"
#include "tessera/report.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

namespace tessera {

/// Whether a breakdown may be mended by starting again.
enum class Recovery : std::int32_t { restart, none };

/// The recurrence has collected rounding errors of at least epsilon times its largest value; a hundredth of that is
/// safely below anything it can know.
inline constexpr double noise_fraction = 0.01;
/// Far enough above them: the errors grow with the norm of A and with the iterations too.
inline constexpr double trusted_multiple = 1e4;

struct KrylovState : loop::LoopControl {
  // Set before the loop.
  double epsilon = 0.0;        ///< of the element type
  double element_limit = 0.0;  ///< its largest number
  double target = 0.0;
  double divergence_limit = std::numeric_limits<double>::infinity();
  double x_limit = 0.0;
  std::int64_t max_iterations = 0;
  std::int64_t replacement_interval = 0;  ///< 0: never
  std::int64_t window = 0;                ///< of stagnation

  // What the stopping rules remember.
  double recurrence = 0.0;  ///< ‖r‖₂ as the recurrence last had it
  double peak = 0.0;  ///< largest residual since the last computed one: the scale of the recurrence's rounding errors
  double best = 0.0;  ///< smallest residual, and when it was last lowered by 1 %
  std::int64_t best_iteration = 0;
  double judged = 0.0;     ///< what judge() saw last
  double kept_norm = 0.0;  ///< ‖r‖₂ of the kept x
  bool keep = false;       ///< x is to be kept as soon as it is next read or written
  double x_bound = 0.0;    ///< no |x_i| exceeds it

  // Why it halted.
  Status status = Status::max_iterations;
  Breakdown breakdown = Breakdown::none;
  Recovery recovery = Recovery::restart;
  double breakdown_value = 0.0;

  std::int64_t products = 0;
  std::int64_t preconditionings = 0;

  // Of the methods.
  double rho = 0.0;
  double next_rho = 0.0;
  double alpha = 0.0;
  double beta = 0.0;
  double omega = 0.0;
  double p_norm = 0.0;       ///< CG: ‖p‖₂; BiCGSTAB: ‖p̂‖₂
  double a_norm = 0.0;       ///< CG: largest ‖A p‖ / ‖p‖ seen, a lower bound of ‖A‖₂
  double shadow_norm = 0.0;  ///< BiCGSTAB, as the following
  double s_norm = 0.0;
  double s_hat_norm = 0.0;
  bool x_is_behind = false;    ///< CG: x lacks α p
  bool first_step = true;      ///< BiCGSTAB: of a cycle
  bool enlarge_omega = false;  ///< BiCGSTAB: since a breakdown in ω

  /// Whether a scalar converts to the element type without overflow; false for NaN.
  [[nodiscard]] TESSERA_HOST_DEVICE bool fits(double scalar) const noexcept {
    return std::abs(scalar) <= element_limit;
  }

  [[nodiscard]] TESSERA_HOST_DEVICE bool satisfied(double residual) const noexcept { return residual <= target; }

  /// Whether the true residual must be computed now: the recurrence claims to be done, or it has fallen below the
  /// rounding errors that it has collected, from where on it says nothing about x.
  [[nodiscard]] TESSERA_HOST_DEVICE bool wants_check(double residual) const noexcept {
    return residual <= target || residual <= noise_fraction * epsilon * peak;
  }

  /// Whether the recurrence's residual still has correct digits, judged by the rounding errors of its largest value.
  [[nodiscard]] TESSERA_HOST_DEVICE bool trusts(double residual) const noexcept {
    return residual > trusted_multiple * epsilon * peak;
  }

  TESSERA_HOST_DEVICE void break_down(Breakdown kind, double value, Recovery mended = Recovery::restart) noexcept {
    halt = loop::Halt::breakdown;
    breakdown = kind;
    breakdown_value = value;
    recovery = mended;
  }

  /// Whether x + factor * p and factor itself stay within the range of the element type in the user's units as in the
  /// scaled ones. True counts the step. \param direction_norm ‖p‖₂
  TESSERA_HOST_DEVICE bool step_is_safe(double factor, double direction_norm) noexcept {
    const double bound = x_bound + std::abs(factor) * direction_norm;
    // Written so that NaN is unsafe.
    if (!fits(factor) || !(bound <= x_limit)) return false;
    x_bound = bound;
    return true;
  }

  /// Divergence, stagnation and the limit of iterations; halts there. \param residual finite
  TESSERA_HOST_DEVICE void judge(double residual) noexcept {
    judged = residual;
    if (residual > peak) peak = residual;
    if (replacement_interval == 0 && residual < 0.99 * best) {
      best = residual;
      best_iteration = iteration;
    }
    if (residual > divergence_limit) return stop(Status::diverged);
    if (iteration - best_iteration >= window) return stop(Status::stagnated);
    if (iteration >= max_iterations) stop(Status::max_iterations);
  }

  /// Counts an iteration that leaves ‖r‖₂ as given, and says what it means.
  TESSERA_HOST_DEVICE void after_iteration(double residual) noexcept {
    ++iteration;
    norm = recurrence = residual;
    if (!std::isfinite(residual)) return break_down(Breakdown::not_finite, residual);
    if (wants_check(residual)) {
      halt = loop::Halt::check;
    } else if (replacement_interval > 0 && iteration % replacement_interval == 0) {
      halt = loop::Halt::replace;
    } else {
      judge(residual);
      if (!halted()) consider_keeping();
    }
  }

  /// x is worth keeping each time that the residual has halved.
  TESSERA_HOST_DEVICE void consider_keeping() noexcept {
    if (!(norm < 0.5 * kept_norm && trusts(norm))) return;
    kept_norm = norm;
    keep = true;
  }

  TESSERA_HOST_DEVICE void stop(Status why) noexcept {
    halt = loop::Halt::limit;
    status = why;
  }
};

}  // namespace tessera
