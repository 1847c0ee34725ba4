/// Preconditioned conjugate gradients.
///
/// M. R. Hestenes, E. Stiefel, Methods of Conjugate Gradients for Solving Linear Systems, J. Res. NBS 49(6), 1952;
/// preconditioned as in Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., algorithm 9.1.
///
/// Memory movement per iteration, n elements each, besides the matrix (in brackets: general M instead of a folded one):
///   q = A p with <p,q>          2n    reads p, writes q
///   x, r with <r,r>, <r,Mr>     6n    reads x, p, r, q; writes x, r; + 1n for a diagonal
///   [z = M r with <r,z>         2n    + M]
///   p                           3n    reads r [z], p; writes p; + 1n for a diagonal
#include "solvers/krylov.hpp"
#include "tessera/solvers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera {

namespace {

/// A multiple of the machine epsilon times ‖A‖ ‖p‖² within which the sign of pᵀAp is a matter of rounding.
constexpr double sign_noise = 100.0;

template <class T>
class ConjugateGradients {
 public:
  explicit ConjugateGradients(KrylovSolve<T>& solve)
      : solve_(solve),
        n_(vectors::length(solve.r())),
        p_(n_, Init::none, solve.device()),
        z_(solve.folding().folds ? 0 : p_.size(), Init::none, solve.device()) {}

  /// Iterates from r = b - A x until a restart or the end.
  [[nodiscard]] Next cycle();

 private:
  [[nodiscard]] Next test_curvature(const ProductDots& dots);
  [[nodiscard]] double precondition();
  [[nodiscard]] passes::TwoSums update_solution_and_residual(double alpha);
  void update_direction(double beta);

  KrylovSolve<T>& solve_;
  std::int64_t n_;
  Array<T> p_;
  Array<T> z_;           // M r; empty where M folds into the passes
  double p_norm_ = 0.0;  // ‖p‖₂
  double a_norm_ = 0.0;  // largest ‖A p‖ / ‖p‖ seen, a lower bound of ‖A‖₂
};

template <class T>
Next ConjugateGradients<T>::cycle() {
  // z = M r,  ρ = <r, z>,  p = z
  double rho = precondition();
  update_direction(0.0);
  for (;;) {
    if (!std::isfinite(rho) || !std::isfinite(p_norm_)) return solve_.breakdown(Breakdown::not_finite, rho);
    // M is not positive definite; starting again will not make it so.
    const double r_norm = solve_.r_norm();
    if (rho <= 0.0) return solve_.breakdown(Breakdown::preconditioner, rho / r_norm / r_norm, Recovery::none);
    // q = A p,  α = ρ / <p, q>
    const ProductDots dots = solve_.multiply(p_.span(), solve_.product(), p_.span());
    if (const Next next = test_curvature(dots); next != Next::proceed) return next;
    const double alpha = rho / dots.wy;
    if (!solve_.step_is_safe(alpha, p_norm_)) return solve_.breakdown(Breakdown::not_finite, alpha);
    // x = x + α p,  r = r - α q
    const passes::TwoSums residual = update_solution_and_residual(alpha);
    const Next next = solve_.after_iteration(std::sqrt(residual.first));
    if (next == Next::restart || next == Next::stop) return next;
    // z = M r,  ρ' = <r, z>
    const bool known = solve_.folding().folds && next == Next::proceed;
    if (known) solve_.count_folded();
    const double previous = std::exchange(rho, known ? residual.second : precondition());
    // p = z + β p,  β = ρ' / ρ
    const double beta = rho / previous;
    if (!vectors::fits<T>(beta)) return solve_.breakdown(Breakdown::not_finite, beta);
    update_direction(beta);
  }
}

/// <p, A p> must be positive. Where it is not, rounding may be to blame (p nearly in the null space of a semidefinite
/// A): then starting again can help.
template <class T>
Next ConjugateGradients<T>::test_curvature(const ProductDots& dots) {
  const double q_norm = std::sqrt(dots.yy);
  if (!std::isfinite(dots.wy) || !std::isfinite(q_norm)) return solve_.breakdown(Breakdown::not_finite, dots.wy);
  constexpr auto epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  a_norm_ = std::max(a_norm_, q_norm / p_norm_);
  if (dots.wy > epsilon * p_norm_ * q_norm) return Next::proceed;
  const double cosine = q_norm > 0.0 ? dots.wy / p_norm_ / q_norm : 0.0;
  const bool indefinite = dots.wy < -sign_noise * epsilon * a_norm_ * p_norm_ * p_norm_;
  return solve_.breakdown(Breakdown::indefinite, cosine, indefinite ? Recovery::none : Recovery::restart);
}

/// <r, M r>, with z = M r formed where M needs a pass of its own.
template <class T>
double ConjugateGradients<T>::precondition() {
  const std::span<const T> r = solve_.r();
  if (!solve_.folding().folds) return solve_.precondition(r, z_.span(), r).wy;
  solve_.count_folded();
  return std::visit(
      [&]<class M>(const M& m) {
        return run_pass(solve_.device(), n_, passes::PreconditionedDot<T, M>{m, r.data()});
      },
      solve_.folding().entry);
}

/// \returns <r, r> and <r, M r>, of which the second means something where M folds
template <class T>
passes::TwoSums ConjugateGradients<T>::update_solution_and_residual(double alpha) {
  const std::span<const T> q = std::as_const(solve_.product()).current();
  return std::visit(
      [&]<class M>(const M& m) {
        return run_pass(solve_.device(), n_,
                        passes::ConjugateStep<T, M>{m, static_cast<T>(alpha), p_.data(), q.data(), solve_.x().data(),
                                                    solve_.r().data()});
      },
      solve_.folding().entry);
}

/// p = z + β p; with β = 0 the old p is not read.
template <class T>
void ConjugateGradients<T>::update_direction(double beta) {
  const std::span<const T> z = solve_.folding().folds ? std::span<const T>(solve_.r()) : std::as_const(z_).span();
  const double sum = std::visit(
      [&]<class M>(const M& m) {
        return run_pass(solve_.device(), n_,
                        passes::ConjugateDirection<T, M>{m, static_cast<T>(beta), z.data(), p_.data()});
      },
      solve_.folding().entry);
  p_norm_ = std::sqrt(sum);
}

}  // namespace

template <class T>
SolveReport cg(const LinearOperator<T>& A, const LinearOperator<T>& M, std::span<const T> b, std::span<T> x,
               const SolverOptions& options) {
  KrylovSolve<T> solve(A, M, b, x, options);
  ConjugateGradients<T> method(solve);
  Next next = solve.begin();
  while (next != Next::stop) next = method.cycle();
  return solve.take_report();
}

template <class T>
SolveReport cg(const LinearOperator<T>& A, std::span<const T> b, std::span<T> x, const SolverOptions& options) {
  return cg<T>(A, IdentityOperator<T>(A.rows(), A.device()), b, x, options);
}

template SolveReport cg<float>(const LinearOperator<float>&, const LinearOperator<float>&, std::span<const float>,
                               std::span<float>, const SolverOptions&);
template SolveReport cg<double>(const LinearOperator<double>&, const LinearOperator<double>&, std::span<const double>,
                                std::span<double>, const SolverOptions&);
template SolveReport cg<float>(const LinearOperator<float>&, std::span<const float>, std::span<float>,
                               const SolverOptions&);
template SolveReport cg<double>(const LinearOperator<double>&, std::span<const double>, std::span<double>,
                                const SolverOptions&);

}  // namespace tessera
