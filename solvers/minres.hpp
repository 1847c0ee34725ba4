/// \file
/// MINRES: its scalars and its fused operations (fused/ops.hpp). The iteration is in minres.cpp. M is FusedIdentity or
/// FusedDiagonal (fused/preconditioner.hpp).
#pragma once

#include "solvers/fused/ops.hpp"
#include "solvers/fused/preconditioner.hpp"
#include "solvers/stop_state.hpp"

#include <cmath>
#include <cstdint>

namespace tessera::detail {

/// A pivot of the QR factors of T is zero where it is less than this multiple of machine epsilon times ‖T‖.
inline constexpr double vanishing_pivot = 10.0;

/// Rounding errors of a Lanczos vector, and of an x that large steps made, in multiples of machine epsilon.
inline constexpr double lanczos_rounding = 100.0;
inline constexpr double step_rounding = 10.0;
/// A step of this many times the length of all others, whose rounding errors exceed ‖r‖₂, is not taken.
inline constexpr double long_step = 100.0;

/// A power of two p with p * value in [1, 2); 1 where there is none.
[[nodiscard]] TESSERA_HOST_DEVICE inline double power_near_inverse(double value) {
  if (!(value > 0.0) || !std::isfinite(value)) return 1.0;
  const double power = std::ldexp(1.0, -std::ilogb(value));
  return power > 0.0 && std::isfinite(power) ? power : 1.0;
}

/// Of one Lanczos step.
struct MinresSums {
  double v_z = 0.0;  ///< <v, z>
  double v_v = 0.0;  ///< <v, v>
  double z_z = 0.0;  ///< <z, z>
  double q_z = 0.0;  ///< <A z, z of the step before>
  double r_v = 0.0;  ///< <r, v>
  double r_r = 0.0;  ///< <r, r>
  double d_d = 0.0;  ///< <d, d>
  TESSERA_HOST_DEVICE MinresSums& operator+=(const MinresSums& other) noexcept {
    v_z += other.v_z;
    v_v += other.v_v;
    z_z += other.z_z;
    q_z += other.q_z;
    r_v += other.r_v;
    r_r += other.r_r;
    d_d += other.d_d;
    return *this;
  }
};

/// Of step j, with v and z = M v of any length: v / γ and z / γ are the Lanczos vectors. They are those of 2^e A, with
/// M 2^e A about 1, so that no square overflows or underflows.
struct MinresState : StopState {
  double scale = 1.0;         ///< 2^e
  double gamma = 0.0;         ///< γ_j = sqrt(<v, z>)
  double gamma_before = 1.0;  ///< γ_(j-1)
  double delta = 0.0;         ///< δ_j = <A z, z> / γ_j²
  double cosine = 1.0;        ///< c_j
  double cosine_before = 1.0;
  double sine = 0.0;  ///< s_j
  double sine_before = 0.0;
  double eta = 0.0;    ///< ±‖r‖ in the norm of M
  double pivot = 1.0;  ///< by which the latest d is to be divided
  double pivot_before = 1.0;
  double a_norm = 0.0;         ///< largest ‖A z‖ / ‖z‖ since the start, a lower bound of ‖A‖₂
  double z_norm = 0.0;         ///< ‖z‖₂
  double z_norm_before = 0.0;  ///< that of the step before
  double t_norm = 0.0;         ///< largest norm of a column of T
  double step = 0.0;           ///< x lacks scale * step * d
  double reach = 0.0;          ///< sum of the lengths of steps since the start
  double largest_norm = 0.0;   ///< largest a_norm / scale, of all starts
  double r_factor = 1.0;       ///< the residual is r_factor r - step v; 1 where r is that
  std::int64_t steps = 0;      ///< since the start
  std::int64_t latest = 0;     ///< which of the two d is that of the step before
  MinresSums sums;             ///< where z = M v is still to come

