/// \file
/// GMRES: its scalars, and its fused and block operations (fused/ops.hpp, fused/block.hpp). The iteration is in
/// gmres_cycle.hpp. M is FusedIdentity or FusedDiagonal (fused/preconditioner.hpp).
#pragma once

#include "solvers/fused/block.hpp"
#include "solvers/fused/ops.hpp"
#include "solvers/fused/preconditioner.hpp"
#include "solvers/stop_state.hpp"

namespace tessera::detail {

/// A direction is dependent on the earlier ones where this multiple of machine epsilon is left of it: rounding errors
/// of its orthogonalization have that size.
inline constexpr double dependent_multiple = 10.0;
/// A second orthogonalization takes rounding errors away from a vector; one that takes most of it away shows that only
/// rounding errors were left (B. N. Parlett, The Symmetric Eigenvalue Problem, section 6-9: twice is enough).
inline constexpr double least_remainder = 0.25;

struct GmresState : StopState {
  std::int32_t restart = 0;     ///< m
  std::int32_t columns = 0;     ///< of V
  std::int32_t directions = 0;  ///< columns of R
  double gamma = 0.0;  ///< last entry of the rotated right-hand side; |γ| = ‖r‖₂, or ‖M r‖₂ from the left
  double r_per_gamma = 1.0;  ///< ‖r‖₂ / ‖M r‖₂ at the beginning of a cycle from the left
  double z_norm = 0.0;       ///< ‖z‖₂
  double w_norm = 0.0;       ///< ‖w‖₂ of w = A z, or M A z from the left
  double remainder = 0.0;    ///< ‖w‖₂ after orthogonalization
};

/// Scalars beside the state, in the memory where it lies: they grow with m. The columns of R are packed, each followed
/// by what the second orthogonalization takes from the direction.
struct GmresScalars {
  double* memory = nullptr;
  std::int64_t m = 0;

  [[nodiscard]] TESSERA_HOST_DEVICE static std::int64_t size(std::int64_t m) noexcept { return 7 * m + m * (m + 1); }
  /// Vᵀ w of the first pass; the coefficients y at the end.
  [[nodiscard]] TESSERA_HOST_DEVICE double* first() const noexcept { return memory; }
  /// Vᵀ w of the second pass.
  [[nodiscard]] TESSERA_HOST_DEVICE double* second() const noexcept { return memory + m; }
  /// Rotations.
  [[nodiscard]] TESSERA_HOST_DEVICE double* cosine() const noexcept { return memory + 2 * m; }
  [[nodiscard]] TESSERA_HOST_DEVICE double* sine() const noexcept { return memory + 3 * m; }
  /// Rotated right-hand side.
  [[nodiscard]] TESSERA_HOST_DEVICE double* right_side() const noexcept { return memory + 4 * m; }
  /// ‖z_k‖₂
  [[nodiscard]] TESSERA_HOST_DEVICE double* z_norm() const noexcept { return memory + 5 * m; }
  /// ‖w‖₂ of z_k
  [[nodiscard]] TESSERA_HOST_DEVICE double* w_norm() const noexcept { return memory + 6 * m; }
  /// Entries 0 ... k of column k of R.
  [[nodiscard]] TESSERA_HOST_DEVICE double* column(std::int64_t k) const noexcept {
    return memory + 7 * m + k * (k + 1);
  }
  /// Direction k, before its second orthogonalization, is v_k + correction_scale(k) Σ_{i<k} correction(k)[i] v_i. None
  /// for direction 0.
  [[nodiscard]] TESSERA_HOST_DEVICE double* correction(std::int64_t k) const noexcept { return column(k) + k + 1; }
  [[nodiscard]] TESSERA_HOST_DEVICE double& correction_scale(std::int64_t k) const noexcept { return correction(k)[k]; }

