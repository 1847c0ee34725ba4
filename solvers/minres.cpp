/// MINRES for symmetric, possibly indefinite or singular A, with a symmetric positive definite M.
///
/// C. C. Paige, M. A. Saunders, Solution of Sparse Indefinite Systems of Linear Equations, SIAM J. Numer. Anal. 12(4),
/// 1975; preconditioned as in H. Elman, D. Silvester, A. Wathen, Finite Elements and Fast Iterative Solvers, 2nd ed.,
/// algorithm 4.1. It minimizes ‖r‖ in the norm of M, ‖r‖² = rᵀ M r; ‖r‖₂ follows from r_j = s_j² r_(j-1) - τ_j v_(j+1)
/// (S.-C. T. Choi, C. C. Paige, M. A. Saunders, MINRES-QLP, SIAM J. Sci. Comput. 33(4), 2011), without a further
/// product.
///
/// Lanczos vectors of a symmetric A satisfy <A z_j, z_(j-1)> = γ_(j-1) γ_j². Where M is fused this inner product costs
/// no memory traffic, so an A that is not symmetric is found out at the second step.
///
/// One operation per iteration: x and r follow one step later, where d and v are read anyway. Memory movement per
/// iteration, n elements each, besides the matrix (in brackets: for an M that is not fused):
///   q = A z with <z, q>         2n    reads z, writes q
///   v, d, x                     10n   reads q, v, v', d, d', x; writes v, v', d, x; + 4n for a diagonal or another M:
///                                     reads z, r; writes r, z or [3n]; + 1n for the diagonal, + 1n when x is kept
///   [z = M v with <v, z>        2n    + M]
#include "solvers/minres.hpp"

#include "solvers/krylov.hpp"
#include "tessera/solvers.hpp"

#include <cmath>
#include <type_traits>
#include <utility>

namespace tessera {

namespace {

template <class T>
class Minres final : public detail::KrylovMethod<T> {
 public:
  using Loop = fused::Loop<detail::MinresState>;

  explicit Minres(const detail::KrylovProblem<T>& problem)
      : loop_(problem.device(), problem.is_enqueueable(), problem.iterations_per_check()),
        solve_(problem, loop_.state()),
        n_(problem.a.rows()),
        q_(problem.a.make_output()),
        v_before_(n_, Init::none, solve_.device()),
        first_(n_, Init::none, solve_.device()),
        second_(n_, Init::none, solve_.device()),
        v_(solve_.m().is_identity ? 0 : n_, Init::none, solve_.device()),
        z_(v_.size(), Init::none, solve_.device()) {}

  [[nodiscard]] SolveReport solve() override {
    loop_.reset();
    return solve_.run(*this, loop_);
  }

  // For KrylovSolve.

  void iterate(Loop& loop) {
    const bool is_fused = solve_.m().is_fused;
    const std::span<T> v = this->v();
    const std::span<T> z = this->z();
    // q = A z
    loop.template product<T>(solve_.problem().a, z, q_, z);
    std::visit(
        [&]<class M>(const M& m) {
          loop.apply(n_, detail::MinresStep<T, M>{.is_fused = is_fused,
                                                  .counts = solve_.m().counts(),
                                                  .m = m,
                                                  .q = q_.current().data(),
                                                  .z = z.data(),
                                                  .v = v.data(),
                                                  .v_before = v_before_.data(),
                                                  .first = first_.data(),
                                                  .second = second_.data(),
                                                  .x = solve_.x().data(),
                                                  .r = solve_.m().is_identity ? nullptr : solve_.r().data(),
                                                  .kept = solve_.kept().data()});
        },
        solve_.m().entry);
    if (is_fused) return;
    // z = M v
    loop.template product<T>(solve_.problem().m, v, z, v);
    loop.apply_scalars(detail::MinresFinish{});
  }

  /// x = x + scale * step * d
  void complete_iteration() {
    detail::MinresState& state = loop_.state();
    const double step = state.scale * std::exchange(state.step, 0.0);
    if (step == 0.0) return;
    const Array<T>& d = state.latest == 1 ? second_ : first_;
    fused::axpy<T>(solve_.device(), static_cast<T>(step), d.span(), solve_.x());
  }