  [[nodiscard]] TESSERA_HOST_DEVICE double above_diagonal() const noexcept {
    return fused::rounded_product(sine, delta) + fused::rounded_product(cosine_before * cosine, gamma);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE double far_above_diagonal() const noexcept { return sine_before * gamma; }

  /// <v, M v> must be positive. \param v_v 0 where the residual or the Lanczos vector is 0
  [[nodiscard]] TESSERA_HOST_DEVICE bool accepts(double v_z, double v_v) {
    if (!std::isfinite(v_z) || !std::isfinite(v_v)) {
      break_down(Breakdown::not_finite, v_z);
    } else if (v_z < 0.0 || (v_z == 0.0 && v_v > 0.0)) {
      // Starting again will not change M.
      break_down(Breakdown::preconditioner, v_z / v_v, Recovery::none);
    }
    return !halted();
  }

  /// Ends a Lanczos step: a column of T, a rotation, and the residual. \param has_q_z q_z was formed \param tracks r is
  /// updated; else ‖r‖ is that in the norm of M
  TESSERA_HOST_DEVICE void finish(const MinresSums& sum, bool has_q_z, bool tracks) {
    using fused::rounded_product;
    if (!accepts(sum.v_z, sum.v_v)) return;
    if (has_q_z && steps > 0) {
      const double difference = rounded_product(scale, sum.q_z) - rounded_product(gamma_before * gamma, gamma);
      const double norms = a_norm * z_norm * z_norm_before;
      // v is what is left of terms of size t_norm, whose rounding errors are not small beside a small γ.
      const double rounding = lanczos_rounding * epsilon * (t_norm / gamma);
      const double allowed = std::sqrt(epsilon) > rounding ? std::sqrt(epsilon) : rounding;
      if (std::abs(difference) > allowed * norms) {
        return break_down(Breakdown::asymmetric, difference / norms, Recovery::none);
      }
    }
    const double next = std::sqrt(sum.v_z);
    const double above = steps > 0 ? gamma : 0.0;
    const double column =
        std::sqrt(rounded_product(delta, delta) + rounded_product(next, next) + rounded_product(above, above));
    if (column > t_norm) t_norm = column;
    const double rotated = rounded_product(cosine, delta) - rounded_product(cosine_before * sine, gamma);
    const double radius = std::sqrt(rounded_product(rotated, rotated) + rounded_product(next, next));
    if (!(radius > vanishing_pivot * epsilon * t_norm)) {
      const Recovery by = steps == 0 ? Recovery::none : Recovery::restart;
      return break_down(Breakdown::dependent, t_norm > 0.0 ? radius / t_norm : 0.0, by);
    }
    const double next_cosine = rotated / radius;
    const double next_sine = next / radius;
    const double next_step = next_cosine * eta / radius;
    if (!update_is_safe(scale * next_step, std::sqrt(sum.d_d)) || !fits(next_step)) {
      return break_down(Breakdown::not_finite, next_step);
    }
    const double length = scale * std::abs(next_step) * std::sqrt(sum.d_d);
    if (a_norm / scale > largest_norm) largest_norm = a_norm / scale;
    // Along a null vector of A: the present x is at its best.
    if (length > long_step * reach && epsilon * largest_norm * length > norm) {
      halt = fused::Halt::check;
      return;
    }
    reach += length;
    step = next_step;
    r_factor = next_sine * next_sine;
    eta *= -next_sine;
    cosine_before = cosine;
    cosine = next_cosine;
    sine_before = sine;
    sine = next_sine;
    gamma_before = gamma;
    gamma = next;
    pivot_before = pivot;
    pivot = radius;
    z_norm_before = z_norm;
    z_norm = std::sqrt(sum.z_z);
    ++steps;
    const double kept = kept_norm;
    after_iteration(tracks ? residual_norm(sum) : std::abs(eta));
    distrust_large_steps(kept);
  }

 private:
  /// Steps along a null vector of A leave rounding errors in b - A x that the recurrence does not see: such an x is not
  /// kept, and one whose residual is far below them is checked. \param kept kept_norm before this iteration
  TESSERA_HOST_DEVICE void distrust_large_steps(double kept) {
    const double rounding = epsilon * largest_norm * reach;
    if (keep && !(norm > step_rounding * rounding)) {
      keep = false;
      kept_norm = kept;
    }
    if (!halted() && norm <= noise_fraction * rounding) halt = fused::Halt::check;
  }

  /// ‖r_factor r - step v‖₂
  [[nodiscard]] TESSERA_HOST_DEVICE double residual_norm(const MinresSums& sum) const {
    using fused::rounded_product;
    const double squares = rounded_product(r_factor * r_factor, sum.r_r) -
                           rounded_product(2.0 * r_factor * step, sum.r_v) + rounded_product(step * step, sum.v_v);
    return squares > 0.0 ? std::sqrt(squares) : 0.0 * squares;
  }
};

/// After q = A z: x and r take what the step before has left to them, then the next Lanczos vector,
///   v = q / γ_j - (δ_j / γ_j) v - (γ_j / γ_(j-1)) v_before,
/// z = M v if M is fused, and the direction d = z / γ_j - ... of the next change of x. x is kept too where that is due.
template <class T, class M>
struct MinresStep {
  using State = MinresState;
  using Sums = MinresSums;
  struct Scalars {
    T q, v, v_before;  ///< coefficients of the next v
    T z, d, d_before;  ///< of the next d
    T step, r_step, r_factor;
    bool latest_is_second;
    bool keep;
  };
  struct Loaded {
    T q, z, v, v_before, first, second, x, r;
    typename M::Loaded m;
  };

  bool is_fused;  ///< M is fused; else z = M v will be a product
  bool counts;    ///< as an application of M
  M m;
  const T* q;
  T* z;  ///< v where M is the identity
  T* v;
  T* v_before;
  T* first;   ///< one d
  T* second;  ///< the other one
  T* x;
  T* r;  ///< null where ‖r‖ follows from the scalars
  T* kept;

