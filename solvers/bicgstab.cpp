/// Stabilised bi-conjugate gradients, preconditioned from the right.
///
/// H. A. van der Vorst, Bi-CGSTAB: A Fast and Smoothly Converging Variant of Bi-CG for the Solution of Nonsymmetric
/// Linear Systems, SIAM J. Sci. Stat. Comput. 13(2), 1992; the preconditioner enters as p̂ = M p, ŝ = M s, so that r
/// stays the residual of A x = b. A larger ω after a breakdown in it: G. L. G. Sleijpen, H. A. van der Vorst,
/// Maintaining convergence properties of BiCGstab methods in finite precision arithmetic, Numer. Algorithms 10, 1995.
///
/// Memory movement per iteration, n elements each, besides the matrix (without preconditioner; a diagonal adds 4n):
///   p, p̂                        4n    reads r, p, v; writes p
///   v = A p̂ with <r̂,v>, <v,v>   3n    reads p̂, r̂; writes v
///   s = r - α v with <s,s>      3n    reads r, v; writes s in the place of r
///   t = A ŝ with <s,t>, <t,t>   2n    reads s; writes t
///   x, r with <r,r>, <r̂,r>      7n    reads x, p̂, s, t, r̂; writes x, r
#include "solvers/krylov.hpp"
#include "tessera/solvers.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace tessera {

namespace {

/// Least |cosine| of t and s that ω is made to respect after a breakdown in ω (Sleijpen & van der Vorst).
constexpr double omega_cosine = 0.7;

constexpr bool vanishes(double cosine, double epsilon) { return !(std::abs(cosine) > epsilon); }

template <class T>
class StabilisedBiConjugateGradients {
 public:
  StabilisedBiConjugateGradients(KrylovSolve<T>& solve, const SolverOptions& options)
      : solve_(solve),
        options_(options),
        n_(vectors::length(solve.r())),
        random_shadow_(options.shadow == Shadow::random),
        v_(solve.make_product()),
        shadow_(n_, Init::none, solve.device()),
        p_(shadow_.size(), Init::none, solve.device()),
        p_hat_(solve.folding().identity ? 0 : shadow_.size(), Init::none, solve.device()),
        s_hat_(p_hat_.size(), Init::none, solve.device()) {}

  /// Iterates from r = b - A x, with a fresh shadow vector, until a restart or the end.
  [[nodiscard]] Next cycle();

 private:
  [[nodiscard]] Next first_half();
  [[nodiscard]] Next second_half();
  [[nodiscard]] Next accept_half_step();
  [[nodiscard]] Next break_down(Breakdown kind, double value);
  [[nodiscard]] Next break_down_in_omega(double cosine);

  void choose_shadow();
  void update_direction(double beta);
  void update_half_residual();
  [[nodiscard]] double update_solution_and_residual();

  [[nodiscard]] std::span<T> p_hat() noexcept { return solve_.folding().identity ? p_.span() : p_hat_.span(); }
  [[nodiscard]] std::span<T> s_hat() noexcept { return solve_.folding().identity ? solve_.r() : s_hat_.span(); }

  KrylovSolve<T>& solve_;
  const SolverOptions& options_;
  std::int64_t n_;
  bool random_shadow_;
  std::uint64_t shadows_drawn_ = 0;
  bool first_step_ = true;      // of a cycle
  bool enlarge_omega_ = false;  // since a breakdown in ω

  DualBuffer<T> v_;
  Array<T> shadow_;  // r̂
  Array<T> p_;
  Array<T> p_hat_;  // p̂ = M p and ŝ = M s; empty where M is the identity
  Array<T> s_hat_;

