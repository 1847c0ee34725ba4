/// Preconditioned Richardson iteration, x = x + M (b - A x).
///
/// L. F. Richardson, The Approximate Arithmetical Solution by Finite Differences of Physical Problems Involving
/// Differential Equations, Phil. Trans. R. Soc. A 210, 1911; Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd
/// ed., section 4.1. r = b - A x follows x by r = r - A z, as in CG, and is computed where convergence is claimed: an
/// iteration whose accuracy is exhausted ends by the rules that all methods share.
///
/// Memory movement per iteration, n elements each, besides the matrix (in brackets: for an M that is not fused):
///   [z = M r with ‖z‖²          2n    + M]
///   x, z                        4n    reads r, x; writes z, x; + 1n for a diagonal [3n: reads z, x; writes x]
///   q = A z                     2n    reads z, writes q
///   r with <r, r>, ‖M r‖²       3n    reads r, q; writes r; + 1n for a diagonal
#include "solvers/richardson.hpp"

#include "solvers/krylov.hpp"
#include "tessera/solvers.hpp"

#include <cmath>
#include <type_traits>

namespace tessera {

namespace {

template <class T>
class Richardson final : public detail::KrylovMethod<T> {
 public:
  using Loop = fused::Loop<detail::RichardsonState>;

  explicit Richardson(const detail::KrylovProblem<T>& problem)
      : loop_(problem.device(), problem.is_enqueueable(), problem.iterations_per_check()),
        solve_(problem, loop_.state()),
        n_(problem.a.rows()),
        q_(problem.a.make_output()),
        z_(n_, Init::none, solve_.device()) {}

  [[nodiscard]] SolveReport solve() override {
    loop_.reset();
    return solve_.run(*this, loop_);
  }

  // For KrylovSolve.

  void iterate(Loop& loop) {
    const std::span<T> r = solve_.r();
    const bool is_fused = solve_.m().is_fused;
    // z = M r
    if (!is_fused) loop.template product<T>(solve_.problem().m, r, z_.span(), r);
    std::visit(
        [&]<class M>(const M& m) {
          // x = x + z
          loop.apply(n_, detail::RichardsonUpdateSolution<T, M>{.is_fused = is_fused,
                                                                .counts = !is_fused || solve_.m().counts(),
                                                                .m = m,
                                                                .in = is_fused ? r.data() : z_.data(),
                                                                .z = z_.data(),
                                                                .x = solve_.x().data(),
                                                                .kept = solve_.kept().data()});
          // q = A z
          loop.template product<T>(solve_.problem().a, z_.span(), q_, z_.span());
          // r = r - q
          loop.apply(n_, detail::RichardsonUpdateResidual<T, M>{.m = m, .q = q_.current().data(), .r = r.data()});
        },
        solve_.m().entry);
  }

  /// x and r are updated together.
  void complete_iteration() {}

  /// ‖M r‖₂ of the first step; a product with M brings its own.
  void start() {
    if (!solve_.m().is_fused) return;
    const std::span<const T> r = solve_.r();
    loop_.state().z_norm = std::sqrt(std::visit(
        [&]<class M>(const M& m) {
          return fused::transform_reduce(solve_.device(), n_,
                                         detail::RichardsonStepSquares<T, M>{.m = m, .r = r.data()});
        },
        solve_.m().entry));
  }

  void resume() { start(); }

 private:
  Loop loop_;
  detail::KrylovSolve<T> solve_;
  std::int64_t n_;
  DualBuffer<T> q_;
  Array<T> z_;
};

}  // namespace

namespace detail {

template <class T>
std::unique_ptr<KrylovMethod<T>> make_richardson(const KrylovProblem<T>& problem) {
  require_right_side(problem.options, "richardson");
  return std::make_unique<Richardson<T>>(problem);
}

template std::unique_ptr<KrylovMethod<float>> make_richardson(const KrylovProblem<float>&);
template std::unique_ptr<KrylovMethod<double>> make_richardson(const KrylovProblem<double>&);

}  // namespace detail

template <class T>
SolveReport richardson(const LinearOperator<T>& A, const LinearOperator<T>& M,
                       std::span<const std::type_identity_t<T>> b, std::span<std::type_identity_t<T>> x,
                       const SolverOptions& options) {
  const detail::KrylovProblem<T> problem({A, M, b, x, options});
  return detail::make_richardson(problem)->solve();
}

template SolveReport richardson(const LinearOperator<float>&, const LinearOperator<float>&, std::span<const float>,
                                std::span<float>, const SolverOptions&);
template SolveReport richardson(const LinearOperator<double>&, const LinearOperator<double>&, std::span<const double>,
                                std::span<double>, const SolverOptions&);

}  // namespace tessera
