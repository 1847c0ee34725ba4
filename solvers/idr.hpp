/// \file
/// IDR(4): its scalars and its fused operations (fused/ops.hpp). The iteration is in idr.cpp. M is FusedIdentity or
/// FusedDiagonal (fused/preconditioner.hpp).
#pragma once

#include "core/random.hpp"
#include "solvers/fused/block.hpp"
#include "solvers/fused/ops.hpp"
#include "solvers/fused/preconditioner.hpp"
#include "solvers/stop_state.hpp"

namespace tessera::detail {

/// s of IDR(s): shadow vectors, and directions of a cycle.
inline constexpr int idr_directions = 4;
/// Least |cosine| of t and r that ω respects (Sleijpen & van der Vorst).
inline constexpr double idr_omega_cosine = 0.7;

struct IdrState : StopState {
  std::int32_t s = idr_directions;                        ///< no more than rows
  std::int32_t step = 0;                                  ///< of the cycle: s directions, then ω
  double projected[idr_directions][idr_directions] = {};  ///< Pᵀ G, lower triangular
  double f[idr_directions] = {};                          ///< Pᵀ r
  double c[idr_directions] = {};                          ///< of r in the present directions
  double alpha[idr_directions] = {};
  double u_norm[idr_directions] = {};  ///< bounds of ‖u_i‖₂
  double omega = 1.0;
  double factor = 0.0;     ///< β, or ω at the end of a cycle
  double next_norm = 0.0;  ///< ‖u‖₂

  [[nodiscard]] TESSERA_HOST_DEVICE bool ends_cycle() const noexcept { return step == s; }

  /// (Pᵀ G) c = f, from the present step on.
  TESSERA_HOST_DEVICE void solve_for_c() noexcept {
    for (std::int32_t i = step; i < s; ++i) {
      double rest = f[i];
      for (std::int32_t k = step; k < i; ++k) rest -= fused::rounded_product(projected[i][k], c[k]);
      c[i] = rest / projected[i][i];
      if (!fits(c[i])) return break_down(Breakdown::not_finite, c[i]);
    }
  }

  /// α, the new column of Pᵀ G and β from the inner products of g = A u. \param g Pᵀ g
  TESSERA_HOST_DEVICE void biorthogonalize(const double* g) noexcept {
    const std::int32_t k = step;
    double bound = next_norm;
    for (std::int32_t i = 0; i < s; ++i) {
      double rest = g[i];
      for (std::int32_t l = 0; l < k && l < i; ++l) rest -= fused::rounded_product(projected[i][l], alpha[l]);
      if (i >= k) {
        projected[i][k] = rest;
        continue;
      }
      alpha[i] = rest / projected[i][i];
      if (!fits(alpha[i])) return break_down(Breakdown::not_finite, alpha[i]);
      bound += std::abs(alpha[i]) * u_norm[i];
    }
    const double g_norm = std::sqrt(dots.yy);
    const double cosine = g_norm > 0.0 ? projected[k][k] / g_norm : 0.0;
    if (!(std::abs(cosine) > epsilon)) return break_down(Breakdown::alpha, cosine);
    factor = f[k] / projected[k][k];
    u_norm[k] = bound;
    if (!update_is_safe(factor, bound)) break_down(Breakdown::not_finite, factor);
  }

  /// ω = <t, r> / <t, t>, enlarged where t and r are nearly orthogonal.
  TESSERA_HOST_DEVICE void choose_omega() noexcept {
    const double t_norm = std::sqrt(dots.yy);
    const double cosine = t_norm > 0.0 ? dots.wy / norm / t_norm : 0.0;
    if (!(t_norm > 0.0)) return break_down(Breakdown::omega, cosine);
    const bool enlarged = std::abs(cosine) < idr_omega_cosine;
    omega = enlarged ? std::copysign(idr_omega_cosine, cosine) * norm / t_norm : dots.wy / dots.yy;
    factor = omega;
    if (!update_is_safe(factor, next_norm)) break_down(Breakdown::not_finite, factor);
  }

