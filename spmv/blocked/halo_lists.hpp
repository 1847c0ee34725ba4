/// \file
/// Halo lists: for each segment of consecutive tiles its distinct columns, in order, and for each nonzero its position
/// in the list, in 16 bits.
///
/// A *cell* is the part of a segment's list within one block of columns. Cells are padded to sectors of 32 bytes. In
/// memory the cells of a block of columns lie together, segment after segment: the first phase writes them from end to
/// end. The second gathers the cells of a segment, one after the other, into its list.
#pragma once

#include "core/cuda/context.hpp"
#include "preprocess/snapped_tiles.hpp"
#include "spmv/blocked/blocked_tuning.hpp"
#include "tessera/array.hpp"

#include <cstdint>
#include <span>

namespace tessera::cuda {

/// Halo lists as kernels see them. B blocks of columns, S segments; a quad is 16 bytes of slots.
struct HaloArrays {
  const std::int64_t* tiles = nullptr;          ///< first tile per segment, then their number
  const std::uint16_t* columns = nullptr;       ///< per slot, counted from the start of its block
  const std::uint16_t* cell_begins = nullptr;   ///< [s * (B + 1) + b]: first position in the list, then its length
  const std::uint32_t* cell_origins = nullptr;  ///< [s * B + b]: first quad of the cell in memory
  const HaloItem* items = nullptr;
  index_t segments = 0;
  int blocks = 0;
  index_t cols = 0;
  index_t column_block = 0;
};

/// On a device.
struct HaloLists {
  index_t cols = 0;
  int blocks = 0;
  BlockedShape shape;
  Array<std::int64_t> tiles;
  Array<std::uint16_t> positions;  ///< in its list, per nonzero
  Array<std::uint16_t> columns;
  Array<std::uint16_t> cell_begins;
  Array<std::uint32_t> cell_origins;
  Array<HaloItem> items;

  [[nodiscard]] std::int64_t segments() const noexcept { return tiles.size() - 1; }
  /// Of all lists, with padding.
  [[nodiscard]] std::int64_t slots() const noexcept { return columns.size(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return tiles.bytes() + positions.bytes() + columns.bytes() + cell_begins.bytes() + cell_origins.bytes() +
           items.bytes();
  }
  [[nodiscard]] HaloArrays arrays() const noexcept {
    return {tiles.data(),
            columns.data(),
            cell_begins.data(),
            cell_origins.data(),
            items.data(),
            static_cast<index_t>(segments()),
            blocks,
            cols,
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
