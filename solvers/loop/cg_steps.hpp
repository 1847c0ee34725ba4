/// \file
/// The steps of conjugate gradients, as loop::Loop takes them. M is what becomes of entry i under a preconditioner that
/// needs no pass of its own.
#pragma once

#include "solvers/krylov_state.hpp"
#include "solvers/passes/krylov_steps.hpp"

namespace tessera::cg_steps {

/// A multiple of the machine epsilon times ‖A‖ ‖p‖² within which the sign of pᵀAp is a matter of rounding.
inline constexpr double sign_noise = 100.0;

/// <p, A p> must be positive. Where it is not, rounding may be to blame (p nearly in the null space of a semidefinite
/// A): then starting again can help.
TESSERA_HOST_DEVICE inline void test_curvature(KrylovState& s) {
  const double curvature = s.dots.wy;
  const double q_norm = std::sqrt(s.dots.yy);
  if (!std::isfinite(curvature) || !std::isfinite(q_norm)) return s.break_down(Breakdown::not_finite, curvature);
  const double stretch = q_norm / s.p_norm;
  if (stretch > s.a_norm) s.a_norm = stretch;
  if (curvature > s.epsilon * s.p_norm * q_norm) return;
  const double cosine = q_norm > 0.0 ? curvature / s.p_norm / q_norm : 0.0;
  const bool indefinite = curvature < -sign_noise * s.epsilon * s.a_norm * s.p_norm * s.p_norm;
  s.break_down(Breakdown::indefinite, cosine, indefinite ? Recovery::none : Recovery::restart);
}

/// ρ = <r, M r> and ‖p‖₂ of a new direction.
TESSERA_HOST_DEVICE inline void test_direction(KrylovState& s) {
  if (!std::isfinite(s.rho) || !std::isfinite(s.p_norm)) return s.break_down(Breakdown::not_finite, s.rho);
  // M is not positive definite; starting again will not make it so.
  if (s.rho <= 0.0) s.break_down(Breakdown::preconditioner, s.rho / s.norm / s.norm, Recovery::none);
}

/// After q = A p: α = ρ / <p, q>, r -= α q with <r, r> and <r, M r>.
template <class T, class M>
struct Residual {
  using State = KrylovState;
  using Body = passes::ConjugateResidual<T, M>;
  bool counts;  ///< applications of M
  Body body;

  TESSERA_HOST_DEVICE void begin(State& s) const {
    ++s.products;
    test_curvature(s);
    if (s.halted()) return;
    s.alpha = s.rho / s.dots.wy;
    if (!s.step_is_safe(s.alpha, s.p_norm)) s.break_down(Breakdown::not_finite, s.alpha);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Body bind(const State& s) const {
    Body bound = body;
    bound.alpha = static_cast<T>(s.alpha);
    return bound;
  }
  TESSERA_HOST_DEVICE void finish(State& s, const detail::TwoSums& sums) const {
    s.x_is_behind = true;
    s.next_rho = sums.second;
    s.after_iteration(std::sqrt(sums.first));
    if (counts && !s.halted()) ++s.preconditionings;
  }
};

/// β = ρ' / ρ, x += α p, p = M z + β p with <p, p>; x goes to the kept one too where that is due.
template <class T, class M>
struct Direction {
  using State = KrylovState;
  using Body = passes::ConjugateDirections<T, M>;
  bool folds;  ///< M is one that needs no pass of its own
  Body body;

  TESSERA_HOST_DEVICE void begin(State& s) const {
    if (!folds) {
      s.next_rho = s.dots.wy;
      ++s.preconditionings;
    }
    s.beta = s.next_rho / s.rho;
    if (!s.fits(s.beta)) return s.break_down(Breakdown::not_finite, s.beta);
    s.rho = s.next_rho;
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Body bind(const State& s) const {
    Body bound = body;
    bound.alpha = static_cast<T>(s.alpha);
    bound.beta = static_cast<T>(s.beta);
    bound.keep = s.keep;
    return bound;
  }
  TESSERA_HOST_DEVICE void finish(State& s, double squares) const {
    s.x_is_behind = false;
    s.keep = false;
    s.p_norm = std::sqrt(squares);
    test_direction(s);
  }
};

}  // namespace tessera::cg_steps
