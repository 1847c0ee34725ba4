/// IDR(4), biorthogonal, preconditioned from the right.
///
/// P. Sonneveld, M. B. van Gijzen, IDR(s): A Family of Simple and Fast Algorithms for Solving Large Nonsymmetric
/// Systems of Linear Equations, SIAM J. Sci. Comput. 31(2), 2008; M. B. van Gijzen, P. Sonneveld, Algorithm 913: An
/// Elegant IDR(s) Variant that Efficiently Exploits Biorthogonality Properties, ACM Trans. Math. Softw. 38(1), 2011. ω
/// is kept away from zero as in G. L. G. Sleijpen, H. A. van der Vorst, Maintaining convergence properties of BiCGstab
/// methods in finite precision arithmetic, Numer. Algorithms 10, 1995.
///
/// A cycle has four steps, each with a direction that is biorthogonal to the shadow vectors p_i, and one that lowers
/// the residual by ω. Since p_iᵀ g_k is known for the earlier directions, one pass gives all inner products of a step.
/// All steps are the same operations; the state says which coefficients are zero.
///
/// Memory movement of step k = 0 ... 3 of a cycle, n elements each, besides the matrix (in brackets: for an M that is
/// not fused; a diagonal adds 1n):
///   [v = r - Σ c g               (6-k)n  reads r, g_k ... g_3; writes v; then 2n + M]
///   u = ω M v + Σ c u            (10-2k)n reads r, g_k ... g_3, u_k ... u_3; writes u
///   g = A u with <r, g>, <g, g>  3n      reads u, r; writes g
///   Pᵀ g                         5n      reads P, g
///   g, u, x, r with <r, r>       (8+2k)n reads g, u, r, x, g_0 ... g_k-1, u_0 ... u_k-1; writes g_k, u_k, r, x
/// 26 n in each; 16 n in the step of ω.
#include "solvers/idr.hpp"

#include "solvers/krylov.hpp"
#include "tessera/solvers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace tessera {

namespace {

template <class T>
class Idr final : public detail::KrylovMethod<T> {
 public:
  using Loop = fused::Loop<detail::IdrState>;

  explicit Idr(const detail::KrylovProblem<T>& problem)
      : loop_(problem.device(), problem.is_enqueueable(), problem.iterations_per_check()),
        solve_(problem, loop_.state()),
        n_(problem.a.rows()),
        s_(static_cast<std::int32_t>(std::min<std::int64_t>(n_, detail::idr_directions))),
        image_(problem.a.make_output()),
        shadow_(n_, s_, solve_.device()),
        g_(n_, s_, solve_.device()),
        u_(n_, s_, solve_.device()),
        next_u_(n_, Init::none, solve_.device()),
        v_(solve_.m().is_fused ? 0 : n_, Init::none, solve_.device()),
        v_hat_(v_.size(), Init::none, solve_.device()) {}

  [[nodiscard]] SolveReport solve() override {
    loop_.reset();
    // The first shadow of a solve serves again unless a breakdown has replaced it, or was about to.
    if (!has_shadow_ || shadows_drawn_ != static_cast<std::uint64_t>(s_)) {
      has_shadow_ = false;
      shadows_drawn_ = 0;
    }
    return solve_.run(*this, loop_);
  }

  // For KrylovSolve.

  void iterate(Loop& loop) {
    std::visit([&]<class M>(const M& m) { iterate(loop, m); }, solve_.m().entry);
  }

  /// x and r are updated together. After a breakdown other shadow vectors may do.
  void complete_iteration() {
    if (loop_.state().halt == fused::Halt::breakdown) has_shadow_ = false;
  }

  /// No directions yet: u = M r
  void start() {
    if (!has_shadow_) draw_shadow();
    detail::IdrState& state = loop_.state();
    g_.clear();
    u_.clear();
    state.s = s_;
    state.step = 0;
    state.omega = 1.0;
    for (std::int32_t i = 0; i < s_; ++i) {
      for (std::int32_t k = 0; k < s_; ++k) state.projected[i][k] = i == k ? 1.0 : 0.0;
      state.u_norm[i] = 0.0;
    }
    resume();
  }

  /// f = Pᵀ r
  void resume() {
    detail::IdrState& state = loop_.state();
    const detail::IdrShadowProducts<T> products{.s = s_, .shadow = shadow_.view(), .r = solve_.r().data()};
    const detail::IdrProjections f = fused::transform_reduce(solve_.device(), n_, products);
    for (std::int32_t i = 0; i < s_; ++i) state.f[i] = i < state.step ? 0.0 : f.with[i];
    state.solve_for_c();
  }

