/// \file
/// Device-wide primitives of CUB, with temporary storage from the device's memory pool, in its stream, without waiting.
/// Only cub_primitives.cu includes CUB, whose headers are slow to compile.
#pragma once

#include "tessera/array.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <cstdint>
#include <span>

namespace tessera::cuda {

/// Who implements a primitive. bench_primitives_cuda times one against the other.
enum class PrimitiveBy : std::uint8_t { cub, own };
/// The defaults of exclusive_sum() and of enqueue_sort() for one segment.
inline constexpr PrimitiveBy scan_by = PrimitiveBy::cub;
inline constexpr PrimitiveBy sort_by = PrimitiveBy::cub;

/// cub::DeviceScan::ExclusiveSum in place. \throws CudaError, OutOfMemory
void cub_exclusive_sum(const Device& device, std::span<offset_t> counts);

/// cub::DeviceRadixSort::SortKeys of the first `count` keys by their bits begin ... end - 1; stable. The sorted keys
/// end in `keys`; the contents of `other` are lost. \throws CudaError, OutOfMemory
void cub_sort_keys(const Device& device, Array<std::uint64_t>& keys, Array<std::uint64_t>& other, std::uint32_t count,
                   int begin, int end);

}  // namespace tessera::cuda
