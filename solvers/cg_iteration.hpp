/// \file
/// One iteration of conjugate gradients, as operations of a loop: driven by the host (cg.cpp), without it
/// (enqueued_cg.cpp), or for several right-hand sides at once (panel/cg_panel.hpp). The scalars and the operations are
/// in cg.hpp.
#pragma once

#include "solvers/cg.hpp"
#include "solvers/fused/transform_reduce.hpp"
#include "solvers/fused/vector_ops.hpp"
#include "solvers/krylov.hpp"
#include "tessera/array.hpp"

#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>

namespace tessera::detail {

template <class T>
struct CgIteration {
  std::span<T> x;
  std::span<T> r;
  std::span<T> p;
  std::span<T> z;     ///< M r; not used where M is fused
  std::span<T> kept;  ///< receives x where that is to be kept

  /// \param problem a KrylovProblem or a PanelProblem \param q receives A p: a DualBuffer or a span
  template <class Loop, class Problem, class Output>
  void enqueue(Loop& loop, const Problem& problem, Output& q) const {
    const auto n = static_cast<std::int64_t>(x.size());
    const bool is_fused = problem.preconditioner.is_fused;
    // q = A p
    loop.template product<T>(problem.a, p, q, p);
    std::visit(
        [&]<class M>(const M& m) {
          // α = ρ / <p, q>,  r = r - α q
          loop.apply(n, CgUpdateResidual<T, M>{
                            .counts = problem.preconditioner.counts(), .m = m, .q = data_of(q), .r = r.data()});
          // z = M r,  ρ' = <r, z>
          if (!is_fused) loop.template product<T>(problem.m, r, z, r);
          // β = ρ' / ρ,  x = x + α p,  p = z + β p
          loop.apply(n, CgUpdateSolutionAndDirection<T, M>{.is_fused = is_fused,
                                                           .m = m,
                                                           .z = is_fused ? r.data() : z.data(),
                                                           .x = x.data(),
                                                           .p = p.data(),
                                                           .kept = kept.data()});
        },
        problem.preconditioner.entry);
  }

 private:
  /// Of the latest product.
  [[nodiscard]] static const T* data_of(DualBuffer<T>& q) { return q.current().data(); }
  [[nodiscard]] static const T* data_of(std::span<T> q) { return q.data(); }
};

/// What the host does between runs of the loop, for KrylovSolve.
template <class T>
struct CgHostSteps {
  KrylovSolve<T>& solve;
  CgState& state;
  std::span<T> p;
  std::span<T> z;  ///< not used where M is fused

  /// x = x + α p, where the loop halted before x followed r.
  void complete_iteration() const {
    if (!state.x_is_behind) return;
    state.x_is_behind = false;
    fused::axpy<T>(solve.device(), static_cast<T>(state.alpha), p, solve.x());
  }

  /// z = M r,  ρ = <r, z>,  p = z
  void start() const {
    state.rho = precondition();
    update_direction(0.0);
  }

  /// After r was computed anew: z = M r,  ρ' = <r, z>,  β = ρ' / ρ,  p = z + β p
  void resume() const {
    const double previous = std::exchange(state.rho, precondition());
    const double beta = state.rho / previous;
    if (!state.fits(beta)) return state.break_down(Breakdown::not_finite, beta);
    update_direction(beta);
  }

 private:
  [[nodiscard]] std::int64_t n() const { return static_cast<std::int64_t>(p.size()); }

  /// <r, M r>; forms z = M r where M is not fused.
  [[nodiscard]] double precondition() const {
    const std::span<const T> r = solve.r();
    if (!solve.m().is_fused) return solve.precondition(r, z, r).wy;
    solve.count_fused_preconditioner();
    return std::visit(
        [&]<class M>(const M& m) {
          return fused::transform_reduce(solve.device(), n(), CgPreconditionedDot<T, M>{.m = m, .r = r.data()});
        },
        solve.m().entry);
  }

  /// p = z + β p
  void update_direction(double beta) const {
    const T* const from = solve.m().is_fused ? solve.r().data() : z.data();
    const double pp = std::visit(
        [&]<class M>(const M& m) {
          const CgUpdateDirection<T, M> update{.beta = static_cast<T>(beta), .m = m, .z = from, .p = p.data()};
          return fused::transform_reduce(solve.device(), n(), update);
        },
        solve.m().entry);
    state.p_norm = std::sqrt(pp);
    state.test_direction();
  }
};

}  // namespace tessera::detail