  /// A new column of H, V's inner products with A z and what is left of it, becomes one of R by the rotations so far
  /// and a new one. \param squares <w, w> after the first pass
  TESSERA_HOST_DEVICE void append_column(GmresState& s, double squares) const {
    using fused::rounded_product;
    const std::int32_t k = s.columns - 1;
    double entry = first()[0] + second()[0];
    double taken = rounded_product(second()[0], second()[0]);
    double* const r = column(k);
    for (std::int32_t begin = 0; begin < k; begin += Rotations::count) {
      // The loads of several rotations at a time.
      const Rotations rotations(*this, begin, k);
      for (std::int32_t j = 0; j < Rotations::count; ++j) {
        if (begin + j >= k) break;
        const double c = rotations.cosine[j];
        const double d = rotations.sine[j];
        const double next = rotations.first[j] + rotations.second[j];
        r[begin + j] = rounded_product(c, entry) + rounded_product(d, next);
        entry = rounded_product(c, next) - rounded_product(d, entry);
        taken += rounded_product(rotations.second[j], rotations.second[j]);
      }
    }
    // ‖w - V h‖² by Pythagoras: the second pass takes next to nothing away.
    const double left = squares - taken;
    const double noise = s.epsilon * s.w_norm;
    const double remainder = left > least_remainder * squares ? std::sqrt(left) : 0.0;
    s.remainder = remainder > noise ? remainder : 0.0;
    const double pivot = std::sqrt(rounded_product(entry, entry) + rounded_product(s.remainder, s.remainder));
    if (!std::isfinite(pivot)) return s.break_down(Breakdown::not_finite, pivot);
    if (pivot <= dependent_multiple * noise) {
      // From the same r the same would follow.
      const Recovery by = k == 0 ? Recovery::none : Recovery::restart;
      return s.break_down(Breakdown::dependent, s.w_norm > 0.0 ? pivot / s.w_norm : 0.0, by);
    }
    cosine()[k] = entry / pivot;
    sine()[k] = s.remainder / pivot;
    r[k] = pivot;
    right_side()[k] = rounded_product(cosine()[k], s.gamma);
    z_norm()[k] = s.z_norm;
    w_norm()[k] = s.w_norm;
    s.gamma = -rounded_product(sine()[k], s.gamma);
    s.directions = s.columns;
    s.after_iteration(s.r_per_gamma * std::abs(s.gamma));
    if (s.directions < s.restart) return append_correction(s);
    if (!s.halted()) s.halt = fused::Halt::cycle;
  }

 private:
  /// Of the direction that follows from w.
  TESSERA_HOST_DEVICE void append_correction(const GmresState& s) const {
    const std::int32_t k = s.columns;
    for (std::int32_t i = 0; i < k; ++i) correction(k)[i] = second()[i];
    correction_scale(k) = 1.0 / s.remainder;
  }

  /// Rotations from `begin` on, and the entries below them of a new column of H.
  struct Rotations {
    static constexpr std::int32_t count = 8;
    double cosine[count];
    double sine[count];
    double first[count];
    double second[count];

    TESSERA_HOST_DEVICE Rotations(const GmresScalars& all, std::int32_t begin, std::int32_t end) {
      for (std::int32_t j = 0; j < count; ++j) {
        const std::int32_t i = begin + j < end ? begin + j : end - 1;
        cosine[j] = all.cosine()[i];
        sine[j] = all.sine()[i];
        first[j] = all.first()[i + 1];
        second[j] = all.second()[i + 1];
      }
    }
  };
};

/// After the product z = M v: its norm.
struct GmresPreconditionedNorm : fused::ScalarOp {
  using State = GmresState;
  TESSERA_HOST_DEVICE void scalars_before(GmresState& s) const {
    s.z_norm = std::sqrt(s.dots.yy);
    if (!s.fits(s.z_norm)) s.break_down(Breakdown::not_finite, s.z_norm);
  }
};

/// The second orthogonalization of the newest direction v, the last column of V, by the inner products that
/// GmresOrthogonalize left: in the pass that needs V anyway, after the product.
template <class T>
struct GmresSecondPass {
  struct Scalars {
    std::int64_t column;  ///< of v
    double inverse;       ///< of the norm that v was divided by
  };
  fused::BlockView<T> block;

  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const GmresState& s) const {
    return {s.columns - 1, s.columns > 1 ? 1.0 / s.remainder : 0.0};
  }
  /// \param combination V h' of the columns before
  TESSERA_HOST_DEVICE T complete(std::int64_t i, T combination, const Scalars& scalar) const {
    T& v = block.column(scalar.column)[i];
    if (scalar.column > 0)
      v = static_cast<T>(static_cast<double>(v) - static_cast<double>(combination) * scalar.inverse);
    return v;
  }
};

