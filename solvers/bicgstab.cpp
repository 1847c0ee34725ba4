/// BiCGSTAB, preconditioned from the right.
///
/// H. A. van der Vorst, Bi-CGSTAB: A Fast and Smoothly Converging Variant of Bi-CG for the Solution of Nonsymmetric
/// Linear Systems, SIAM J. Sci. Stat. Comput. 13(2), 1992; with p̂ = M p and ŝ = M s, so that r stays the residual of
/// A x = b (Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., algorithm 7.7). A larger ω after a breakdown
/// in it: G. L. G. Sleijpen, H. A. van der Vorst, Maintaining convergence properties of BiCGstab methods in finite
/// precision arithmetic, Numer. Algorithms 10, 1995.
///
/// Memory movement per iteration, n elements each, besides the matrix (without preconditioner; a diagonal adds 4n):
///   p, p̂                        4n    reads r, p, v; writes p
///   v = A p̂ with <r̂,v>, <v,v>   3n    reads p̂, r̂; writes v
///   s = r - α v with <s,s>      3n    reads r, v; writes s in the place of r
///   t = A ŝ with <s,t>, <t,t>   2n    reads s; writes t
///   x, r with <r,r>, <r̂,r>      7n    reads x, p̂, s, t, r̂; writes x, r; + 1n when x is kept
#include "solvers/bicgstab.hpp"

