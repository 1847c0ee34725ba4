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

/// Implementation of a primitive: the one that is faster at its size, or one of the two, for tests and
/// bench_primitives_cuda.
enum class PrimitiveBy : std::uint8_t { automatic, cub, own };

/// Up to so many counts the own scan is used: its total costs no copies. On an H200, with the total brought to the
/// host, CUB takes 1.66 times as long at 10^3 counts, 1.32 times at 10^5, 1.05 times at 10^6, and .45 times at 10^7
/// (bench/results/2026-11-22-h200-primitives.json).
inline constexpr std::int64_t own_scan_limit = std::int64_t{1} << 18;

/// cub::DeviceScan::ExclusiveSum in place. \throws CudaError, OutOfMemory
void cub_exclusive_sum(const Device& device, std::span<offset_t> counts);

/// cub::DeviceRadixSort::SortKeys of the first `count` keys by their bits begin ... end - 1; stable. The sorted keys
/// end in `keys`; the contents of `other` are lost. \throws CudaError, OutOfMemory
void cub_sort_keys(const Device& device, Array<std::uint64_t>& keys, Array<std::uint64_t>& other, std::uint32_t count,
                   int begin, int end);

}  // namespace tessera::cuda