  /// v = r,  z = M v,  γ = sqrt(<v, z>)
  void start() {
    detail::MinresState& state = loop_.state();
    restart(state);
    const auto [v_z, z_z] = std::visit(
        [&]<class M>(const M& m) {
          return fused::transform_reduce(solve_.device(), n_,
                                         detail::MinresStart<T, M>{.is_fused = solve_.m().is_fused,
                                                                   .m = m,
                                                                   .r = solve_.r().data(),
                                                                   .v = v().data(),
                                                                   .z = z().data(),
                                                                   .v_before = v_before_.data(),
                                                                   .first = first_.data(),
                                                                   .second = second_.data()});
        },
        solve_.m().entry);
    ProductDots dots{v_z, z_z};
    if (solve_.m().is_fused) {
      solve_.count_fused_preconditioner();
    } else {
      dots = solve_.precondition(v(), z(), v());
    }
    if (!state.accepts(dots.wy, state.norm * state.norm)) return;
    state.gamma = state.eta = std::sqrt(dots.wy);
    state.z_norm = std::sqrt(dots.yy);
  }

  /// The Lanczos vectors belong to the residual that they began with.
  void resume() { start(); }

 private:
  /// What the stopping rules remember stays.
  static void restart(detail::MinresState& state) {
    const detail::MinresState fresh;
    state.gamma_before = fresh.gamma_before;
    state.cosine = state.cosine_before = fresh.cosine;
    state.sine = state.sine_before = fresh.sine;
    state.pivot = state.pivot_before = fresh.pivot;
    state.z_norm_before = state.a_norm = state.t_norm = state.step = state.reach = 0.0;
    state.r_factor = fresh.r_factor;
    state.steps = state.latest = 0;
  }

  /// r's memory where M is the identity: ‖r‖ follows from the scalars then.
  [[nodiscard]] std::span<T> v() { return solve_.m().is_identity ? solve_.r() : v_.span(); }
  [[nodiscard]] std::span<T> z() { return solve_.m().is_identity ? solve_.r() : z_.span(); }

  Loop loop_;
  detail::KrylovSolve<T> solve_;
  std::int64_t n_;
  DualBuffer<T> q_;
  Array<T> v_before_;
  Array<T> first_;  ///< d, by turns with the second
  Array<T> second_;
  Array<T> v_;  ///< empty where M is the identity, as z
  Array<T> z_;
};

}  // namespace

namespace detail {

template <class T>
std::unique_ptr<KrylovMethod<T>> make_minres(const KrylovProblem<T>& problem) {
  require_right_side(problem.options, "minres");
  return std::make_unique<Minres<T>>(problem);
}

template std::unique_ptr<KrylovMethod<float>> make_minres(const KrylovProblem<float>&);
template std::unique_ptr<KrylovMethod<double>> make_minres(const KrylovProblem<double>&);

}  // namespace detail

template <class T>
SolveReport minres(const LinearOperator<T>& A, const LinearOperator<T>& M, std::span<const std::type_identity_t<T>> b,
                   std::span<std::type_identity_t<T>> x, const SolverOptions& options) {
  const detail::KrylovProblem<T> problem({A, M, b, x, options});
  return detail::make_minres(problem)->solve();
}

template <class T>
SolveReport minres(const LinearOperator<T>& A, std::span<const std::type_identity_t<T>> b,
                   std::span<std::type_identity_t<T>> x, const SolverOptions& options) {
  return minres<T>(A, IdentityOperator<T>(A.rows(), A.device()), b, x, options);
}

template SolveReport minres(const LinearOperator<float>&, const LinearOperator<float>&, std::span<const float>,
                            std::span<float>, const SolverOptions&);
template SolveReport minres(const LinearOperator<double>&, const LinearOperator<double>&, std::span<const double>,
                            std::span<double>, const SolverOptions&);
template SolveReport minres(const LinearOperator<float>&, std::span<const float>, std::span<float>,
                            const SolverOptions&);
template SolveReport minres(const LinearOperator<double>&, std::span<const double>, std::span<double>,
                            const SolverOptions&);

}  // namespace tessera
