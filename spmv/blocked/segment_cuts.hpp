/// \file
/// Segments of the blocked product: consecutive tiles whose distinct columns fit a halo list.
#pragma once

#include "preprocess/snapped_tiles.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::cuda {

/// What a segment has to keep to.
struct SegmentRules {
  int tiles_per_cut = 1;  ///< segments end after a multiple of so many tiles
  index_t column_block = 1;
  int column_blocks = 0;
  int capacity = 0;  ///< slots of a halo list
  int group = 1;     ///< a list is padded to whole groups of slots, block of columns by block
};

/// Greedy segments, as long as their lists have room, cut strip by strip side by side. O(nnz). Waits.
/// \param columns on the device \returns their first tiles, and the number of tiles \throws OutOfMemory, CudaError
[[nodiscard]] std::vector<std::int64_t> cut_segments(const Device& device, std::span<const index_t> columns,
                                                     const detail::SnappedTiles& tiles, const SegmentRules& rules);

}  // namespace tessera::cuda
