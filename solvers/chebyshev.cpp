/// Chebyshev iteration for symmetric positive definite A and M.
///
/// G. H. Golub, R. S. Varga, Chebyshev Semi-Iterative Methods, Successive Overrelaxation Iterative Methods, and Second
/// Order Richardson Iterative Methods, Numer. Math. 3, 1961; Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd
/// ed., algorithm 12.1, preconditioned. Its coefficients follow from an interval that holds the eigenvalues of M A, so
/// an iteration has no inner product but ‖r‖₂ and the bound of x, which come with the vectors that it writes anyway.
///
/// Where the interval is not given, its upper end is 1.1 times the estimate of the power method for M A, in the inner
/// product of A, where M A is symmetric and the estimate grows from step to step; its lower end is a thirtieth of the
/// estimate, as for poly:DEG (polynomial.cpp). Eigenvalues below are damped too, the slower the smaller they are.
///
/// Memory movement per iteration, n elements each, besides the matrix (in brackets: for an M that is not fused):
///   q = A d                     2n    reads d, writes q
///   x, r with <r, r>, d         7n    reads q, r, x, d; writes r, x, d; + 1n for a diagonal [6n: d is not written];
///                                     + 1n when x is kept
///   [z = M r                    2n    + M]
///   [d with <d, d>              3n    reads z, d; writes d]
#include "solvers/chebyshev.hpp"

#include "solvers/amg/probe.hpp"
#include "solvers/krylov.hpp"
#include "tessera/error.hpp"
#include "tessera/solvers.hpp"

#include <fmt/format.h>

#include <cmath>
#include <type_traits>
#include <utility>

namespace tessera {

namespace {

/// Steps of the power method until two estimates, some steps apart, agree, or the limit.
constexpr int most_power_steps = 30;
constexpr int steps_per_estimate = 5;
constexpr double agreement = 0.01;
/// Upper end of the interval over the estimate.
constexpr double upper_margin = 1.1;
/// The estimate over the lower end of the interval.
constexpr double interval_ratio = 30.0;

template <class T>
class Chebyshev final : public detail::KrylovMethod<T> {
 public:
  using Loop = fused::Loop<detail::ChebyshevState>;

  explicit Chebyshev(const detail::KrylovProblem<T>& problem)
      : loop_(problem.device(), problem.is_enqueueable(), problem.iterations_per_check()),
        solve_(problem, loop_.state()),
        n_(problem.a.rows()),
        q_(problem.a.make_output()),
        d_(n_, Init::none, solve_.device()),
        z_(solve_.m().is_fused ? 0 : n_, Init::none, solve_.device()) {}

  [[nodiscard]] SolveReport solve() override {
    loop_.reset();
    return solve_.run(*this, loop_);
  }

  // For KrylovSolve.

  void iterate(Loop& loop) {
    const bool is_fused = solve_.m().is_fused;
    const std::span<T> r = solve_.r();
    // q = A d
    loop.template product<T>(solve_.problem().a, d_.span(), q_, d_.span());
    std::visit(
        [&]<class M>(const M& m) {
          // x = x + d,  r = r - q,  d = α d + β M r
          loop.apply(n_, detail::ChebyshevStep<T, M>{.is_fused = is_fused,
                                                     .counts = solve_.m().counts(),
                                                     .m = m,
                                                     .q = q_.current().data(),
                                                     .r = r.data(),
                                                     .x = solve_.x().data(),
                                                     .d = d_.data(),
                                                     .kept = solve_.kept().data()});
        },
        solve_.m().entry);
    if (is_fused) return;
    // z = M r,  d = α d + β z
    loop.template product<T>(solve_.problem().m, r, z_.span(), r);
    loop.apply(n_, detail::ChebyshevDirection<T>{.z = z_.data(), .d = d_.data()});
  }

  /// x and r are updated together.
  void complete_iteration() {}

  /// d = M r / c, where c is the center of the interval.
  void start() {
    detail::ChebyshevState& state = loop_.state();
    if (state.center == 0.0) find_interval();
    if (state.halted()) return;
    state.rho = state.half_width / state.center;
    const double beta = 1.0 / state.center;
    if (!state.fits(beta)) return state.break_down(Breakdown::not_finite, beta, detail::Recovery::none);
    const Images images = precondition(solve_.r(), beta);
    if (!(images.v_z > 0.0)) return refuse_m(images.v_z / state.norm / state.norm);
    state.d_norm = std::sqrt(images.d_d);
  }

  /// The recurrence starts anew.
  void resume() { start(); }

 private:
  struct Images {
    double v_z = 0.0;  ///< <v, M v>
    double d_d = 0.0;  ///< <d, d>
  };

