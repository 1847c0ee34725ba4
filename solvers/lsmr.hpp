/// \file
/// LSMR: its scalars and its fused operations (fused/ops.hpp). The iteration is in lsmr.cpp. Letters as in Fong &
/// Saunders, SIAM J. Sci. Comput. 33(5), 2011, section 2; u and v are stored with their norms, as β u and α v.
#pragma once

#include "solvers/least_squares_state.hpp"

namespace tessera::detail {

struct LsmrState : LeastSquaresState {
  // Bidiagonalization.
  double alpha = 0.0;
  double beta = 0.0;
  double squares = 0.0;    ///< ‖β' u'‖²
  double next_beta = 0.0;  ///< β'

  // The two QR factorizations.
  double alpha_bar = 0.0;
  double zeta = 0.0;
  double zeta_bar = 0.0;
  double rho = 1.0;
  double rho_bar = 1.0;
  double c_bar = 1.0;
  double s_bar = 0.0;

  // Of ‖r̄‖ (section 5.1).
  double beta_double_dot = 0.0;
  double beta_dot = 0.0;
  double rho_dot = 1.0;
  double tau_tilde = 0.0;
  double theta_tilde = 0.0;

  double h_norm = 1.0;           ///< ‖h‖₂
  double largest_inverse = 0.0;  ///< largest ‖h‖ / ‖Ā D h‖ so far

  // Factors of the vector updates.
  double h_bar_factor = 0.0;
  double x_factor = 0.0;
  double h_factor = 0.0;
  double v_factor = 0.0;

  /// From r̄ = β u and D s = α β v.
  TESSERA_HOST_DEVICE void begin(double first_alpha, double first_beta) noexcept {
    alpha = alpha_bar = first_alpha;
    beta = beta_double_dot = first_beta;
    zeta_bar = rounded_product(first_alpha, first_beta);
    rho = rho_bar = c_bar = rho_dot = 1.0;
    s_bar = zeta = beta_dot = tau_tilde = theta_tilde = 0.0;
    h_norm = 1.0;
  }

  /// One step of both QR factorizations; α and β are those of the new u and v.
  TESSERA_HOST_DEVICE void rotate() noexcept {
    const double old_rho = rho;
    const double old_rho_bar = rho_bar;
    const double old_zeta = zeta;
    rho = root_of_squares(alpha_bar, beta);
    const double c = alpha_bar / rho;
    const double s = beta / rho;
    const double theta = rounded_product(s, alpha);
    alpha_bar = rounded_product(c, alpha);

    const double theta_bar = rounded_product(s_bar, rho);
    const double rho_temp = rounded_product(c_bar, rho);
    rho_bar = root_of_squares(rho_temp, theta);
    c_bar = rho_temp / rho_bar;
    s_bar = theta / rho_bar;
    zeta = rounded_product(c_bar, zeta_bar);
    zeta_bar = -rounded_product(s_bar, zeta_bar);

    h_bar_factor = rounded_product(theta_bar / old_rho, rho / old_rho_bar);
    x_factor = zeta / rho / rho_bar;
    h_factor = theta / rho;
    v_factor = alpha > 0.0 ? 1.0 / alpha : 0.0;

    estimate_residual(c, s, theta_bar, old_zeta);
    estimate_condition();
  }

  /// No factor overflows.
  [[nodiscard]] TESSERA_HOST_DEVICE bool factors_fit() const noexcept {
    return fits(h_bar_factor) && fits(x_factor) && fits(h_factor) && fits(v_factor);
  }

  /// ‖r̄‖₂ of the iterate that the present rotations belong to.
  [[nodiscard]] TESSERA_HOST_DEVICE double residual() const noexcept {
    const double tau_dot = (zeta - rounded_product(theta_tilde, tau_tilde)) / rho_dot;
    return root_of_squares(beta_dot - tau_dot, beta_double_dot);
  }

