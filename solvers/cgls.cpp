/// CGLS, conjugate gradients on the normal equations without AᵀA.
///
/// Å. Björck, Numerical Methods for Least Squares Problems, SIAM, 1996, section 7.4; damping enters s = Aᵀ r - λ² x. A
/// diagonal preconditioner scales the columns: A D y, x = D y.
///
/// Memory movement per iteration besides the two products, which write q (m) and w (n) and read D p and r:
///   r with <r, r>                3m    reads q, r; writes r
///   x, D s with <s, s>, <x, x>   5n    reads D p, w, x; writes x, w; + 1n for a diagonal
///   p with <p, p>                3n    reads w, p; writes p; + 2n for a diagonal
#include "solvers/cgls.hpp"

#include "solvers/fused/vector_ops.hpp"
#include "solvers/least_squares.hpp"

#include <cmath>
#include <type_traits>
#include <utility>

namespace tessera {

namespace {

template <class T>
class Cgls {
 public:
  using Loop = fused::Loop<detail::CglsState>;

  explicit Cgls(const detail::LeastSquaresProblem<T>& problem)
      : loop_(problem.device(), problem.is_enqueueable()),
        solve_(problem, loop_.state()),
        m_(problem.rows()),
        n_(problem.cols()),
        r_(m_, Init::none, problem.device()),
        p_(n_, Init::none, problem.device()),
        scaled_p_(0, Init::none, problem.device()) {}

  [[nodiscard]] LeastSquaresReport solve() { return solve_.run(*this, loop_); }

  // For LeastSquaresSolve.

  void iterate(Loop& loop) {
    const detail::LeastSquaresProblem<T>& problem = solve_.problem();
    Array<T>& w = solve_.transposed_image();
    // q = A D p
    loop.template product<T>(*problem.a, scaled_p(), solve_.image(), std::as_const(r_).span());
    // α = γ / ‖q‖²,  r = r - α q
    loop.apply(m_, detail::CglsUpdateResidual<T>{.q = solve_.r().data(), .r = r_.data()});
    // w = Aᵀ r
    loop.template product<T>(*problem.transposed, std::as_const(r_).span(), w.span(), std::as_const(p_).span());
    // x = x + α D p,  D s = D (w - λ² x),  γ' = ‖D s‖²
    loop.apply(n_, detail::CglsUpdateSolution<T>{.diagonal = solve_.diagonal(),
                                                 .scaled = scaled_p().data(),
                                                 .w = w.data(),
                                                 .x = solve_.x().data(),
                                                 .kept = solve_.kept().data()});
    // β = γ' / γ,  p = D s + β p
    loop.apply(n_, detail::CglsUpdateDirection<T>{
                       .diagonal = solve_.diagonal(), .normal = w.data(), .p = p_.data(), .scaled = scaled_p_.data()});
  }

  /// p = D s,  γ = ‖D s‖²
  void start() {
    const Device device = solve_.problem().device();
    solve_.provide_scaled(scaled_p_);
    fused::copy<T>(device, solve_.r(), r_.span());
    const detail::LeastSquaresFirstDirection<T> first{.factor = T{-1},
                                                      .unit = static_cast<T>(loop_.state().x_unit),
                                                      .diagonal = solve_.diagonal(),
                                                      .s = solve_.transposed_image().data(),
                                                      .v = p_.data(),
                                                      .scaled = scaled_p_.data()};
    detail::CglsState& state = loop_.state();
    const detail::TwoSums squares = fused::transform_reduce(device, n_, first);
    state.gamma = squares.first;
    state.take_direction(squares);
  }

 private:
  /// D p.
  [[nodiscard]] std::span<const T> scaled_p() const { return scaled_p_.empty() ? p_.span() : scaled_p_.span(); }

  Loop loop_;
  detail::LeastSquaresSolve<T> solve_;
  std::int64_t m_;
  std::int64_t n_;
  Array<T> r_;
  Array<T> p_;
  Array<T> scaled_p_;  // D p; empty where D = I
};

}  // namespace

template <class T>
LeastSquaresReport cgls(const LinearOperator<T>& A, const LinearOperator<T>& D,
                        std::span<const std::type_identity_t<T>> b, std::span<std::type_identity_t<T>> x,
                        const LeastSquaresOptions& options) {
  const detail::LeastSquaresProblem<T> problem(A, D, b, x, options);
  return Cgls<T>(problem).solve();
}

template <class T>
LeastSquaresReport cgls(const LinearOperator<T>& A, std::span<const std::type_identity_t<T>> b,
                        std::span<std::type_identity_t<T>> x, const LeastSquaresOptions& options) {
  return cgls<T>(A, IdentityOperator<T>(A.cols(), A.device()), b, x, options);
}

template LeastSquaresReport cgls(const LinearOperator<float>&, const LinearOperator<float>&, std::span<const float>,
                                 std::span<float>, const LeastSquaresOptions&);
template LeastSquaresReport cgls(const LinearOperator<double>&, const LinearOperator<double>&, std::span<const double>,
                                 std::span<double>, const LeastSquaresOptions&);
template LeastSquaresReport cgls(const LinearOperator<float>&, std::span<const float>, std::span<float>,
                                 const LeastSquaresOptions&);
template LeastSquaresReport cgls(const LinearOperator<double>&, std::span<const double>, std::span<double>,
                                 const LeastSquaresOptions&);

}  // namespace tessera
