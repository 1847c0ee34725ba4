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
///   x, r with <r,r>, <r̂,r>      7n    reads x, p̂, s, t, r̂; writes x, r; + 1n when x is kept
#include "solvers/krylov.hpp"
#include "solvers/loop/bicgstab_steps.hpp"
#include "tessera/solvers.hpp"

#include <cmath>
#include <utility>

namespace tessera {

namespace {

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
        p_(shadow_.size(), Init::zero, solve.device()),
        p_hat_(solve.folding().identity ? 0 : shadow_.size(), Init::none, solve.device()),
        s_hat_(p_hat_.size(), Init::none, solve.device()) {}

  /// Iterates from r = b - A x, with a fresh shadow vector, until a restart or the end.
  [[nodiscard]] Next cycle();

 private:
  using Loop = typename KrylovSolve<T>::Loop;

  void iterate(Loop& loop);
  template <class M>
  void first_half(Loop& loop, const M& m);
  void second_half(Loop& loop);
  void complete();
  void start();
  void start_again();
  [[nodiscard]] double shadow_product();

  [[nodiscard]] std::span<T> p_hat() noexcept { return solve_.folding().identity ? p_.span() : p_hat_.span(); }
  [[nodiscard]] std::span<T> s_hat() noexcept { return solve_.folding().identity ? solve_.r() : s_hat_.span(); }
  /// x = x + α p̂, whose residual is s.
  void accept_half_step() {
    vectors::add_multiple<T>(solve_.device(), static_cast<T>(solve_.state().alpha), p_hat(), solve_.x());
  }

  KrylovSolve<T>& solve_;
  const SolverOptions& options_;
  std::int64_t n_;
  bool random_shadow_;
  std::uint64_t shadows_drawn_ = 0;

  DualBuffer<T> v_;
  Array<T> shadow_;  // r̂
  Array<T> p_;
  Array<T> p_hat_;  // p̂ = M p and ŝ = M s; empty where M is the identity
  Array<T> s_hat_;
};

template <class T>
Next StabilisedBiConjugateGradients<T>::cycle() {
  start();
  for (;;) {
    const Next next = solve_.iterate([this](Loop& loop) { iterate(loop); }, [this] { complete(); });
    if (next == Next::restart || next == Next::stop) return next;
    if (next == Next::replaced) start_again();
  }
}

template <class T>
void StabilisedBiConjugateGradients<T>::iterate(Loop& loop) {
  std::visit([&]<class M>(const M& m) { first_half(loop, m); }, solve_.folding().entry);
  second_half(loop);
}

template <class T>
template <class M>
void StabilisedBiConjugateGradients<T>::first_half(Loop& loop, const M& m) {
  const bool folds = solve_.folding().folds;
  const bool counts = solve_.counts_folded();
  const std::span<T> s = solve_.r();
  const T* const v = v_.current().data();
  // p = r + β (p - ω v),  p̂ = M p
  T* const hat_of_p = folds ? p_hat().data() : p_.data();
  loop.pass(n_, bicgstab_steps::Direction<T, M>{folds, counts, {m, T{0}, T{0}, s.data(), v, p_.data(), hat_of_p}});
  if (!folds) {
    loop.template product<T>(solve_.m(), p_.span(), p_hat(), p_.span());
    loop.pass(0, bicgstab_steps::HatNorm{false});
  }
  // v = A p̂,  α = ρ / <r̂, v>,  s = r - α v,  ŝ = M s
  loop.template product<T>(solve_.a(), p_hat(), v_, shadow_.span());
  T* const hat_of_s = folds ? s_hat().data() : s.data();
  loop.pass(n_, bicgstab_steps::HalfStep<T, M>{folds, counts, {m, T{0}, v_.current().data(), s.data(), hat_of_s}});
  if (!folds) {
    loop.template product<T>(solve_.m(), s, s_hat(), s);
    loop.pass(0, bicgstab_steps::HatNorm{true});
  }
}

template <class T>
void StabilisedBiConjugateGradients<T>::second_half(Loop& loop) {
  const std::span<T> s = solve_.r();
  // t = A ŝ,  ω = <t, s> / <t, t>
  loop.template product<T>(solve_.a(), s_hat(), solve_.product(), s);
  const T* const t = solve_.product().current().data();
  // x = x + α p̂ + ω ŝ,  r = s - ω t,  ρ' = <r̂, r>,  β = (ρ' / ρ) (α / ω)
  loop.pass(n_, bicgstab_steps::FullStep<T>{{T{0}, T{0}, p_hat().data(), s_hat().data(), shadow_.data(), t,
                                             solve_.x().data(), s.data(), solve_.kept().data(), false}});
}

/// What a halt in the middle of an iteration leaves to do.
template <class T>
void StabilisedBiConjugateGradients<T>::complete() {
  KrylovState& state = solve_.state();
  solve_.keep_if_due();
  if (state.halt == loop::Halt::half_step) {
    accept_half_step();
    return solve_.finish_iteration(state.s_norm);
  }
  if (state.halt != loop::Halt::breakdown) return;
  if (state.breakdown == Breakdown::omega) {
    state.enlarge_omega = true;
    if (state.s_norm < state.norm) accept_half_step();
  }
  // Starting again with r̂ = r only helps when r is another one than before; else a random shadow must.
  random_shadow_ = state.first_step || options_.shadow == Shadow::random;
}

/// A shadow vector,  ρ = <r̂, r>,  p = r
template <class T>
void StabilisedBiConjugateGradients<T>::start() {
  const std::uint64_t stream = shadows_drawn_++ << 32;
  const double sum =
      run_pass(solve_.device(), n_,
               passes::ShadowVector<T>{random_shadow_, options_.seed, stream, solve_.r().data(), shadow_.data()});
  KrylovState& state = solve_.state();
  state.shadow_norm = std::sqrt(sum);
  state.first_step = true;
  state.beta = 0.0;
  state.rho = shadow_product();
}

/// After r was computed anew: the direction stays.
template <class T>
void StabilisedBiConjugateGradients<T>::start_again() {
  KrylovState& state = solve_.state();
  state.next_rho = shadow_product();
  bicgstab_steps::FullStep<T>::proceed(state);
}

template <class T>
double StabilisedBiConjugateGradients<T>::shadow_product() {
  return vectors::dot<T>(solve_.device(), shadow_.span(), solve_.r());
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
