/// \file
/// BiCGSTAB: its scalars and its fused operations (fused/ops.hpp). The iteration is in
/// bicgstab_iteration.hpp. M is FusedIdentity or FusedDiagonal (fused/preconditioner.hpp).
#pragma once

#include "core/random.hpp"
#include "solvers/fused/ops.hpp"
#include "solvers/fused/preconditioner.hpp"
#include "solvers/stop_state.hpp"

namespace tessera::detail {

/// Least |cosine| of t and s that ω respects after a breakdown in ω (Sleijpen & van der Vorst).
inline constexpr double omega_cosine = 0.7;

struct BicgstabState : StopState {
  double rho = 0.0;       ///< ρ = <r̂, r>
  double next_rho = 0.0;  ///< ρ'
  double alpha = 0.0;
  double beta = 0.0;
  double omega = 0.0;
  double shadow_norm = 0.0;     ///< ‖r̂‖₂
  double p_hat_norm = 0.0;      ///< ‖p̂‖₂
  double s_norm = 0.0;          ///< ‖s‖₂
  double s_hat_norm = 0.0;      ///< ‖ŝ‖₂
  bool first_iteration = true;  ///< no iteration since the start or the latest restart
  bool enlarge_omega = false;   ///< since a breakdown in ω

  [[nodiscard]] TESSERA_HOST_DEVICE bool vanishes(double cosine) const { return !(std::abs(cosine) > epsilon); }
  [[nodiscard]] TESSERA_HOST_DEVICE bool dots_are_finite() const {
    return std::isfinite(dots.wy) && std::isfinite(dots.yy);
  }

  /// β = (ρ' / ρ) (α / ω),  ρ = ρ'
  TESSERA_HOST_DEVICE void update_beta() {
    beta = (next_rho / rho) * (alpha / omega);
    rho = next_rho;
    if (!fits(beta)) return break_down(Breakdown::not_finite, beta);
    first_iteration = false;
  }
};

/// p = r + β (p - ω v), p̂ = M p with <p̂, p̂>. The old p and v do not matter when β = 0.
template <class T, class M>
struct BicgstabUpdateDirection {
  using State = BicgstabState;
  using Sums = double;
  struct Scalars {
    T beta, omega;
  };
  struct Loaded {
    T r, p, v;
    typename M::Loaded m;
  };

  bool is_fused;  ///< M is fused; else p̂ = M p will be a product
  bool counts;    ///< as an application of M
  M m;
  const T* r;
  const T* v;
  T* p;
  T* p_hat;  ///< p itself where nothing is to be stored

  TESSERA_HOST_DEVICE void scalars_before(BicgstabState& s) const {
    const double cosine = s.rho / s.shadow_norm / s.norm;
    if (s.vanishes(cosine)) s.break_down(Breakdown::rho, cosine);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const BicgstabState& s) const {
    return {static_cast<T>(s.beta), static_cast<T>(s.omega)};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {r[i], p[i], v[i], m.load(i)}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, double& sum) const {
    const T direction = scalar.beta == T{0} ? old.r : old.r + scalar.beta * (old.p - scalar.omega * old.v);
    const T preconditioned = m(old.m, direction);
    p[i] = direction;
    if (p_hat != p) p_hat[i] = preconditioned;
    sum += static_cast<double>(preconditioned) * static_cast<double>(preconditioned);
  }
  TESSERA_HOST_DEVICE void scalars_after(BicgstabState& s, double squares) const {
    if (!is_fused) return;
    if (counts) ++s.preconditionings;
    s.p_hat_norm = std::sqrt(squares);
    if (!std::isfinite(s.p_hat_norm)) s.break_down(Breakdown::not_finite, s.p_hat_norm);
  }
};

/// After the product p̂ = M p or ŝ = M s: its norm.
struct BicgstabPreconditionedNorm : fused::ScalarOp {
  using State = BicgstabState;
  bool of_s;  ///< ŝ rather than p̂

  TESSERA_HOST_DEVICE void scalars_before(BicgstabState& s) const {
    ++s.preconditionings;
    const double norm = std::sqrt(s.dots.yy);
    if (of_s) {
      s.s_hat_norm = norm;
    } else {
      s.p_hat_norm = norm;
    }
    if (!std::isfinite(norm)) s.break_down(Breakdown::not_finite, norm);
  }
};

/// After v = A p̂: α = ρ / <r̂, v>, s = r - α v with <s, s>, ŝ = M s with <ŝ, ŝ>. s takes the place of r.
template <class T, class M>
struct BicgstabUpdateS {
  using State = BicgstabState;
  using Sums = TwoSums;
  struct Scalars {
    T alpha;
  };
  struct Loaded {
    T v, r;
    typename M::Loaded m;
  };

  bool is_fused;  ///< M is fused; else ŝ = M s will be a product
  bool counts;    ///< as an application of M
  M m;
  const T* v;
  T* s;
  T* s_hat;  ///< s itself where nothing is to be stored

