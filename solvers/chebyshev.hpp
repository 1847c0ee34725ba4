/// \file
/// Chebyshev iteration: its scalars and its fused operations (fused/ops.hpp). The iteration is in chebyshev.cpp. M is
/// FusedIdentity or FusedDiagonal (fused/preconditioner.hpp).
#pragma once

#include "solvers/fused/ops.hpp"
#include "solvers/fused/preconditioner.hpp"
#include "solvers/stop_state.hpp"

#include <cmath>
#include <cstdint>

namespace tessera::detail {

struct ChebyshevState : StopState {
  double center = 0.0;      ///< of the interval
  double half_width = 0.0;  ///< of it
  double rho = 0.0;         ///< ρ_k
  double alpha = 0.0;       ///< of the next d = α d + β M r
  double beta = 0.0;
  double d_norm = 0.0;  ///< ‖d‖₂

  TESSERA_HOST_DEVICE void next_coefficients() noexcept {
    const double divisor = 2.0 * center - fused::rounded_product(rho, half_width);
    alpha = half_width / divisor * rho;
    beta = 2.0 / divisor;
    rho = half_width / divisor;
  }
};

/// After q = A d: x = x + d, r = r - q with <r, r>, and d = α d + β M r with <d, d> if M is fused. The old x is kept
/// first where that is due.
template <class T, class M>
struct ChebyshevStep {
  using State = ChebyshevState;
  using Sums = TwoSums;
  struct Scalars {
    T alpha, beta;
    bool keep;
  };
  struct Loaded {
    T q, r, x, d;
    typename M::Loaded m;
  };

  bool is_fused;  ///< M is fused; else z = M r will be a product
  bool counts;    ///< as an application of M
  M m;
  const T* q;
  T* r;
  T* x;
  T* d;
  T* kept;

  TESSERA_HOST_DEVICE void scalars_before(ChebyshevState& s) const {
    ++s.products;
    if (!s.update_is_safe(1.0, s.d_norm)) return s.break_down(Breakdown::not_finite, s.d_norm, Recovery::none);
    s.next_coefficients();
    if (!s.fits(s.alpha) || !s.fits(s.beta)) s.break_down(Breakdown::not_finite, s.beta, Recovery::none);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const ChebyshevState& s) const {
    return {static_cast<T>(s.alpha), static_cast<T>(s.beta), s.keep};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {q[i], r[i], x[i], d[i], m.load(i)}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, TwoSums& sums) const {
    using fused::rounded_product;
    if (scalar.keep) kept[i] = old.x;
    x[i] = old.x + old.d;
    const T residual = old.r - old.q;
    r[i] = residual;
    sums.first += static_cast<double>(residual) * static_cast<double>(residual);
    if (!is_fused) return;
    const T direction = rounded_product(scalar.alpha, old.d) + rounded_product(scalar.beta, m(old.m, residual));
    d[i] = direction;
    sums.second += static_cast<double>(direction) * static_cast<double>(direction);
  }
  TESSERA_HOST_DEVICE void scalars_after(ChebyshevState& s, const TwoSums& sums) const {
    s.keep = false;
    if (is_fused) s.d_norm = std::sqrt(sums.second);
    s.after_iteration(std::sqrt(sums.first));
    if (counts && !s.halted()) ++s.preconditionings;
  }
};

/// After z = M r: d = α d + β z with <d, d>.
template <class T>
struct ChebyshevDirection {
  using State = ChebyshevState;
  using Sums = double;
  struct Scalars {
    T alpha, beta;
  };
  struct Loaded {
    T z, d;
  };

  const T* z;
  T* d;

  TESSERA_HOST_DEVICE void scalars_before(ChebyshevState& s) const { ++s.preconditionings; }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const ChebyshevState& s) const {
    return {static_cast<T>(s.alpha), static_cast<T>(s.beta)};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {z[i], d[i]}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, double& dd) const {
    using fused::rounded_product;
    const T direction = rounded_product(scalar.alpha, old.d) + rounded_product(scalar.beta, old.z);
    d[i] = direction;
    dd += static_cast<double>(direction) * static_cast<double>(direction);
  }
  TESSERA_HOST_DEVICE void scalars_after(ChebyshevState& s, double dd) const { s.d_norm = std::sqrt(dd); }
};

/// Outside of the loop: d = β M v with <v, M v> and <d, d>. The first direction from v = r, or a step of the power
/// method from v = A d.
template <class T, class M>
struct ChebyshevStart {
  using Sums = TwoSums;
  T beta;
  M m;
  const T* v;
  T* d;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, TwoSums& sums) const {
    const T image = m(m.load(i), v[i]);
    const T direction = beta * image;
    d[i] = direction;
    sums.first += static_cast<double>(v[i]) * static_cast<double>(image);
    sums.second += static_cast<double>(direction) * static_cast<double>(direction);
  }
};

template <class T, class M>
using ChebyshevOps = fused::OpList<ChebyshevStep<T, M>, ChebyshevDirection<T>, ChebyshevStart<T, M>>;

}  // namespace tessera::detail
