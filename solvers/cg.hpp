/// \file
/// Conjugate gradients: its scalars and its fused operations (fused/ops.hpp). The iteration is in
/// cg_iteration.hpp. M is FusedIdentity or FusedDiagonal (fused/preconditioner.hpp).
#pragma once

#include "solvers/fused/ops.hpp"
#include "solvers/fused/preconditioner.hpp"
#include "solvers/stop_state.hpp"

namespace tessera::detail {

/// Multiple of the machine epsilon times ‖A‖ ‖p‖² within which rounding decides the sign of pᵀAp.
inline constexpr double sign_noise = 100.0;

struct CgState : StopState {
  double rho = 0.0;       ///< ρ = <r, z>
  double next_rho = 0.0;  ///< ρ'
  double alpha = 0.0;
  double beta = 0.0;
  double p_norm = 0.0;       ///< ‖p‖₂
  double a_norm = 0.0;       ///< largest ‖A p‖ / ‖p‖ so far, a lower bound of ‖A‖₂
  bool x_is_behind = false;  ///< x lacks α p

  /// <p, A p> must be positive. Where it is not, rounding may be to blame (p nearly in the null space of a semidefinite
  /// A): then restarting can help.
  TESSERA_HOST_DEVICE void test_curvature() {
    const double curvature = dots.wy;
    const double q_norm = std::sqrt(dots.yy);
    if (!std::isfinite(curvature) || !std::isfinite(q_norm)) return break_down(Breakdown::not_finite, curvature);
    const double ratio = q_norm / p_norm;
    if (ratio > a_norm) a_norm = ratio;
    if (curvature > epsilon * p_norm * q_norm) return;
    const double cosine = q_norm > 0.0 ? curvature / p_norm / q_norm : 0.0;
    const bool indefinite = curvature < -sign_noise * epsilon * a_norm * p_norm * p_norm;
    break_down(Breakdown::indefinite, cosine, indefinite ? Recovery::none : Recovery::restart);
  }

  /// ρ = <r, M r> and ‖p‖₂ of a new direction.
  TESSERA_HOST_DEVICE void test_direction() {
    if (!std::isfinite(rho) || !std::isfinite(p_norm)) return break_down(Breakdown::not_finite, rho);
    // M is not positive definite; restarting will not change that.
    if (rho <= 0.0) break_down(Breakdown::preconditioner, rho / norm / norm, Recovery::none);
  }
};

/// After q = A p: α = ρ / <p, q>, r = r - α q with <r, r> and <r, M r>.
template <class T, class M>
struct CgUpdateResidual {
  using State = CgState;
  using Sums = TwoSums;
  struct Scalars {
    T alpha;
  };
  struct Loaded {
    T q, r;
    typename M::Loaded m;
  };

  bool counts;  ///< as an application of M
  M m;
  const T* q;
  T* r;

  TESSERA_HOST_DEVICE void scalars_before(CgState& s) const {
    ++s.products;
    s.test_curvature();
    if (s.halted()) return;
    s.alpha = s.rho / s.dots.wy;
    if (!s.update_is_safe(s.alpha, s.p_norm)) s.break_down(Breakdown::not_finite, s.alpha);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const CgState& s) const { return {static_cast<T>(s.alpha)}; }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {q[i], r[i], m.load(i)}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, TwoSums& sums) const {
    const T residual = old.r - scalar.alpha * old.q;
    r[i] = residual;
    const auto value = static_cast<double>(residual);
    sums.first += value * value;
    sums.second += value * static_cast<double>(m(old.m, residual));
  }
  TESSERA_HOST_DEVICE void scalars_after(CgState& s, const TwoSums& sums) const {
    s.x_is_behind = true;
    s.next_rho = sums.second;
    s.after_iteration(std::sqrt(sums.first));
    if (counts && !s.halted()) ++s.preconditionings;
  }
};

/// β = ρ' / ρ, x = x + α p, p = z + β p with <p, p>, where z = M r if M is fused. The new x is kept too where that is
/// due.
template <class T, class M>
struct CgUpdateSolutionAndDirection {
  using State = CgState;
  using Sums = double;
  struct Scalars {
    T alpha, beta;
    bool keep;
  };
  struct Loaded {
    T z, x, p;
    typename M::Loaded m;
  };

  bool is_fused;  ///< M is fused; else z = M r was a product
  M m;
  const T* z;  ///< r where M is fused
  T* x;
  T* p;
  T* kept;

  TESSERA_HOST_DEVICE void scalars_before(CgState& s) const {
    if (!is_fused) {
      s.next_rho = s.dots.wy;
      ++s.preconditionings;
    }
    s.beta = s.next_rho / s.rho;
    if (!s.fits(s.beta)) return s.break_down(Breakdown::not_finite, s.beta);
    s.rho = s.next_rho;
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const CgState& s) const {
    return {static_cast<T>(s.alpha), static_cast<T>(s.beta), s.keep};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {z[i], x[i], p[i], m.load(i)}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, double& pp) const {
    const T solution = old.x + scalar.alpha * old.p;
    const T direction = m(old.m, old.z) + scalar.beta * old.p;
    x[i] = solution;
    if (scalar.keep) kept[i] = solution;
    p[i] = direction;
    pp += static_cast<double>(direction) * static_cast<double>(direction);
  }
  TESSERA_HOST_DEVICE void scalars_after(CgState& s, double pp) const {
    s.x_is_behind = false;
    s.keep = false;
    s.p_norm = std::sqrt(pp);
    s.test_direction();
  }
};

/// Outside of the loop: <r, M r>.
template <class T, class M>
struct CgPreconditionedDot {
  using Sums = double;
  M m;
  const T* r;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, double& rz) const {
    rz += static_cast<double>(r[i]) * static_cast<double>(m(m.load(i), r[i]));
  }
};

/// Outside of the loop: p = z + β p with <p, p>; the old p is not read when β = 0.
template <class T, class M>
struct CgUpdateDirection {
  using Sums = double;
  T beta;
  M m;
  const T* z;
  T* p;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, double& pp) const {
    const T preconditioned = m(m.load(i), z[i]);
    p[i] = beta == T{0} ? preconditioned : preconditioned + beta * p[i];
    pp += static_cast<double>(p[i]) * static_cast<double>(p[i]);
  }
};

template <class T, class M>
using CgOps = fused::OpList<CgUpdateResidual<T, M>, CgUpdateSolutionAndDirection<T, M>, CgPreconditionedDot<T, M>,
                            CgUpdateDirection<T, M>>;

}  // namespace tessera::detail
