/// \file
/// A preconditioner that distorts norms.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace tessera::testing {

/// A diagonal between 1 and 2^-powers: ‖M r‖ says little of ‖r‖.
[[nodiscard]] inline std::vector<double> uneven_diagonal(std::int64_t n, int powers) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < n; ++i) result.push_back(std::ldexp(1.0, -static_cast<int>(i * 7 % (powers + 1))));
  return result;
}

}  // namespace tessera::testing
