/// \file
/// What an iteration tells when it stops.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Why an iteration ended. Only `converged` means that the tolerance holds, and it is given only after the true
/// residual ‖b - A x‖ has been computed and found small enough.
enum class Status {
  converged,
  max_iterations,
  time_limit,
  breakdown,    ///< the method cannot continue; see Breakdown
  diverged,     ///< the residual grew beyond divergence_tolerance
  stagnated,    ///< the residual no longer falls although the method goes on
  not_finite,   ///< NaN or infinity in the input, or produced and not mended by a restart
  interrupted,  ///< the observer asked to stop
};

/// "converged", "max_iterations", "time_limit", "breakdown", "diverged", "stagnated", "not_finite", "interrupted".
[[nodiscard]] std::string_view to_string(Status status);

/// Which quantity vanished or had the wrong sign.
enum class Breakdown {
  none,
  rho,             ///< BiCGSTAB: residual orthogonal to the shadow vector
  alpha,           ///< BiCGSTAB: A p orthogonal to the shadow vector
  omega,           ///< BiCGSTAB: A s orthogonal to s
  indefinite,      ///< CG: pᵀ A p <= 0, the matrix is not positive definite
  preconditioner,  ///< rᵀ M r <= 0 in CG
  not_finite,      ///< NaN or infinity in a scalar of the recurrence
};

[[nodiscard]] std::string_view to_string(Breakdown breakdown);

/// A breakdown that happened on the way and what was done about it.
struct BreakdownEvent {
  std::int64_t iteration = 0;
  Breakdown kind = Breakdown::none;
  double value = 0.0;      ///< the offending quantity relative to the norms of its factors (a cosine), or the raw value
  bool restarted = false;  ///< the iteration went on from the true residual
};

/// One row of the residual history. Norms are those of the user's problem (not scaled internally).
struct HistoryEntry {
  std::int64_t iteration = 0;
  double seconds = 0.0;        ///< since the solve began
  double recurrence = 0.0;     ///< residual norm as the recurrence has it (PageRank: change of the vector)
  double true_residual = 0.0;  ///< computed residual norm where it was computed, else NaN
};

/// Wall-clock split, milliseconds. A solver fills `solve`; its caller fills the phases it ran itself.
struct Timings {
  double read_ms = 0.0;
  double upload_ms = 0.0;
  double plan_ms = 0.0;
  double preconditioner_ms = 0.0;
  double solve_ms = 0.0;
  double download_ms = 0.0;
};

/// Result of cg(), bicgstab() and their kin.
struct [[nodiscard]] SolveReport {
  Status status = Status::max_iterations;
  Breakdown breakdown = Breakdown::none;  ///< set when status is breakdown (or not_finite after one)
  std::string reason;                     ///< the inequality that fired, with numbers
  std::int64_t iterations = 0;  ///< completed iterations; a half step of BiCGSTAB that converges counts as one
  std::int64_t spmv_count = 0;  ///< products with A, those of residual checks included
  std::int64_t preconditioner_count = 0;  ///< applications of M, those folded into vector passes included; 0 for none
  std::int64_t restarts = 0;              ///< after breakdowns
  std::int64_t replacements =
      0;  ///< recurrence residual replaced by the true one (periodically or after a failed check)
  std::vector<BreakdownEvent> breakdowns;

  double recurrence_residual = 0.0;  ///< ‖r‖₂ as the recurrence had it last
  double true_residual = 0.0;        ///< ‖b - A x‖₂, computed from the returned x
  double b_norm = 0.0;               ///< ‖b‖₂
  double r0_norm = 0.0;              ///< ‖b - A x₀‖₂
  double target = 0.0;               ///< max(rtol * base, atol)

  std::vector<HistoryEntry> history;  ///< empty unless asked for
  Timings timings;

  [[nodiscard]] bool converged() const noexcept { return status == Status::converged; }
};

/// What an observer is shown after every iteration.
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
/// caller. A solve that its data rule out (NaN or infinity in b or x0) or that is empty ends without a call.
/// A GPU iterates by itself and reports after about 10 ms, or a few iterations if they take longer: observers then hear
/// of all these iterations one after the other, and what they stop is that much further on.
using Observer = std::function<Control(const IterationInfo&)>;

}  // namespace tessera
