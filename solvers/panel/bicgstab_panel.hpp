/// \file
/// BiCGSTAB on a panel: the iteration of bicgstab_iteration.hpp on blocks of columns. It moves 4 n elements per column
/// and iteration more than the single solve (the inner products of both products), but the matrix once for all columns.
#pragma once

#include "solvers/bicgstab_iteration.hpp"
#include "solvers/panel/panel_loop.hpp"
#include "solvers/panel/panel_vectors.hpp"

#include <span>
#include <vector>

namespace tessera::detail {

template <class T>
struct BicgstabPanel {
  using State = BicgstabState;
  using HostSteps = BicgstabHostSteps<T>;
  /// Of a column, between its restarts.
  struct Memory {
    explicit Memory(const KrylovProblem<T>& problem) : shadows{problem.options.shadow == Shadow::random} {}
    BicgstabShadows shadows;
  };
  enum Vector : int { x, r, kept, p, v, shadow, t, p_hat, s_hat };
  static constexpr int lasting = 6;

  [[nodiscard]] static int blocks(const fused::FusedPreconditioner<T>& m) { return m.is_identity ? 7 : 9; }
  [[nodiscard]] static std::vector<int> host_vectors(const fused::FusedPreconditioner<T>& m) {
    return {x, r, kept, shadow, direction(m.is_identity)};
  }

  static void iterate(fused::PanelLoop<State>& loop, const fused::PanelProblem<T>& problem,
                      fused::PanelVectors<T>& vectors, std::span<Memory* const> /*columns*/) {
    const bool is_identity = problem.preconditioner.is_identity;
    const BicgstabIteration<T> iteration{.x = vectors.panel(x),
                                         .r = vectors.panel(r),
                                         .p = vectors.panel(p),
                                         .p_hat = vectors.panel(direction(is_identity)),
                                         .s_hat = vectors.panel(is_identity ? r : s_hat),
                                         .shadow = vectors.panel(shadow),
                                         .kept = vectors.panel(kept)};
    std::span<T> first = vectors.panel(v);
    std::span<T> second = vectors.panel(t);
    iteration.enqueue(loop, problem, first, second);
  }

  [[nodiscard]] static HostSteps host_steps(KrylovSolve<T>& solve, State& state, Memory& memory,
                                            fused::PanelVectors<T>& vectors) {
    return {.solve = solve,
            .state = state,
            .shadows = memory.shadows,
            .p_hat = vectors.column(direction(solve.m().is_identity)),
            .shadow = vectors.column(shadow)};
  }

 private:
  /// Where p̂ lies.
  [[nodiscard]] static int direction(bool is_identity) { return is_identity ? p : p_hat; }
};

}  // namespace tessera::detail
