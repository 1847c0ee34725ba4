/// \file
/// Exclusive sums on either backend: counts become offsets.
#pragma once

#include "core/cuda/scan.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <span>
#include <utility>

namespace tessera::detail {

/// Replaces counts by the sums of those before them; the last element, whatever it was, by the sum of all but itself.
/// \param counts on the device, not empty \returns the sum; waits for it
[[nodiscard]] inline offset_t sum_to_offsets(const Device& device, std::span<offset_t> counts) {
  if (!device.is_host()) {
    zero_bytes(device, &counts.back(), sizeof(offset_t));
    return cuda::exclusive_sum(device, counts);
  }
  offset_t sum = 0;
  counts.back() = 0;
  for (offset_t& count : counts) sum += std::exchange(count, sum);
  return sum;
}

}  // namespace tessera::detail
