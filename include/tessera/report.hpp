/// \file
/// Reports of iterative methods, and observers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Why an iteration ended. `converged` alone means that the tolerance holds; it is given only after the true residual
/// ‖b - A x‖ was computed and found small enough.
enum class Status {
  converged,
  max_iterations,
  time_limit,
  breakdown,    ///< the method cannot continue; see Breakdown
  diverged,     ///< the residual grew beyond divergence_tolerance
  stagnated,    ///< the residual no longer falls
  not_finite,   ///< NaN or infinity in the input, or in the recurrence after all allowed restarts
  interrupted,  ///< the observer asked to stop
};

/// "converged", "max_iterations", "time_limit", "breakdown", "diverged", "stagnated", "not_finite", "interrupted".
[[nodiscard]] std::string_view to_string(Status status);

/// The quantity that vanished or had the wrong sign.
enum class Breakdown {
  none,
  rho,             ///< BiCGSTAB: residual orthogonal to the shadow vector
  alpha,           ///< BiCGSTAB: A p orthogonal to the shadow vector; IDR: to one of them
  omega,           ///< BiCGSTAB: A s orthogonal to s; IDR: A M r = 0
  indefinite,      ///< CG, Chebyshev: pᵀ A p <= 0, the matrix is not positive definite
  preconditioner,  ///< rᵀ M r <= 0 in CG, vᵀ M v <= 0 in MINRES, rᵀ M r <= 0 in Chebyshev iteration
  dependent,       ///< GMRES, MINRES: A z depends on the directions before it, and x is not reached: A is singular
  not_finite,      ///< NaN or infinity in a scalar of the recurrence
  asymmetric,      ///< MINRES: <A u, v> differs from <u, A v>, so A is not symmetric
};

[[nodiscard]] std::string_view to_string(Breakdown breakdown);

/// A breakdown during the iteration.
struct BreakdownEvent {
  std::int64_t iteration = 0;
  Breakdown kind = Breakdown::none;
  double value = 0.0;      ///< the quantity relative to the norms of its factors (a cosine), or its plain value
  bool restarted = false;  ///< the method restarted from the true residual
};

/// One entry of the residual history. Norms are of the user's problem, not of the scaled one.
struct HistoryEntry {
  std::int64_t iteration = 0;
  double seconds = 0.0;        ///< since the solve began
  double recurrence = 0.0;     ///< residual norm of the recurrence (PageRank: change of the vector)
  double true_residual = 0.0;  ///< computed residual norm where it was computed, else NaN
};

/// Wall-clock times of the phases, milliseconds. A solver fills `solve_ms`; its caller fills the other phases.
struct Timings {
  double read_ms = 0.0;
  double upload_ms = 0.0;
  double plan_ms = 0.0;
  double preconditioner_ms = 0.0;
  double solve_ms = 0.0;
  double download_ms = 0.0;
};

/// Result of a Krylov method.
struct [[nodiscard]] SolveReport {
  Status status = Status::max_iterations;
  Breakdown breakdown = Breakdown::none;  ///< set when status is breakdown (or not_finite after one)
  std::string reason;                     ///< the inequality that ended the solve, with numbers
  std::int64_t iterations = 0;  ///< completed iterations; a half step of BiCGSTAB that converges counts as one
  std::int64_t spmv_count = 0;  ///< products with A, those of residual checks included
  std::int64_t preconditioner_count = 0;  ///< applications of M, fused ones included; 0 for none
  std::int64_t restarts = 0;              ///< after breakdowns
  /// Recurrence residual replaced by the true one: periodically, after a failed check, or after a cycle of GMRES.
  std::int64_t replacements = 0;
  std::vector<BreakdownEvent> breakdowns;

  double recurrence_residual = 0.0;  ///< latest ‖r‖₂ of the recurrence
  double true_residual = 0.0;        ///< ‖b - A x‖₂, computed from the returned x
  double b_norm = 0.0;               ///< ‖b‖₂
  double r0_norm = 0.0;              ///< ‖b - A x₀‖₂
  double target = 0.0;               ///< max(rtol * base, atol)

  std::vector<HistoryEntry> history;  ///< empty unless asked for
  Timings timings;

  [[nodiscard]] bool converged() const noexcept { return status == Status::converged; }
};

/// Progress after an iteration, for observers.
struct IterationInfo {
  std::int64_t iteration = 0;
  std::int64_t max_iterations = 0;
  double residual = 0.0;  ///< of the recurrence; in PageRank the change of the vector, infinity at iteration 0
  double target = 0.0;
  double seconds = 0.0;
};

enum class Control { proceed, stop };

/// Called on the solving thread after every iteration (and once before the first, as iteration 0). Returning
/// Control::stop ends the solve with Status::interrupted and the current iterate. Exceptions pass through to the
/// caller. A solve of an empty system, or with NaN or infinity in b or x0, ends without a call.
/// A GPU iterates by itself and reports about every 10 ms, or every few iterations if they take longer. The observer is
/// then called for all these iterations in order; when it stops the solve, the GPU is that many iterations ahead.
using Observer = std::function<Control(const IterationInfo&)>;

}  // namespace tessera
