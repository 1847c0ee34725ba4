/// \file
/// Range of scaling factors, and scaled magnitudes that neither over- nor underflow on the way.
#pragma once

#include <algorithm>
#include <cmath>

namespace tessera::detail {

/// Factors and their inverses are normal numbers.
inline constexpr int max_scaling_exponent = 1022;

[[nodiscard]] inline double limited_factor(double factor) {
  return std::clamp(factor, std::ldexp(1.0, -max_scaling_exponent), std::ldexp(1.0, max_scaling_exponent));
}

/// |row value column|, the same for exchanged factors. The larger factor comes first: where the result is at most 1,
/// nothing overflows, and where it is 1, nothing is subnormal on the way.
[[nodiscard]] inline double scaled_magnitude(double row, double value, double column) {
  return std::max(row, column) * std::abs(value) * std::min(row, column);
}

}  // namespace tessera::detail