  TESSERA_HOST_DEVICE void scalars_before(BicgstabState& state) const {
    ++state.products;
    if (!state.dots_are_finite()) return state.break_down(Breakdown::not_finite, state.dots.wy);
    const double v_norm = std::sqrt(state.dots.yy);
    const double cosine = v_norm > 0.0 ? state.dots.wy / state.shadow_norm / v_norm : 0.0;
    if (state.vanishes(cosine)) return state.break_down(Breakdown::alpha, cosine);
    state.alpha = state.rho / state.dots.wy;
    if (!state.update_is_safe(state.alpha, state.p_hat_norm)) state.break_down(Breakdown::not_finite, state.alpha);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const BicgstabState& state) const {
    return {static_cast<T>(state.alpha)};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {v[i], s[i], m.load(i)}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, TwoSums& sums) const {
    const T residual = old.r - scalar.alpha * old.v;
    const T preconditioned = m(old.m, residual);
    s[i] = residual;
    if (s_hat != s) s_hat[i] = preconditioned;
    const auto value = static_cast<double>(residual);
    const auto hat_value = static_cast<double>(preconditioned);
    sums.first += value * value;
    sums.second += hat_value * hat_value;
  }
  TESSERA_HOST_DEVICE void scalars_after(BicgstabState& state, const TwoSums& sums) const {
    if (counts) ++state.preconditionings;
    state.s_norm = std::sqrt(sums.first);
    if (is_fused) state.s_hat_norm = std::sqrt(sums.second);
    if (!std::isfinite(state.s_norm)) return state.break_down(Breakdown::not_finite, state.s_norm);
    // A vanishing s is no breakdown: x + α p̂ is the solution, and t = A ŝ would say nothing.
    if (state.needs_check(state.s_norm)) {
      state.halt = fused::Halt::half_step;
    } else if (is_fused && !std::isfinite(state.s_hat_norm)) {
      state.break_down(Breakdown::not_finite, state.s_hat_norm);
    }
  }
};

/// After t = A ŝ: ω = <t, s> / <t, t>, x = x + α p̂ + ω ŝ, r = s - ω t with <r, r> and <r̂, r>. The old x is kept too
/// where that is due.
template <class T>
struct BicgstabUpdateSolutionAndResidual {
  using State = BicgstabState;
  using Sums = TwoSums;
  struct Scalars {
    T alpha, omega;
    bool keep;
  };
  struct Loaded {
    T p_hat, s_hat, shadow, t, x, s;
  };

  const T* p_hat;
  const T* s_hat;
  const T* shadow;
  const T* t;
  T* x;
  T* r;  ///< holds s
  T* kept;

  TESSERA_HOST_DEVICE void scalars_before(BicgstabState& s) const {
    ++s.products;
    if (!s.dots_are_finite()) return s.break_down(Breakdown::not_finite, s.dots.wy);
    const double t_norm = std::sqrt(s.dots.yy);
    const double cosine = t_norm > 0.0 ? s.dots.wy / s.s_norm / t_norm : 0.0;
    const bool enlarged = s.enlarge_omega && t_norm > 0.0 && std::abs(cosine) < omega_cosine;
    if (!enlarged && s.vanishes(cosine)) return s.break_down(Breakdown::omega, cosine);
    s.omega = enlarged ? std::copysign(omega_cosine, cosine) * s.s_norm / t_norm : s.dots.wy / s.dots.yy;
    if (!s.update_is_safe(s.omega, s.s_hat_norm)) s.break_down(Breakdown::not_finite, s.omega);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const BicgstabState& s) const {
    return {static_cast<T>(s.alpha), static_cast<T>(s.omega), s.keep};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const {
    return {p_hat[i], s_hat[i], shadow[i], t[i], x[i], r[i]};
  }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, TwoSums& sums) const {
    if (scalar.keep) kept[i] = old.x;
    const T solution = old.x + (fused::rounded_product(scalar.alpha, old.p_hat) + scalar.omega * old.s_hat);
    const T residual = old.s - scalar.omega * old.t;
    x[i] = solution;
    r[i] = residual;
    const auto value = static_cast<double>(residual);
    sums.first += value * value;
    sums.second += value * static_cast<double>(old.shadow);
  }
  TESSERA_HOST_DEVICE void scalars_after(BicgstabState& s, const TwoSums& sums) const {
    s.keep = false;
    s.next_rho = sums.second;
    s.after_iteration(std::sqrt(sums.first));
    if (!s.halted()) s.update_beta();
  }
};

/// Outside of the loop: r̂ = r, or uniform in [-1, 1), with <r̂, r̂>.
template <class T>
struct BicgstabShadow {
  using Sums = double;
  bool random;
  std::uint64_t seed;
  std::uint64_t stream;  ///< of element 0
  const T* r;
  T* shadow;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, double& sum) const {
    const std::uint64_t own = stream + static_cast<std::uint64_t>(i);
    shadow[i] = random ? static_cast<T>(2.0 * detail::SplitMix64(seed, own).uniform() - 1.0) : r[i];
    sum += static_cast<double>(shadow[i]) * static_cast<double>(shadow[i]);
  }
};

template <class T, class M>
using BicgstabOps = fused::OpList<BicgstabUpdateDirection<T, M>, BicgstabPreconditionedNorm, BicgstabUpdateS<T, M>,
                                  BicgstabUpdateSolutionAndResidual<T>, BicgstabShadow<T>>;

}  // namespace tessera::detail
