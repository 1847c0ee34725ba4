/// \file
/// One iteration of BiCGSTAB, as operations of a loop: for one right-hand side (bicgstab.cpp), or for several at once
/// (panel/bicgstab_panel.hpp). The scalars and the operations are in bicgstab.hpp.
#pragma once

#include "core/group_rank.hpp"
#include "solvers/bicgstab.hpp"
#include "solvers/fused/transform_reduce.hpp"
#include "solvers/fused/vector_ops.hpp"
#include "solvers/krylov.hpp"
#include "tessera/array.hpp"

#include <cmath>
#include <cstdint>
#include <span>
#include <variant>

namespace tessera::detail {

template <class T>
struct BicgstabIteration {
  std::span<T> x;
  std::span<T> r;
  std::span<T> p;
  std::span<T> p_hat;  ///< p itself where M is the identity
  std::span<T> s_hat;  ///< r itself where M is the identity
  std::span<T> shadow;
  std::span<T> kept;  ///< receives x where that is to be kept

  /// \param problem a KrylovProblem or a PanelProblem \param v,t receive A p̂ and A ŝ: two DualBuffers, or two spans
  template <class Loop, class Problem, class Output>
  void enqueue(Loop& loop, const Problem& problem, Output& v, Output& t) const {
    std::visit([&]<class M>(const M& m) { enqueue(loop, problem, v, t, m); }, problem.preconditioner.entry);
  }

 private:
  template <class Loop, class Problem, class Output, class M>
  void enqueue(Loop& loop, const Problem& problem, Output& v, Output& t, const M& m) const {
    const auto n = static_cast<std::int64_t>(x.size());
    const bool is_fused = problem.preconditioner.is_fused;
    const bool counts = problem.preconditioner.counts();
    const std::span<T> s = r;
    // p = r + β (p - ω v),  p̂ = M p
    loop.apply(n, BicgstabUpdateDirection<T, M>{.is_fused = is_fused,
                                                .counts = counts,
                                                .m = m,
                                                .r = r.data(),
                                                .v = data_of(v),
                                                .p = p.data(),
                                                .p_hat = is_fused ? p_hat.data() : p.data()});
    if (!is_fused) {
      loop.template product<T>(problem.m, p, p_hat, p);
      loop.apply_scalars(BicgstabPreconditionedNorm{{}, false});
    }
    // v = A p̂
    loop.template product<T>(problem.a, p_hat, v, shadow);
    // α = ρ / <r̂, v>,  s = r - α v,  ŝ = M s
    loop.apply(n, BicgstabUpdateS<T, M>{.is_fused = is_fused,
                                        .counts = counts,
                                        .m = m,
                                        .v = data_of(v),
                                        .s = s.data(),
                                        .s_hat = is_fused ? s_hat.data() : s.data()});
    if (!is_fused) {
      loop.template product<T>(problem.m, s, s_hat, s);
      loop.apply_scalars(BicgstabPreconditionedNorm{{}, true});
    }
    // t = A ŝ
    loop.template product<T>(problem.a, s_hat, t, s);
    // ω = <t, s> / <t, t>,  x = x + α p̂ + ω ŝ,  r = s - ω t,  ρ' = <r̂, r>,  β = (ρ' / ρ) (α / ω)
    loop.apply(n, BicgstabUpdateSolutionAndResidual<T>{.p_hat = p_hat.data(),
                                                       .s_hat = s_hat.data(),
                                                       .shadow = shadow.data(),
                                                       .t = data_of(t),
                                                       .x = x.data(),
                                                       .r = r.data(),
                                                       .kept = kept.data()});
  }

  /// Of the latest product.
  [[nodiscard]] static const T* data_of(DualBuffer<T>& v) { return v.current().data(); }
  [[nodiscard]] static const T* data_of(std::span<T> v) { return v.data(); }
};

/// How the next r̂ is chosen.
struct BicgstabShadows {
  bool is_random = false;
  std::uint64_t drawn = 0;
  bool after_half_step = false;  ///< the latest iteration ended with s
};

/// What the host does between runs of the loop, for KrylovSolve.
template <class T>
struct BicgstabHostSteps {
  KrylovSolve<T>& solve;
  BicgstabState& state;
  BicgstabShadows& shadows;
  std::span<T> p_hat;
  std::span<T> shadow;

  /// Completes an iteration that halted in the middle.
  void complete_iteration() const {
    solve.keep_if_due();
    shadows.after_half_step = state.halt == fused::Halt::half_step;
    if (shadows.after_half_step) {
      accept_half_step();
      return solve.finish_iteration(state.s_norm);
    }
    if (state.halt != fused::Halt::breakdown) return;
    if (state.breakdown == Breakdown::omega) {
      state.enlarge_omega = true;
      if (state.s_norm < state.norm) accept_half_step();
    }
    // Restarting with r̂ = r helps only if r has changed since the last start; else r̂ must be random.
    shadows.is_random = state.first_iteration || solve.problem().options.shadow == Shadow::random;
  }

  /// r̂,  ρ = <r̂, r>,  p = r by β = 0
  void start() const {
    const std::uint64_t stream = (shadows.drawn++ << 32) + first_row();
    const double squares = fused::transform_reduce(solve.device(), static_cast<std::int64_t>(shadow.size()),
                                                   BicgstabShadow<T>{.random = shadows.is_random,
                                                                     .seed = solve.problem().options.seed,
                                                                     .stream = stream,
                                                                     .r = solve.r().data(),
                                                                     .shadow = shadow.data()});
    state.shadow_norm = std::sqrt(squares);
    state.first_iteration = true;
    state.beta = 0.0;
    state.rho = shadow_product();
  }

  /// After r was computed anew: ρ' = <r̂, r>,  β = (ρ' / ρ) (α / ω), with ω of a whole iteration.
  void resume() const {
    if (shadows.after_half_step) return start();
    state.next_rho = shadow_product();
    state.update_beta();
  }

 private:
  /// Of the system, so that ranks of a group draw the r̂ of one device.
  [[nodiscard]] std::uint64_t first_row() const {
    const GroupRank* const rank = rank_of(solve.device());
    return rank == nullptr ? 0 : static_cast<std::uint64_t>(rank->first_row);
  }
  /// x = x + α p̂, whose residual is s.
  void accept_half_step() const { fused::axpy<T>(solve.device(), static_cast<T>(state.alpha), p_hat, solve.x()); }
  [[nodiscard]] double shadow_product() const { return fused::dot<T>(solve.device(), shadow, solve.r()); }
};

}  // namespace tessera::detail