  /// f and the step after r = r - factor g. \param of_r Pᵀ r, known at the end of a cycle
  TESSERA_HOST_DEVICE void advance(const double* of_r) noexcept {
    if (ends_cycle()) {
      for (std::int32_t i = 0; i < s; ++i) f[i] = of_r[i];
      step = 0;
    } else {
      for (std::int32_t i = step + 1; i < s; ++i) f[i] -= fused::rounded_product(factor, projected[i][step]);
      f[step] = 0.0;
      ++step;
    }
    solve_for_c();
  }
};

/// Inner products with the shadow vectors.
struct IdrProjections {
  double with[idr_directions] = {};
  TESSERA_HOST_DEVICE IdrProjections& operator+=(const IdrProjections& other) noexcept {
    for (int k = 0; k < idr_directions; ++k) with[k] += other.with[k];
    return *this;
  }
};

/// The same and <r, r>.
struct IdrResidualSums {
  double squares = 0.0;
  IdrProjections projections;
  TESSERA_HOST_DEVICE IdrResidualSums& operator+=(const IdrResidualSums& other) noexcept {
    squares += other.squares;
    projections += other.projections;
    return *this;
  }
};

/// c from the present step on, 0 before; ω, or 1 at the end of a cycle, where r itself is the direction.
template <class T>
struct IdrDirectionScalars {
  T c[idr_directions];
  T omega;
  std::int32_t step, s;

  [[nodiscard]] TESSERA_HOST_DEVICE static IdrDirectionScalars of(const IdrState& state) noexcept {
    IdrDirectionScalars result{};
    for (int k = 0; k < idr_directions; ++k) result.c[k] = static_cast<T>(state.c[k]);
    result.omega = state.ends_cycle() ? T{1} : static_cast<T>(state.omega);
    result.step = state.step;
    result.s = state.s;
    return result;
  }
  /// r - Σ c_k g_k
  [[nodiscard]] TESSERA_HOST_DEVICE T reduced(T r, const fused::BlockView<T>& g, std::int64_t i) const noexcept {
    for (std::int32_t k = step; k < s; ++k) r -= c[k] * g.column(k)[i];
    return r;
  }
};

/// v = r - Σ c_k g_k, of which M will be a product.
template <class T>
struct IdrReducedResidual {
  using State = IdrState;
  using Sums = fused::NoSum;
  using Scalars = IdrDirectionScalars<T>;
  struct Loaded {
    T r;
  };

  fused::BlockView<T> g;
  const T* r;
  T* v;

  TESSERA_HOST_DEVICE void scalars_before(IdrState& /*s*/) const {}
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const IdrState& s) const { return Scalars::of(s); }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {r[i]}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar,
                                 fused::NoSum& /*sum*/) const {
    v[i] = scalar.reduced(old.r, g, i);
  }
  TESSERA_HOST_DEVICE void scalars_after(IdrState& /*s*/, const fused::NoSum& /*sum*/) const {}
};

/// u = ω M v + Σ c_k u_k with <u, u>; at the end of a cycle, u = M r.
template <class T, class M>
struct IdrDirection {
  using State = IdrState;
  using Sums = double;
  using Scalars = IdrDirectionScalars<T>;
  struct Loaded {
    T in;
    typename M::Loaded m;
  };

  bool is_fused;  ///< M is fused; else M v was a product
  bool counts;    ///< as an application of M
  M m;
  fused::BlockView<T> g;
  fused::BlockView<T> directions;
  const T* in;  ///< r where M is fused, else M v
  T* u;

  TESSERA_HOST_DEVICE void scalars_before(IdrState& s) const {
    if (counts) ++s.preconditionings;
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const IdrState& s) const { return Scalars::of(s); }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {in[i], m.load(i)}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, double& squares) const {
    const T preconditioned = is_fused ? m(old.m, scalar.reduced(old.in, g, i)) : old.in;
    T next = fused::rounded_product(scalar.omega, preconditioned);
    for (std::int32_t k = scalar.step; k < scalar.s; ++k) next += scalar.c[k] * directions.column(k)[i];
    u[i] = next;
    squares += static_cast<double>(next) * static_cast<double>(next);
  }
  TESSERA_HOST_DEVICE void scalars_after(IdrState& s, double squares) const {
    s.next_norm = std::sqrt(squares);
    if (!s.fits(s.next_norm)) s.break_down(Breakdown::not_finite, s.next_norm);
  }
};

/// After g = A u: Pᵀ g, but at the end of a cycle, and the factor of the update.
template <class T>
struct IdrProject {
  using State = IdrState;
  using Sums = IdrProjections;
  struct Scalars {
    std::int32_t count;
  };
  struct Loaded {
    T g;
  };

  fused::BlockView<T> shadow;
  const T* g;

