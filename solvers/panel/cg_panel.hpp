/// \file
/// Conjugate gradients on a panel: the iteration of cg_iteration.hpp on blocks of columns.
///
/// Memory movement per iteration and column, n elements each; the matrix is read once for all columns (per eight of
/// them, where the product takes no more at a time). In brackets: for an M that is not fused:
///   Q = A P                     2n    reads P, writes Q
///   <p, q>, <q, q>              2n    reads P, Q
///   r with <r, r>, <r, M r>     3n    reads R, Q; writes R; + 1n / columns for a diagonal
///   [Z = M R with <r, z>        4n    + M]
///   x, p with <p, p>            5n    reads X, R [Z], P; writes X, P; + 1n / columns for a diagonal
/// 12 n, where the single solve moves 10 n and the whole matrix.
#pragma once

#include "solvers/cg_iteration.hpp"
#include "solvers/panel/panel_loop.hpp"
#include "solvers/panel/panel_vectors.hpp"

#include <span>
#include <vector>

namespace tessera::detail {

template <class T>
struct CgPanel {
  using State = CgState;
  using HostSteps = CgHostSteps<T>;
  /// Of a column, between its restarts.
  struct Memory {
    explicit Memory(const KrylovProblem<T>& /*problem*/) {}
  };
  enum Vector : int { x, r, kept, p, q, z };
  static constexpr int lasting = 4;

  [[nodiscard]] static int blocks(const fused::FusedPreconditioner<T>& m) { return m.is_fused ? 5 : 6; }
  [[nodiscard]] static std::vector<int> host_vectors(const fused::FusedPreconditioner<T>& m) {
    return m.is_fused ? std::vector<int>{x, r, kept, p} : std::vector<int>{x, r, kept, p, z};
  }

  static void iterate(fused::PanelLoop<State>& loop, const fused::PanelProblem<T>& problem,
                      fused::PanelVectors<T>& vectors, std::span<Memory* const> /*columns*/) {
    const CgIteration<T> iteration{.x = vectors.panel(x),
                                   .r = vectors.panel(r),
                                   .p = vectors.panel(p),
                                   .z = problem.preconditioner.is_fused ? std::span<T>{} : vectors.panel(z),
                                   .kept = vectors.panel(kept)};
    std::span<T> product = vectors.panel(q);
    iteration.enqueue(loop, problem, product);
  }

  [[nodiscard]] static HostSteps host_steps(KrylovSolve<T>& solve, State& state, Memory& /*memory*/,
                                            fused::PanelVectors<T>& vectors) {
    return {.solve = solve,
            .state = state,
            .p = vectors.column(p),
            .z = solve.m().is_fused ? std::span<T>{} : vectors.column(z)};
  }
};

}  // namespace tessera::detail