  double r_norm_ = 0.0;  // ‖r‖₂ after an iteration
  double rho_ = 0.0;
  double alpha_ = 0.0;
  double omega_ = 0.0;
  double shadow_norm_ = 0.0;
  double p_hat_norm_ = 0.0;
  double s_norm_ = 0.0;
  double s_hat_norm_ = 0.0;
};

template <class T>
Next StabilisedBiConjugateGradients<T>::cycle() {
  constexpr auto epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  const std::span<const T> shadow = shadow_.span();
  const std::span<const T> r = solve_.r();
  choose_shadow();
  first_step_ = true;
  // ρ = <r̂, r>,  p = r
  rho_ = vectors::dot(solve_.device(), shadow, r);
  double beta = 0.0;
  for (;;) {
    const double cosine = rho_ / shadow_norm_ / solve_.r_norm();
    if (vanishes(cosine, epsilon)) return break_down(Breakdown::rho, cosine);
    // p = r + β (p - ω v),  p̂ = M p
    update_direction(beta);
    // v = A p̂,  α = ρ / <r̂, v>,  s = r - α v
    if (const Next next = first_half(); next != Next::proceed) return next;
    // ŝ = M s,  t = A ŝ,  ω = <t, s> / <t, t>
    if (const Next next = second_half(); next != Next::proceed) return next;
    // x = x + α p̂ + ω ŝ,  r = s - ω t,  ρ' = <r̂, r>
    const double previous = std::exchange(rho_, update_solution_and_residual());
    const Next next = solve_.after_iteration(r_norm_);
    if (next == Next::restart || next == Next::stop) return next;
    if (next == Next::replaced) rho_ = vectors::dot(solve_.device(), shadow, r);
    // β = (ρ' / ρ) (α / ω)
    beta = (rho_ / previous) * (alpha_ / omega_);
    if (!vectors::fits<T>(beta)) return break_down(Breakdown::not_finite, beta);
    first_step_ = false;
  }
}

template <class T>
Next StabilisedBiConjugateGradients<T>::first_half() {
  constexpr auto epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  if (!std::isfinite(p_hat_norm_)) return break_down(Breakdown::not_finite, p_hat_norm_);
  const ProductDots dots = solve_.multiply(p_hat(), v_, shadow_.span());
  const double v_norm = std::sqrt(dots.yy);
  if (!std::isfinite(dots.wy) || !std::isfinite(v_norm)) return break_down(Breakdown::not_finite, dots.wy);
  const double cosine = v_norm > 0.0 ? dots.wy / shadow_norm_ / v_norm : 0.0;
  if (vanishes(cosine, epsilon)) return break_down(Breakdown::alpha, cosine);
  alpha_ = rho_ / dots.wy;
  if (!solve_.step_is_safe(alpha_, p_hat_norm_)) return break_down(Breakdown::not_finite, alpha_);
  update_half_residual();
  if (!std::isfinite(s_norm_)) return break_down(Breakdown::not_finite, s_norm_);
  // A vanishing s is no breakdown but the solution, which x + α p̂ holds; t = A ŝ would say nothing.
  return solve_.wants_check(s_norm_) ? accept_half_step() : Next::proceed;
}

template <class T>
Next StabilisedBiConjugateGradients<T>::second_half() {
  constexpr auto epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  const std::span<const T> s = solve_.r();
  if (!solve_.folding().folds) s_hat_norm_ = std::sqrt(solve_.precondition(s, s_hat(), s).yy);
  if (!std::isfinite(s_hat_norm_)) return break_down(Breakdown::not_finite, s_hat_norm_);
  const ProductDots dots = solve_.multiply(s_hat(), solve_.product(), s);
  const double t_norm = std::sqrt(dots.yy);
  if (!std::isfinite(dots.wy) || !std::isfinite(t_norm)) return break_down(Breakdown::not_finite, dots.wy);
  const double cosine = t_norm > 0.0 ? dots.wy / s_norm_ / t_norm : 0.0;
  const bool enlarged = enlarge_omega_ && t_norm > 0.0 && std::abs(cosine) < omega_cosine;
  if (!enlarged && vanishes(cosine, epsilon)) return break_down_in_omega(cosine);
  omega_ = enlarged ? std::copysign(omega_cosine, cosine) * s_norm_ / t_norm : dots.wy / dots.yy;
  if (!solve_.step_is_safe(omega_, s_hat_norm_)) return break_down(Breakdown::not_finite, omega_);
  return Next::proceed;
}

/// x = x + α p̂, whose residual is s.
template <class T>
Next StabilisedBiConjugateGradients<T>::accept_half_step() {
  vectors::add_multiple<T>(solve_.device(), static_cast<T>(alpha_), p_hat(), solve_.x());
  return solve_.after_iteration(s_norm_);
}

/// Starting again with r̂ = r only helps when r is another one than before; else a random shadow must.
template <class T>
Next StabilisedBiConjugateGradients<T>::break_down(Breakdown kind, double value) {
  random_shadow_ = first_step_ || options_.shadow == Shadow::random;
  return solve_.breakdown(kind, value);
}

template <class T>
Next StabilisedBiConjugateGradients<T>::break_down_in_omega(double cosine) {
  enlarge_omega_ = true;
  if (s_norm_ < solve_.r_norm()) {
    vectors::add_multiple<T>(solve_.device(), static_cast<T>(alpha_), p_hat(), solve_.x());
  }
  return break_down(Breakdown::omega, cosine);
}

template <class T>
void StabilisedBiConjugateGradients<T>::choose_shadow() {
  const std::uint64_t stream = shadows_drawn_++ << 32;
  const double sum =
      run_pass(solve_.device(), n_,
               passes::ShadowVector<T>{random_shadow_, options_.seed, stream, solve_.r().data(), shadow_.data()});
  shadow_norm_ = std::sqrt(sum);
}

/// Also p̂ and its norm; with β = 0 the old p and v are not read.
template <class T>
void StabilisedBiConjugateGradients<T>::update_direction(double beta) {
  const std::span<const T> v = std::as_const(v_).current();
  const std::span<T> hat = solve_.folding().folds ? p_hat() : p_.span();
  const double sum = std::visit(
      [&]<class M>(const M& m) {
        return run_pass(solve_.device(), n_,
                        passes::StabilisedDirection<T, M>{m, static_cast<T>(beta), static_cast<T>(omega_),
                                                          solve_.r().data(), v.data(), p_.data(), hat.data()});
      },
      solve_.folding().entry);
  p_hat_norm_ = std::sqrt(solve_.folding().folds ? sum : solve_.precondition(p_.span(), p_hat(), p_.span()).yy);
  if (solve_.folding().folds) solve_.count_folded();
}

/// s = r - α v in the place of r; ŝ too where M folds.
template <class T>
void StabilisedBiConjugateGradients<T>::update_half_residual() {
  const std::span<const T> v = std::as_const(v_).current();
  const std::span<T> s = solve_.r();
  const std::span<T> hat = solve_.folding().folds ? s_hat() : s;
  const passes::TwoSums sums = std::visit(
      [&]<class M>(const M& m) {
        return run_pass(solve_.device(), n_,
                        passes::HalfResidual<T, M>{m, static_cast<T>(alpha_), v.data(), s.data(), hat.data()});
      },
      solve_.folding().entry);
  s_norm_ = std::sqrt(sums.first);
  s_hat_norm_ = std::sqrt(sums.second);
  if (solve_.folding().folds) solve_.count_folded();
}

/// \returns <r̂, r>; ‖r‖₂ goes to r_norm_
template <class T>
double StabilisedBiConjugateGradients<T>::update_solution_and_residual() {
  const std::span<const T> t = std::as_const(solve_.product()).current();
  const passes::TwoSums sums =
      run_pass(solve_.device(), n_,
               passes::StabilisedStep<T>{static_cast<T>(alpha_), static_cast<T>(omega_), p_hat().data(), s_hat().data(),
                                         shadow_.data(), t.data(), solve_.x().data(), solve_.r().data()});
  r_norm_ = std::sqrt(sums.first);
  return sums.second;
}

}  // namespace

