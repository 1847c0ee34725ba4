/// \file
/// Stopping criteria of the Krylov methods: the part of the host, and the text of the reason.
#pragma once

#include "solvers/stop_state.hpp"
#include "tessera/report.hpp"
#include "tessera/solvers.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace tessera::detail {

/// Why a solve ended whose observer stopped it. \param stop_cause of the options, may be empty
[[nodiscard]] std::string stop_words(const std::function<std::string()>& stop_cause);

/// Iterations without progress after which a solve stagnates.
[[nodiscard]] std::int64_t stagnation_iterations(const SolverOptions& options, std::int64_t n);
[[nodiscard]] Tolerances tolerances_of(const SolverOptions& options);

/// The host's part of the stopping rules; the part of every iteration is in StopState. Norms come in the units of the
/// scaled problem; texts and report are in the user's, 2^exponent times larger.
class StoppingCriteria {
 public:
  /// \param epsilon machine epsilon of the element type \param state outlives this
  StoppingCriteria(const SolverOptions& options, std::int64_t n, double epsilon, StopState& state);

  void begin(double b_norm, double r0_norm, int exponent);

  [[nodiscard]] double user_units(double norm) const;
  /// The target in the user's units: the absolute tolerance, to the digit, where that decides.
  [[nodiscard]] double user_target() const;

  /// Limits, divergence and stagnation of an iterate with a computed residual; nothing means go on.
  [[nodiscard]] std::optional<Status> verdict(double residual);
  /// The solve stagnates for this cause, which ends in "; ".
  void stall(std::string cause) { stall_ = std::move(cause); }
  /// For the text of a time limit.
  void set_seconds(double seconds) noexcept { seconds_ = seconds; }

  /// The recurrence was restarted from a computed residual.
  void replaced(double true_residual) { state_.replaced(true_residual); }
  /// After a check that found the true residual above the target: whether restarting no longer lowers it.
  [[nodiscard]] bool restart_is_futile(double true_residual) { return restarts_.check_is_futile(true_residual); }
  /// After a cycle of GMRES that left the true residual above the target: whether cycles no longer lower what they
  /// minimize. \param norm the true residual, or where it is ‖M r‖₂ that of the beginning of the cycle
  [[nodiscard]] bool cycle_is_futile(double norm);
  /// Whether one more restart after a breakdown is allowed; counts it.
  [[nodiscard]] bool may_restart(double true_residual) {
    return restarts_.allow(true_residual, options_.breakdown_restarts);
  }

  /// The inequality that ended the solve. \param true_residual of the returned x, scaled units
  [[nodiscard]] std::string reason(Status status, const SolveReport& report, double true_residual) const;

 private:
  [[nodiscard]] std::string target_text() const;
  [[nodiscard]] std::string cause(Status status, const SolveReport& report) const;
  [[nodiscard]] std::string breakdown_cause(const SolveReport& report) const;

  const SolverOptions& options_;
  StopState& state_;
  int exponent_ = 0;
  bool target_is_absolute_ = false;
  double seconds_ = 0.0;
  std::string stall_;

  RestartRules restarts_;
  double best_of_cycles_ = std::numeric_limits<double>::infinity();  // smallest norm of cycle_is_futile()
  int idle_cycles_ = 0;
};

}  // namespace tessera::detail
