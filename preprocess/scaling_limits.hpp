/// \file
/// Limits of scaling factors.
#pragma once

#include <algorithm>

namespace tessera::detail {

/// Into [2^-511, 2^511]: a product of two is a normal number.
[[nodiscard]] inline double limited_factor(double factor) { return std::clamp(factor, 0x1p-511, 0x1p511); }

}  // namespace tessera::detail
