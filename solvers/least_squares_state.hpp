/// \file
/// Stopping rules of least squares, per iteration, and the operations that LSMR and CGLS share. Notation as in
/// tessera/least_squares.hpp; norms are of the scaled problem (least_squares.hpp).
#pragma once

#include "solvers/fused/ops.hpp"
#include "solvers/fused/preconditioner.hpp"
#include "solvers/stop_state.hpp"

namespace tessera::detail {

using fused::rounded_product;

/// sqrt(a² + b²), the same bits on the host and on a GPU.
[[nodiscard]] TESSERA_HOST_DEVICE inline double root_of_squares(double a, double b) noexcept {
  return std::sqrt(rounded_product(a, a) + rounded_product(b, b));
}

inline constexpr double infinite = std::numeric_limits<double>::infinity();

/// Common part of LsmrState and CglsState. StopState::norm is ‖D s‖₂.
struct LeastSquaresState : StopState {
  // Set before the loop.
  double relative_tolerance = 0.0;
  double residual_target = 0.0;  ///< of ‖r̄‖₂
  double damping = 0.0;
  double x_unit = 1.0;        ///< a power of two; squares of x are those of x_unit x
  double damping_of_x = 0.0;  ///< λ / x_unit
  double condition_limit = infinite;

  double margin = 1.0;     ///< convergence is claimed at this multiple of the targets
  double r_norm = 0.0;     ///< ‖r̄‖₂ of the recurrence
  double r_start = 0.0;    ///< ‖r̄‖₂ of the latest start
  double x_norm = 0.0;     ///< ‖x_unit x‖₂
  double a_norm = 0.0;     ///< largest ‖Ā D v‖ / ‖v‖ so far, a lower bound of ‖Ā D‖₂
  double condition = 0.0;  ///< lower bound of cond(Ā D)
  std::int64_t transposed_products = 0;
  bool is_ill_conditioned = false;  ///< the estimate exceeds its limit

  [[nodiscard]] TESSERA_HOST_DEVICE double normal_target(double residual) const noexcept {
    return rounded_product(relative_tolerance * a_norm, residual);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE bool meets_normal(double normal, double residual) const noexcept {
    return normal <= normal_target(residual);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE bool meets_residual(double residual) const noexcept {
    return residual <= residual_target;
  }
  [[nodiscard]] TESSERA_HOST_DEVICE bool meets(double normal, double residual) const noexcept {
    return meets_residual(residual) || meets_normal(normal, residual);
  }

  /// λ² / x_unit, which times x_unit x is λ² x.
  [[nodiscard]] TESSERA_HOST_DEVICE double damping_squared() const noexcept {
    return rounded_product(damping_of_x, damping_of_x) * x_unit;
  }

  /// Whether r and s must be computed now: the recurrence claims convergence, or carries no information any more.
  [[nodiscard]] TESSERA_HOST_DEVICE bool claims() const noexcept {
    const double noise = noise_fraction * epsilon;
    return r_norm <= margin * residual_target || norm <= margin * normal_target(r_norm) ||
           norm <= epsilon * rounded_product(a_norm, r_norm) || norm <= noise * peak || r_norm <= noise * r_start;
  }

  /// A direction of norm `direction` was mapped to a vector of norm `image`.
  TESSERA_HOST_DEVICE void note_stretch(double image, double direction) noexcept {
    const double stretch = image / direction;
    // An infinite norm would make every residual small.
    if (stretch > a_norm && std::isfinite(stretch)) a_norm = stretch;
  }

  /// The directions are used up in the middle of an iteration, or rounding has taken over: the recurrence knows no
  /// more.
  TESSERA_HOST_DEVICE void give_up() noexcept {
    norm = 0.0;
    halt = fused::Halt::check;
  }

  /// Ends an iteration. \param normal ‖D s‖₂ \param residual ‖r̄‖₂
  TESSERA_HOST_DEVICE void after_step(double normal, double residual) noexcept {
    ++iteration;
    norm = recurrence = normal;
    r_norm = residual;
    if (!std::isfinite(normal)) return break_down(Breakdown::not_finite, normal);
    if (!std::isfinite(residual)) return break_down(Breakdown::not_finite, residual);
    // Written so that NaN is refused.
    if (!(x_norm <= x_limit)) return break_down(Breakdown::not_finite, x_norm);
    if (claims()) {
      halt = fused::Halt::check;
    } else if (condition > condition_limit) {
      is_ill_conditioned = true;
      stop(Status::stagnated);
    } else {
      judge(normal);
      if (!halted()) consider_keeping_x();
    }
  }

  /// x is kept each time that ‖D s‖ has halved.
  TESSERA_HOST_DEVICE void consider_keeping_x() noexcept {
    if (!(norm < 0.5 * kept_norm)) return;
    kept_norm = norm;
    keep = true;
  }
};

/// d_i, or 1 without preconditioner.
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE T scaling_at(const T* diagonal, std::int64_t i) noexcept {
  return diagonal == nullptr ? T{1} : diagonal[i];
}

// Outside of the loop.

/// to = factor * (unit * from)
template <class T>
struct LeastSquaresScaledCopy {
  using Sums = NoSum;
  T factor;
  T unit = T{1};
  const T* from;
  T* to;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const { to[i] = factor * (unit * from[i]); }
};

/// ‖D s‖₂², divided by 4^exponent
template <class T>
struct LeastSquaresScaledNorm {
  using Sums = double;
  const T* diagonal;
  const T* s;
  int exponent = 0;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, double& sum) const {
    double value = static_cast<double>(diagonal[i]) * static_cast<double>(s[i]);
    if (exponent != 0) value = std::ldexp(value, -exponent);
    sum += value * value;
  }
};

/// max |d_i s_i|
template <class T>
struct LeastSquaresScaledMaxNorm {
  using Sums = fused::Largest;
  const T* diagonal;
  const T* s;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, fused::Largest& largest) const {
    largest += fused::Largest{std::abs(static_cast<double>(diagonal[i]) * static_cast<double>(s[i]))};
  }
};

/// to = 2^-exponent D
template <class T>
struct LeastSquaresScaleDiagonal {
  using Sums = NoSum;
  const T* diagonal;  ///< null: D = I
  int exponent;
  T* to;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    to[i] = static_cast<T>(std::ldexp(static_cast<double>(scaling_at(diagonal, i)), -exponent));
  }
};

/// v = factor D s, and D v, with <v, v> and <unit D v, unit D v>.
template <class T>
struct LeastSquaresFirstDirection {
  using Sums = TwoSums;
  T factor;
  T unit;
  const T* diagonal;  ///< null: D = I, and D v is not stored
  const T* s;
  T* v;
  T* scaled;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, TwoSums& sums) const {
    const T d = scaling_at(diagonal, i);
    const T direction = factor * (d * s[i]);
    const T image = d * direction;
    v[i] = direction;
    if (diagonal != nullptr) scaled[i] = image;
    const auto of_x = static_cast<double>(unit * image);
    sums.first += static_cast<double>(direction) * static_cast<double>(direction);
    sums.second += of_x * of_x;
  }
};

template <class T>
using LeastSquaresOps =
    fused::OpList<LeastSquaresScaledCopy<T>, LeastSquaresScaledNorm<T>, LeastSquaresScaledMaxNorm<T>,
                  LeastSquaresScaleDiagonal<T>, LeastSquaresFirstDirection<T>>;

}  // namespace tessera::detail
