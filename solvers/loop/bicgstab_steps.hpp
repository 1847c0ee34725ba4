/// \file
/// The steps of BiCGSTAB, as loop::Loop takes them. M is what becomes of entry i under a preconditioner that needs no
/// pass of its own.
#pragma once

#include "solvers/krylov_state.hpp"
#include "solvers/passes/krylov_steps.hpp"

namespace tessera::bicgstab_steps {

/// Least |cosine| of t and s that ω is made to respect after a breakdown in ω (Sleijpen & van der Vorst).
inline constexpr double omega_cosine = 0.7;

[[nodiscard]] TESSERA_HOST_DEVICE inline bool vanishes(double cosine, double epsilon) {
  return !(std::abs(cosine) > epsilon);
}

/// What both products must be.
[[nodiscard]] TESSERA_HOST_DEVICE inline bool dots_are_finite(const KrylovState& s) {
  return std::isfinite(s.dots.wy) && std::isfinite(s.dots.yy);
}

/// p = r + β (p - ω v), p̂ = M p with <p̂, p̂>.
template <class T, class M>
struct Direction {
  using State = KrylovState;
  using Body = passes::StabilisedDirection<T, M>;
  bool folds;
  bool counts;  ///< applications of M
  Body body;

  TESSERA_HOST_DEVICE void begin(State& s) const {
    const double cosine = s.rho / s.shadow_norm / s.norm;
    if (vanishes(cosine, s.epsilon)) s.break_down(Breakdown::rho, cosine);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Body bind(const State& s) const {
    Body bound = body;
    bound.beta = static_cast<T>(s.beta);
    bound.omega = static_cast<T>(s.omega);
    return bound;
  }
  TESSERA_HOST_DEVICE void finish(State& s, double squares) const {
    if (!folds) return;
    if (counts) ++s.preconditionings;
    s.p_norm = std::sqrt(squares);
    if (!std::isfinite(s.p_norm)) s.break_down(Breakdown::not_finite, s.p_norm);
  }
};

/// After p̂ = M p or ŝ = M s by a product: its norm. No vectors.
struct HatNorm {
  using State = KrylovState;
  using Body = detail::NoBody;
  bool of_s;  ///< ŝ rather than p̂

  TESSERA_HOST_DEVICE void begin(State& s) const {
    ++s.preconditionings;
    const double norm = std::sqrt(s.dots.yy);
    if (of_s) {
      s.s_hat_norm = norm;
    } else {
      s.p_norm = norm;
    }
    if (!std::isfinite(norm)) s.break_down(Breakdown::not_finite, norm);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Body bind(const State& /*s*/) const { return {}; }
  TESSERA_HOST_DEVICE void finish(State& /*s*/, const detail::NoSum& /*sum*/) const {}
};

/// After v = A p̂: α = ρ / <r̂, v>, s = r - α v with <s, s>, and ŝ = M s with <ŝ, ŝ>.
template <class T, class M>
struct HalfStep {
  using State = KrylovState;
  using Body = passes::HalfResidual<T, M>;
  bool folds;
  bool counts;
  Body body;

  TESSERA_HOST_DEVICE void begin(State& s) const {
    ++s.products;
    if (!dots_are_finite(s)) return s.break_down(Breakdown::not_finite, s.dots.wy);
    const double v_norm = std::sqrt(s.dots.yy);
    const double cosine = v_norm > 0.0 ? s.dots.wy / s.shadow_norm / v_norm : 0.0;
    if (vanishes(cosine, s.epsilon)) return s.break_down(Breakdown::alpha, cosine);
    s.alpha = s.rho / s.dots.wy;
    if (!s.step_is_safe(s.alpha, s.p_norm)) s.break_down(Breakdown::not_finite, s.alpha);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Body bind(const State& s) const {
    Body bound = body;
    bound.alpha = static_cast<T>(s.alpha);
    return bound;
  }
  TESSERA_HOST_DEVICE void finish(State& s, const detail::TwoSums& sums) const {
    if (counts) ++s.preconditionings;
    s.s_norm = std::sqrt(sums.first);
    if (folds) s.s_hat_norm = std::sqrt(sums.second);
    if (!std::isfinite(s.s_norm)) return s.break_down(Breakdown::not_finite, s.s_norm);
    // A vanishing s is no breakdown but the solution, which x + α p̂ holds; t = A ŝ would say nothing.
    if (s.wants_check(s.s_norm)) {
      s.halt = loop::Halt::half_step;
    } else if (folds && !std::isfinite(s.s_hat_norm)) {
      s.break_down(Breakdown::not_finite, s.s_hat_norm);
    }
  }
};

/// After t = A ŝ: ω = <t, s> / <t, t>, x += α p̂ + ω ŝ, r = s - ω t with <r, r> and <r̂, r>; x before that goes to the
/// kept one where that is due.
template <class T>
struct FullStep {
  using State = KrylovState;
  using Body = passes::StabilisedStep<T>;
  Body body;

  TESSERA_HOST_DEVICE void begin(State& s) const {
    ++s.products;
    if (!dots_are_finite(s)) return s.break_down(Breakdown::not_finite, s.dots.wy);
    const double t_norm = std::sqrt(s.dots.yy);
    const double cosine = t_norm > 0.0 ? s.dots.wy / s.s_norm / t_norm : 0.0;
    const bool enlarged = s.enlarge_omega && t_norm > 0.0 && std::abs(cosine) < omega_cosine;
    if (!enlarged && vanishes(cosine, s.epsilon)) return s.break_down(Breakdown::omega, cosine);
    s.omega = enlarged ? std::copysign(omega_cosine, cosine) * s.s_norm / t_norm : s.dots.wy / s.dots.yy;
    if (!s.step_is_safe(s.omega, s.s_hat_norm)) s.break_down(Breakdown::not_finite, s.omega);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Body bind(const State& s) const {
    Body bound = body;
    bound.alpha = static_cast<T>(s.alpha);
    bound.omega = static_cast<T>(s.omega);
    bound.keep = s.keep;
    return bound;
  }
  TESSERA_HOST_DEVICE void finish(State& s, const detail::TwoSums& sums) const {
    s.keep = false;
    s.next_rho = sums.second;
    s.after_iteration(std::sqrt(sums.first));
    if (!s.halted()) proceed(s);
  }

  /// β = (ρ' / ρ) (α / ω)
  TESSERA_HOST_DEVICE static void proceed(State& s) {
    s.beta = (s.next_rho / s.rho) * (s.alpha / s.omega);
    s.rho = s.next_rho;
    if (!s.fits(s.beta)) return s.break_down(Breakdown::not_finite, s.beta);
    s.first_step = false;
  }
};

}  // namespace tessera::bicgstab_steps
