/// \file
/// Keys of 64 bits in ascending order, on a GPU.
#pragma once

#include "core/cuda/cub_primitives.hpp"
#include "core/cuda/key_tiles.hpp"
#include "tessera/array.hpp"
#include "tessera/device.hpp"

#include <cstdint>

namespace tessera::cuda {

/// What enqueue_sort() takes beside its two arrays.
[[nodiscard]] std::uint64_t sort_scratch_bytes(std::int64_t tiles) noexcept;

/// Sorts the keys of every segment by their bits begin ... end - 1, by digits of 8 bits from the lowest on. Keys that
/// agree in these bits keep their order, so that the bits below may say where a key comes from. O(keys) for each digit.
/// Memory is taken from the device's stream. \param keys, other as long as all segments or longer; the sorted keys end
/// in `keys`, what is in `other` is lost \throws CudaError, OutOfMemory
void enqueue_sort(const Device& device, Array<std::uint64_t>& keys, Array<std::uint64_t>& other, const KeyTiles& tiles,
                  int begin, int end, PrimitiveBy by = sort_by);

}  // namespace tessera::cuda