  /// d = β M v
  [[nodiscard]] Images precondition(std::span<const T> v, double beta) {
    const bool is_fused = solve_.m().is_fused;
    ProductDots dots;
    if (is_fused) {
      solve_.count_fused_preconditioner();
    } else {
      dots = solve_.precondition(v, z_.span(), v);
    }
    const detail::TwoSums sums = std::visit(
        [&]<class M>(const M& m) {
          return fused::transform_reduce(
              solve_.device(), n_,
              detail::ChebyshevStart<T, M>{
                  .beta = static_cast<T>(beta), .m = m, .v = is_fused ? v.data() : z_.data(), .d = d_.data()});
        },
        solve_.m().entry);
    return {is_fused ? sums.first : dots.wy, sums.second};
  }

  void refuse_m(double cosine) {
    loop_.state().break_down(std::isnan(cosine) ? Breakdown::not_finite : Breakdown::preconditioner, cosine,
                             detail::Recovery::none);
  }

  void find_interval() {
    detail::ChebyshevState& state = loop_.state();
    const SolverOptions& options = solve_.problem().options;
    double high = options.spectrum_high;
    double low = options.spectrum_low;
    if (high == 0.0) {
      const double estimate = largest_eigenvalue();
      if (state.halted()) return;
      high = upper_margin * estimate;
      if (low == 0.0) low = estimate / interval_ratio;
    }
    if (low == 0.0) low = high / interval_ratio;
    state.center = 0.5 * (high + low);
    state.half_width = 0.5 * (high - low);
  }

  /// <A v, M A v> / <v, A v> for v = (M A)^k v_0.
  [[nodiscard]] double largest_eigenvalue() {
    detail::ChebyshevState& state = loop_.state();
    fused::transform_reduce(solve_.device(), n_, detail::ProbeVector<T>{.x = d_.data()});
    double estimate = 0.0;
    double before = 0.0;
    for (int step = 0; step < most_power_steps; ++step) {
      ++state.products;
      const ProductDots dots = solve_.problem().a.apply_and_dot(std::as_const(d_).span(), q_, std::as_const(d_).span());
      if (!(dots.wy > 0.0)) {
        const auto kind = std::isnan(dots.wy) ? Breakdown::not_finite : Breakdown::indefinite;
        state.break_down(kind, dots.wy, detail::Recovery::none);
        return 0.0;
      }
      const Images images = precondition(q_.current(), 1.0);
      if (!(images.v_z > 0.0)) {
        refuse_m(images.v_z / dots.yy);
        return 0.0;
      }
      estimate = images.v_z / dots.wy;
      if (!state.fits(estimate) || !state.fits(images.d_d)) {
        state.break_down(Breakdown::not_finite, estimate, detail::Recovery::none);
        return 0.0;
      }
      if (step % steps_per_estimate == steps_per_estimate - 1) {
        if (estimate - before <= agreement * estimate) break;
        before = estimate;
      }
      // To a mean square of about 1.
      (void)fused::scale_by_power(solve_.device(), d_.span(),
                                  -std::ilogb(std::sqrt(images.d_d / static_cast<double>(n_))));
    }
    return estimate;
  }

  Loop loop_;
  detail::KrylovSolve<T> solve_;
  std::int64_t n_;
  DualBuffer<T> q_;
  Array<T> d_;
  Array<T> z_;  ///< empty where M is fused
};

}  // namespace

namespace detail {

template <class T>
std::unique_ptr<KrylovMethod<T>> make_chebyshev(const KrylovProblem<T>& problem) {
  require_right_side(problem.options, "chebyshev");
  const double low = problem.options.spectrum_low;
  const double high = problem.options.spectrum_high;
  // Written so that NaN is refused.
  if (!(low >= 0.0 && high >= 0.0 && std::isfinite(low) && std::isfinite(high) && (high == 0.0 || low <= high))) {
    throw InvalidArgument(fmt::format(
        "the interval of eigenvalues must satisfy 0 <= spectrum_low <= spectrum_high, got {} and {}", low, high));
  }
  return std::make_unique<Chebyshev<T>>(problem);
}

template std::unique_ptr<KrylovMethod<float>> make_chebyshev(const KrylovProblem<float>&);
template std::unique_ptr<KrylovMethod<double>> make_chebyshev(const KrylovProblem<double>&);

}  // namespace detail

template <class T>
SolveReport chebyshev(const LinearOperator<T>& A, const LinearOperator<T>& M,
                      std::span<const std::type_identity_t<T>> b, std::span<std::type_identity_t<T>> x,
                      const SolverOptions& options) {
  const detail::KrylovProblem<T> problem({A, M, b, x, options});
  return detail::make_chebyshev(problem)->solve();
}

template SolveReport chebyshev(const LinearOperator<float>&, const LinearOperator<float>&, std::span<const float>,
                               std::span<float>, const SolverOptions&);
template SolveReport chebyshev(const LinearOperator<double>&, const LinearOperator<double>&, std::span<const double>,
                               std::span<double>, const SolverOptions&);

}  // namespace tessera
