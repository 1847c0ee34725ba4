/// \file
/// Snapped tiles: MERBIT's tiles for GPUs, one per warp. They differ from the tiles of MERBIT, §4.1, in two ways. A
/// tile that would begin a few path items into a row begins with the row instead, so that short rows are never split.
/// Tiles whose rows allow it are marked to be summed with several lanes per row, without a walk along the path.
///
/// Tile t begins on diagonal t * spacing of the merge path, or up to `snap` items before it, at the start of its row.
/// It has at most spacing + snap items.
#pragma once

#include "preprocess/lane_descriptor.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"

#include <cstdint>

namespace tessera {

namespace detail {

/// Set in TileStart::row of a tile that begins inside a row.
inline constexpr std::uint32_t inside_row_mark = std::uint32_t{1} << 31;

/// How a warp sums a tile, and what its lane words hold:
///   walk      path items of the lane as packed by pack_lane()
///   one_row   nothing: no row ends in the tile
///   few_rows  word i: the end of row i of the tile, in nonzeros from the start of the tile
///   rows      byte j of word i: the length of row 32 j + i of the tile; only in tiles of complete rows
enum class TileKind : std::uint32_t { walk, one_row, few_rows, rows };

inline constexpr int max_few_rows = 16;      ///< at most lanes_per_tile
inline constexpr int few_rows_mean = 48;     ///< least mean length, nonzeros
inline constexpr int max_tile_items = 1024;  ///< of tiles that are never walked
inline constexpr int crowd_sample = 64;      ///< one in so many tiles is sampled
inline constexpr int crowd_span = 256;       ///< least number of tiles of a crowded row
inline constexpr int row_rounds = 4;  ///< words of 32 lanes: at most 4 * 32 complete rows per tile, one byte each
inline constexpr int max_packed_length = 255;  ///< nonzeros
inline constexpr int row_cost_per_sigma = 3;   ///< an item of a walk costs as much as so many terms along a row
inline constexpr int lanes_per_row_shift = 8;  ///< position of log2(lanes per row) in TileStart::summation
inline constexpr std::uint32_t tile_kind_mask = (std::uint32_t{1} << lanes_per_row_shift) - 1;

/// One per tile, read by its warp as one word of 16 bytes; the one past the last tile is (nnz, rows).
struct alignas(16) TileStart {
  offset_t x = 0;               ///< first nonzero
  std::uint32_t row = 0;        ///< first row, with inside_row_mark
  std::uint32_t summation = 0;  ///< TileKind, and for `rows` log2(lanes per row) above it