/// After the product w = A z, or M (A z) from the left: v = v - V h', and Vᵀ w.
template <class T>
struct GmresProject {
  using State = GmresState;
  using Sums = fused::NoSum;
  using Element = T;
  using Scalars = typename GmresSecondPass<T>::Scalars;
  struct Loaded {
    T w;
  };
  static constexpr bool combines = true;
  static constexpr bool projects = true;
  static constexpr bool completes_last_column = true;

  bool counts;  ///< z = M v as an application of M
  fused::BlockView<T> block;
  const double* coefficients;
  double* projections;
  const T* w;

  TESSERA_HOST_DEVICE void scalars_before(GmresState& s) const {
    ++s.products;
    if (counts) ++s.preconditionings;
    s.w_norm = std::sqrt(s.dots.yy);
    if (!s.fits(s.w_norm)) s.break_down(Breakdown::not_finite, s.w_norm);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE int columns(const GmresState& s) const { return s.columns; }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const GmresState& s) const {
    return GmresSecondPass<T>{block}.scalars(s);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {w[i]}; }
  TESSERA_HOST_DEVICE T projected(std::int64_t /*i*/, const Loaded& old, fused::NoSum& /*sum*/) const { return old.w; }
  TESSERA_HOST_DEVICE T complete(std::int64_t i, T combination, const Scalars& scalar) const {
    return GmresSecondPass<T>{block}.complete(i, combination, scalar);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE T value(std::int64_t i) const { return w[i]; }
  TESSERA_HOST_DEVICE void scalars_after(GmresState& /*s*/, const fused::NoSum& /*sum*/) const {}
};

/// After the product w = A z, from the left with a diagonal M: w = M w with <w, w>, v = v - V h', and Vᵀ w.
template <class T>
struct GmresPreconditionAndProject {
  using State = GmresState;
  using Sums = double;
  using Element = T;
  using Scalars = typename GmresSecondPass<T>::Scalars;
  struct Loaded {
    T w;
    T m;
  };
  static constexpr bool combines = true;
  static constexpr bool projects = true;
  static constexpr bool completes_last_column = true;

  fused::FusedDiagonal<T> m;
  fused::BlockView<T> block;
  const double* coefficients;
  double* projections;
  T* w;

  TESSERA_HOST_DEVICE void scalars_before(GmresState& s) const {
    ++s.products;
    ++s.preconditionings;
  }
  [[nodiscard]] TESSERA_HOST_DEVICE int columns(const GmresState& s) const { return s.columns; }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const GmresState& s) const {
    return GmresSecondPass<T>{block}.scalars(s);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {w[i], m.load(i)}; }
  TESSERA_HOST_DEVICE T projected(std::int64_t i, const Loaded& old, double& squares) const {
    const T image = m(old.m, old.w);
    w[i] = image;
    squares += static_cast<double>(image) * static_cast<double>(image);
    return image;
  }
  TESSERA_HOST_DEVICE T complete(std::int64_t i, T combination, const Scalars& scalar) const {
    return GmresSecondPass<T>{block}.complete(i, combination, scalar);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE T value(std::int64_t i) const { return w[i]; }
  TESSERA_HOST_DEVICE void scalars_after(GmresState& s, double squares) const {
    s.w_norm = std::sqrt(squares);
    if (!s.fits(s.w_norm)) s.break_down(Breakdown::not_finite, s.w_norm);
  }
};

/// w = w - V h with <w, w> and Vᵀ w, by which H gets a column. z is stored among the earlier ones where x will need it.
template <class T>
struct GmresOrthogonalize {
  using State = GmresState;
  using Sums = double;
  using Element = T;
  struct Scalars {
    std::int64_t column;  ///< of z
  };
  struct Loaded {
    T w, z;
  };
  static constexpr bool combines = true;
  static constexpr bool projects = true;

  GmresScalars all;
  fused::BlockView<T> block;
  const double* coefficients;
  double* projections;
  T* w;
  const T* z;
  fused::BlockView<T> kept_z;  ///< no data where x is formed from V

