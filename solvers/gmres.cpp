/// GMRES(m), flexible and preconditioned from the right.
///
/// Y. Saad, M. H. Schultz, GMRES: A Generalized Minimal Residual Algorithm for Solving Nonsymmetric Linear Systems,
/// SIAM J. Sci. Stat. Comput. 7(3), 1986; Y. Saad, A Flexible Inner-Outer Preconditioned GMRES Algorithm, SIAM J. Sci.
/// Comput. 14(2), 1993. Classical Gram-Schmidt twice: L. Giraud, J. Langou, M. Rozložník, J. van den Eshof, Rounding
/// error analysis of the classical Gram-Schmidt orthogonalization process, Numer. Math. 101, 2005. V is orthonormal to
/// working precision, so |γ|, the last entry of the rotated right-hand side, is ‖b - A x‖ of the x that is not yet
/// formed.
///
/// Memory movement of step j of a cycle (j columns in V), n elements each, besides the matrix (in brackets: for an M
/// that is not fused; a diagonal adds 1n):
///   [z = M v with ‖z‖²           2n     + M]
///   w = A z with ‖w‖²            3n     reads z twice, writes w
///   h = Vᵀ w                     (j+1)n reads V, w
///   w = w - V h with Vᵀ w        (j+2)n reads V (again from the cache), w; writes w; [+ 2n, reads z, writes it to Z]
///   v = (w - V h') / ‖..‖, z     (j+3)n reads V, w; writes v to V, z
/// In all (3 j + 9) n: about 55 n elements in the mean of a cycle of 30. At its end, x takes (m + 2) n, and its
/// residual one more product.
#include "solvers/gmres.hpp"

#include "solvers/krylov.hpp"
#include "tessera/error.hpp"
#include "tessera/solvers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tessera {

namespace {

/// A graph checks its condition after two iterations: they are longer than those of other methods, and of a cycle an
/// even number.
constexpr int iterations_per_check = 2;

/// Rounding errors of this fraction of the first residual of a cycle are left to the next cycle.
constexpr double drowning_fraction = 0.01;

/// Directions of a cycle: no more than a solve can use.
template <class T>
std::int64_t directions_of(const detail::KrylovProblem<T>& problem) {
  const std::int64_t most = std::min(problem.a.rows(), problem.options.max_iterations);
  return std::clamp<std::int64_t>(most, 1, problem.options.restart);
}

template <class T>
class Gmres final : public detail::KrylovMethod<T> {
 public:
  using Loop = fused::Loop<detail::GmresState>;

  explicit Gmres(const detail::KrylovProblem<T>& problem)
      : loop_(problem.device(), problem.is_enqueueable(),
              std::min(problem.iterations_per_check(), iterations_per_check)),
        solve_(problem, loop_.state()),
        n_(problem.a.rows()),
        m_(directions_of(problem)),
        w_(problem.a.make_output()),
        v_(n_, m_, solve_.device()),
        z_(solve_.m().is_fused ? 0 : n_, solve_.m().is_fused ? 0 : m_, solve_.device()),
        next_z_(solve_.m().is_fused ? 0 : n_, Init::none, solve_.device()),
        space_(m_, solve_.device()),
        memory_(detail::GmresScalars::size(m_), Init::none, loop_.device_of_state()),
        on_host_(loop_.device_of_state().is_host() ? 0 : memory_.size(), Init::none) {}

  [[nodiscard]] SolveReport solve() override {
    loop_.reset();
    loop_.state().restart = static_cast<std::int32_t>(m_);
    return solve_.run(*this, loop_);
  }

  // For KrylovSolve.

  void iterate(Loop& loop) {
    std::visit([&]<class M>(const M& m) { iterate(loop, m); }, solve_.m().entry);
  }

  /// x = x + M (V y) or x + Z y, where R y = g: x of the smallest residual in the directions so far.
  void complete_iteration() {
    detail::GmresState& state = loop_.state();
    filled_ = std::exchange(state.directions, 0);
    state.columns = 0;
    // The kept x is what it was at the start, whatever the recurrence has reached since.
    state.keep = false;
    state.kept_norm = kept_norm_;
    const std::int32_t count = filled_ > 0 ? solve_coefficients() : 0;
    if (count == 0) return;
    const double* const y = scalars_on_host().first();
    std::visit(
        [&]<class M>(const M& m) {
          const bool is_fused = solve_.m().is_fused;
          const detail::GmresUpdateSolution<T, M> op{.m = m,
                                                     .block = is_fused ? v_.view() : z_.view(),
                                                     .coefficients = y,
                                                     .projections = nullptr,
                                                     .x = solve_.x().data()};
          fused::block_pass(solve_.device(), n_, op, {}, count, space_);
        },
        solve_.m().entry);
  }

