/// \file
/// Running sums on a GPU, for offsets that depend on counts.
#pragma once

#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <span>

namespace tessera::cuda {

/// Replaces counts by the sum of those before them. O(n) work, n / 2048 entries of scratch space.
/// \param counts on the device \returns the sum of all; waits for it \throws CudaError, OutOfMemory
[[nodiscard]] offset_t exclusive_sum(const Device& device, std::span<offset_t> counts);

/// The same without the total and without waiting.
void exclusive_sum_on_device(const Device& device, std::span<offset_t> counts);

}  // namespace tessera::cuda
