/// \file
/// Merge of the eight rows of a tile row by tile column: the tiles in ascending order, and the entries of each in the
/// order of its bits.
#pragma once

#include "core/bitmap_tile.hpp"
#include "core/detail_namespace.hpp"
#include "core/host_device.hpp"
#include "core/partition_point.hpp"
#include "tessera/types.hpp"

#include <cstdint>
#include <limits>

namespace tessera::detail {

/// The structure of a CSR matrix, for kernels.
struct CsrStructurePointers {
  index_t rows = 0;
  const offset_t* offsets = nullptr;
  const index_t* columns = nullptr;

  /// First entry of row r of a tile row; rows beyond the matrix are empty.
  [[nodiscard]] TESSERA_HOST_DEVICE offset_t begin_of(index_t tile_row, int r) const noexcept {
    const std::int64_t row = std::int64_t{tile_row} * tile_size + r;
    return offsets[row < rows ? row : rows];
  }
};

/// Position of the first entry in [begin, end) whose column is at least `column`; `end` if there is none.
[[nodiscard]] TESSERA_HOST_DEVICE inline offset_t first_from_column(const index_t* columns, offset_t begin,
                                                                    offset_t end, std::int64_t column) noexcept {
  return partition_point(begin, end, [&](offset_t k) { return columns[k] < column; });
}

/// What a tile's entries are told to when nobody asks.
struct IgnoreEntries {
  TESSERA_HOST_DEVICE void operator()(int /*r*/, offset_t /*k*/) const noexcept {}
};

class TileMerge {
 public:
  static constexpr index_t no_tile = std::numeric_limits<index_t>::max();

  /// Of a whole tile row.
  TESSERA_HOST_DEVICE TileMerge(const CsrStructurePointers& a, index_t tile_row) : columns_(a.columns) {
    for (int r = 0; r < tile_size; ++r) {
      position_[r] = a.begin_of(tile_row, r);
      end_[r] = a.begin_of(tile_row, r + 1);
      look_at(r);
    }
  }

  /// Of the tile columns [first, last). \param last may be no_tile
  TESSERA_HOST_DEVICE TileMerge(const CsrStructurePointers& a, index_t tile_row, index_t first, index_t last)
      : columns_(a.columns) {
    for (int r = 0; r < tile_size; ++r) {
      const offset_t begin = a.begin_of(tile_row, r);
      const offset_t end = a.begin_of(tile_row, r + 1);
      position_[r] = first_from_column(columns_, begin, end, std::int64_t{first} * tile_size);
      end_[r] = last == no_tile ? end : first_from_column(columns_, position_[r], end, std::int64_t{last} * tile_size);
      look_at(r);
    }
  }

  /// Entries of the tile row in front of the range of tile columns, if nothing was taken yet.
  [[nodiscard]] TESSERA_HOST_DEVICE offset_t entries_before(const CsrStructurePointers& a, index_t tile_row) const {
    offset_t sum = 0;
    for (int r = 0; r < tile_size; ++r) sum += position_[r] - a.begin_of(tile_row, r);
    return sum;
  }

  /// Column of the next tile; no_tile at the end.
  [[nodiscard]] TESSERA_HOST_DEVICE index_t next() const noexcept {
    index_t least = no_tile;
    for (const index_t column : next_) least = column < least ? column : least;
    return least;
  }

  /// Passes the tile in column next(). \param on_entry called with the row in the tile and the position in the CSR
  /// matrix of every entry, in the order of the bits \returns its bitmap
  template <class OnEntry = IgnoreEntries>
  TESSERA_HOST_DEVICE std::uint64_t take(index_t tile_column, const OnEntry& on_entry = OnEntry{}) {
    std::uint64_t bitmap = 0;
    for (int r = 0; r < tile_size; ++r) {
      if (next_[r] != tile_column) continue;
      do {
        on_entry(r, position_[r]);
        bitmap |= std::uint64_t{1} << (tile_size * r + place_in_tile(columns_[position_[r]]));
        ++position_[r];
        look_at(r);
      } while (next_[r] == tile_column);
    }
    return bitmap;
  }

 private:
  TESSERA_HOST_DEVICE void look_at(int r) {
    next_[r] = position_[r] < end_[r] ? tile_of(columns_[position_[r]]) : no_tile;
  }

  const index_t* columns_;
  offset_t position_[tile_size];
  offset_t end_[tile_size];
  index_t next_[tile_size];  ///< tile column at each row's position
};

}  // namespace tessera::detail
