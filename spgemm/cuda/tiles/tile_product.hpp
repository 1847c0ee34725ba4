/// \file
/// C = A B in tiles on a GPU: symbolic phase (pairs of tiles, positions and row counts of C) and numeric phase.
#pragma once

#include "core/host_device.hpp"
#include "spgemm/cuda/tiles/tiled_factor.hpp"

#include <cstdint>

namespace tessera::cuda {

/// A tile of A and the tile of B that it meets.
struct alignas(8) TilePair {
  std::int32_t a;
  std::int32_t b;
};

/// A tile of C: its pairs, those of A's tile row ascending, and its tile column.
struct alignas(16) CTile {
  std::uint32_t first_pair;
  std::int32_t pairs;
  index_t column;
  std::uint32_t entries_before;  ///< entries of earlier tiles of the tile row, for C in tiles
};

/// Tiles of a tile row of C.
struct alignas(8) CTileRow {
  std::int32_t first;
  std::int32_t tiles;
};

/// Tiles of C as kernels see them.
struct CTileArrays {
  TileRowList taken;  ///< tile rows that launches take
  CTileRow* rows = nullptr;
  CTile* tiles = nullptr;
  std::uint64_t* bitmaps = nullptr;    ///< per tile
  TileRowCounts* row_ranks = nullptr;  ///< for CSR, per tile: entries of each row in earlier tiles of the tile row
  TilePair* pairs = nullptr;
};

/// Pairs that a warp of the numeric phase loads before it knows whether they are its own.
inline constexpr std::int64_t spare_pairs = 4;

/// What becomes of C.
enum class CFormat { csr, tiles };

/// Structure of C in tiles.
class CTiles {
 public:
  /// \param most pairs of tiles, and so tiles of C
  CTiles(index_t tile_rows, std::int64_t most, const Device& device, CFormat format = CFormat::csr)
      : memory_(bytes(tile_rows, most, format), device) {
    arrays_.taken = {nullptr, tile_rows};
    arrays_.rows = memory_.take<CTileRow>(tile_rows);
    arrays_.tiles = memory_.take<CTile>(most);
    arrays_.bitmaps = memory_.take<std::uint64_t>(most);
    arrays_.row_ranks = memory_.take<TileRowCounts>(ranks(most, format));
    arrays_.pairs = memory_.take<TilePair>(most + spare_pairs);
  }

  [[nodiscard]] const CTileArrays& arrays() const noexcept { return arrays_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return memory_.bytes(); }
  /// Later launches take these tile rows alone. \param list must outlive the launches
  void take(const TileRowList& list) noexcept { arrays_.taken = list; }

  [[nodiscard]] static constexpr std::uint64_t bytes(index_t tile_rows, std::int64_t most,
                                                     CFormat format = CFormat::csr) noexcept {
    return Slab::bytes_of<CTileRow>(tile_rows) + Slab::bytes_of<CTile>(most) + Slab::bytes_of<std::uint64_t>(most) +
           Slab::bytes_of<TileRowCounts>(ranks(most, format)) + Slab::bytes_of<TilePair>(most + spare_pairs);
  }

 private:
  /// Only rows of CSR need ranks.
  [[nodiscard]] static constexpr std::int64_t ranks(std::int64_t most, CFormat format) noexcept {
    return format == CFormat::csr ? most : 0;
  }

  Slab memory_;
  CTileArrays arrays_;
};

/// Shared memory of the symbolic phase of a tile row: a slot per possible tile of C, a bit per tile of A and slot.
struct SymbolicLayout {
  std::int32_t slots = 0;    ///< tiles that the tile row of C has at most
  std::int32_t words = 0;    ///< of the window over its tile columns
  std::int32_t a_tiles = 0;  ///< of A's tile row

