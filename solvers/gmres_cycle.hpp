/// \file
/// A cycle of GMRES: its basis, the operations of an iteration, and what the host does before and after. For one
/// right-hand side (gmres.cpp), or for each of several (panel/gmres_panel.hpp). The scalars and the operations are in
/// gmres.hpp.
#pragma once

#include "solvers/fused/block.hpp"
#include "solvers/fused/block_pass.hpp"
#include "solvers/fused/transform_reduce.hpp"
#include "solvers/gmres.hpp"
#include "solvers/krylov.hpp"
#include "tessera/array.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <variant>

namespace tessera::detail {

/// Rounding errors of this fraction of the first residual of a cycle are left to the next cycle.
inline constexpr double drowning_fraction = 0.01;

/// \throws InvalidArgument for a restart out of range
void require_restart(const SolverOptions& options);

/// Directions of a cycle: no more than a solve can use.
[[nodiscard]] inline std::int64_t gmres_directions(std::int64_t n, const SolverOptions& options) {
  return std::clamp<std::int64_t>(std::min(n, options.max_iterations), 1, options.restart);
}

/// How M is applied.
template <class T>
struct GmresSide {
  bool is_left;   ///< w = M A v; else z = M v, w = A z
  bool is_fused;  ///< M is fused
  bool counts;    ///< M is not the identity
  bool keeps_z;   ///< x is formed from z = M v, which are kept
  /// M as far as z = M v is fused. From the left it is the identity, and z = v.
  std::variant<fused::FusedIdentity<T>, fused::FusedDiagonal<T>> direction;
  fused::FusedDiagonal<T> diagonal{};  ///< from the left, where M is fused

  GmresSide(const fused::FusedPreconditioner<T>& m, PreconditionerSide side)
      : is_left(side == PreconditionerSide::left && !m.is_identity),
        is_fused(m.is_fused),
        counts(!m.is_identity),
        keeps_z(!is_left && !is_fused) {
    if (!is_left) direction = m.entry;
    if (is_left && is_fused) diagonal = std::get<fused::FusedDiagonal<T>>(m.entry);
  }
  /// Whether an iteration forms z with v.
  [[nodiscard]] bool direction_is_fused() const noexcept { return !keeps_z; }
};

/// The next cycle of a preconditioned residual has to lower it to min(‖M r‖ f, ‖M r‖ target / ‖r‖): f falls where
/// cycles that did so left ‖r‖ above the target, and rises where they ended before (SciPy, gmres(), 1.12: a tolerance
/// of its own for the preconditioned residual).
class PreconditionedTarget {
 public:
  /// Before a cycle. \param residual ‖r‖₂ \returns the target of r_per_gamma |γ|
  [[nodiscard]] double lower(double target, double residual) noexcept {
    of_solve_ = target;
    return std::min(target, factor_ * residual);
  }
  /// After it. \param met whether the cycle has ended because of it \returns the target of the solve
  [[nodiscard]] double restore(bool met) noexcept {
    factor_ = met ? std::max(std::numeric_limits<double>::epsilon(), 0.25 * factor_) : std::min(1.0, 1.5 * factor_);
    return of_solve_;
  }

 private:
  double factor_ = 1.0;
  double of_solve_ = 0.0;
};

/// The vectors of the cycles of one right-hand side.
template <class T>
class GmresCycle {
 public:
  /// \param directions m \param device_of_state where the loop has its state
  GmresCycle(std::int64_t n, std::int64_t directions, const GmresSide<T>& side, const Device& device,
             const Device& device_of_state)
      : side_(side),
        directions_(directions),
        v_(n, directions, device),
        z_(side.keeps_z ? n : 0, side.keeps_z ? directions : 0, device),
        space_(directions, device),
        memory_(GmresScalars::size(directions), Init::zero, device_of_state),
        on_host_(device_of_state.is_host() ? 0 : memory_.size(), Init::none) {}

  [[nodiscard]] const GmresSide<T>& side() const noexcept { return side_; }
  [[nodiscard]] std::int64_t directions() const noexcept { return directions_; }
  [[nodiscard]] fused::BlockSpace& space() noexcept { return space_; }
  [[nodiscard]] fused::BlockView<T> v() noexcept { return v_.view(); }
  /// The columns that x is formed from.
  [[nodiscard]] fused::BlockView<T> solution_columns() noexcept { return side_.keeps_z ? z_.view() : v_.view(); }

