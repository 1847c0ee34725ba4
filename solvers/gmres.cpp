/// GMRES(m): flexible and preconditioned from the right, or preconditioned from the left.
///
/// Y. Saad, M. H. Schultz, GMRES: A Generalized Minimal Residual Algorithm for Solving Nonsymmetric Linear Systems,
/// SIAM J. Sci. Stat. Comput. 7(3), 1986; Y. Saad, A Flexible Inner-Outer Preconditioned GMRES Algorithm, SIAM J. Sci.
/// Comput. 14(2), 1993. Classical Gram-Schmidt twice: L. Giraud, J. Langou, M. Rozložník, J. van den Eshof, Rounding
/// error analysis of the classical Gram-Schmidt orthogonalization process, Numer. Math. 101, 2005. V is orthonormal to
/// working precision, so |γ|, the last entry of the rotated right-hand side, is ‖b - A x‖ of the x that is not yet
/// formed. From the left (Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., algorithm 9.4) z = v and
/// w = M A v, and |γ| is ‖M r‖.
///
/// The second orthogonalization waits for the pass over V that the next step makes anyway, so a step reads V twice
/// instead of three times (delayed, as in D. Bielich, J. Langou, S. Thomas, K. Świrydowicz, I. Yamazaki, E. G. Boman,
/// Low-synch Gram-Schmidt with delayed reorthogonalization for Krylov solvers, Parallel Comput. 112, 2022). Until then
/// the direction is v + V d with known d: A multiplies that, as a flexible method may, x is formed with d, and no
/// residual is late.
///
/// Memory movement of step j of a cycle (j columns in V), n elements each, besides the matrix (in brackets: for an M
/// that is not fused; a diagonal adds 1n):
///   [z = M v with ‖z‖²           2n     + M; from the left w = M w, after the product with A]
///   w = A z with ‖w‖²            3n     reads z twice, writes w
///   v = v - V d, h = Vᵀ w        (j+2)n reads V, w; writes the last column of V
///   w = w - V h with Vᵀ w        (j+2)n reads V (again from the cache), w; writes w; [+ 2n, reads z, writes it to Z]
///   v = w / ‖w - V h'‖, z        3n     reads w; writes v to V, z
/// In all (2 j + 10) n: about 41 n elements in the mean of a cycle of 30. At its end, x takes (m + 2) n, and its
/// residual one more product.
///
/// On a GPU, where M is fused, a small system is solved by one kernel (solvers/persistent_gmres.cuh).
#include "solvers/gmres_cycle.hpp"
#include "solvers/persistent_matrix.hpp"
#include "tessera/error.hpp"
#include "tessera/solvers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace tessera {

namespace {

/// A graph checks its condition after two iterations: they are longer than those of other methods, and of a cycle an
/// even number.
constexpr int iterations_per_check = 2;

template <class T>
class Gmres final : public detail::KrylovMethod<T> {
 public:
  using Loop = fused::Loop<detail::GmresState>;

  explicit Gmres(const detail::KrylovProblem<T>& problem)
      : loop_(problem.device(), problem.is_enqueueable(),
              std::min(problem.iterations_per_check(), iterations_per_check)),
        solve_(problem, loop_.state()),
        n_(problem.a.rows()),
        w_(problem.a.make_output()),
        image_(solve_.m().is_fused ? 0 : n_, Init::none, solve_.device()),
        cycle_(n_, detail::gmres_directions(n_, problem.options),
               detail::GmresSide<T>(solve_.m(), problem.options.side), solve_.device(), loop_.device_of_state()),
        persistent_(
            detail::persistent_matrix_of(problem, cuda::PersistentLoop::gmres, static_cast<int>(cycle_.directions()))) {
    if (persistent_) loop_.run_by_kernel([this](const cuda::LoopFrame& frame) { launch(frame); });
  }

  [[nodiscard]] SolveReport solve() override {
    loop_.reset();
    cycle_.memory = {};
    return solve_.run(*this, loop_);
  }

  // For KrylovSolve.

  void iterate(Loop& loop) {
    const detail::GmresSide<T>& side = cycle_.side();
    // r holds v, or z where M is fused and on the right.
    const std::span<T> r = solve_.r();
    const std::span<T> z = side.keeps_z ? image_.span() : r;
    if (side.keeps_z) {
      loop.template product<T>(solve_.problem().m, r, z, r);
      loop.apply_scalars(detail::GmresPreconditionedNorm{});
    }
    // w = A z, or M A z
    loop.template product<T>(solve_.problem().a, z, w_, z);
    std::span<T> w = w_.current();
    if (side.is_left && !side.is_fused) {
      loop.template product<T>(solve_.problem().m, w, image_.span(), w);
      w = image_.span();
    }
    fused::BlockSpace& space = cycle_.space();
    if (side.is_left && side.is_fused) {
      loop.apply_block(n_, cycle_.precondition_and_project(w.data()), space);
    } else {
      loop.apply_block(n_, cycle_.project(w.data()), space);
    }
    loop.apply_block(n_, cycle_.orthogonalize(w.data(), z.data()), space);
    std::visit([&](const auto& m) { loop.apply_block(n_, cycle_.extend(m, w.data(), r.data()), space); },
               side.direction);
  }

  void complete_iteration() { steps().complete_iteration(); }
  void start() { steps().start(); }
  void resume() { steps().resume(); }

 private:
  void launch(const cuda::LoopFrame& frame) {
    const fused::FusedPreconditioner<T>& m = solve_.m();
    const cuda::PersistentGmresVectors<T> vectors{.diagonal = detail::diagonal_of(m),
                                                  .is_left = cycle_.side().is_left,
                                                  .counts = m.counts(),
                                                  .z = solve_.r().data(),
                                                  .v = cycle_.v(),
                                                  .scalars = cycle_.scalars().memory};
    persistent_->launch_gmres(frame, *detail::free_matrix_of(solve_.problem()), vectors);
  }

  [[nodiscard]] detail::GmresHostSteps<T> steps() {
    return {.solve = solve_,
            .state = loop_.state(),
            .cycle = cycle_,
            .scratch = image_.empty() ? w_.current() : image_.span()};
  }

  Loop loop_;
  detail::KrylovSolve<T> solve_;
  std::int64_t n_;
  DualBuffer<T> w_;
  Array<T> image_;  ///< M v, or M A v from the left; empty where M is fused
  detail::GmresCycle<T> cycle_;
  std::unique_ptr<cuda::PersistentMatrix<T>> persistent_;
};

}  // namespace

namespace detail {

void require_restart(const SolverOptions& options) {
  if (options.restart >= 1 && options.restart <= fused::most_columns) return;
  throw InvalidArgument(fmt::format("restart must be 1 to {}, got {}", fused::most_columns, options.restart));
}

template <class T>
std::unique_ptr<KrylovMethod<T>> make_gmres(const KrylovProblem<T>& problem) {
  require_restart(problem.options);
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
