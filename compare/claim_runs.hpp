/// \file
/// Solves of known_systems.hpp by methods and preconditioners, with the claims beside them and the errors.
#pragma once

#include "compare/known_systems.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::compare {

struct ClaimOutcome {
  std::string system;
  std::string way;  ///< "auto", "cg jacobi"
  std::string claim;
  std::string source;
  double claimed = 0.0;
  double error = 0.0;  ///< max |x - exact| / max |x|
  double backward = 0.0;
  double gate_ms = 0.0;
  double solve_ms = 0.0;  ///< and set-up
  bool warned = false;    ///< by W015 or W016

  /// An error above ten times the claim, and no warning.
  [[nodiscard]] bool is_silent() const;
  /// A warning beside an error of at most 1e-6.
  [[nodiscard]] bool is_needless() const;
};

/// The ladder, and the methods and preconditioners that fit. \param first_guess none: zeros \returns those that
/// converged
[[nodiscard]] std::vector<ClaimOutcome> solve_every_way(const KnownSystem& system,
                                                        std::span<const double> first_guess = {});

}  // namespace tessera::compare
