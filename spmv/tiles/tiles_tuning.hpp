/// \file
/// Tuning of products with bitmap tiles on a GPU, and when they pay.
#pragma once

#include "tessera/types.hpp"

#include <algorithm>
#include <cstdint>

namespace tessera::detail {

/// Bytes of a tile's record.
inline constexpr double tile_record_bytes = 16.0;

/// Bytes of the matrix that a product reads per nonzero: by tiles, and by CSR. \param fill of the tiles, above 0
[[nodiscard]] constexpr double tile_bytes_per_nonzero(double value_bytes, double fill) noexcept {
  return value_bytes + tile_record_bytes / (64.0 * fill);
}
[[nodiscard]] constexpr double csr_bytes_per_nonzero(double value_bytes) noexcept { return value_bytes + 4.0; }

/// `auto` takes tiles from this fill on. Measured on an H200 against the best other kernel of CSR: at a fill of
/// .39 1.58 times as fast with values in fp64, 1.33 to 1.36 with values in fp32 (sums in fp32, fp64), 2.1 to 2.3 as a
/// pattern; at .93 1.58 to 1.87; at .135 .53 in fp64. The thresholds lie between, that of fp32 higher because CSR gains
/// more from smaller values.
[[nodiscard]] constexpr double least_fill_of_tiles(double value_bytes) noexcept {
  return value_bytes >= 8.0 ? 0.3 : 0.35;
}

/// From this fill on tiles come before row patterns, too, those of patterns, and those of long and few rows with values
/// in full that are multiplied in double. Measured on an H200, row patterns over tiles: at .93 1.21 (fp64) and 1.10
/// (fp32) as a pattern, 1.10 with values, 1.00 where a lane has one row; at .51 .93, .93 and .95.
inline constexpr double least_fill_before_row_patterns = 0.8;

/// Products that repay the conversion over the best other kernel at least twice over: 13 to 25 on these matrices.
inline constexpr std::int64_t applications_worth_bitmap_tiles = 50;

/// \param value_bytes 0 for a pattern
[[nodiscard]] constexpr bool bitmap_tiles_pay(double value_bytes, double fill) noexcept {
  return fill >= least_fill_of_tiles(value_bytes);
}

}  // namespace tessera::detail

namespace tessera::cuda {

/// Threads per block, and blocks per multiprocessor that registers are bounded for. Without this bound ptxas
/// (CUDA 13.0) reorders the loads of a batch into a chain, tile after tile, to save registers.
inline constexpr int tiles_threads = 128;
template <int Lanes>
inline constexpr int tiles_min_blocks = Lanes == 8 ? 6 : 8;

/// Tiles whose records, then values and x, a lane has in flight, by lanes per tile.
template <int Lanes>
inline constexpr int tiles_batch = Lanes == 32 ? 4 : 2;

/// The same of products with eight columns, and the threads of a block that adds the parts of a long tile row.
inline constexpr int panel_min_blocks = 8;
inline constexpr int joining_threads = 512;

/// How tile rows are handed out.
struct TilesShape {
  int lanes = 32;         ///< per tile row: 8, 16 or 32
  int tile_lanes = 32;    ///< per tile: 8, 16 or 32, at most those per tile row
  offset_t long_row = 0;  ///< longer tile rows are cut
  offset_t part = 0;      ///< into parts of so many tiles

  friend constexpr bool operator==(const TilesShape&, const TilesShape&) = default;
};

/// Tile rows of fewer tiles on average share a warp with their neighbours.
inline constexpr offset_t tiles_per_warp = 6;
inline constexpr offset_t tiles_per_half_warp = 3;

/// Tile rows of more than 4 times the mean, within these bounds, are long: their warps would finish after all others.
inline constexpr offset_t least_long_tile_row = 64;
inline constexpr offset_t most_long_tile_row = 256;
inline constexpr offset_t tiles_per_part = 64;

/// With fewer tile rows a GPU is not full: they are cut earlier.
inline constexpr index_t few_tile_rows = 2048;
inline constexpr offset_t long_of_few_tile_rows = 32;
inline constexpr offset_t part_of_few_tile_rows = 16;

/// \param tile_rows 1 or more \param typical tiles of the tile rows that are not so long that they decide for all
[[nodiscard]] constexpr TilesShape choose_tiles_shape(index_t tile_rows, offset_t typical) noexcept {
  const offset_t mean = typical / tile_rows;
  const int lanes = mean >= tiles_per_warp ? 32 : mean >= tiles_per_half_warp ? 16 : 8;
  if (tile_rows < few_tile_rows) return {lanes, lanes, long_of_few_tile_rows, part_of_few_tile_rows};
  return {lanes, lanes, std::clamp(4 * mean, least_long_tile_row, most_long_tile_row), tiles_per_part};
}

/// The product with inner products in one kernel leaves a part per block: up to so many.
inline constexpr std::int64_t most_tile_sum_blocks = 16384;

}  // namespace tessera::cuda
