/// Preconditioned conjugate gradients.
///
/// M. R. Hestenes, E. Stiefel, Methods of Conjugate Gradients for Solving Linear Systems, J. Res. NBS 49(6), 1952;
/// preconditioned as in Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., algorithm 9.1. x follows one
/// pass later than r, where p is read anyway.
///
/// Memory movement per iteration, n elements each, besides the matrix (in brackets: general M instead of a folded one):
///   q = A p with <p,q>          2n    reads p, writes q
///   r with <r,r>, <r,Mr>        3n    reads r, q; writes r; + 1n for a diagonal
///   [z = M r with <r,z>         2n    + M]
///   x, p with <p,p>             5n    reads x, r [z], p; writes x, p; + 1n for a diagonal, + 1n when x is kept
#include "solvers/krylov.hpp"
#include "solvers/loop/cg_steps.hpp"
#include "tessera/solvers.hpp"

#include <cmath>
#include <utility>

namespace tessera {

namespace {

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
  void iterate(typename KrylovSolve<T>::Loop& loop);
  void complete();
  void start();
  void start_again();
  [[nodiscard]] double precondition();
  void update_direction(double beta);

  [[nodiscard]] std::span<const T> z() {
    return solve_.folding().folds ? std::span<const T>(solve_.r()) : std::as_const(z_).span();
  }

  KrylovSolve<T>& solve_;
  std::int64_t n_;
  Array<T> p_;
  Array<T> z_;  // M r; empty where M folds into the passes
};

template <class T>
Next ConjugateGradients<T>::cycle() {
  start();
  for (;;) {
    const Next next = solve_.iterate([this](auto& loop) { iterate(loop); }, [this] { complete(); });
    if (next == Next::restart || next == Next::stop) return next;
    if (next == Next::replaced) start_again();
  }
}

template <class T>
void ConjugateGradients<T>::iterate(typename KrylovSolve<T>::Loop& loop) {
  const vectors::Folding<T>& folding = solve_.folding();
  const std::span<T> r = solve_.r();
  // q = A p
  loop.template product<T>(solve_.a(), p_.span(), solve_.product(), p_.span());
  const T* const q = solve_.product().current().data();
  std::visit(
      [&]<class M>(const M& m) {
        // α = ρ / <p, q>,  r = r - α q
        loop.pass(n_, cg_steps::Residual<T, M>{solve_.counts_folded(), {m, T{0}, q, r.data()}});
        // z = M r,  ρ' = <r, z>
        if (!folding.folds) loop.template product<T>(solve_.m(), r, z_.span(), r);
        // β = ρ' / ρ,  x = x + α p,  p = z + β p
        loop.pass(n_, cg_steps::Direction<T, M>{
                          folding.folds,
                          {m, T{0}, T{0}, false, z().data(), solve_.x().data(), p_.data(), solve_.kept().data()}});
      },
      folding.entry);
}

/// x catches up with r.
template <class T>
void ConjugateGradients<T>::complete() {
  KrylovState& state = solve_.state();
  if (!state.x_is_behind) return;
  state.x_is_behind = false;
  vectors::add_multiple<T>(solve_.device(), static_cast<T>(state.alpha), p_.span(), solve_.x());
}

/// z = M r,  ρ = <r, z>,  p = z
template <class T>
void ConjugateGradients<T>::start() {
  solve_.state().rho = precondition();
  update_direction(0.0);
}

/// The same after r was computed anew: the direction stays.
template <class T>
void ConjugateGradients<T>::start_again() {
  KrylovState& state = solve_.state();
  const double previous = std::exchange(state.rho, precondition());
  const double beta = state.rho / previous;
  if (!state.fits(beta)) return state.break_down(Breakdown::not_finite, beta);
  update_direction(beta);
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

/// p = z + β p; with β = 0 the old p is not read.
template <class T>
void ConjugateGradients<T>::update_direction(double beta) {
  const double sum = std::visit(
      [&]<class M>(const M& m) {
        return run_pass(solve_.device(), n_,
                        passes::ConjugateDirection<T, M>{m, static_cast<T>(beta), z().data(), p_.data()});
      },
      solve_.folding().entry);
  solve_.state().p_norm = std::sqrt(sum);
  cg_steps::test_direction(solve_.state());
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