 private:
  template <class M>
  void iterate(Loop& loop, const M& m) {
    const detail::KrylovProblem<T>& problem = solve_.problem();
    const bool is_fused = solve_.m().is_fused;
    const std::span<T> r = solve_.r();
    // v = r - Σ c g
    if (!is_fused) {
      loop.apply(n_, detail::IdrReducedResidual<T>{.g = g_.view(), .r = r.data(), .v = v_.data()});
      loop.template product<T>(problem.m, v_.span(), v_hat_.span(), v_.span());
    }
    // u = ω M v + Σ c u
    loop.apply(n_, detail::IdrDirection<T, M>{.is_fused = is_fused,
                                              .counts = !is_fused || solve_.m().counts(),
                                              .m = m,
                                              .g = g_.view(),
                                              .directions = u_.view(),
                                              .in = is_fused ? r.data() : v_hat_.data(),
                                              .u = next_u_.data()});
    // g = A u
    loop.template product<T>(problem.a, next_u_.span(), image_, r);
    const T* const image = image_.current().data();
    // α,  Pᵀ G,  β;  or ω
    loop.apply(n_, detail::IdrProject<T>{.shadow = shadow_.view(), .g = image});
    // g = g - Σ α g,  u = u - Σ α u,  x = x + β u,  r = r - β g;  or x = x + ω u,  r = r - ω g
    loop.apply(n_, detail::IdrUpdate<T>{.shadow = shadow_.view(),
                                        .g_block = g_.view(),
                                        .u_block = u_.view(),
                                        .g = image,
                                        .u = next_u_.data(),
                                        .r = r.data(),
                                        .x = solve_.x().data(),
                                        .kept = solve_.kept().data()});
  }

  /// P: random and orthonormal, by Gram-Schmidt twice.
  void draw_shadow() {
    const Device& device = solve_.device();
    for (std::int32_t k = 0; k < s_; ++k) {
      const std::span<T> p(shadow_.view().column(k), static_cast<std::size_t>(n_));
      const std::uint64_t stream = shadows_drawn_++ << 32;
      fused::transform_reduce(
          device, n_,
          detail::IdrShadow<T>{.seed = solve_.problem().options.seed, .stream = stream, .shadow = p.data()});
      for (int pass = 0; pass < 2; ++pass) {
        for (std::int32_t i = 0; i < k; ++i) {
          const std::span<const T> earlier(shadow_.view().column(i), static_cast<std::size_t>(n_));
          fused::axpy<T>(device, static_cast<T>(-fused::dot<T>(device, earlier, p)), earlier, p);
        }
        // p / ‖p‖ = p + (1 / ‖p‖ - 1) p
        const double norm = std::sqrt(fused::dot<T>(device, p, p));
        fused::axpy<T>(device, static_cast<T>(1.0 / norm - 1.0), p, p);
      }
    }
    has_shadow_ = true;
  }

  Loop loop_;
  detail::KrylovSolve<T> solve_;
  std::int64_t n_;
  std::int32_t s_;
  bool has_shadow_ = false;
  std::uint64_t shadows_drawn_ = 0;

  DualBuffer<T> image_;           // A u
  fused::VectorBlock<T> shadow_;  // P
  fused::VectorBlock<T> g_;
  fused::VectorBlock<T> u_;
  Array<T> next_u_;
  Array<T> v_;  // empty where M is fused, as v_hat_
  Array<T> v_hat_;
};

}  // namespace

namespace detail {

template <class T>
std::unique_ptr<KrylovMethod<T>> make_idr(const KrylovProblem<T>& problem) {
  require_right_side(problem.options, "idr");
  return std::make_unique<Idr<T>>(problem);
}

template std::unique_ptr<KrylovMethod<float>> make_idr(const KrylovProblem<float>&);
template std::unique_ptr<KrylovMethod<double>> make_idr(const KrylovProblem<double>&);

}  // namespace detail

template <class T>
SolveReport idr(const LinearOperator<T>& A, const LinearOperator<T>& M, std::span<const std::type_identity_t<T>> b,
                std::span<std::type_identity_t<T>> x, const SolverOptions& options) {
  const detail::KrylovProblem<T> problem({A, M, b, x, options});
  return detail::make_idr(problem)->solve();
}

template SolveReport idr(const LinearOperator<float>&, const LinearOperator<float>&, std::span<const float>,
                         std::span<float>, const SolverOptions&);
template SolveReport idr(const LinearOperator<double>&, const LinearOperator<double>&, std::span<const double>,
                         std::span<double>, const SolverOptions&);

}  // namespace tessera
