/// \file
/// Conjugate gradients without the host: scalars of a whole solve, and what follows from the residual of each round.
#pragma once

#include "solvers/cg.hpp"
#include "solvers/fused/enqueued_loops.hpp"
#include "tessera/enqueued_cg.hpp"

#include <cmath>
#include <limits>

namespace tessera::detail {

inline constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

struct EnqueuedCgState : CgState {
  // Set before the solve.
  Tolerances tolerances;
  int allowed_restarts = 0;

  RestartRules rules;
  SolveOutcome outcome;
  double b_largest = 0.0;  ///< max |b_i|
  double x_largest = 0.0;
  double b_norm = 0.0;                    ///< ‖b'‖₂
  int exponent = 0;                       ///< e
  fused::Halt cause = fused::Halt::none;  ///< why the iterations of the latest round ended
  bool has_begun = false;                 ///< the first residual is known
  bool goes_back = false;                 ///< the next round takes the kept x
  bool keeps_direction = false;           ///< β is not 0 in the next restart
  bool writes_x = false;
  bool x_is_zero = false;  ///< x = 0 is the result

  /// Ends the solve. \param how converged only where the latest residual was computed and meets the target
  TESSERA_HOST_DEVICE void finish(Status how) noexcept {
    outcome.status = how;
    outcome.true_residual = std::ldexp(norm, exponent);
    halt = fused::Halt::done;
  }

  /// Ends the solve with x as it was.
  TESSERA_HOST_DEVICE void refuse() noexcept {
    writes_x = false;
    outcome.status = Status::not_finite;
    outcome.true_residual = outcome.r0_norm = unknown;
    halt = fused::Halt::done;
  }

  /// The exponents of b, from the sum of squares of 2^-shift b.
  TESSERA_HOST_DEVICE void choose_units(int shift, double squares) noexcept {
    const double scaled_norm = std::sqrt(squares);
    const int rest = std::ilogb(scaled_norm);
    exponent = shift + rest;
    b_norm = std::ldexp(scaled_norm, -rest);
    outcome.b_norm = std::ldexp(b_norm, exponent);
    const double limit = element_limit * usable_range;
    const double limit_of_user = std::ldexp(limit, -exponent);
    x_limit = limit_of_user < limit ? limit_of_user : limit;
    x_bound = std::ldexp(x_largest, -exponent);
    if (!(x_bound <= x_limit)) refuse();
  }

  /// r = b' - A x' was computed.
  TESSERA_HOST_DEVICE void judge_round(double residual) noexcept {
    ++products;
    norm = residual;
    if (!has_begun) return begin(residual);
    if (satisfied(residual)) return finish(Status::converged);
    const bool is_worse = !(residual <= kept_norm) && (cause != fused::Halt::replace || !std::isfinite(residual));
    if (is_worse && !goes_back) {
      goes_back = true;
      halt = fused::Halt::check;
      return;
    }
    goes_back = false;
    if (!std::isfinite(residual)) return finish(Status::not_finite);
    follow_cause(residual);
    if (halted()) return;
    judge(residual);
    if (halted()) return finish(status);
    keep_present(residual);
  }

 private:
  TESSERA_HOST_DEVICE void begin(double residual) noexcept {
    if (!std::isfinite(residual)) return refuse();
    has_begun = true;
    recurrence = residual;
    const bool absolute_decides = tolerances.begin(*this, b_norm, residual, exponent);
    rules.reference = residual;
    outcome.r0_norm = std::ldexp(residual, exponent);
    outcome.target = absolute_decides ? tolerances.absolute : std::ldexp(target, exponent);
    if (satisfied(residual)) return finish(Status::converged);
    if (max_iterations == 0) return finish(Status::max_iterations);
    writes_x = true;
    keep_present(residual);
  }

  /// What the iterations ended for, after their true residual missed the target.
  TESSERA_HOST_DEVICE void follow_cause(double residual) noexcept {
    if (cause == fused::Halt::limit) return finish(status);
    if (cause == fused::Halt::breakdown) {
      if (recovery == Recovery::none || !rules.allow(residual, allowed_restarts)) {
        outcome.breakdown = breakdown;
        return finish(breakdown == Breakdown::not_finite ? Status::not_finite : Status::breakdown);
      }
      ++outcome.restarts;
    } else {
      keeps_direction = cause == fused::Halt::replace;
      if (!keeps_direction && rules.check_is_futile(residual)) return finish(Status::stagnated);
      ++outcome.replacements;
    }
    replaced(residual);
  }

  /// With the next direction.
  TESSERA_HOST_DEVICE void keep_present(double residual) noexcept {
    keep = residual <= kept_norm || !(kept_norm > 0.0);
    if (keep) kept_norm = residual;
  }
};

}  // namespace tessera::detail