  [[nodiscard]] TESSERA_HOST_DEVICE constexpr index_t y() const noexcept {
    return static_cast<index_t>(row & ~inside_row_mark);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr bool inside_row() const noexcept { return (row & inside_row_mark) != 0; }
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr TileKind kind() const noexcept {
    return static_cast<TileKind>(summation & tile_kind_mask);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr int lanes_per_row_log2() const noexcept {
    return static_cast<int>(summation >> lanes_per_row_shift);
  }
  friend constexpr bool operator==(const TileStart&, const TileStart&) = default;
};

/// How the path is cut, and whether tiles may be walked.
struct TileRules {
  int sigma = 0;     ///< path items per lane of a walk; 0: tiles are never walked
  int snap = 0;      ///< less than spacing, so that no tile is empty
  int spacing = 0;   ///< path items from one tile to the next
  int row_cost = 0;  ///< tiles are summed along rows, not walked, up to this cost

  /// Path items of the longest tile.
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr int max_items() const noexcept { return spacing + snap; }
  friend constexpr bool operator==(const TileRules&, const TileRules&) = default;
};

/// Tiles of at most 32 sigma path items. \param snap less than 16 sigma
[[nodiscard]] constexpr TileRules walkable_tiles(int sigma, int snap) noexcept {
  return {sigma, snap, lanes_per_tile * sigma - snap, row_cost_per_sigma * sigma};
}

/// Tiles of about 32 rows of similar length, of at most `max_items` path items. They are never walked:
/// SnappedTiles::cannot_be_summed tells whether a matrix has tiles that would have to be.
/// \param mean_length of rows \param max_items more than 3 snap
[[nodiscard]] constexpr TileRules row_tiles(offset_t mean_length, int max_items, int snap) noexcept {
  constexpr int rows = lanes_per_tile - 1;  // one less, since tiles begin up to a row earlier
  const offset_t wanted = rows * (mean_length + 1);
  const int least = 2 * snap + 1;
  const int most = max_items - snap;
  return {0, snap, wanted < least ? least : wanted < most ? static_cast<int>(wanted) : most, 0};
}

[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t snapped_tile_count(offset_t length,
                                                                            const TileRules& rules) noexcept {
  return (length + rules.spacing - 1) / rules.spacing;
}

/// Start of the tile of diagonal `diagonal`; `summation` is left 0.
/// \param row_offsets rows + 1 entries \param diagonal in [0, rows + nnz] \param snap items, at least 0
[[nodiscard]] TESSERA_HOST_DEVICE constexpr TileStart snapped_start(const offset_t* row_offsets, index_t rows,
                                                                    offset_t nnz, offset_t diagonal,
                                                                    int snap) noexcept {
  const PathPoint point = merge_search(row_offsets, rows, nnz, diagonal);
  TileStart start{point.x, static_cast<std::uint32_t>(point.y), 0};
  if (point.y == rows) return start;
  const offset_t begin = row_offsets[point.y];
  if (point.x == begin) return start;
  if (point.x - begin <= snap) {
    start.x = begin;
  } else {
    start.row |= inside_row_mark;
  }
  return start;
}

/// What the summation of a tile depends on.
struct TileShape {
  int nonzeros = 0;
  int rows = 0;           ///< that end in the tile
  int longest = 0;        ///< nonzeros of the longest of them, as far as they lie in the tile
  bool complete = false;  ///< the tile neither begins nor ends inside a row
};

/// Cost of a sum with 2^lanes_log2 lanes per row: terms per lane plus the overhead of its rounds.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr int row_sum_cost(const TileShape& shape, int lanes_log2) noexcept {
  const int lanes = 1 << lanes_log2;
  const int rounds = (shape.rows * lanes + lanes_per_tile - 1) / lanes_per_tile;
  return rounds * ((shape.longest + lanes - 1) / lanes + 1) + lanes_log2;
}

/// The TileStart::summation of a tile: `walk` also where it cannot be walked.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::uint32_t choose_summation(const TileShape& shape,
                                                                           const TileRules& rules) noexcept {
  if (shape.rows == 0) return static_cast<std::uint32_t>(TileKind::one_row);
  if (shape.complete && shape.rows <= row_rounds * lanes_per_tile && shape.longest <= max_packed_length) {
    int best = 0;
    // Several lanes per row only where the first bytes of one round of a warp hold all lengths.
    const int most = shape.rows <= lanes_per_tile ? 5 : 0;
    for (int log2 = 1; log2 <= most; ++log2) {
      if (row_sum_cost(shape, log2) < row_sum_cost(shape, best)) best = log2;
    }
    if (rules.sigma == 0 || row_sum_cost(shape, best) <= rules.row_cost) {
      return static_cast<std::uint32_t>(TileKind::rows) | static_cast<std::uint32_t>(best) << lanes_per_row_shift;
    }
  }
  const bool few = rules.sigma == 0 ? shape.rows <= lanes_per_tile
                                    : shape.rows <= max_few_rows && shape.rows * few_rows_mean <= shape.nonzeros;
  return static_cast<std::uint32_t>(few ? TileKind::few_rows : TileKind::walk);
}

/// Snapped tiles on a GPU. Plain data: built once, then only read.
struct SnappedTiles {
  index_t rows = 0;
  offset_t nnz = 0;
  TileRules rules;
  std::int64_t shared_starts = 0;   ///< tiles that begin inside a row
  double crowded_tiles = 0.0;       ///< tiles in rows of at least crowd_span tiles; estimated from a sample
  bool cannot_be_summed = false;    ///< some tile would have to be walked, but `rules` has no sigma
  Array<TileStart> starts;          ///< tiles + 1
  Array<std::uint32_t> lane_words;  ///< 32 per tile

  [[nodiscard]] std::int64_t tiles() const noexcept { return starts.size() - 1; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return starts.bytes() + lane_words.bytes(); }
};

}  // namespace detail

namespace cuda {

/// One search per tile, then every row offset is read once: O(tiles log rows + rows). Waits once, for the counts.
/// \param row_offsets rows + 1 entries on the device
/// \param nnz         the last of them
/// \param rules       sigma in [0, 22], snap in [0, spacing); tiles of at most 32 sigma path items, or max_tile_items
/// where
///                    sigma is 0
/// \throws InvalidArgument for other rules, OutOfMemory; DeviceUnavailable in a build without CUDA
[[nodiscard]] SnappedTiles build_snapped_tiles(index_t rows, std::span<const offset_t> row_offsets, offset_t nnz,
                                               const TileRules& rules, const Device& device);

}  // namespace cuda
}  // namespace tessera
