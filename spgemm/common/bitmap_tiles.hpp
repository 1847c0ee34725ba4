/// \file
/// Arithmetic on bitmaps of 8 x 8 tiles (bmSPARSE, GRADES-NDA 2018): Boolean products, positions of entries, entries
/// per row. Bit 8 r + c stands for the entry in row r and column c.
#pragma once

#include "core/host_device.hpp"
#include "tessera/tile_matrix.hpp"

#include <bit>
#include <cstdint>

namespace tessera::detail {

using TileBitmap = std::uint64_t;

/// Entries per full tile.
inline constexpr int tile_entries = tile_size * tile_size;

[[nodiscard]] TESSERA_HOST_DEVICE inline int count_bits(std::uint32_t bits) noexcept {
#ifdef __CUDA_ARCH__
  return __popc(bits);
#else
  return std::popcount(bits);
#endif
}
[[nodiscard]] TESSERA_HOST_DEVICE inline int count_bits(std::uint64_t bits) noexcept {
#ifdef __CUDA_ARCH__
  return __popcll(bits);
#else
  return std::popcount(bits);
#endif
}

/// Row r of a tile, as 8 bits.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr unsigned row_bits(TileBitmap tile, int r) noexcept {
  return static_cast<unsigned>(tile >> (tile_size * r)) & 255U;
}

/// Column c of a tile: its bits lie at the beginnings of the rows.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::uint64_t column_bits(TileBitmap tile, int c) noexcept {
  return tile >> c & 0x0101010101010101U;
}

/// Entries of a row before column c.
[[nodiscard]] TESSERA_HOST_DEVICE inline int bits_before(unsigned row, int c) noexcept {
  return count_bits(static_cast<std::uint32_t>(row & ((1U << c) - 1U)));
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
[[nodiscard]] TESSERA_HOST_DEVICE inline TileBitmap boolean_product(TileBitmap a, TileBitmap b) noexcept {
  const auto a_low = static_cast<std::uint32_t>(a);
  const auto a_high = static_cast<std::uint32_t>(a >> 32);
  std::uint32_t low = 0;
  std::uint32_t high = 0;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
  for (int k = 0; k < tile_size; ++k) {
    const std::uint32_t b_row = static_cast<std::uint32_t>(b >> (tile_size * k) & 255U) * 0x01010101U;
    low |= spread_signs(a_low << (7 - k)) & b_row;
    high |= spread_signs(a_high << (7 - k)) & b_row;
  }
  return static_cast<TileBitmap>(high) << 32 | low;
}

/// Entries per row of one or several tiles, 16 bits each: rows 0 and 2, 1 and 3, 4 and 6, 5 and 7.
struct alignas(16) RowCounts {
  std::uint32_t of[4];

  TESSERA_HOST_DEVICE RowCounts& operator+=(const RowCounts& other) noexcept {
    for (int k = 0; k < 4; ++k) of[k] += other.of[k];
    return *this;
  }
  TESSERA_HOST_DEVICE RowCounts& operator-=(const RowCounts& other) noexcept {
    for (int k = 0; k < 4; ++k) of[k] -= other.of[k];
    return *this;
  }
  /// Which of the 8 halves belongs to row r, from the lowest.
  [[nodiscard]] static TESSERA_HOST_DEVICE constexpr int half_of(int r) noexcept {
    return (r / 4 * 2 + r % 2) * 2 + r / 2 % 2;
  }
  [[nodiscard]] TESSERA_HOST_DEVICE int row(int r) const noexcept {
    const std::uint32_t word = r < 4 ? (r % 2 == 0 ? of[0] : of[1]) : (r % 2 == 0 ? of[2] : of[3]);
    return static_cast<int>(r / 2 % 2 == 0 ? word & 0xffffU : word >> 16);
  }
};

/// Most entries of a row that RowCounts holds.
inline constexpr int most_row_count = 65535;

[[nodiscard]] TESSERA_HOST_DEVICE inline RowCounts row_counts(TileBitmap tile) noexcept {
  std::uint64_t sums = tile - (tile >> 1 & 0x5555555555555555U);
  sums = (sums & 0x3333333333333333U) + (sums >> 2 & 0x3333333333333333U);
  sums = (sums + (sums >> 4)) & 0x0f0f0f0f0f0f0f0fU;
  const auto low = static_cast<std::uint32_t>(sums);
  const auto high = static_cast<std::uint32_t>(sums >> 32);
  return {{low & 0x00ff00ffU, low >> 8 & 0x00ff00ffU, high & 0x00ff00ffU, high >> 8 & 0x00ff00ffU}};
}

/// Scalar products of a tile of A with rows of B of these lengths.
[[nodiscard]] TESSERA_HOST_DEVICE inline std::int64_t products_of(TileBitmap a, const RowCounts& b_lengths) noexcept {
  std::int64_t sum = 0;
  for (int k = 0; k < tile_size; ++k) sum += std::int64_t{count_bits(column_bits(a, k))} * b_lengths.row(k);
  return sum;
}

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