  TESSERA_HOST_DEVICE void scalars_before(GmresState& /*s*/) const {}
  [[nodiscard]] TESSERA_HOST_DEVICE int columns(const GmresState& s) const { return s.columns; }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const GmresState& s) const { return {s.columns - 1}; }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const {
    return {w[i], kept_z.data != nullptr ? z[i] : T{0}};
  }
  TESSERA_HOST_DEVICE T apply(std::int64_t i, const Loaded& old, T combination, const Scalars& scalar,
                              double& squares) const {
    if (kept_z.data != nullptr) kept_z.column(scalar.column)[i] = old.z;
    const T rest = old.w - combination;
    w[i] = rest;
    squares += static_cast<double>(rest) * static_cast<double>(rest);
    return rest;
  }
  [[nodiscard]] TESSERA_HOST_DEVICE T value(std::int64_t i) const { return w[i]; }
  TESSERA_HOST_DEVICE void scalars_after(GmresState& s, double squares) const { all.append_column(s, squares); }
};

/// v = w / ‖w - V h'‖, the next column of V until its second orthogonalization, and z = M v if M is fused.
template <class T, class M>
struct GmresExtend {
  using State = GmresState;
  using Sums = double;
  using Element = T;
  struct Scalars {
    double inverse;
    std::int64_t column;
  };
  struct Loaded {
    T w;
    typename M::Loaded m;
  };
  static constexpr bool combines = false;
  static constexpr bool projects = false;

  bool is_fused;  ///< M is fused; else z = M v will be a product
  M m;
  fused::BlockView<T> block;
  const double* coefficients;  ///< none
  double* projections;         ///< none
  const T* w;
  T* out;  ///< z, or v where z will be a product; may be w

  TESSERA_HOST_DEVICE void scalars_before(GmresState& /*s*/) const {}
  [[nodiscard]] TESSERA_HOST_DEVICE int columns(const GmresState& s) const { return s.columns; }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const GmresState& s) const {
    return {1.0 / s.remainder, s.columns};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {w[i], m.load(i)}; }
  TESSERA_HOST_DEVICE T apply(std::int64_t i, const Loaded& old, T /*combination*/, const Scalars& scalar,
                              double& zz) const {
    const T v = static_cast<T>(static_cast<double>(old.w) * scalar.inverse);
    const T z = m(old.m, v);
    block.column(scalar.column)[i] = v;
    out[i] = is_fused ? z : v;
    zz += static_cast<double>(z) * static_cast<double>(z);
    return v;
  }
  [[nodiscard]] TESSERA_HOST_DEVICE T value(std::int64_t i) const { return out[i]; }
  TESSERA_HOST_DEVICE void scalars_after(GmresState& s, double zz) const {
    ++s.columns;
    if (!is_fused) return;
    s.z_norm = std::sqrt(zz);
    if (!s.fits(s.z_norm)) s.break_down(Breakdown::not_finite, s.z_norm);
  }
};

/// Outside of the loop: v = u / ‖u‖ for u = r, or M r from the left, the first column of V, and z = M v if M is fused,
/// with <z, z>.
template <class T, class M>
struct GmresStart {
  using Sums = double;
  bool is_fused;
  M m;
  double inverse;  ///< 1 / ‖u‖
  const T* u;
  T* out;  ///< z, or v where z will be a product; may be u
  T* column;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, double& zz) const {
    const T v = static_cast<T>(static_cast<double>(u[i]) * inverse);
    const T z = m(m.load(i), v);
    column[i] = v;
    out[i] = is_fused ? z : v;
    zz += static_cast<double>(z) * static_cast<double>(z);
  }
};

/// Outside of the loop: x = x + M (V y), or x + Z y by the identity.
template <class T, class M>
struct GmresUpdateSolution {
  using Sums = fused::NoSum;
  using Element = T;
  struct Scalars {};
  struct Loaded {
    T x;
    typename M::Loaded m;
  };
  static constexpr bool combines = true;
  static constexpr bool projects = false;

  M m;
  fused::BlockView<T> block;
  const double* coefficients;
  double* projections;  ///< none
  T* x;

  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {x[i], m.load(i)}; }
  TESSERA_HOST_DEVICE T apply(std::int64_t i, const Loaded& old, T combination, const Scalars& /*scalar*/,
                              fused::NoSum& /*sum*/) const {
    x[i] = old.x + m(old.m, combination);
    return x[i];
  }
  [[nodiscard]] TESSERA_HOST_DEVICE T value(std::int64_t i) const { return x[i]; }
};

template <class T, class M>
using GmresOps = fused::OpList<GmresPreconditionedNorm, GmresProject<T>, GmresPreconditionAndProject<T>,
                               GmresOrthogonalize<T>, GmresExtend<T, M>, GmresStart<T, M>, GmresUpdateSolution<T, M>>;

}  // namespace tessera::detail
