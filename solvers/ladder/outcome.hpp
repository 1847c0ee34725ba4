/// \file
/// Outcomes of the ladder: how good an x is, why a rung was left, and why the ladder ended.
#pragma once

#include "tessera/ladder.hpp"

#include <limits>
#include <string>

namespace tessera::detail {

/// A larger relative error than this is worth another rung, and a warning.
inline constexpr double trusted_error = 1e-3;

/// How good an x is; the smaller, the better.
struct LadderQuality {
  bool converged = false;
  bool stable = false;                                        ///< backward stable
  double error = std::numeric_limits<double>::infinity();     ///< forward error, infinity where it is not known
  double residual = std::numeric_limits<double>::infinity();  ///< over ‖b‖

  [[nodiscard]] bool is_better_than(const LadderQuality& other) const noexcept {
    if (converged != other.converged) return converged;
    if (stable != other.stable && !converged) return stable;
    return converged && error != other.error ? error < other.error : residual < other.residual;
  }
  [[nodiscard]] bool is_trusted() const noexcept { return converged && error <= trusted_error; }
};

/// What happened while a rung ran.
struct RungEvents {
  const std::string& left;  ///< why RungWatch left; empty where it did not
  bool is_backward_stable = false;
};

/// RungReport::outcome of a rung that iterated.
[[nodiscard]] std::string outcome_of(const RungReport& rung, const SolveReport& report, const RungEvents& events);

/// What ended the ladder.
struct LadderEnding {
  std::string stop_words;  ///< why the observer stopped it; empty where it did not
  bool is_out_of_time = false;
  bool is_out_of_iterations = false;
};

/// The report of a rung tells why that rung ended; status and reason of one that did not converge become those of the
/// ladder.
void set_final_status(const LadderEnding& ending, SolveReport& report);

}  // namespace tessera::detail
