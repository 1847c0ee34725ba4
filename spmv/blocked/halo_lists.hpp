/// \file
/// Halo lists: for each segment of consecutive tiles its distinct columns, in order, and for each nonzero its position
/// in the list, in 16 bits.
///
/// A *cell* is the part of a segment's list within one block of columns. Cells begin on sectors of 32 bytes: the slots
/// between are padding. Slot p of segment s holds x[columns[p] + first column of its block].
#pragma once

#include "core/cuda/context.hpp"
#include "preprocess/snapped_tiles.hpp"
#include "spmv/blocked/blocked_tuning.hpp"
#include "tessera/array.hpp"

#include <cstdint>
#include <span>

namespace tessera::cuda {

/// Where a segment begins; one more entry marks the end of the last.
struct alignas(16) HaloSegment {
  std::int64_t tile = 0;  ///< first
  std::int64_t slot = 0;  ///< first, of all halo lists one after the other

  friend constexpr bool operator==(const HaloSegment&, const HaloSegment&) = default;
};

/// Halo lists as kernels see them.
struct HaloArrays {
  const HaloSegment* segments = nullptr;
  const std::uint16_t* columns = nullptr;  ///< per slot, counted from the start of its block
  const std::uint16_t* cells = nullptr;    ///< [block * segment_count + s]: first slot in segment s
  const HaloItem* items = nullptr;
  index_t segment_count = 0;
  index_t cols = 0;
  index_t column_block = 0;
};

/// On a device.
struct HaloLists {
  index_t cols = 0;
  BlockedShape shape;
  Array<HaloSegment> segments;     ///< segments + 1
  Array<std::uint16_t> positions;  ///< per nonzero
  Array<std::uint16_t> columns;    ///< per slot
  Array<std::uint16_t> cells;      ///< (blocks of columns + 1) times segments
  Array<HaloItem> items;
  std::int64_t slots = 0;  ///< of all lists

  [[nodiscard]] std::int64_t count() const noexcept { return segments.size() - 1; }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return segments.bytes() + positions.bytes() + columns.bytes() + cells.bytes() + items.bytes();
  }
  [[nodiscard]] HaloArrays arrays() const noexcept {
    return {segments.data(),   columns.data(), cells.data(), items.data(), static_cast<index_t>(count()), cols,
            shape.column_block};
  }
};

/// One radix sort of the nonzeros by segment and column: O(nnz), 16 bytes of scratch memory per nonzero. Waits.
/// \tparam T type of x, which decides the size of a sector's group \param columns on the device, at most 2^32 - 1
/// \throws NotSupported for more than most_column_blocks blocks of columns, or cells that outnumber the nonzeros;
/// OutOfMemory, CudaError
template <class T>
[[nodiscard]] HaloLists build_halo_lists(const Device& device, index_t cols, std::span<const index_t> columns,
                                         const detail::SnappedTiles& tiles, const BlockedShape& shape);

}  // namespace tessera::cuda
