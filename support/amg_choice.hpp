/// \file
/// Whether algebraic multigrid pays for a system: the first iterations of CG with Jacobi, projected to the tolerance,
/// against the iterations that set-up and solve with AMG are worth.
#pragma once

#include "tessera/device.hpp"
#include "tessera/linear_operator.hpp"
#include "tessera/report.hpp"
#include "tessera/solvers.hpp"
#include "tessera/statistics.hpp"

#include <cstdint>
#include <span>

namespace tessera::support {

/// Smaller systems are solved before a choice is made.
inline constexpr index_t least_rows_for_amg = 20'000;

/// Symmetric with a positive diagonal, and at least least_rows_for_amg rows: worth a trial.
[[nodiscard]] bool may_need_amg(const MatrixStatistics& matrix);

/// Iterations of CG with Jacobi that take as long as set-up and solve with AMG.
/// On a GPU from a model of its times (H200, bench/NOTES.md): AMG 3.5 ms + 4.9 ns per row, an iteration .012 ms + .045
/// ns per row. On the host a constant: there set-up took as long as 120 to 130 iterations, and the solve as 65 to 80,
/// on 2D 300² and 3D 60³ (one thread).
[[nodiscard]] double amg_break_even(std::int64_t rows, const Device& device);

/// \param projected iterations of CG with Jacobi; infinity: it does not converge
[[nodiscard]] bool worth_amg(double projected, std::int64_t rows, const Device& device);

/// Iterations until the residual is at most `target`, when it goes on to fall as in the second half of the trial; CG's
/// residual oscillates, so the smallest one so far counts. Infinity where it does not fall. \param residuals of
/// iterations 0, 1, ...; not empty
[[nodiscard]] double projected_iterations(std::span<const double> residuals, double target);

/// What a trial found.
struct JacobiTrial {
  std::int64_t iterations = 0;  ///< that were run
  double projected = 0.0;       ///< iterations to the tolerance; infinity where the residual does not fall
  double break_even = 0.0;      ///< amg_break_even()
  double ms = 0.0;
  Status status = Status::max_iterations;
};

/// A system to try a preconditioner on. Vectors lie on the host.
template <class T>
struct TrialSystem {
  const LinearOperator<T>& A;
  std::span<const T> b;
  std::span<const T> x0;
  SolverOptions options;  ///< its tolerances count; the observer is asked whether to stop, and may be empty
};

/// At most 40 iterations of CG from x0; ends early when half of the digits are reached, since the other half then takes
/// less than AMG. \throws what cg() throws
template <class T>
[[nodiscard]] JacobiTrial try_jacobi(const TrialSystem<T>& system, const LinearOperator<T>& jacobi);

}  // namespace tessera::support