#include "solvers/krylov.hpp"
#include "tessera/solvers.hpp"

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tessera {

namespace {

template <class T>
class BiCgStab final : public detail::KrylovMethod<T> {
 public:
  using Loop = fused::Loop<detail::BicgstabState>;

  explicit BiCgStab(const detail::KrylovProblem<T>& problem)
      : loop_(problem.device(), problem.is_enqueueable(), problem.iterations_per_check()),
        solve_(problem, loop_.state()),
        n_(problem.a.rows()),
        random_shadow_(problem.options.shadow == Shadow::random),
        v_(problem.a.make_output()),
        t_(problem.a.make_output()),
        shadow_(n_, Init::none, solve_.device()),
        p_(n_, Init::zero, solve_.device()),
        p_hat_(solve_.m().is_identity ? 0 : n_, Init::none, solve_.device()),
        s_hat_(p_hat_.size(), Init::none, solve_.device()) {}

  [[nodiscard]] SolveReport solve() override {
    loop_.reset();
    random_shadow_ = solve_.problem().options.shadow == Shadow::random;
    shadows_drawn_ = 0;
    return solve_.run(*this, loop_);
  }

  // For KrylovSolve.

  void iterate(Loop& loop) {
    std::visit([&]<class M>(const M& m) { iterate(loop, m); }, solve_.m().entry);
  }

  /// Completes an iteration that halted in the middle.
  void complete_iteration() {
    detail::BicgstabState& state = loop_.state();
    solve_.keep_if_due();
    half_step_ = state.halt == fused::Halt::half_step;
    if (half_step_) {
      accept_half_step();
      return solve_.finish_iteration(state.s_norm);
    }
    if (state.halt != fused::Halt::breakdown) return;
    if (state.breakdown == Breakdown::omega) {
      state.enlarge_omega = true;
      if (state.s_norm < state.norm) accept_half_step();
    }
    // Restarting with r̂ = r helps only if r has changed since the last start; else r̂ must be random.
    random_shadow_ = state.first_iteration || solve_.problem().options.shadow == Shadow::random;
  }

  /// r̂,  ρ = <r̂, r>,  p = r by β = 0
  void start() {
    const std::uint64_t stream = shadows_drawn_++ << 32;
    const double squares = fused::transform_reduce(solve_.device(), n_,
                                                   detail::BicgstabShadow<T>{.random = random_shadow_,
                                                                             .seed = solve_.problem().options.seed,
                                                                             .stream = stream,
                                                                             .r = solve_.r().data(),
                                                                             .shadow = shadow_.data()});
    detail::BicgstabState& state = loop_.state();
    state.shadow_norm = std::sqrt(squares);
    state.first_iteration = true;
    state.beta = 0.0;
    state.rho = shadow_product();
  }

  /// After r was computed anew: ρ' = <r̂, r>,  β = (ρ' / ρ) (α / ω), with ω of a whole iteration.
  void resume() {
    if (half_step_) return start();
    loop_.state().next_rho = shadow_product();
    loop_.state().update_beta();
  }

 private:
  template <class M>
  void iterate(Loop& loop, const M& m) {
    const detail::KrylovProblem<T>& problem = solve_.problem();
    const bool is_fused = solve_.m().is_fused;
    const bool counts = solve_.m().counts();
    const std::span<T> r = solve_.r();
    const std::span<T> s = r;
    // p = r + β (p - ω v),  p̂ = M p
    loop.apply(n_, detail::BicgstabUpdateDirection<T, M>{.is_fused = is_fused,
                                                         .counts = counts,
                                                         .m = m,
                                                         .r = r.data(),
                                                         .v = v_.current().data(),
                                                         .p = p_.data(),
                                                         .p_hat = is_fused ? p_hat().data() : p_.data()});
    if (!is_fused) {
      loop.template product<T>(problem.m, p_.span(), p_hat(), p_.span());
      loop.apply_scalars(detail::BicgstabPreconditionedNorm{{}, false});
    }
    // v = A p̂
    loop.template product<T>(problem.a, p_hat(), v_, shadow_.span());
    // α = ρ / <r̂, v>,  s = r - α v,  ŝ = M s
    loop.apply(n_, detail::BicgstabUpdateS<T, M>{.is_fused = is_fused,
                                                 .counts = counts,
                                                 .m = m,
                                                 .v = v_.current().data(),
                                                 .s = s.data(),
                                                 .s_hat = is_fused ? s_hat().data() : s.data()});
    if (!is_fused) {
      loop.template product<T>(problem.m, s, s_hat(), s);
      loop.apply_scalars(detail::BicgstabPreconditionedNorm{{}, true});
    }
    // t = A ŝ
    loop.template product<T>(problem.a, s_hat(), t_, s);
    // ω = <t, s> / <t, t>,  x = x + α p̂ + ω ŝ,  r = s - ω t,  ρ' = <r̂, r>,  β = (ρ' / ρ) (α / ω)
    loop.apply(n_, detail::BicgstabUpdateSolutionAndResidual<T>{.p_hat = p_hat().data(),
                                                                .s_hat = s_hat().data(),
                                                                .shadow = shadow_.data(),
                                                                .t = t_.current().data(),
                                                                .x = solve_.x().data(),
                                                                .r = r.data(),
                                                                .kept = solve_.kept().data()});
  }

  /// x = x + α p̂, whose residual is s.
  void accept_half_step() { fused::axpy<T>(solve_.device(), static_cast<T>(loop_.state().alpha), p_hat(), solve_.x()); }

  [[nodiscard]] double shadow_product() { return fused::dot<T>(solve_.device(), shadow_.span(), solve_.r()); }

  [[nodiscard]] std::span<T> p_hat() noexcept { return solve_.m().is_identity ? p_.span() : p_hat_.span(); }
  [[nodiscard]] std::span<T> s_hat() noexcept { return solve_.m().is_identity ? solve_.r() : s_hat_.span(); }

  Loop loop_;
  detail::KrylovSolve<T> solve_;
  std::int64_t n_;
  bool random_shadow_;
  bool half_step_ = false;  // the latest iteration ended with s
  std::uint64_t shadows_drawn_ = 0;

  DualBuffer<T> v_;
  DualBuffer<T> t_;
  Array<T> shadow_;  // r̂
  Array<T> p_;
  Array<T> p_hat_;  // empty where M is the identity, as s_hat_
  Array<T> s_hat_;
};

}  // namespace

namespace detail {

template <class T>
std::unique_ptr<KrylovMethod<T>> make_bicgstab(const KrylovProblem<T>& problem) {
  return std::make_unique<BiCgStab<T>>(problem);
}

template std::unique_ptr<KrylovMethod<float>> make_bicgstab(const KrylovProblem<float>&);
template std::unique_ptr<KrylovMethod<double>> make_bicgstab(const KrylovProblem<double>&);

}  // namespace detail

template <class T>
SolveReport bicgstab(const LinearOperator<T>& A, const LinearOperator<T>& M, std::span<const std::type_identity_t<T>> b,
                     std::span<std::type_identity_t<T>> x, const SolverOptions& options) {
  const detail::KrylovProblem<T> problem({A, M, b, x, options});
  return detail::make_bicgstab(problem)->solve();
}

template <class T>
SolveReport bicgstab(const LinearOperator<T>& A, std::span<const std::type_identity_t<T>> b,
                     std::span<std::type_identity_t<T>> x, const SolverOptions& options) {
  return bicgstab<T>(A, IdentityOperator<T>(A.rows(), A.device()), b, x, options);
}

template SolveReport bicgstab(const LinearOperator<float>&, const LinearOperator<float>&, std::span<const float>,
                              std::span<float>, const SolverOptions&);
template SolveReport bicgstab(const LinearOperator<double>&, const LinearOperator<double>&, std::span<const double>,
                              std::span<double>, const SolverOptions&);
template SolveReport bicgstab(const LinearOperator<float>&, std::span<const float>, std::span<float>,
                              const SolverOptions&);
template SolveReport bicgstab(const LinearOperator<double>&, std::span<const double>, std::span<double>,
                              const SolverOptions&);

}  // namespace tessera
