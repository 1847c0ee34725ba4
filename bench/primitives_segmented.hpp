/// \file
/// CUB's segmented radix sort, which the library does not use: a contender of bench_primitives_cuda.
#pragma once

#include "tessera/array.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <cstdint>
#include <span>

namespace tessera::bench {

/// Sorts the keys of every segment by their bits begin ... end - 1, in the device's stream. \param keys sorted; what is
/// in `other` is lost \param begins of each segment, and at last the end; on the device
void cub_sort_segments(const Device& device, Array<std::uint64_t>& keys, Array<std::uint64_t>& other,
                       std::span<const offset_t> begins, int begin, int end);

}  // namespace tessera::bench