 private:
  TESSERA_HOST_DEVICE void estimate_residual(double c, double s, double theta_bar, double old_zeta) noexcept {
    const double beta_hat = rounded_product(c, beta_double_dot);
    beta_double_dot = -rounded_product(s, beta_double_dot);
    const double old_theta_tilde = theta_tilde;
    const double rho_tilde = root_of_squares(rho_dot, theta_bar);
    const double c_tilde = rho_dot / rho_tilde;
    const double s_tilde = theta_bar / rho_tilde;
    theta_tilde = rounded_product(s_tilde, rho_bar);
    rho_dot = rounded_product(c_tilde, rho_bar);
    beta_dot = rounded_product(c_tilde, beta_hat) - rounded_product(s_tilde, beta_dot);
    tau_tilde = (old_zeta - rounded_product(old_theta_tilde, tau_tilde)) / rho_tilde;
  }

  /// h / ρ is the direction of LSQR, whose image under Ā D has norm 1 (C. C. Paige, M. Saunders, ACM Trans. Math.
  /// Softw. 8(1), 1982, section 5.4).
  TESSERA_HOST_DEVICE void estimate_condition() noexcept {
    const double inverse = h_norm / rho;
    if (inverse > largest_inverse) largest_inverse = inverse;
    condition = rounded_product(a_norm, largest_inverse);
  }
};

/// After q = A D (α v): β' u' = q / α - α u, with <β' u', β' u'>.
template <class T>
struct LsmrUpdateLeft {
  using State = LsmrState;
  using Sums = double;
  struct Scalars {
    T of_image, of_u;
  };
  struct Loaded {
    T image, u;
  };

  const T* image;
  T* u;

  TESSERA_HOST_DEVICE void scalars_before(LsmrState& s) const {
    ++s.products;
    if (!s.fits(1.0 / s.alpha) || !s.fits(s.alpha / s.beta)) s.break_down(Breakdown::not_finite, s.alpha);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const LsmrState& s) const {
    return {static_cast<T>(1.0 / s.alpha), static_cast<T>(s.alpha / s.beta)};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {image[i], u[i]}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, double& squares) const {
    const T next = rounded_product(scalar.of_image, old.image) - rounded_product(scalar.of_u, old.u);
    u[i] = next;
    squares += static_cast<double>(next) * static_cast<double>(next);
  }
  TESSERA_HOST_DEVICE void scalars_after(LsmrState& s, double squares) const { s.squares = squares; }
};

/// The part of u that belongs to the rows λ I of Ā: the same with q = λ D (α v).
template <class T>
struct LsmrUpdateDampedLeft {
  using State = LsmrState;
  using Sums = double;
  struct Scalars {
    T of_image, of_u;
  };
  struct Loaded {
    T image, u;
  };

  const T* image;  ///< D (α v)
  T* u;

  TESSERA_HOST_DEVICE void scalars_before(LsmrState& s) const {
    if (!s.fits(s.damping / s.alpha)) s.break_down(Breakdown::not_finite, s.alpha);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const LsmrState& s) const {
    return {static_cast<T>(s.damping / s.alpha), static_cast<T>(s.alpha / s.beta)};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {image[i], u[i]}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, double& squares) const {
    const T next = rounded_product(scalar.of_image, old.image) - rounded_product(scalar.of_u, old.u);
    u[i] = next;
    squares += static_cast<double>(next) * static_cast<double>(next);
  }
  TESSERA_HOST_DEVICE void scalars_after(LsmrState& s, double squares) const { s.squares += squares; }
};

/// After w = Aᵀ (β' u'): α' v' = D (w + λ β' u₂') / β' - β' v, with <α' v', α' v'>; D (α' v') where D is not I.
template <class T>
struct LsmrUpdateRight {
  using State = LsmrState;
  using Sums = double;
  struct Scalars {
    T of_image, of_v, damping;
  };
  struct Loaded {
    T image, damped, v, d;
  };

  const T* diagonal;  ///< null: D = I
  const T* image;
  const T* damped;  ///< u₂; null without damping
  T* v;
  T* scaled;

