/// \file
/// When a Krylov method ends, and how that is said. Shared by all of them.
#pragma once

#include "tessera/report.hpp"
#include "tessera/solvers.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace tessera {

/// \throws InvalidArgument naming the first option out of range
void check_options(const SolverOptions& options);

/// Keeps what the stopping rules need to remember. Norms come in the units of the scaled problem; texts and report are
/// in the user's, 2^exponent times larger. Comparisons are plain <= and >, without hidden slack.
class Stopping {
 public:
  /// \param epsilon machine epsilon of the element type
  Stopping(const SolverOptions& options, std::int64_t n, double epsilon);

  void begin(double b_norm, double r0_norm, int exponent);

  [[nodiscard]] double target() const noexcept { return target_; }
  [[nodiscard]] double user_units(double norm) const;
  [[nodiscard]] bool satisfied(double true_residual) const noexcept { return true_residual <= target_; }

  /// Whether the true residual must be computed now: the recurrence claims to be done, or it has fallen below the
  /// rounding errors that it has collected, from where on it says nothing about x.
  [[nodiscard]] bool wants_check(double recurrence) const noexcept;
  /// Whether the recurrence's residual still has correct digits, judged by the rounding errors of its largest value.
  [[nodiscard]] bool trusts(double recurrence) const noexcept;
  [[nodiscard]] bool wants_replacement(std::int64_t iteration) const noexcept;

  /// Limits, divergence and stagnation after an iteration; nothing means go on. \param residual finite
  [[nodiscard]] std::optional<Status> verdict(std::int64_t iteration, double residual, double seconds);

  /// The recurrence now starts from a computed residual.
  void replaced(std::int64_t iteration, double true_residual);
  /// After a check that found the true residual above the target: whether restarting from it has ceased to lower it.
  [[nodiscard]] bool restart_is_futile(double true_residual);
  /// Whether one more restart after a breakdown is allowed; counts it.
  [[nodiscard]] bool may_restart(double true_residual);

  /// The inequality that fired. \param true_residual of the returned x, scaled units
  [[nodiscard]] std::string reason(Status status, const SolveReport& report, double true_residual) const;

 private:
  [[nodiscard]] std::string target_text() const;
  [[nodiscard]] std::string cause(Status status, const SolveReport& report) const;
  [[nodiscard]] std::string breakdown_cause(const SolveReport& report) const;

  const SolverOptions& options_;
  std::int64_t window_;
  double epsilon_;
  int exponent_ = 0;
  double target_ = 0.0;
  double divergence_limit_ = std::numeric_limits<double>::infinity();

  double peak_ = 0.0;  // largest residual since the last computed one: the scale of the recurrence's rounding errors
  double best_ = 0.0;  // smallest residual, and when it was last lowered by 1 %
  std::int64_t best_iteration_ = 0;
  double last_residual_ = 0.0;
  double seconds_ = 0.0;

  double best_checked_ = std::numeric_limits<double>::infinity();  // smallest true residual of the failed checks
  int futile_checks_ = 0;
  double restart_reference_ = 0.0;  // true residual from which the allowed restarts are counted
  int restarts_ = 0;
};

}  // namespace tessera