  /// v = r / ‖r‖
  void start() {
    detail::GmresState& state = loop_.state();
    if (state.norm < state.kept_norm) solve_.keep_best();
    state.gamma = first_norm_ = state.norm;
    kept_norm_ = state.kept_norm;
    state.columns = 1;
    state.z_norm = std::sqrt(std::visit(
        [&]<class M>(const M& m) {
          return fused::transform_reduce(solve_.device(), n_,
                                         detail::GmresStart<T, M>{.is_fused = solve_.m().is_fused,
                                                                  .m = m,
                                                                  .inverse = 1.0 / state.norm,
                                                                  .r = solve_.r().data(),
                                                                  .column = v_.view().column(0)});
        },
        solve_.m().entry));
  }

  void resume() { start(); }

 private:
  template <class M>
  void iterate(Loop& loop, const M& m) {
    const detail::KrylovProblem<T>& problem = solve_.problem();
    const bool is_fused = solve_.m().is_fused;
    const detail::GmresScalars all = scalars();
    // r holds v, or z where M is fused.
    const std::span<T> r = solve_.r();
    const std::span<T> z = is_fused ? r : next_z_.span();
    if (!is_fused) {
      loop.template product<T>(problem.m, r, z, r);
      loop.apply_scalars(detail::GmresPreconditionedNorm{});
    }
    // w = A z
    loop.template product<T>(problem.a, z, w_, z);
    T* const w = w_.current().data();
    // h = Vᵀ w
    loop.apply_block(n_,
                     detail::GmresProject<T>{.counts = solve_.m().counts() || !is_fused,
                                             .block = v_.view(),
                                             .coefficients = nullptr,
                                             .projections = all.first(),
                                             .w = w},
                     space_);
    // w = w - V h,  h' = Vᵀ w,  a column of R,  ‖r‖
    loop.apply_block(n_,
                     detail::GmresOrthogonalize<T>{.all = all,
                                                   .block = v_.view(),
                                                   .coefficients = all.first(),
                                                   .projections = all.second(),
                                                   .w = w,
                                                   .z = z.data(),
                                                   .kept_z = z_.view()},
                     space_);
    // v = (w - V h') / ‖w - V h'‖,  z = M v
    loop.apply_block(n_,
                     detail::GmresExtend<T, M>{.is_fused = is_fused,
                                               .m = m,
                                               .block = v_.view(),
                                               .coefficients = all.second(),
                                               .projections = nullptr,
                                               .w = w,
                                               .out = r.data()},
                     space_);
  }

  [[nodiscard]] detail::GmresScalars scalars() noexcept { return {memory_.data(), m_}; }
  [[nodiscard]] detail::GmresScalars scalars_on_host() noexcept {
    return on_host_.empty() ? scalars() : detail::GmresScalars{on_host_.data(), m_};
  }

  /// y = R⁻¹ g for `count` directions.
  void solve_triangular(std::int32_t count) {
    const detail::GmresScalars all = scalars_on_host();
    double* const y = all.first();
    std::copy_n(all.right_side(), count, y);
    for (std::int32_t k = count - 1; k >= 0; --k) {
      const double* const column = all.column(k);
      y[k] /= column[k];
      for (std::int32_t i = 0; i < k; ++i) y[i] -= y[k] * column[i];
    }
  }

  /// Whether the terms of A Z y are so large that their rounding errors outweigh what y is to reach.
  [[nodiscard]] bool is_drowned(std::int32_t count) {
    solve_triangular(count);
    const detail::GmresScalars all = scalars_on_host();
    const detail::GmresState& state = loop_.state();
    double terms = 0.0;
    for (std::int32_t k = 0; k < count; ++k) terms += std::abs(all.first()[k]) * all.w_norm()[k];
    double squares = state.gamma * state.gamma;
    for (std::int32_t k = count; k < filled_; ++k) squares += all.right_side()[k] * all.right_side()[k];
    // Written so that NaN is drowned.
    return !(state.epsilon * terms <= std::max(std::sqrt(squares), drowning_fraction * first_norm_));
  }

