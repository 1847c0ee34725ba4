/// \file
/// Stopping rules of a Krylov method, per iteration: the scalars and what follows from them, on the host or on a GPU.
/// Norms are of the scaled problem (solvers/krylov.hpp). Comparisons are plain <= and >, without slack.
#pragma once

#include "solvers/fused/graph_loop.hpp"
#include "tessera/report.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

namespace tessera::detail {

/// Whether restarting can help after a breakdown.
enum class Recovery : std::int32_t { restart, none };

/// The recurrence has accumulated rounding errors of at least epsilon times its largest residual. Below a hundredth of
/// that, its residual carries no information.
inline constexpr double noise_fraction = 0.01;
/// Above this multiple, it is trusted: the errors also grow with the norm of A and with the iterations.
inline constexpr double trusted_multiple = 1e4;

/// Part of the range of the element type that x may use. The rest is for rounding errors of the bound.
inline constexpr double usable_range = 0.999;

/// A restart from the true residual is progress if it lowers the residual to this fraction.
inline constexpr double useful_reduction = 0.9;
/// Restarts without progress before the solve stagnates.
inline constexpr int allowed_futile_checks = 2;

/// Common part of the states of the methods: CgState, BicgstabState.
struct StopState : fused::LoopControl {
  // Set before the loop.
  double epsilon = 0.0;        ///< machine epsilon of the element type
  double element_limit = 0.0;  ///< largest number of the element type
  double target = 0.0;
  double divergence_limit = std::numeric_limits<double>::infinity();
  double x_limit = 0.0;
  std::int64_t max_iterations = 0;
  std::int64_t replacement_interval = 0;  ///< 0: never
  std::int64_t window = 0;                ///< stagnation window

  // Memory of the stopping rules.
  double recurrence = 0.0;  ///< latest ‖r‖₂ of the recurrence
  double peak = 0.0;  ///< largest residual since the last computed one: the scale of the recurrence's rounding errors
  double best = 0.0;  ///< smallest residual, updated when it falls by 1 %
  std::int64_t best_iteration = 0;
  double judged = 0.0;               ///< latest argument of judge()
  double kept_norm = 0.0;            ///< ‖r‖₂ of the kept x
  bool keep = false;                 ///< x is to be kept when it is next read or written
  double x_bound = 0.0;              ///< no |x_i| exceeds it
  double preconditioned_norm = 0.0;  ///< ‖M r‖₂ of the latest start, where the method minimizes that; else 0

  // Why it halted.
  Status status = Status::max_iterations;
  Breakdown breakdown = Breakdown::none;
  Recovery recovery = Recovery::restart;
  double breakdown_value = 0.0;

  std::int64_t products = 0;
  std::int64_t preconditionings = 0;

  /// Whether a scalar converts to the element type without overflow; false for NaN.
  [[nodiscard]] TESSERA_HOST_DEVICE bool fits(double scalar) const noexcept {
    return std::abs(scalar) <= element_limit;
  }

  [[nodiscard]] TESSERA_HOST_DEVICE bool satisfied(double residual) const noexcept { return residual <= target; }

  /// Whether the true residual must be computed now: the recurrence claims convergence, or its residual is below its
  /// own rounding errors.
  [[nodiscard]] TESSERA_HOST_DEVICE bool needs_check(double residual) const noexcept {
    return residual <= target || residual <= noise_fraction * epsilon * peak;
  }

  /// Whether the recurrence's residual still has correct digits.
  [[nodiscard]] TESSERA_HOST_DEVICE bool trusts(double residual) const noexcept {
    return residual > trusted_multiple * epsilon * peak;
  }

  TESSERA_HOST_DEVICE void break_down(Breakdown kind, double value, Recovery by = Recovery::restart) noexcept {
    halt = fused::Halt::breakdown;
    breakdown = kind;
    breakdown_value = value;
    recovery = by;
  }