template <class T>
SolveReport bicgstab(const LinearOperator<T>& A, const LinearOperator<T>& M, std::span<const T> b, std::span<T> x,
                     const SolverOptions& options) {
  KrylovSolve<T> solve(A, M, b, x, options);
  StabilisedBiConjugateGradients<T> method(solve, options);
  Next next = solve.begin();
  while (next != Next::stop) next = method.cycle();
  return solve.take_report();
}

template <class T>
SolveReport bicgstab(const LinearOperator<T>& A, std::span<const T> b, std::span<T> x, const SolverOptions& options) {
  return bicgstab<T>(A, IdentityOperator<T>(A.rows(), A.device()), b, x, options);
}

template SolveReport bicgstab<float>(const LinearOperator<float>&, const LinearOperator<float>&, std::span<const float>,
                                     std::span<float>, const SolverOptions&);
template SolveReport bicgstab<double>(const LinearOperator<double>&, const LinearOperator<double>&,
                                      std::span<const double>, std::span<double>, const SolverOptions&);
template SolveReport bicgstab<float>(const LinearOperator<float>&, std::span<const float>, std::span<float>,
                                     const SolverOptions&);
template SolveReport bicgstab<double>(const LinearOperator<double>&, std::span<const double>, std::span<double>,
                                      const SolverOptions&);

}  // namespace tessera