  TESSERA_HOST_DEVICE void scalars_before(MinresState& s) const {
    ++s.products;
    const double q_norm = std::sqrt(s.dots.yy);
    if (s.steps == 0) s.scale = power_near_inverse(s.z_norm / s.gamma * (q_norm / s.gamma));
    const double ratio = s.scale * q_norm / s.z_norm;
    if (ratio > s.a_norm) s.a_norm = ratio;
    s.delta = s.scale * (s.dots.wy / s.gamma) / s.gamma;
    if (!std::isfinite(s.delta) || !std::isfinite(ratio)) return s.break_down(Breakdown::not_finite, s.delta);
    const double far = s.far_above_diagonal() / s.pivot_before;
    const double above = s.above_diagonal() / s.pivot;
    if (!s.fits(s.scale / s.gamma) || !s.fits(1.0 / s.gamma) || !s.fits(s.delta / s.gamma) ||
        !s.fits(s.gamma / s.gamma_before) || !s.fits(far) || !s.fits(above)) {
      s.break_down(Breakdown::not_finite, s.gamma);
    }
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const MinresState& s) const {
    return {.q = static_cast<T>(s.scale / s.gamma),
            .v = static_cast<T>(s.delta / s.gamma),
            .v_before = static_cast<T>(s.gamma / s.gamma_before),
            .z = static_cast<T>(1.0 / s.gamma),
            .d = static_cast<T>(s.above_diagonal() / s.pivot),
            .d_before = static_cast<T>(s.far_above_diagonal() / s.pivot_before),
            .step = static_cast<T>(s.scale * s.step),
            .r_step = static_cast<T>(s.step),
            .r_factor = static_cast<T>(s.r_factor),
            .latest_is_second = s.latest == 1,
            .keep = s.keep};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const {
    return {q[i], z[i], v[i], v_before[i], first[i], second[i], x[i], r != nullptr ? r[i] : T{0}, m.load(i)};
  }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, MinresSums& sums) const {
    using fused::rounded_product;
    const T latest = scalar.latest_is_second ? old.second : old.first;
    const T before = scalar.latest_is_second ? old.first : old.second;
    const T solution = old.x + rounded_product(scalar.step, latest);
    x[i] = solution;
    if (scalar.keep) kept[i] = solution;
    const T next = rounded_product(scalar.q, old.q) - rounded_product(scalar.v, old.v) -
                   rounded_product(scalar.v_before, old.v_before);
    const T direction =
        rounded_product(scalar.z, old.z) - rounded_product(scalar.d, latest) - rounded_product(scalar.d_before, before);
    (scalar.latest_is_second ? first : second)[i] = direction;
    v_before[i] = old.v;
    v[i] = next;
    const T preconditioned = m(old.m, next);
    if (is_fused && z != v) z[i] = preconditioned;
    const auto value = static_cast<double>(next);
    const auto image = static_cast<double>(preconditioned);
    sums.v_z += value * image;
    sums.v_v += value * value;
    sums.z_z += image * image;
    sums.q_z += static_cast<double>(old.q) * static_cast<double>(m(old.m, old.v_before));
    sums.d_d += static_cast<double>(direction) * static_cast<double>(direction);
    if (r == nullptr) return;
    const T residual = rounded_product(scalar.r_factor, old.r) - rounded_product(scalar.r_step, old.v);
    r[i] = residual;
    sums.r_v += static_cast<double>(residual) * value;
    sums.r_r += static_cast<double>(residual) * static_cast<double>(residual);
  }
  TESSERA_HOST_DEVICE void scalars_after(MinresState& s, const MinresSums& sums) const {
    s.keep = false;
    s.step = 0.0;
    s.r_factor = 1.0;
    s.latest = 1 - s.latest;
    if (!is_fused) {
      s.sums = sums;
      return;
    }
    if (counts) ++s.preconditionings;
    s.finish(sums, true, r != nullptr);
  }
};

/// After the product z = M v.
struct MinresFinish : fused::ScalarOp {
  using State = MinresState;
  TESSERA_HOST_DEVICE void scalars_before(MinresState& s) const {
    ++s.preconditionings;
    s.sums.v_z = s.dots.wy;
    s.sums.z_z = s.dots.yy;
    s.finish(s.sums, false, true);
  }
};

/// Outside of the loop: v = r, the other vectors 0, and z = M v if M is fused, with <v, z> and <z, z>.
template <class T, class M>
struct MinresStart {
  using Sums = TwoSums;
  bool is_fused;
  M m;
  const T* r;
  T* v;  ///< may be r
  T* z;
  T* v_before;
  T* first;
  T* second;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, TwoSums& sums) const {
    const T value = r[i];
    const T preconditioned = m(m.load(i), value);
    v[i] = value;
    if (is_fused && z != v) z[i] = preconditioned;
    v_before[i] = first[i] = second[i] = T{0};
    sums.first += static_cast<double>(value) * static_cast<double>(preconditioned);
    sums.second += static_cast<double>(preconditioned) * static_cast<double>(preconditioned);
  }
};

template <class T, class M>
using MinresOps = fused::OpList<MinresStep<T, M>, MinresFinish, MinresStart<T, M>>;

}  // namespace tessera::detail
