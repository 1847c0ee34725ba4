/// \file
/// Richardson iteration: its state and its fused operations (fused/ops.hpp). The iteration is in richardson.cpp. M is
/// FusedIdentity or FusedDiagonal (fused/preconditioner.hpp).
#pragma once

#include "solvers/fused/ops.hpp"
#include "solvers/fused/preconditioner.hpp"
#include "solvers/stop_state.hpp"

namespace tessera::detail {

struct RichardsonState : StopState {
  double z_norm = 0.0;  ///< ‖M r‖₂
};

/// x = x + z with <z, z>, where z = M r is formed too if M is fused. x is kept first where that is due.
template <class T, class M>
struct RichardsonUpdateSolution {
  using State = RichardsonState;
  using Sums = double;
  struct Scalars {
    bool keep;
  };
  struct Loaded {
    T in, x;
    typename M::Loaded m;
  };

  bool is_fused;  ///< M is fused; else z = M r was a product
  bool counts;    ///< as an application of M
  M m;
  const T* in;  ///< r where M is fused, else z
  T* z;
  T* x;
  T* kept;

  /// The iteration has no memory, so starting it again would end alike.
  TESSERA_HOST_DEVICE void scalars_before(RichardsonState& s) const {
    if (!is_fused) s.z_norm = std::sqrt(s.dots.yy);
    if (counts) ++s.preconditionings;
    if (!s.update_is_safe(1.0, s.z_norm)) s.break_down(Breakdown::not_finite, s.z_norm, Recovery::none);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const RichardsonState& s) const { return {s.keep}; }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {in[i], x[i], m.load(i)}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, double& zz) const {
    const T step = m(old.m, old.in);
    zz += static_cast<double>(step) * static_cast<double>(step);
    if (scalar.keep) kept[i] = old.x;
    if (is_fused) z[i] = step;
    x[i] = old.x + step;
  }
  TESSERA_HOST_DEVICE void scalars_after(RichardsonState& s, double zz) const {
    s.keep = false;
    s.z_norm = std::sqrt(zz);
  }
};

/// After q = A z: r = r - q with <r, r>, and ‖M r‖² where M is fused.
template <class T, class M>
struct RichardsonUpdateResidual {
  using State = RichardsonState;
  using Sums = TwoSums;
  struct Scalars {};
  struct Loaded {
    T q, r;
    typename M::Loaded m;
  };

  M m;
  const T* q;
  T* r;

  TESSERA_HOST_DEVICE void scalars_before(RichardsonState& s) const { ++s.products; }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const RichardsonState& /*s*/) const { return {}; }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {q[i], r[i], m.load(i)}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& /*scalar*/, TwoSums& sums) const {
    const T residual = old.r - old.q;
    r[i] = residual;
    const auto value = static_cast<double>(residual);
    const auto step = static_cast<double>(m(old.m, residual));
    sums.first += value * value;
    sums.second += step * step;
  }
  TESSERA_HOST_DEVICE void scalars_after(RichardsonState& s, const TwoSums& sums) const {
    s.z_norm = std::sqrt(sums.second);
    s.after_iteration(std::sqrt(sums.first));
  }
};

/// Outside of the loop: ‖M r‖₂².
template <class T, class M>
struct RichardsonStepSquares {
  using Sums = double;
  M m;
  const T* r;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, double& zz) const {
    const auto step = static_cast<double>(m(m.load(i), r[i]));
    zz += step * step;
  }
};

template <class T, class M>
using RichardsonOps =
    fused::OpList<RichardsonUpdateSolution<T, M>, RichardsonUpdateResidual<T, M>, RichardsonStepSquares<T, M>>;

}  // namespace tessera::detail