  [[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int32_t a_words() const noexcept { return (a_tiles + 31) / 32; }
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr std::uint32_t bytes() const noexcept {
    const auto per_slot = static_cast<std::uint32_t>(8 + 4 * a_words() + 4 + 4);
    return static_cast<std::uint32_t>(slots) * per_slot + static_cast<std::uint32_t>(a_tiles) * (8 + 8) +
           static_cast<std::uint32_t>(words) * (4 + 2);
  }
};

/// Threads of a block of the symbolic phase.
inline constexpr int symbolic_threads = 128;

/// Static shared memory of the symbolic phase, beside that of its layout.
inline constexpr std::int64_t symbolic_static_bytes = 128;

struct TileRowRule;

/// Counts the pairs of every tile row that A takes, and in `totals` what the host has to know of them. O(tiles of A).
/// \param rule which tile rows of C are formed in tiles; the others have no pairs \param in_tiles null, or receives 1
/// for every tile row that is formed in tiles \param pair_counts per tile row, and then 0
void enqueue_pair_counts(const Context& context, const TilePositions& a, const TilePositions& b,
                         const TileRowRule& rule, std::uint8_t* in_tiles, offset_t* pair_counts, TileTotals* totals);

/// Finds the tiles of C, their positions, and the pairs of each of them that are not empty.
/// O(pairs). Other tile rows than A takes are left as they are. \param rows of C \param pair_offsets pairs before each
/// tile row, and at last all \param shared_bytes of the largest tile row \param counts receives the entries of every
/// row of C, and then
/// 0
void enqueue_symbolic_tiles(const Context& context, index_t rows, const TilePositions& a, const TilePositions& b,
                            const offset_t* pair_offsets, unsigned shared_bytes, const CTiles& c, offset_t* counts,
                            TileTotals* totals);

/// The same for C in tiles: the tiles of C that have no entry are left out. Tile rows that need more shared memory, or
/// find no room for their pairs, are left out, too, which totals->symbolic_bytes and live_pairs then say.
/// \param pair_counts of every tile row \param most_pairs that `c` has room for, empty ones not counted
/// \param sizes receives the tiles of every tile row of C, then the entries of every tile row, and then 0
void enqueue_symbolic_tiles(const Context& context, const TilePositions& a, const TilePositions& b,
                            const offset_t* pair_counts, unsigned shared_bytes, std::int64_t most_pairs,
                            const CTiles& c, offset_t* sizes, TileTotals* totals);

/// How the pairs are multiplied.
enum class TileArithmetic {
  tensor,  ///< tensor instructions on whole tiles, double only: finite values; the bits of one GPU
  scalar,  ///< entry by entry in the order of A's rows, each product and sum rounded: the bits of the host
};

/// C in CSR. \tparam V float, double, or NoValue for the columns alone \param a_dense, b_dense dense copies of the
/// tiles \param offsets of the rows of C \param columns null: not written
template <class V>
void enqueue_numeric_tiles(const Context& context, TileArithmetic arithmetic, const TilePositions& a, const V* a_dense,
                           const TilePositions& b, const V* b_dense, const CTiles& c, const offset_t* offsets,
                           index_t* columns, V* values);

/// The values of C alone, whose columns are known, by tensor instructions unless totals->not_finite says that a value
/// is not finite, which only the GPU knows.
void enqueue_planned_tiles(const Context& context, const TileTotals* totals, const TilePositions& a,
                           const double* a_dense, const TilePositions& b, const double* b_dense, const CTiles& c,
                           const offset_t* offsets, double* values);

/// The arrays of C in tiles (TileView), which the numeric phase writes.
template <class V>
struct TileTarget {
  /// Tiles before each tile row; then, from element `tile_rows` on, entries before each, the tiles of C added. 2
  /// tile_rows + 1 elements.
  const offset_t* starts;
  index_t tile_rows;
  offset_t* tile_row_offsets;
  index_t* columns;
  std::uint64_t* bitmaps;
  offset_t* value_offsets;
  V* values;
};

/// C in tiles. \tparam V float or double \param c of the symbolic phase for tiles
template <class V>
void enqueue_numeric_tiles(const Context& context, TileArithmetic arithmetic, const TilePositions& a, const V* a_dense,
                           const TilePositions& b, const V* b_dense, const CTiles& c, const TileTarget<V>& target);

}  // namespace tessera::cuda