  TESSERA_HOST_DEVICE void scalars_before(IdrState& s) const {
    ++s.products;
    if (!std::isfinite(s.dots.wy) || !std::isfinite(s.dots.yy)) s.break_down(Breakdown::not_finite, s.dots.yy);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const IdrState& s) const { return {s.ends_cycle() ? 0 : s.s}; }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {g[i]}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, IdrProjections& sums) const {
    for (std::int32_t k = 0; k < idr_directions; ++k) {
      if (k < scalar.count) sums.with[k] += static_cast<double>(shadow.column(k)[i]) * static_cast<double>(old.g);
    }
  }
  TESSERA_HOST_DEVICE void scalars_after(IdrState& s, const IdrProjections& sums) const {
    if (s.ends_cycle()) {
      s.choose_omega();
    } else {
      s.biorthogonalize(sums.with);
    }
  }
};

/// g = g - Σ α_k g_k,  u = u - Σ α_k u_k,  kept as directions,  x = x + β u,  r = r - β g with <r, r>. At the end of a
/// cycle: x = x + ω u,  r = r - ω g with <r, r> and Pᵀ r. x is kept first where that is due.
template <class T>
struct IdrUpdate {
  using State = IdrState;
  using Sums = IdrResidualSums;
  struct Scalars {
    T alpha[idr_directions];
    T factor;
    std::int32_t step, s;
    bool ends_cycle;
    bool keep;
  };
  struct Loaded {
    T g, u, r, x;
  };

  fused::BlockView<T> shadow;
  fused::BlockView<T> g_block;
  fused::BlockView<T> u_block;
  const T* g;
  const T* u;
  T* r;
  T* x;
  T* kept;

  TESSERA_HOST_DEVICE void scalars_before(IdrState& /*s*/) const {}
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const IdrState& s) const {
    Scalars result{};
    for (int k = 0; k < idr_directions; ++k) result.alpha[k] = static_cast<T>(s.alpha[k]);
    result.factor = static_cast<T>(s.factor);
    result.step = s.step;
    result.s = s.s;
    result.ends_cycle = s.ends_cycle();
    result.keep = s.keep;
    return result;
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {g[i], u[i], r[i], x[i]}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar,
                                 IdrResidualSums& sums) const {
    T image = old.g;
    T direction = old.u;
    if (!scalar.ends_cycle) {
      for (std::int32_t k = 0; k < scalar.step; ++k) {
        image -= scalar.alpha[k] * g_block.column(k)[i];
        direction -= scalar.alpha[k] * u_block.column(k)[i];
      }
      g_block.column(scalar.step)[i] = image;
      u_block.column(scalar.step)[i] = direction;
    }
    const T residual = old.r - scalar.factor * image;
    if (scalar.keep) kept[i] = old.x;
    x[i] = old.x + scalar.factor * direction;
    r[i] = residual;
    const auto value = static_cast<double>(residual);
    sums.squares += value * value;
    if (!scalar.ends_cycle) return;
    for (std::int32_t k = 0; k < idr_directions; ++k) {
      if (k < scalar.s) sums.projections.with[k] += static_cast<double>(shadow.column(k)[i]) * value;
    }
  }
  TESSERA_HOST_DEVICE void scalars_after(IdrState& s, const IdrResidualSums& sums) const {
    s.keep = false;
    s.after_iteration(std::sqrt(sums.squares));
    if (!s.halted() || s.halt == fused::Halt::replace) s.advance(sums.projections.with);
  }
};

/// Outside of the loop: uniform in [-1, 1).
template <class T>
struct IdrShadow {
  using Sums = fused::NoSum;
  std::uint64_t seed;
  std::uint64_t stream;  ///< of element 0
  T* shadow;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, fused::NoSum& /*sum*/) const {
    const std::uint64_t own = stream + static_cast<std::uint64_t>(i);
    shadow[i] = static_cast<T>(2.0 * SplitMix64(seed, own).uniform() - 1.0);
  }
};

/// Outside of the loop: Pᵀ r.
template <class T>
struct IdrShadowProducts {
  using Sums = IdrProjections;
  std::int32_t s;
  fused::BlockView<T> shadow;
  const T* r;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, IdrProjections& sums) const {
    for (std::int32_t k = 0; k < idr_directions; ++k) {
      if (k < s) sums.with[k] += static_cast<double>(shadow.column(k)[i]) * static_cast<double>(r[i]);
    }
  }
};

template <class T, class M>
using IdrOps = fused::OpList<IdrReducedResidual<T>, IdrDirection<T, M>, IdrProject<T>, IdrUpdate<T>, IdrShadow<T>,
                             IdrShadowProducts<T>>;

}  // namespace tessera::detail
