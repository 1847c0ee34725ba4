/// \file
/// Products of 8 x 8 tiles with bitmaps, as far as bits tell: positions, numbers, and where a dense copy holds an entry
/// (bmSPARSE, GRADES-NDA 2018).
#pragma once

#include "core/bitmap_tile.hpp"
#include "core/detail_namespace.hpp"
#include "core/host_device.hpp"

#include <cstdint>

namespace tessera::detail {

/// Entries of a full tile.
inline constexpr int tile_entries = tile_size * tile_size;

/// Column c of a tile: its bits lie at the beginnings of the rows.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::uint64_t column_bits(std::uint64_t bitmap, int c) noexcept {
  return bitmap >> c & 0x0101010101010101U;
}

/// Entries of a row before column c. \param row bits of the row
[[nodiscard]] TESSERA_HOST_DEVICE constexpr int bits_before(unsigned row, int c) noexcept {
#ifdef __CUDA_ARCH__
  return __popc(row & ((1U << c) - 1U));
#else
  return std::popcount(row & ((1U << c) - 1U));
#endif
}

/// 255 in each byte whose highest bit is set, else 0.
[[nodiscard]] TESSERA_HOST_DEVICE inline std::uint32_t spread_signs(std::uint32_t bytes) noexcept {
#ifdef __CUDA_ARCH__
  std::uint32_t spread;
  asm("prmt.b32 %0, %1, 0, 0xBA98;" : "=r"(spread) : "r"(bytes));
  return spread;
#else
  return (bytes >> 7 & 0x01010101U) * 255U;
#endif
}

/// Positions of the product of two tiles: bit (r, c) where a (r, k) and b (k, c) are set for some k.
[[nodiscard]] TESSERA_HOST_DEVICE inline std::uint64_t boolean_product(std::uint64_t a, std::uint64_t b) noexcept {
  const auto a_low = static_cast<std::uint32_t>(a);
  const auto a_high = static_cast<std::uint32_t>(a >> 32);
  std::uint32_t low = 0;
  std::uint32_t high = 0;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
  for (int k = 0; k < tile_size; ++k) {
    const std::uint32_t b_row = row_bits(b, k) * 0x01010101U;
    low |= spread_signs(a_low << (7 - k)) & b_row;
    high |= spread_signs(a_high << (7 - k)) & b_row;
  }
  return static_cast<std::uint64_t>(high) << 32 | low;
}

/// The same where every bit of a is set: each row has all columns of b.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::uint64_t boolean_product_of_full(std::uint64_t b) noexcept {
  std::uint32_t rows = static_cast<std::uint32_t>(b) | static_cast<std::uint32_t>(b >> 32);
  rows |= rows >> 16;
  rows |= rows >> 8;
  const std::uint32_t all = (rows & 0xFFU) * 0x01010101U;
  return static_cast<std::uint64_t>(all) << 32 | all;
}

/// Scalar products of a tile of A with rows of B of these lengths.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t products_of(std::uint64_t a,
                                                                     const TileRowCounts& b_lengths) noexcept {
  std::int64_t sum = 0;
  for (int k = 0; k < tile_size; ++k) sum += std::int64_t{count_bits(column_bits(a, k))} * b_lengths.of_row(k);
  return sum;
}

/// Which of the eight counts of TileRowCounts, as they lie in memory, is that of row r.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr int place_of_count(int r) noexcept { return 4 * (r % 2) + r / 2; }

/// Most entries of a row that TileRowCounts holds.
inline constexpr int most_row_entries = 65535;

/// Where the dense copy of a tile holds entry (r, c): row by row, the halves of rows 2, 3, 6 and 7 exchanged, so that
/// the lanes of a warp that load the operands of a tensor instruction meet distinct banks.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr int dense_place(int r, int c) noexcept {
  return tile_size * r + (c ^ 4 * (r / 2 % 2));
}

/// Products per pair of tiles to expect, from the fill of A's and B's tiles.
[[nodiscard]] constexpr double products_per_pair(double a_fill, double b_fill) noexcept {
  return 512.0 * a_fill * b_fill;
}

}  // namespace tessera::detail
