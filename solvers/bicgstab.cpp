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
///
/// On a GPU a small system with an M that is fused is solved by one kernel: solvers/persistent_bicgstab.cuh.
#include "solvers/bicgstab_iteration.hpp"
#include "solvers/persistent_matrix.hpp"
#include "tessera/solvers.hpp"

#include <cstdint>
#include <memory>
#include <type_traits>

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
        shadows_{problem.options.shadow == Shadow::random},
        v_(problem.a.make_output()),
        t_(problem.a.make_output()),
        shadow_(n_, Init::none, solve_.device()),
        p_(n_, Init::zero, solve_.device()),
        p_hat_(solve_.m().is_identity ? 0 : n_, Init::none, solve_.device()),
        s_hat_(p_hat_.size(), Init::none, solve_.device()),
        persistent_(detail::persistent_matrix_of(problem, cuda::PersistentLoop::bicgstab)) {
    if (persistent_) loop_.run_by_kernel([this](const cuda::LoopFrame& frame) { launch(frame); });
  }

  [[nodiscard]] SolveReport solve() override {
    loop_.reset();
    shadows_ = {solve_.problem().options.shadow == Shadow::random};
    return solve_.run(*this, loop_);
  }

  // For KrylovSolve.

  void iterate(Loop& loop) {
    const detail::BicgstabIteration<T> iteration{.x = solve_.x(),
                                                 .r = solve_.r(),
                                                 .p = p_.span(),
                                                 .p_hat = p_hat(),
                                                 .s_hat = solve_.m().is_identity ? solve_.r() : s_hat_.span(),
                                                 .shadow = shadow_.span(),
                                                 .kept = solve_.kept()};
    iteration.enqueue(loop, solve_.problem(), v_, t_);
  }
  void complete_iteration() { restart().complete_iteration(); }
  void start() { restart().start(); }
  void resume() { restart().resume(); }

 private:
  void launch(const cuda::LoopFrame& frame) {
    const cuda::PersistentBicgstabVectors<T> vectors{.diagonal = detail::diagonal_of(solve_.m()),
                                                     .counts = solve_.m().counts(),
                                                     .shadow = shadow_.data(),
                                                     .x = solve_.x().data(),
                                                     .r = solve_.r().data(),
                                                     .p = p_.data(),
                                                     .p_hat = p_hat().data(),
                                                     .v = v_.current().data(),
                                                     .kept = solve_.kept().data()};
    persistent_->launch_bicgstab(frame, *detail::free_matrix_of(solve_.problem()), vectors);
  }

  [[nodiscard]] std::span<T> p_hat() noexcept { return solve_.m().is_identity ? p_.span() : p_hat_.span(); }
  [[nodiscard]] detail::BicgstabHostSteps<T> restart() {
    return {.solve = solve_, .state = loop_.state(), .shadows = shadows_, .p_hat = p_hat(), .shadow = shadow_.span()};
  }

  Loop loop_;
  detail::KrylovSolve<T> solve_;
  std::int64_t n_;
  detail::BicgstabShadows shadows_;

  DualBuffer<T> v_;
  DualBuffer<T> t_;
  Array<T> shadow_;  // r̂
  Array<T> p_;
  Array<T> p_hat_;  // empty where M is the identity, as s_hat_
  Array<T> s_hat_;
  std::unique_ptr<cuda::PersistentMatrix<T>> persistent_;
};

}  // namespace

namespace detail {

template <class T>
std::unique_ptr<KrylovMethod<T>> make_bicgstab(const KrylovProblem<T>& problem) {
  require_right_side(problem.options, "bicgstab");
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