  /// y in first(), for all directions or for as many as rounding errors allow: R of a singular A becomes ever worse
  /// conditioned while the residual approaches its least value (P. N. Brown, H. F. Walker, GMRES on (Nearly) Singular
  /// Systems, SIAM J. Matrix Anal. Appl. 18(1), 1997). \returns the directions; 0, with a breakdown, where the step
  /// would leave the range of the element type
  [[nodiscard]] std::int32_t solve_coefficients() {
    const detail::GmresScalars all = scalars_on_host();
    if (!on_host_.empty()) {
      const auto bytes = static_cast<std::uint64_t>(all.column(filled_) - all.memory) * sizeof(double);
      detail::copy_bytes(Device{}, all.memory, memory_.device(), memory_.data(), bytes);
    }
    std::int32_t count = filled_;
    if (is_drowned(count)) {
      count = 0;
      for (std::int32_t above = filled_; above - count > 1;) {
        const std::int32_t middle = count + (above - count) / 2;
        (is_drowned(middle) ? above : count) = middle;
      }
      solve_triangular(count);
    }
    const double* const y = all.first();
    detail::GmresState& state = loop_.state();
    double step = 0.0;
    bool fits = true;
    for (std::int32_t k = 0; k < count; ++k) {
      step += std::abs(y[k]) * all.z_norm()[k];
      fits = fits && state.fits(y[k]);
    }
    if (fits && state.update_is_safe(1.0, step)) return count;
    state.break_down(Breakdown::not_finite, step);
    return 0;
  }

  Loop loop_;
  detail::KrylovSolve<T> solve_;
  std::int64_t n_;
  std::int64_t m_;
  std::int32_t filled_ = 0;  // directions of the cycle that ended
  double first_norm_ = 0.0;  // ‖r‖₂ at the start of the cycle
  double kept_norm_ = 0.0;   // that of the kept x then

  DualBuffer<T> w_;
  fused::VectorBlock<T> v_;
  fused::VectorBlock<T> z_;  // empty where M is fused, as next_z_
  Array<T> next_z_;
  fused::BlockSpace space_;
  Array<double> memory_;   // GmresScalars
  Array<double> on_host_;  // a copy of it; empty where the host has the original
};

}  // namespace

namespace detail {

template <class T>
std::unique_ptr<KrylovMethod<T>> make_gmres(const KrylovProblem<T>& problem) {
  const int restart = problem.options.restart;
  if (restart < 1 || restart > fused::most_columns) {
    throw InvalidArgument(fmt::format("restart must be 1 to {}, got {}", fused::most_columns, restart));
  }
  return std::make_unique<Gmres<T>>(problem);
}

template std::unique_ptr<KrylovMethod<float>> make_gmres(const KrylovProblem<float>&);
template std::unique_ptr<KrylovMethod<double>> make_gmres(const KrylovProblem<double>&);

}  // namespace detail

template <class T>
SolveReport gmres(const LinearOperator<T>& A, const LinearOperator<T>& M, std::span<const std::type_identity_t<T>> b,
                  std::span<std::type_identity_t<T>> x, const SolverOptions& options) {
  const detail::KrylovProblem<T> problem({A, M, b, x, options});
  return detail::make_gmres(problem)->solve();
}

template <class T>
SolveReport gmres(const LinearOperator<T>& A, std::span<const std::type_identity_t<T>> b,
                  std::span<std::type_identity_t<T>> x, const SolverOptions& options) {
  return gmres<T>(A, IdentityOperator<T>(A.rows(), A.device()), b, x, options);
}

template SolveReport gmres(const LinearOperator<float>&, const LinearOperator<float>&, std::span<const float>,
                           std::span<float>, const SolverOptions&);
template SolveReport gmres(const LinearOperator<double>&, const LinearOperator<double>&, std::span<const double>,
                           std::span<double>, const SolverOptions&);
template SolveReport gmres(const LinearOperator<float>&, std::span<const float>, std::span<float>,
                           const SolverOptions&);
template SolveReport gmres(const LinearOperator<double>&, std::span<const double>, std::span<double>,
                           const SolverOptions&);

}  // namespace tessera
