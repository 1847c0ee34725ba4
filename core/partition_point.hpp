/// \file
/// Binary search by a condition, on the host and on a GPU.
#pragma once

#include "core/host_device.hpp"

namespace tessera::detail {

/// The first number in [low, high) for which `is_before` is false, or `high`. O(log(high - low)).
/// \param is_before true for the numbers up to some point, false for all after it
#ifdef __CUDACC__
#pragma nv_exec_check_disable  // a condition may be of the host alone, or of a GPU alone
#endif
template <class Index, class Condition>
[[nodiscard]] TESSERA_HOST_DEVICE constexpr Index partition_point(Index low, Index high, const Condition& is_before) {
  while (low < high) {
    const Index middle = low + (high - low) / 2;
    if (is_before(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace tessera::detail