  /// Whether factor and x + factor * p stay within the range of the element type, in the user's units and in the scaled
  /// ones. True updates the bound of x. \param direction_norm ‖p‖₂
  TESSERA_HOST_DEVICE bool update_is_safe(double factor, double direction_norm) noexcept {
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

  /// The recurrence was restarted from a computed residual.
  TESSERA_HOST_DEVICE void replaced(double true_residual) noexcept {
    peak = true_residual;
    if (replacement_interval > 0 && !(true_residual < 0.99 * best)) return;
    best = true_residual;
    best_iteration = iteration;
  }

  /// Ends an iteration with the given ‖r‖₂.
  TESSERA_HOST_DEVICE void after_iteration(double residual) noexcept {
    ++iteration;
    norm = recurrence = residual;
    if (!std::isfinite(residual)) return break_down(Breakdown::not_finite, residual);
    if (needs_check(residual)) {
      halt = fused::Halt::check;
    } else if (replacement_interval > 0 && iteration % replacement_interval == 0) {
      halt = fused::Halt::replace;
    } else {
      judge(residual);
      if (!halted()) consider_keeping();
    }
  }

  /// Whether ‖r‖₂ may grow while the method progresses.
  [[nodiscard]] TESSERA_HOST_DEVICE bool minimizes_preconditioned() const noexcept { return preconditioned_norm > 0.0; }

  /// x is kept each time that the residual has halved.
  TESSERA_HOST_DEVICE void consider_keeping() noexcept {
    if (!(norm < 0.5 * kept_norm && trusts(norm))) return;
    kept_norm = norm;
    keep = true;
  }

  TESSERA_HOST_DEVICE void stop(Status why) noexcept {
    halt = fused::Halt::limit;
    status = why;
  }
};

inline constexpr double largest_double = std::numeric_limits<double>::max();

/// Tolerances of a solve, in the user's units.
struct Tolerances {
  double relative = 0.0;
  double absolute = 0.0;
  double divergence = 0.0;
  bool of_b = true;  ///< relative to ‖b‖, else to ‖r₀‖

  /// Sets the limits of a state whose norms are 2^exponent times smaller.
  /// \returns whether the absolute tolerance decides
  TESSERA_HOST_DEVICE bool begin(StopState& state, double b_norm, double r0_norm, int exponent) const noexcept {
    const double from_relative = relative * (of_b ? b_norm : r0_norm);
    // May underflow, or overflow: every finite residual meets it then, and no infinite one.
    const double scaled = std::ldexp(absolute, -exponent);
    const double from_absolute = scaled < largest_double ? scaled : largest_double;
    const bool absolute_decides = from_absolute >= from_relative;
    state.target = absolute_decides ? from_absolute : from_relative;
    state.divergence_limit = divergence * (b_norm > r0_norm ? b_norm : r0_norm);
    state.peak = state.best = r0_norm;
    return absolute_decides;
  }
};

/// Whether restarts from the true residual still pay.
struct RestartRules {
  double best_checked = std::numeric_limits<double>::infinity();  ///< smallest true residual of the failed checks
  double reference = 0.0;                                         ///< from which the allowed restarts are counted
  int futile_checks = 0;
  int restarts = 0;

  /// After a check that found the true residual above the target: whether restarting no longer lowers it.
  [[nodiscard]] TESSERA_HOST_DEVICE bool check_is_futile(double true_residual) noexcept {
    futile_checks = true_residual >= useful_reduction * best_checked ? futile_checks + 1 : 0;
    if (true_residual < best_checked) best_checked = true_residual;
    return futile_checks > allowed_futile_checks;
  }

  /// Whether one more restart after a breakdown is allowed; counts it.
  [[nodiscard]] TESSERA_HOST_DEVICE bool allow(double true_residual, int most) noexcept {
    if (!std::isfinite(true_residual)) return false;
    if (true_residual <= 0.5 * reference) {
      reference = true_residual;
      restarts = 0;
    }
    return restarts++ < most;
  }
};

}  // namespace tessera::detail
