/// \file
/// Tile rows and the parts of long ones, as the kernels of a GPU see them.
#pragma once

#include "core/host_device.hpp"
#include "tessera/tile_matrix.hpp"
#include "tessera/types.hpp"

#include <cstdint>

namespace tessera::cuda {

/// All tile rows.
struct TileRowArrays {
  index_t rows = 0;  ///< of the matrix
  index_t tile_rows = 0;
  offset_t long_row = 0;                   ///< tiles; longer tile rows are cut into parts
  const offset_t* offsets = nullptr;       ///< first tile of each tile row, and the number of tiles
  const offset_t* first_values = nullptr;  ///< of each tile row
};

/// A part of a long tile row.
struct PartOfTileRow {
  index_t tile_row = 0;
  offset_t begin = 0;       ///< first tile
  int tiles = 0;            ///< of the part
  std::int64_t before = 0;  ///< parts of the same tile row
  std::int64_t parts = 0;   ///< of the tile row
  std::int64_t first = 0;   ///< number of the first of them

  /// Where something of a row of this part stands, among 8 per part: in the order of the rows, then of the parts.
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t place(int row) const noexcept {
    return tile_size * first + row * parts + before;
  }
};

/// The parts of all long tile rows, in order.
struct TilePartArrays {
  std::int64_t count = 0;
  offset_t tiles_per_part = 1;
  const offset_t* tile_row_offsets = nullptr;
  const index_t* tile_row = nullptr;       ///< of each part
  const offset_t* begin = nullptr;         ///< first tile of each part
  const offset_t* first_values = nullptr;  ///< of each part

  [[nodiscard]] TESSERA_HOST_DEVICE constexpr PartOfTileRow at(std::int64_t part) const noexcept {
    const index_t row = tile_row[part];
    const offset_t row_begin = tile_row_offsets[row];
    const offset_t row_end = tile_row_offsets[row + 1];
    const offset_t rest = row_end - begin[part];
    const std::int64_t before = (begin[part] - row_begin) / tiles_per_part;
    return {row,
            begin[part],
            static_cast<int>(rest < tiles_per_part ? rest : tiles_per_part),
            before,
            (row_end - row_begin + tiles_per_part - 1) / tiles_per_part,
            part - before};
  }
};

/// The row of a sum that stands at place i: rows ascend with i.
struct RowOfPlace {
  TilePartArrays parts;
  TESSERA_HOST_DEVICE constexpr index_t operator()(std::int64_t i) const noexcept {
    const PartOfTileRow own = parts.at(i / tile_size);
    return own.tile_row * tile_size + static_cast<index_t>((i - tile_size * own.first) / own.parts);
  }
};

}  // namespace tessera::cuda
