/// \file
/// MERBIT tiles for GPUs, one a warp. They differ from the tiles of merbit-spmv.txt, §4.1, in two ways. A tile that
/// would begin a few steps into a row begins with the row instead, so that short rows are never split between tiles.
/// And tiles whose rows allow it are marked to be summed with some lanes a row, without a walk along the path.
///
/// Tile t begins on diagonal t * spacing of the merge path, or up to `snap` steps before it, at the start of its row;
/// so it has at most spacing + snap steps.
#pragma once

#include "preprocess/lane_descriptor.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"

#include <cstdint>

namespace tessera {

/// Set in TileStart::row of a tile that begins inside a row.
inline constexpr std::uint32_t inside_row_mark = std::uint32_t{1} << 31;

/// How a warp sums a tile, and what its lane words hold:
///   walk      steps of the lane as packed by pack_lane()
///   one_row   nothing: no row ends in the tile
///   few_rows  in word i, where row i of the tile ends, in nonzeros from the start of the tile
///   rows      in byte j of word i, the length of row 32 j + i of the tile; only in tiles of complete rows
enum class TileKind : std::uint32_t { walk, one_row, few_rows, rows };

inline constexpr int max_few_rows = 16;        ///< at most lanes_per_tile
inline constexpr int few_rows_mean = 48;       ///< least mean length, nonzeros
inline constexpr int max_tile_items = 1024;    ///< of tiles that are never walked
inline constexpr int crowd_sample = 64;        ///< every so many tiles one is looked at
inline constexpr int crowd_span = 256;         ///< tiles of one row that make a crowd
inline constexpr int row_rounds = 4;           ///< rows of a tile of complete rows: so many times 32, one byte each
inline constexpr int max_packed_length = 255;  ///< nonzeros
inline constexpr int row_cost_per_sigma = 3;   ///< a step of a walk costs as much as so many of a sum along a row
inline constexpr int lanes_per_row_shift = 8;  ///< the base-2 logarithm of the lanes a row, in TileStart::summation
inline constexpr std::uint32_t tile_kind_mask = (std::uint32_t{1} << lanes_per_row_shift) - 1;

/// One entry a tile, read by its warp as one word of 16 bytes; and one past the last tile: (nnz, rows).
struct alignas(16) TileStart {
  offset_t x = 0;               ///< first nonzero
  std::uint32_t row = 0;        ///< first row, with inside_row_mark
  std::uint32_t summation = 0;  ///< TileKind, and for `rows` the logarithm of the lanes a row above it

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
  int sigma = 0;     ///< steps of a lane that walks; 0: tiles are never walked
  int snap = 0;      ///< less than spacing, so that no tile is empty
  int spacing = 0;   ///< steps from one tile to the next
  int row_cost = 0;  ///< tiles that may be walked are summed along rows where that takes up to so many steps

  /// Steps of the longest tile.
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr int max_items() const noexcept { return spacing + snap; }
  friend constexpr bool operator==(const TileRules&, const TileRules&) = default;
};

/// Tiles of at most 32 sigma steps. \param snap less than 16 sigma
[[nodiscard]] constexpr TileRules walkable_tiles(int sigma, int snap) noexcept {
  return {sigma, snap, lanes_per_tile * sigma - snap, row_cost_per_sigma * sigma};
}

/// Tiles of about a warp's width of rows of like length, which fill no more than `max_items`. They are never walked:
/// SnappedTiles::cannot_be_summed tells whether a matrix has tiles that would have to be.
/// \param mean_length of a row \param max_items more than 3 snap
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

/// Where the tile begins that diagonal `diagonal` belongs to; `summation` is left 0.
/// \param row_offsets rows + 1 entries \param diagonal in [0, rows + nnz] \param snap steps, at least 0
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

/// What decides how a tile is summed.
struct TileShape {
  int nonzeros = 0;
  int rows = 0;           ///< that end in the tile
  int longest = 0;        ///< nonzeros of the longest of them, as far as they lie in the tile
  bool complete = false;  ///< the tile neither begins nor ends inside a row
};

/// Steps of a sum with 2^lanes_log2 lanes a row, plus the overhead of its rounds.
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
    // Several lanes a row only where one round of a warp has them all in its first bytes.
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
  double crowded_tiles = 0.0;       ///< tiles whose row goes on for crowd_span tiles; estimated from a sample
  bool cannot_be_summed = false;    ///< some tile has to be walked, but `rules` has no sigma
  Array<TileStart> starts;          ///< tiles + 1
  Array<std::uint32_t> lane_words;  ///< 32 a tile

  [[nodiscard]] std::int64_t tiles() const noexcept { return starts.size() - 1; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return starts.bytes() + lane_words.bytes(); }
};

namespace cuda {

/// Snapped tiles. One search a tile, then every row offset is read once: O(tiles log rows + rows). Waits once, for what
/// was counted.
/// \param row_offsets rows + 1 entries on the device
/// \param nnz         the last of them
/// \param rules       sigma in [0, 22], snap in [0, spacing); tiles of at most 32 sigma steps, or max_tile_items where
///                    sigma is 0
/// \throws InvalidArgument for other rules, OutOfMemory; DeviceUnavailable in a build without CUDA
[[nodiscard]] SnappedTiles build_snapped_tiles(index_t rows, std::span<const offset_t> row_offsets, offset_t nnz,
                                               const TileRules& rules, const Device& device);

}  // namespace cuda
}  // namespace tessera
