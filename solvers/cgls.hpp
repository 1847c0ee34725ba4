/// \file
/// CGLS: its scalars and its fused operations (fused/ops.hpp). The iteration is in cgls.cpp.
#pragma once

#include "solvers/least_squares_state.hpp"

namespace tessera::detail {

struct CglsState : LeastSquaresState {
  double gamma = 0.0;       ///< ‖D s‖²
  double next_gamma = 0.0;  ///< γ'
  double alpha = 0.0;
  double beta = 0.0;
  double rr = 0.0;           ///< ‖r‖²
  double p_norm = 0.0;       ///< ‖p‖₂, x = D p
  double scaled_norm = 0.0;  ///< ‖x_unit D p‖₂
  double least_stretch = infinite;

  /// ‖p‖² and ‖x_unit D p‖² of a new direction.
  TESSERA_HOST_DEVICE void take_direction(const TwoSums& sums) noexcept {
    p_norm = std::sqrt(sums.first);
    scaled_norm = std::sqrt(sums.second);
  }
};

/// After q = A D p: α = γ / (‖q‖² + λ² ‖D p‖²), r = r - α q with <r, r>.
template <class T>
struct CglsUpdateResidual {
  using State = CglsState;
  using Sums = double;
  struct Scalars {
    T alpha;
  };
  struct Loaded {
    T q, r;
  };

  const T* q;
  T* r;

  TESSERA_HOST_DEVICE void scalars_before(CglsState& s) const {
    ++s.products;
    const double image = root_of_squares(std::sqrt(s.dots.yy), rounded_product(s.damping_of_x, s.scaled_norm));
    // Ā D p = 0 for p ≠ 0 in the range of (Ā D)ᵀ: by rounding alone.
    if (image == 0.0) return s.give_up();
    if (!std::isfinite(image)) return s.break_down(Breakdown::not_finite, image);
    s.note_stretch(image, s.p_norm);
    const double stretch = image / s.p_norm;
    if (stretch < s.least_stretch) s.least_stretch = stretch;
    s.condition = s.a_norm / s.least_stretch;
    s.alpha = s.gamma / image / image;
    if (!s.fits(s.alpha)) s.break_down(Breakdown::not_finite, s.alpha);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const CglsState& s) const { return {static_cast<T>(s.alpha)}; }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {q[i], r[i]}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, double& squares) const {
    const T residual = old.r - rounded_product(scalar.alpha, old.q);
    r[i] = residual;
    squares += static_cast<double>(residual) * static_cast<double>(residual);
  }
  TESSERA_HOST_DEVICE void scalars_after(CglsState& s, double squares) const { s.rr = squares; }
};

/// After w = Aᵀ r: x = x + α D p, D s = D (w - λ² x), which overwrites w, with <D s, D s> and <x, x>. x is kept
/// first where that is due.
template <class T>
struct CglsUpdateSolution {
  using State = CglsState;
  using Sums = TwoSums;
  struct Scalars {
    T alpha, damping, x_unit;
    bool keep;
  };
  struct Loaded {
    T w, p, x, d;
  };

  const T* diagonal;  ///< null: D = I
  const T* scaled;    ///< D p
  T* w;
  T* x;
  T* kept;

  TESSERA_HOST_DEVICE void scalars_before(CglsState& s) const { ++s.transposed_products; }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const CglsState& s) const {
    return {static_cast<T>(s.alpha), static_cast<T>(s.damping_squared()), static_cast<T>(s.x_unit), s.keep};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const {
    return {w[i], scaled[i], x[i], scaling_at(diagonal, i)};
  }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, TwoSums& sums) const {
    const T solution = old.x + rounded_product(scalar.alpha, old.p);
    const T of_x = scalar.x_unit * solution;
    const T normal = old.d * (old.w - rounded_product(scalar.damping, of_x));
    if (scalar.keep) kept[i] = old.x;
    x[i] = solution;
    w[i] = normal;
    sums.first += static_cast<double>(normal) * static_cast<double>(normal);
    sums.second += static_cast<double>(of_x) * static_cast<double>(of_x);
  }
  TESSERA_HOST_DEVICE void scalars_after(CglsState& s, const TwoSums& sums) const {
    s.keep = false;
    s.next_gamma = sums.first;
    s.x_norm = std::sqrt(sums.second);
  }
};

/// β = γ' / γ, p = D s + β p with <p, p> and <D p, D p>; D p where D is not I.
template <class T>
struct CglsUpdateDirection {
  using State = CglsState;
  using Sums = TwoSums;
  struct Scalars {
    T beta, x_unit;
  };
  struct Loaded {
    T normal, p, d;
  };

  const T* diagonal;  ///< null: D = I
  const T* normal;    ///< D s
  T* p;
  T* scaled;

  TESSERA_HOST_DEVICE void scalars_before(CglsState& s) const {
    s.beta = s.next_gamma / s.gamma;
    s.gamma = s.next_gamma;
    if (!s.fits(s.beta)) s.break_down(Breakdown::not_finite, s.beta);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const CglsState& s) const {
    return {static_cast<T>(s.beta), static_cast<T>(s.x_unit)};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const {
    return {normal[i], p[i], scaling_at(diagonal, i)};
  }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, TwoSums& sums) const {
    const T direction = old.normal + rounded_product(scalar.beta, old.p);
    const T image = rounded_product(old.d, direction);
    p[i] = direction;
    if (diagonal != nullptr) scaled[i] = image;
    sums.first += static_cast<double>(direction) * static_cast<double>(direction);
    const auto of_x = static_cast<double>(scalar.x_unit * image);
    sums.second += of_x * of_x;
  }
  TESSERA_HOST_DEVICE void scalars_after(CglsState& s, const TwoSums& sums) const {
    s.take_direction(sums);
    const double squares = rounded_product(s.damping_of_x, s.x_norm);
    s.after_step(std::sqrt(s.gamma), root_of_squares(std::sqrt(s.rr), squares));
  }
};

template <class T>
using CglsOps = fused::OpList<CglsUpdateResidual<T>, CglsUpdateSolution<T>, CglsUpdateDirection<T>>;

}  // namespace tessera::detail
