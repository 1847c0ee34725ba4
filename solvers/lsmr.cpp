/// LSMR, least squares by Golub-Kahan bidiagonalization and MINRES on the normal equations.
///
/// D. C.-L. Fong, M. Saunders, LSMR: An Iterative Algorithm for Sparse Least-Squares Problems, SIAM J. Sci. Comput.
/// 33(5), 2011, with damping as rows λ I below A, so that it is exact for every x0 and every preconditioner; u₂ is the
/// part of u that belongs to them. A diagonal preconditioner scales the columns: A D y, x = D y.
///
/// Memory movement per iteration besides the two products, which write q (m) and w (n) and read D v and u:
///   u with <u, u>          3m    reads q, u; writes u
///   [u₂ with <u₂, u₂>      3n    with damping: reads D v, u₂; writes u₂]
///   v with <v, v>          3n    reads w, v; writes v; + 1n with damping, + 2n for a diagonal
///   h̄, x, h                7n    reads v, h, h̄, x; writes h̄, x, h; + 1n for a diagonal; with <x, x>, <h, h>
#include "solvers/lsmr.hpp"

#include "solvers/fused/vector_ops.hpp"
#include "solvers/least_squares.hpp"

#include <cmath>
#include <type_traits>
#include <utility>

namespace tessera {

namespace {

template <class T>
class Lsmr {
 public:
  using Loop = fused::Loop<detail::LsmrState>;

  explicit Lsmr(const detail::LeastSquaresProblem<T>& problem)
      : loop_(problem.device(), problem.is_enqueueable()),
        solve_(problem, loop_.state()),
        m_(problem.rows()),
        n_(problem.cols()),
        u_(m_, Init::none, problem.device()),
        damped_u_(problem.is_damped() ? n_ : 0, Init::none, problem.device()),
        v_(n_, Init::none, problem.device()),
        h_(n_, Init::none, problem.device()),
        h_bar_(n_, Init::none, problem.device()),
        scaled_v_(0, Init::none, problem.device()) {}

  [[nodiscard]] LeastSquaresReport solve() { return solve_.run(*this, loop_); }

  // For LeastSquaresSolve.

  void iterate(Loop& loop) {
    const detail::LeastSquaresProblem<T>& problem = solve_.problem();
    Array<T>& w = solve_.transposed_image();
    // q = A D v
    loop.template product<T>(*problem.a, scaled_v(), solve_.image(), std::as_const(u_).span());
    // β u = q - α u
    loop.apply(m_, detail::LsmrUpdateLeft<T>{.image = solve_.r().data(), .u = u_.data()});
    if (problem.is_damped()) {
      loop.apply(n_, detail::LsmrUpdateDampedLeft<T>{.image = scaled_v().data(), .u = damped_u_.data()});
    }
    // w = Aᵀ u
    loop.template product<T>(*problem.transposed, std::as_const(u_).span(), w.span(), std::as_const(v_).span());
    // α v = D (w + λ u₂) - β v
    loop.apply(n_, detail::LsmrUpdateRight<T>{.diagonal = solve_.diagonal(),
                                              .image = w.data(),
                                              .damped = problem.is_damped() ? damped_u_.data() : nullptr,
                                              .v = v_.data(),
                                              .scaled = scaled_v_.data()});
    // x, h̄ and h
    loop.apply(n_, detail::LsmrUpdateSolution<T>{.diagonal = solve_.diagonal(),
                                                 .v = v_.data(),
                                                 .h = h_.data(),
                                                 .h_bar = h_bar_.data(),
                                                 .x = solve_.x().data(),
                                                 .kept = solve_.kept().data()});
  }

  /// β u = r̄,  α v = D s / β,  h = v,  h̄ = 0
  void start() {
    const detail::LeastSquaresProblem<T>& problem = solve_.problem();
    const Device device = problem.device();
    const double beta = solve_.r_norm();
    solve_.provide_scaled(scaled_v_);
    fused::copy<T>(device, solve_.r(), u_.span());
    if (problem.is_damped()) scaled_copy(-problem.options.damping, solve_.x(), damped_u_);
    const detail::LeastSquaresFirstDirection<T> first{.factor = static_cast<T>(-1.0 / beta),
                                                      .unit = T{1},
                                                      .diagonal = solve_.diagonal(),
                                                      .s = solve_.transposed_image().data(),
                                                      .v = v_.data(),
                                                      .scaled = scaled_v_.data()};
    const double alpha = std::sqrt(fused::transform_reduce(device, n_, first).first);
    scaled_copy(1.0 / alpha, v_.span(), h_);
    fused::clear(device, h_bar_.span());
    loop_.state().begin(alpha, beta);
  }

 private:
  /// D v, times α.
  [[nodiscard]] std::span<const T> scaled_v() const { return scaled_v_.empty() ? v_.span() : scaled_v_.span(); }

  void scaled_copy(double factor, std::span<const T> from, Array<T>& to) {
    const detail::LeastSquaresScaledCopy<T> op{.factor = static_cast<T>(factor), .from = from.data(), .to = to.data()};
    fused::transform_reduce(solve_.problem().device(), n_, op);
  }

  Loop loop_;
  detail::LeastSquaresSolve<T> solve_;
  std::int64_t m_;
  std::int64_t n_;
  Array<T> u_;
  Array<T> damped_u_;  // empty without damping
  Array<T> v_;
  Array<T> h_;
  Array<T> h_bar_;
  Array<T> scaled_v_;  // D v; empty where D = I
};

}  // namespace

template <class T>
LeastSquaresReport lsmr(const LinearOperator<T>& A, const LinearOperator<T>& D,
                        std::span<const std::type_identity_t<T>> b, std::span<std::type_identity_t<T>> x,
                        const LeastSquaresOptions& options) {
  const detail::LeastSquaresProblem<T> problem(A, D, b, x, options);
  return Lsmr<T>(problem).solve();
}

template <class T>
LeastSquaresReport lsmr(const LinearOperator<T>& A, std::span<const std::type_identity_t<T>> b,
                        std::span<std::type_identity_t<T>> x, const LeastSquaresOptions& options) {
  return lsmr<T>(A, IdentityOperator<T>(A.cols(), A.device()), b, x, options);
}

template LeastSquaresReport lsmr(const LinearOperator<float>&, const LinearOperator<float>&, std::span<const float>,
                                 std::span<float>, const LeastSquaresOptions&);
template LeastSquaresReport lsmr(const LinearOperator<double>&, const LinearOperator<double>&, std::span<const double>,
                                 std::span<double>, const LeastSquaresOptions&);
template LeastSquaresReport lsmr(const LinearOperator<float>&, std::span<const float>, std::span<float>,
                                 const LeastSquaresOptions&);
template LeastSquaresReport lsmr(const LinearOperator<double>&, std::span<const double>, std::span<double>,
                                 const LeastSquaresOptions&);

}  // namespace tessera
