/// \file
/// Estimation of the forward error: Varah's bound of strictly dominant rows, else small-sample condition estimation by
/// the method that solved the system, else iterative refinement, by direct factors where these are cheap.
#pragma once

#include "tessera/accuracy.hpp"
#include "tessera/csr.hpp"
#include "tessera/fused_operator.hpp"
#include "tessera/report.hpp"
#include "tessera/solvers.hpp"
#include "tessera/statistics.hpp"

#include <cstdint>
#include <span>

namespace tessera::detail {

/// Condition number that CG met in k iterations: from k <= ½ √κ ln(2 / reduction), which bounds its iterations (Y.
/// Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., section 6.11.3), κ >= (2 k / ln(2 / reduction))²; at
/// least 1. A lower bound, which clears nothing by itself. \param reduction of the residual, in (0, 1]
[[nodiscard]] double cg_condition(std::int64_t iterations, double reduction);

/// A solve that converged or stagnated. Vectors and matrix lie on the device of A.
template <class T>
struct EndedSolve {
  const FusedOperator<T>& A;
  const FusedOperator<T>& M;
  CsrView<T> matrix;  ///< A
  const MatrixStatistics& facts;
  std::span<const T> b;
  std::span<T> x;
  const CorrectionSolver<T>& solve;  ///< the method with M
  bool is_cg = false;
  bool is_direct = false;                ///< M is the inverse to rounding
  std::uint64_t memory_limit_bytes = 0;  ///< of direct factors; 0: none
  bool may_screen = false;               ///< the iterations began at the caller's guess, and x met the tolerance
};

/// Bytes that direct factors for a correction take at most; 0 where the matrix is too large for them.
[[nodiscard]] std::uint64_t correcting_factors_bytes(std::int64_t rows, offset_t nnz);

struct ErrorAssessment {
  ErrorEstimate estimate;
  double true_residual = 0.0;  ///< ‖b - A x‖₂ after corrections; 0 without
  BackwardError backward;      ///< of the x that is returned
};

/// Claims an error of x, and under ErrorGate::repair corrects x first.
///   1. Strictly dominant rows bound it: up to 1e-4 nothing else is asked.
///   2. A screen, κ ‖M r‖ / ‖x‖ for the κ that the iterations and constants met, up to 1e-4 for CG and M-matrices, 1e-6
///      for others; then, unless an M-matrix has no weak links, a probe, A d = r + noise of the size of r in every row,
///      mean and random sign (small-sample condition estimation, C. S. Kenney, A. J. Laub, SIAM J. Sci. Comput. 15(1),
///      1994). Systems that take at most 20 ms by a model are probed until a mode of the random part cannot hide,
///      others for a sixteenth of the iterations. Badly scaled systems, and those with a backward error above 1e-4, are
///      not screened.
///   3. Else direct factors, where a model says at most 20 ms, solve A d = r and A d = noise of rounding errors; the
///      method with M solves A d = r + noise where they are not cheap. ErrorGate::repair corrects an error above
///      good_error by factors, trusted_error by the method, and measures again.
/// A rowwise backward error above 1e-4 leaves a claim to factors and bounds alone.
/// \param report of the solve; reads iterations, norms and target
/// \param limits of all solves together; the observer is called
/// \throws what estimate_error() throws
template <class T>
[[nodiscard]] ErrorAssessment assess_error(const EndedSolve<T>& solved, const SolverOptions& limits, ErrorGate gate,
                                           const SolveReport& report);

extern template ErrorAssessment assess_error(const EndedSolve<float>&, const SolverOptions&, ErrorGate,
                                             const SolveReport&);
extern template ErrorAssessment assess_error(const EndedSolve<double>&, const SolverOptions&, ErrorGate,
                                             const SolveReport&);

}  // namespace tessera::detail
