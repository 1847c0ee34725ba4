/// \file
/// A factor of a product in bitmap tiles on a GPU, and the steps that make it: positions from CSR, and dense copies of
/// the tiles. Tile rows lie in any order, the tiles of each one after the other.
#pragma once

#include "core/cuda/context.hpp"
#include "preprocess/tile_merge.hpp"
#include "spgemm/common/tile_arithmetic.hpp"
#include "spgemm/cuda/tiles/operand_totals.hpp"
#include "spgemm/cuda/tiles/slab.hpp"
#include "tessera/csr.hpp"
#include "tessera/tile_matrix.hpp"

#include <cstdint>

namespace tessera::cuda {

using detail::TileRowCounts;

/// Number of tiles of a tile row beyond the limits, whose tiles are not found.
inline constexpr std::int32_t tiles_not_found = -1;

/// Tile rows that kernels take, a block or a warp each: all of them, or those of a list.
struct TileRowList {
  const index_t* rows = nullptr;  ///< on the device; null: 0 ... count - 1
  index_t count = 0;

  [[nodiscard]] TESSERA_HOST_DEVICE index_t operator[](std::int64_t number) const noexcept {
    return rows == nullptr ? static_cast<index_t>(number) : rows[number];
  }
};

/// Tiles of a tile row, and their range of tile columns. Uninitialised where a list leaves the tile row out.
struct alignas(16) TileRow {
  std::int32_t first = 0;
  std::int32_t tiles = 0;
  index_t first_column = 0;
  index_t last_column = -1;
};

/// What a list of tile rows holds.
struct TileListTotals {
  unsigned rows = 0;   ///< tile rows
  unsigned tiles = 0;  ///< where positions are known
  unsigned long long entries = 0;
};

/// What the host has to know of a product in tiles; sums and maxima over tile rows.
struct TileTotals {
  unsigned tiles[2] = {0, 0};         ///< of A and of B, also those beyond the capacity
  unsigned beyond = 0;                ///< set of BeyondTiles
  unsigned not_finite = 0;            ///< 1 where a value is infinite or not a number
  unsigned symbolic_bytes = 0;        ///< shared memory of the largest tile row's symbolic phase
  unsigned c_tiles = 0;               ///< records of tiles of C; for C in tiles: its tiles
  unsigned long long pairs = 0;       ///< of tiles with equal inner index, empty ones too; of tile rows in tiles
  unsigned long long products = 0;    ///< scalar products of these
  unsigned long long live_pairs = 0;  ///< pairs that are not empty
  unsigned in_tiles = 0;              ///< tile rows of C with pairs that are formed in tiles
  unsigned by_rows = 0;               ///< tile rows that are not, among those that were looked at
  unsigned long long poor_pairs = 0;  ///< of tile rows formed in tiles that do not pay
  unsigned long long poor_products = 0;
  TileListTotals listed[2];   ///< of A and of B
  OperandTotals operands[2];  ///< of A and of B, where they are copied as operand tiles
};

/// Limits of the kernels that a matrix may exceed.
enum class BeyondTiles : unsigned {
  span = 1,        ///< columns from the first to the last of a tile row
  tiles = 2,       ///< tiles of a tile row
  c_row = 4,       ///< entries of a row of C
  shared = 8,      ///< shared memory of the symbolic phase of a tile row
  not_found = 16,  ///< tiles of A's tile row, or of one of B, were not found
};

/// Tiles of a tile row of C, at most: TileRowCounts holds all entries of a row.
inline constexpr int most_c_row_tiles = detail::most_row_entries / tile_size;

/// As kernels see it.
struct PositionArrays {
  TileRowList taken;  ///< tile rows that launches take
  TileRow* rows = nullptr;
  index_t* columns = nullptr;          ///< tile column per tile
  std::uint64_t* bitmaps = nullptr;    ///< per tile
  TileRowCounts* row_ranks = nullptr;  ///< per tile: entries of each row in earlier tiles of the tile row
  TileRowCounts* lengths = nullptr;    ///< per tile row: entries of its rows
};

/// Positions of a factor in tiles.
class TilePositions {
 public:
  TilePositions() = default;
  /// \param rows of the matrix \param capacity tiles
  TilePositions(index_t rows, std::int64_t capacity, const Device& device)
      : tile_rows_(detail::tiles_across(rows)), capacity_(capacity), memory_(bytes(tile_rows_, capacity), device) {
    arrays_.taken = {nullptr, tile_rows_};
    arrays_.rows = memory_.take<TileRow>(tile_rows_);
    arrays_.columns = memory_.take<index_t>(capacity);
    arrays_.bitmaps = memory_.take<std::uint64_t>(capacity);
    arrays_.row_ranks = memory_.take<TileRowCounts>(capacity);
    arrays_.lengths = memory_.take<TileRowCounts>(tile_rows_);
  }

  [[nodiscard]] index_t tile_rows() const noexcept { return tile_rows_; }
  [[nodiscard]] std::int64_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] const PositionArrays& arrays() const noexcept { return arrays_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return memory_.bytes(); }
  /// Later launches take these tile rows alone. \param list must outlive the launches
  void take(const TileRowList& list) noexcept { arrays_.taken = list; }

  [[nodiscard]] static constexpr std::uint64_t bytes(index_t tile_rows, std::int64_t capacity) noexcept {
    return Slab::bytes_of<TileRow>(tile_rows) + Slab::bytes_of<index_t>(capacity) +
           Slab::bytes_of<std::uint64_t>(capacity) + Slab::bytes_of<TileRowCounts>(capacity) +
           Slab::bytes_of<TileRowCounts>(tile_rows);
  }

 private:
  index_t tile_rows_ = 0;
  std::int64_t capacity_ = 0;
  Slab memory_;
  PositionArrays arrays_;
};

/// Finds the tiles of a matrix; adds their number to totals->tiles[which]. Nothing beyond the capacity is written.
/// O(nnz + rows).
void enqueue_positions(const Context& context, const detail::CsrStructurePointers& matrix, const TilePositions& tiles,
                       int which, TileTotals* totals);

/// Positions of a matrix that is in tiles already: its columns and bitmaps, tile rows in their order; no row ranks.
/// Tile rows beyond a limit are noted in totals->beyond. O(tiles). \param tiles room for all
template <class T>
void enqueue_positions(const Context& context, const TileView<T>& matrix, const TilePositions& tiles,
                       TileTotals* totals);

/// The dense copy, as below, from packed values. O(tiles).
template <class T>
void enqueue_dense_copy(const Context& context, const TileView<T>& matrix, T* dense, TileTotals* totals);

/// Copies the values of every tile, 64 of them at dense_place(), zeros between them. \param values null: ones
/// \param dense 64 values per tile \param totals notes values that are not finite
template <class V>
void enqueue_dense_copy(const Context& context, const detail::CsrStructurePointers& matrix, const V* values,
                        const TilePositions& tiles, V* dense, TileTotals* totals);

}  // namespace tessera::cuda
