/// \file
/// Exclusive sums on a GPU: counts become offsets.
#pragma once

#include "core/cuda/cub_primitives.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <span>

namespace tessera::cuda {

/// Replaces each count by the sum of those before it. O(n) work, O(n / 1024) scratch memory.
/// \param counts on the device \returns the sum of all; waits for it \throws CudaError, OutOfMemory
[[nodiscard]] offset_t exclusive_sum(const Device& device, std::span<offset_t> counts,
                                     PrimitiveBy by = PrimitiveBy::automatic);

/// The same without the total and without waiting.
void exclusive_sum_on_device(const Device& device, std::span<offset_t> counts, PrimitiveBy by = PrimitiveBy::automatic);

}  // namespace tessera::cuda
