/// \file
/// Choice between tiles and row by row for each tile row of C, eight rows of A. Measured on one H200
/// (bench/NOTES.md, "SpGEMM in tiles").
#pragma once

#include "core/host_device.hpp"
#include "spgemm/cuda/tiles/tile_product.hpp"

#include <cstdint>

namespace tessera::cuda {

/// Nanoseconds per pair of tiles of a whole product in tiles: .10 to .13 where there are many pairs per entry of A.
inline constexpr double tile_pair_ns = 0.12;
/// Picoseconds per scalar product of a whole product row by row, where rows are alike: 2.1 (band) to 3.8 (elast3).
inline constexpr double dense_product_ps = 3.0;
/// The same where tiles are poorly filled: 8.7 (fem27), or more.
inline constexpr double poor_product_ps = 8.7;
/// Scalar products per pair of tiles from which a tile row is formed in tiles: 40, those of tiles .28 full.
inline constexpr double least_pair_products = 1e3 * tile_pair_ns / dense_product_ps;
/// Entries of eight rows of A below which automatic() does not look for tiles there.
inline constexpr offset_t least_tile_row_entries = 128;
/// Milliseconds that a mixed product must be foreseen to save: twice its further launches and waits.
inline constexpr double least_mixed_gain_ms = 0.3;

/// What is known of a tile row of C before it is formed.
struct TileRowFacts {
  unsigned beyond = 0;              ///< set of BeyondTiles: limits that A's tile row, or a tile row of B, exceeds
  unsigned tiles = 0;               ///< of A's tile row
  unsigned long long pairs = 0;     ///< with tiles of B, empty ones too
  unsigned long long products = 0;  ///< scalar products
  SymbolicLayout layout;            ///< of its symbolic phase; slots: most tiles of C
};

/// What tile rows have to keep to be formed in tiles.
struct TileRowRule {
  std::int64_t shared_bytes = 0;     ///< that the symbolic phase may use
  double least_pair_products = 0.0;  ///< per pair; 0: tiles wherever the limits allow
};

/// Limits that a tile row exceeds: a set of BeyondTiles.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr unsigned limits_exceeded(const TileRowFacts& row,
                                                                     const TileRowRule& rule) noexcept {
  unsigned beyond = row.beyond;
  if (row.layout.slots > most_c_row_tiles) beyond |= static_cast<unsigned>(BeyondTiles::c_row);
  if (row.layout.bytes() > rule.shared_bytes) beyond |= static_cast<unsigned>(BeyondTiles::shared);
  return beyond;
}

/// Whether tiles cost less than rows, by the products per pair.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr bool tile_row_pays(const TileRowFacts& row, double least) noexcept {
  return static_cast<double>(row.products) >= least * static_cast<double>(row.pairs);
}

/// Whether a tile row of A would pay if all tile rows of B that it meets were equally long and full: 512 products per
/// pair times its own fill.
/// \param lengths entries of its rows
[[nodiscard]] TESSERA_HOST_DEVICE constexpr bool tile_row_may_pay(std::int32_t tiles, const TileRowCounts& lengths,
                                                                  const TileRowRule& rule) noexcept {
  int entries = 0;
  for (int r = 0; r < tile_size; ++r) entries += lengths.of_row(r);
  return 8.0 * entries >= rule.least_pair_products * tiles;
}

/// Whether a tile row is formed in tiles. One without products is, where the limits allow: nothing is formed. O(1).
[[nodiscard]] TESSERA_HOST_DEVICE constexpr bool is_formed_in_tiles(const TileRowFacts& row,
                                                                    const TileRowRule& rule) noexcept {
  return limits_exceeded(row, rule) == 0 && tile_row_pays(row, rule.least_pair_products);
}

/// Milliseconds by which poorly filled tile rows are foreseen to be faster row by row. \param pairs, products of them
[[nodiscard]] constexpr double gain_by_rows_ms(double pairs, double products) noexcept {
  return 1e-6 * tile_pair_ns * pairs - 1e-9 * poor_product_ps * products;
}

/// Milliseconds by which tile rows are foreseen to be faster in tiles. \param pairs, products of them
[[nodiscard]] constexpr double gain_by_tiles_ms(double pairs, double products) noexcept {
  return 1e-9 * dense_product_ps * products - 1e-6 * tile_pair_ns * pairs;
}

}  // namespace tessera::cuda