  /// Where the loop runs.
  [[nodiscard]] GmresScalars scalars() noexcept { return {memory_.data(), directions_}; }
  [[nodiscard]] GmresScalars scalars_on_host() noexcept {
    return on_host_.empty() ? scalars() : GmresScalars{on_host_.data(), directions_};
  }
  /// The scalars of the first directions, where the host can read them.
  void bring_to_host(std::int32_t count) {
    if (on_host_.empty()) return;
    const GmresScalars to = scalars_on_host();
    const auto bytes = static_cast<std::uint64_t>(to.column(count) - to.memory) * sizeof(double);
    copy_bytes(Device{}, to.memory, memory_.device(), memory_.data(), bytes);
  }

  // The operations of an iteration, after w = A z or its M A z.

  /// v = v - V h',  h = Vᵀ w
  [[nodiscard]] GmresProject<T> project(T* w) {
    return {.counts = side_.counts,
            .block = v(),
            .coefficients = scalars().second(),
            .projections = scalars().first(),
            .w = w};
  }
  /// w = M w,  v = v - V h',  h = Vᵀ w
  [[nodiscard]] GmresPreconditionAndProject<T> precondition_and_project(T* w) {
    return {.m = side_.diagonal,
            .block = v(),
            .coefficients = scalars().second(),
            .projections = scalars().first(),
            .w = w};
  }
  /// w = w - V h,  h' = Vᵀ w,  a column of R,  ‖r‖. \param z M v
  [[nodiscard]] GmresOrthogonalize<T> orthogonalize(T* w, const T* z) {
    const GmresScalars all = scalars();
    return {.all = all,
            .block = v(),
            .coefficients = all.first(),
            .projections = all.second(),
            .w = w,
            .z = z,
            .kept_z = z_.view()};
  }
  /// v = w / ‖w - V h'‖,  z = M v. \param out z, or v where z will be a product
  template <class M>
  [[nodiscard]] GmresExtend<T, M> extend(const M& m, const T* w, T* out) {
    return {.is_fused = side_.direction_is_fused(),
            .m = m,
            .block = v(),
            .coefficients = nullptr,
            .projections = nullptr,
            .w = w,
            .out = out};
  }

  /// Between cycles, of one solve.
  struct Memory {
    std::int32_t filled = 0;      ///< directions of the cycle that ended
    double first_norm = 0.0;      ///< ‖r‖₂, or ‖M r‖₂ from the left, at the start of the cycle
    double kept_norm = 0.0;       ///< that of the kept x then
    double best_per_gamma = 0.0;  ///< smallest residual of the cycles before, in units of |γ|; 0: unknown
    PreconditionedTarget target;
  };
  Memory memory;

 private:
  GmresSide<T> side_;
  std::int64_t directions_;
  fused::VectorBlock<T> v_;
  fused::VectorBlock<T> z_;  ///< empty unless they are kept
  fused::BlockSpace space_;
  Array<double> memory_;   ///< GmresScalars
  Array<double> on_host_;  ///< a copy of it; empty where the host has the original
};

/// What the host does between runs of the loop, for KrylovSolve.
template <class T>
struct GmresHostSteps {
  KrylovSolve<T>& solve;
  GmresState& state;
  GmresCycle<T>& cycle;
  std::span<T> scratch;  ///< from the left: room for M r

  /// v = r / ‖r‖, or M r / ‖M r‖ from the left.
  void start() const {
    if (state.norm < state.kept_norm) solve.keep_best();
    cycle.memory.kept_norm = state.kept_norm;
    cycle.memory.first_norm = state.norm;
    const T* u = solve.r().data();
    if (cycle.side().is_left) {
      if (!precondition_residual()) return;
      u = scratch.data();
    }
    state.restart = static_cast<std::int32_t>(cycle.directions());
    state.gamma = cycle.memory.first_norm;
    state.columns = 1;
    state.z_norm = std::sqrt(std::visit(
        [&]<class M>(const M& m) {
          return fused::transform_reduce(solve.device(), n(),
                                         GmresStart<T, M>{.is_fused = cycle.side().direction_is_fused(),
                                                          .m = m,
                                                          .inverse = 1.0 / cycle.memory.first_norm,
                                                          .u = u,
                                                          .out = solve.r().data(),
                                                          .column = cycle.v().column(0)});
        },
        cycle.side().direction));
  }

  void resume() const { start(); }

  /// x = x + M (V y) or x + Z y, where R y = g: x of the smallest residual in the directions so far.
  void complete_iteration() const {
    typename GmresCycle<T>::Memory& memory = cycle.memory;
    if (cycle.side().is_left && state.minimizes_preconditioned()) {
      state.target = memory.target.restore(state.halt == fused::Halt::check);
      memory.best_per_gamma = state.halt == fused::Halt::cycle ? state.best / state.r_per_gamma : 0.0;
    }
    memory.filled = std::exchange(state.directions, 0);
    state.columns = 0;
    // The kept x is what it was at the start, whatever the recurrence has reached since.
    state.keep = false;
    state.kept_norm = memory.kept_norm;
    const std::int32_t count = memory.filled > 0 ? solve_coefficients() : 0;
    if (count == 0) return;
    std::visit(
        [&]<class M>(const M& m) {
          const GmresUpdateSolution<T, M> op{.m = m,
                                             .block = cycle.solution_columns(),
                                             .coefficients = cycle.scalars_on_host().first(),
                                             .projections = nullptr,
                                             .x = solve.x().data()};
          fused::block_pass(solve.device(), n(), op, {}, count, cycle.space());
        },
        cycle.side().direction);
  }