  TESSERA_HOST_DEVICE void scalars_before(LsmrState& s) const {
    ++s.transposed_products;
    s.next_beta = std::sqrt(s.squares);
    s.note_stretch(root_of_squares(s.alpha, s.next_beta), 1.0);
    // With β' = 0 the directions are used up: v' = 0.
    if (s.next_beta == 0.0) return;
    if (!s.fits(1.0 / s.next_beta) || !s.fits(s.next_beta / s.alpha)) {
      s.break_down(Breakdown::not_finite, s.next_beta);
    }
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const LsmrState& s) const {
    return {static_cast<T>(s.next_beta == 0.0 ? 0.0 : 1.0 / s.next_beta), static_cast<T>(s.next_beta / s.alpha),
            static_cast<T>(s.damping)};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const {
    return {image[i], damped == nullptr ? T{0} : damped[i], v[i], scaling_at(diagonal, i)};
  }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, double& squares) const {
    const T image_of_both = old.image + rounded_product(scalar.damping, old.damped);
    const T next =
        rounded_product(scalar.of_image, rounded_product(old.d, image_of_both)) - rounded_product(scalar.of_v, old.v);
    v[i] = next;
    if (diagonal != nullptr) scaled[i] = rounded_product(old.d, next);
    squares += static_cast<double>(next) * static_cast<double>(next);
  }
  TESSERA_HOST_DEVICE void scalars_after(LsmrState& s, double squares) const {
    s.alpha = std::sqrt(squares);
    s.beta = s.next_beta;
  }
};

/// h̄ = D h - θ̄ ρ / (ρ ρ̄)₋ h̄, x = x + ζ / (ρ ρ̄) h̄, h = v' - θ / ρ h, with ‖x_unit x‖² and <h, h>.
/// x is kept first where that is due.
template <class T>
struct LsmrUpdateSolution {
  using State = LsmrState;
  using Sums = TwoSums;
  struct Scalars {
    T of_h_bar, of_x, of_h, of_v, x_unit;
    bool keep;
  };
  struct Loaded {
    T v, h, h_bar, x, d;
  };

  const T* diagonal;  ///< null: D = I
  const T* v;         ///< α' v'
  T* h;
  T* h_bar;
  T* x;
  T* kept;

  TESSERA_HOST_DEVICE void scalars_before(LsmrState& s) const {
    // The directions were used up before.
    if (s.alpha_bar == 0.0 && s.beta == 0.0) return s.give_up();
    s.rotate();
    if (!s.factors_fit()) s.break_down(Breakdown::not_finite, s.x_factor);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const LsmrState& s) const {
    return {static_cast<T>(s.h_bar_factor), static_cast<T>(s.x_factor), static_cast<T>(s.h_factor),
            static_cast<T>(s.v_factor),     static_cast<T>(s.x_unit),   s.keep};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const {
    return {v[i], h[i], h_bar[i], x[i], scaling_at(diagonal, i)};
  }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, TwoSums& sums) const {
    const T direction = rounded_product(old.d, old.h) - rounded_product(scalar.of_h_bar, old.h_bar);
    const T solution = old.x + rounded_product(scalar.of_x, direction);
    const T next = rounded_product(scalar.of_v, old.v) - rounded_product(scalar.of_h, old.h);
    h_bar[i] = direction;
    if (scalar.keep) kept[i] = old.x;
    x[i] = solution;
    h[i] = next;
    const auto of_x = static_cast<double>(scalar.x_unit * solution);
    sums.first += of_x * of_x;
    sums.second += static_cast<double>(next) * static_cast<double>(next);
  }
  TESSERA_HOST_DEVICE void scalars_after(LsmrState& s, const TwoSums& sums) const {
    s.keep = false;
    s.x_norm = std::sqrt(sums.first);
    s.h_norm = std::sqrt(sums.second);
    s.after_step(std::abs(s.zeta_bar), s.residual());
  }
};

template <class T>
using LsmrOps = fused::OpList<LsmrUpdateLeft<T>, LsmrUpdateDampedLeft<T>, LsmrUpdateRight<T>, LsmrUpdateSolution<T>>;

}  // namespace tessera::detail
