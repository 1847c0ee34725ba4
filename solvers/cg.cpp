/// Preconditioned conjugate gradients.
///
/// M. R. Hestenes, E. Stiefel, Methods of Conjugate Gradients for Solving Linear Systems, J. Res. NBS 49(6), 1952;
/// preconditioned as in Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., algorithm 9.1. x is updated one
/// operation later than r, where p is read anyway.
///
/// Memory movement per iteration, n elements each, besides the matrix (in brackets: for an M that is not fused):
///   q = A p with <p, q>         2n    reads p, writes q
///   r with <r, r>, <r, M r>     3n    reads r, q; writes r; + 1n for a diagonal
///   [z = M r with <r, z>        2n    + M]
///   x, p with <p, p>            5n    reads x, r [z], p; writes x, p; + 1n for a diagonal, + 1n when x is kept
///
/// On a GPU, where the plan's kernel offers it and M is fused, two products do the same: solvers/two_kernel_cg.cpp.
#include "solvers/cg.hpp"

#include "solvers/cg_iteration.hpp"
#include "solvers/krylov.hpp"
#include "solvers/two_kernel_cg.hpp"
#include "tessera/solvers.hpp"

#include <cmath>
#include <memory>
#include <type_traits>
#include <utility>

namespace tessera {

namespace {

template <class T>
class ConjugateGradients final : public detail::KrylovMethod<T> {
 public:
  using Loop = fused::Loop<detail::CgState>;

  explicit ConjugateGradients(const detail::KrylovProblem<T>& problem)
      : loop_(problem.device(), problem.is_enqueueable(), problem.iterations_per_check()),
        solve_(problem, loop_.state()),
        n_(problem.a.rows()),
        q_(problem.a.make_output()),
        p_(n_, Init::none, solve_.device()),
        z_(solve_.m().is_fused ? 0 : n_, Init::none, solve_.device()) {}

  [[nodiscard]] SolveReport solve() override {
    loop_.reset();
    return solve_.run(*this, loop_);
  }

  // For KrylovSolve.

  void iterate(Loop& loop) {
    const detail::CgIteration<T> iteration{
        .x = solve_.x(), .r = solve_.r(), .p = p_.span(), .z = z_.span(), .kept = solve_.kept()};
    iteration.enqueue(loop, solve_.problem(), q_);
  }

  /// x = x + α p, where the loop halted before x followed r.
  void complete_iteration() {
    detail::CgState& state = loop_.state();
    if (!state.x_is_behind) return;
    state.x_is_behind = false;
    fused::axpy<T>(solve_.device(), static_cast<T>(state.alpha), p_.span(), solve_.x());
  }

  /// z = M r,  ρ = <r, z>,  p = z
  void start() {
    loop_.state().rho = precondition();
    update_direction(0.0);
  }

  /// After r was computed anew: z = M r,  ρ' = <r, z>,  β = ρ' / ρ,  p = z + β p
  void resume() {
    detail::CgState& state = loop_.state();
    const double previous = std::exchange(state.rho, precondition());
    const double beta = state.rho / previous;
    if (!state.fits(beta)) return state.break_down(Breakdown::not_finite, beta);
    update_direction(beta);
  }

 private:
  /// <r, M r>; forms z = M r where M is not fused.
  [[nodiscard]] double precondition() {
    const std::span<const T> r = solve_.r();
    if (!solve_.m().is_fused) return solve_.precondition(r, z_.span(), r).wy;
    solve_.count_fused_preconditioner();
    return std::visit(
        [&]<class M>(const M& m) {
          return fused::transform_reduce(solve_.device(), n_, detail::CgPreconditionedDot<T, M>{.m = m, .r = r.data()});
        },
        solve_.m().entry);
  }

  /// p = z + β p
  void update_direction(double beta) {
    const double pp = std::visit(
        [&]<class M>(const M& m) {
          return fused::transform_reduce(
              solve_.device(), n_,
              detail::CgUpdateDirection<T, M>{.beta = static_cast<T>(beta), .m = m, .z = z().data(), .p = p_.data()});
        },
        solve_.m().entry);
    loop_.state().p_norm = std::sqrt(pp);
    loop_.state().test_direction();
  }

  /// r where M is fused.
  [[nodiscard]] std::span<const T> z() {
    return solve_.m().is_fused ? std::span<const T>(solve_.r()) : std::as_const(z_).span();
  }

  Loop loop_;
  detail::KrylovSolve<T> solve_;
  std::int64_t n_;
  DualBuffer<T> q_;
  Array<T> p_;
  Array<T> z_;  ///< empty where M is fused
};

}  // namespace

namespace detail {

template <class T>
std::unique_ptr<KrylovMethod<T>> make_cg(const KrylovProblem<T>& problem) {
  if (auto product = cg_product_of(problem)) return make_two_kernel_cg(problem, std::move(product));
  return std::make_unique<ConjugateGradients<T>>(problem);
}

template std::unique_ptr<KrylovMethod<float>> make_cg(const KrylovProblem<float>&);
template std::unique_ptr<KrylovMethod<double>> make_cg(const KrylovProblem<double>&);

}  // namespace detail

template <class T>
SolveReport cg(const LinearOperator<T>& A, const LinearOperator<T>& M, std::span<const std::type_identity_t<T>> b,
               std::span<std::type_identity_t<T>> x, const SolverOptions& options) {
  const detail::KrylovProblem<T> problem({A, M, b, x, options});
  return detail::make_cg(problem)->solve();
}

template <class T>
SolveReport cg(const LinearOperator<T>& A, std::span<const std::type_identity_t<T>> b,
               std::span<std::type_identity_t<T>> x, const SolverOptions& options) {
  return cg<T>(A, IdentityOperator<T>(A.rows(), A.device()), b, x, options);
}

template SolveReport cg(const LinearOperator<float>&, const LinearOperator<float>&, std::span<const float>,
                        std::span<float>, const SolverOptions&);
template SolveReport cg(const LinearOperator<double>&, const LinearOperator<double>&, std::span<const double>,
                        std::span<double>, const SolverOptions&);
template SolveReport cg(const LinearOperator<float>&, std::span<const float>, std::span<float>, const SolverOptions&);
template SolveReport cg(const LinearOperator<double>&, std::span<const double>, std::span<double>,
                        const SolverOptions&);

}  // namespace tessera
