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
/// On a GPU, where M is fused: a small system is solved by one kernel (solvers/persistent_cg.cuh); and where the
/// plan's kernel offers it, two products do the same (solvers/two_kernel_cg.cpp).
#include "solvers/cg.hpp"

#include "solvers/cg_iteration.hpp"
#include "solvers/persistent_matrix.hpp"
#include "solvers/two_kernel_cg.hpp"
#include "tessera/solvers.hpp"

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
        z_(solve_.m().is_fused ? 0 : n_, Init::none, solve_.device()),
        persistent_(detail::persistent_matrix_of(problem, cuda::PersistentLoop::cg)) {
    if (persistent_) loop_.run_by_kernel([this](const cuda::LoopFrame& frame) { launch(frame); });
  }

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

  void complete_iteration() { restart().complete_iteration(); }
  void start() { restart().start(); }
  void resume() { restart().resume(); }

 private:
  void launch(const cuda::LoopFrame& frame) {
    const cuda::PersistentCgVectors<T> vectors{.diagonal = detail::diagonal_of(solve_.m()),
                                               .counts = solve_.m().counts(),
                                               .x = solve_.x().data(),
                                               .r = solve_.r().data(),
                                               .p = p_.data(),
                                               .kept = solve_.kept().data()};
    persistent_->launch_cg(frame, *detail::free_matrix_of(solve_.problem()), vectors);
  }

  [[nodiscard]] detail::CgHostSteps<T> restart() {
    return {.solve = solve_, .state = loop_.state(), .p = p_.span(), .z = z_.span()};
  }

  Loop loop_;
  detail::KrylovSolve<T> solve_;
  std::int64_t n_;
  DualBuffer<T> q_;
  Array<T> p_;
  Array<T> z_;  ///< empty where M is fused
  std::unique_ptr<cuda::PersistentMatrix<T>> persistent_;
};

}  // namespace

namespace detail {

template <class T>
std::unique_ptr<KrylovMethod<T>> make_cg(const KrylovProblem<T>& problem) {
  require_right_side(problem.options, "cg");
  if (auto halves = two_kernel_cg_steps_of(problem)) return make_two_kernel_cg(problem, std::move(halves));
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