 private:
  [[nodiscard]] std::int64_t n() const { return static_cast<std::int64_t>(solve.x().size()); }

  /// M r and its norm, from which the residuals of the cycle follow. \returns false where no cycle can begin
  [[nodiscard]] bool precondition_residual() const {
    const std::span<const T> r = solve.r();
    const double norm = std::sqrt(solve.precondition(r, scratch, r).yy);
    if (!state.fits(norm)) {
      state.break_down(Breakdown::not_finite, norm);
      return false;
    }
    if (norm == 0.0) {
      state.break_down(Breakdown::preconditioner, 0.0, Recovery::none);
      return false;
    }
    typename GmresCycle<T>::Memory& memory = cycle.memory;
    memory.first_norm = state.preconditioned_norm = norm;
    state.r_per_gamma = state.norm / norm;
    // Progress is that of ‖M r‖.
    if (memory.best_per_gamma > 0.0) state.best = memory.best_per_gamma * state.r_per_gamma;
    state.target = memory.target.lower(state.target, state.norm);
    return true;
  }

  /// y = R⁻¹ g for `count` directions.
  void solve_triangular(std::int32_t count) const {
    const GmresScalars all = cycle.scalars_on_host();
    double* const y = all.first();
    std::copy_n(all.right_side(), count, y);
    for (std::int32_t k = count - 1; k >= 0; --k) {
      const double* const column = all.column(k);
      y[k] /= column[k];
      for (std::int32_t i = 0; i < k; ++i) y[i] -= y[k] * column[i];
    }
  }

  /// Directions of which x is formed by M are kept as V, whose columns they differ from by their corrections: V c = Z y
  /// or, with M, M V c = Z y. \param y becomes c
  void change_basis(std::int32_t count) const {
    const GmresScalars all = cycle.scalars_on_host();
    double* const y = all.first();
    for (std::int32_t i = 0; i < count; ++i) {
      for (std::int32_t k = i + 1; k < count; ++k) y[i] += all.correction(k)[i] * all.correction_scale(k) * y[k];
    }
  }

  /// Whether the terms of A Z y are so large that their rounding errors outweigh what y is to reach.
  [[nodiscard]] bool is_drowned(std::int32_t count) const {
    solve_triangular(count);
    const GmresScalars all = cycle.scalars_on_host();
    double terms = 0.0;
    for (std::int32_t k = 0; k < count; ++k) terms += std::abs(all.first()[k]) * all.w_norm()[k];
    double squares = state.gamma * state.gamma;
    for (std::int32_t k = count; k < cycle.memory.filled; ++k) squares += all.right_side()[k] * all.right_side()[k];
    // Written so that NaN is drowned.
    return !(state.epsilon * terms <= std::max(std::sqrt(squares), drowning_fraction * cycle.memory.first_norm));
  }

  /// y in first(), or c, for all directions or for as many as rounding errors allow: R of a singular A becomes ever
  /// worse conditioned while the residual approaches its least value (P. N. Brown, H. F. Walker, GMRES on (Nearly)
  /// Singular Systems, SIAM J. Matrix Anal. Appl. 18(1), 1997). \returns the directions; 0, with a breakdown, where the
  /// step would leave the range of the element type
  [[nodiscard]] std::int32_t solve_coefficients() const {
    const GmresScalars all = cycle.scalars_on_host();
    std::int32_t count = cycle.memory.filled;
    cycle.bring_to_host(count);
    if (is_drowned(count)) {
      count = 0;
      for (std::int32_t above = cycle.memory.filled; above - count > 1;) {
        const std::int32_t middle = count + (above - count) / 2;
        (is_drowned(middle) ? above : count) = middle;
      }
      solve_triangular(count);
    }
    const double* const y = all.first();
    double step = 0.0;
    bool fits = true;
    for (std::int32_t k = 0; k < count; ++k) {
      step += std::abs(y[k]) * all.z_norm()[k];
      fits = fits && state.fits(y[k]);
    }
    if (fits && state.update_is_safe(1.0, step)) {
      if (!cycle.side().keeps_z) change_basis(count);
      return count;
    }
    state.break_down(Breakdown::not_finite, step);
    return 0;
  }
};

}  // namespace tessera::detail
