/// \file
/// The bitmap of an 8 x 8 tile: bit 8 r + c stands for the entry in row r and column c.
#pragma once

#include "core/detail_namespace.hpp"
#include "core/host_device.hpp"
#include "tessera/tile_matrix.hpp"

#include <bit>
#include <cstdint>

namespace tessera::detail {

[[nodiscard]] TESSERA_HOST_DEVICE constexpr int count_bits(std::uint64_t bits) noexcept {
#ifdef __CUDA_ARCH__
  return __popcll(bits);
#else
  return std::popcount(bits);
#endif
}

/// Number of the tile of a row or column, at least 0.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr index_t tile_of(index_t i) noexcept {
  return static_cast<index_t>(static_cast<std::uint32_t>(i) / tile_size);
}

/// Place of a row or column in its tile.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr int place_in_tile(index_t i) noexcept {
  return static_cast<int>(static_cast<std::uint32_t>(i) % tile_size);
}

/// Tiles that `size` rows or columns take.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr index_t tiles_across(index_t size) noexcept {
  return tile_of(size) + (place_in_tile(size) != 0 ? 1 : 0);
}

/// Bits of row r: bit c stands for column c.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr unsigned row_bits(std::uint64_t bitmap, int r) noexcept {
  return static_cast<unsigned>(bitmap >> (tile_size * r)) & 0xFFU;
}

/// Bits that may be set in a tile of which `rows` and `cols`, at least 1, lie in the matrix; 8 or more: all of them.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::uint64_t bits_inside(index_t rows, index_t cols) noexcept {
  const std::uint64_t row = cols >= tile_size ? 0xFFU : (1U << cols) - 1;
  const std::uint64_t all = row * 0x0101010101010101U;
  return rows >= tile_size ? all : all & ((std::uint64_t{1} << (tile_size * rows)) - 1);
}

/// Entries per row of tiles side by side, up to 2^16 - 1: eight counts in two words, which add up at once.
struct TileRowCounts {
  std::uint64_t even = 0;  ///< rows 0, 2, 4, 6, in 16 bits each
  std::uint64_t odd = 0;   ///< rows 1, 3, 5, 7

  TileRowCounts() = default;
  TESSERA_HOST_DEVICE constexpr TileRowCounts(std::uint64_t of_even, std::uint64_t of_odd) noexcept
      : even(of_even), odd(of_odd) {}
  /// Of one tile.
  TESSERA_HOST_DEVICE explicit constexpr TileRowCounts(std::uint64_t bitmap) noexcept {
    // Sums of bits in fields of 2, 4, then 8 bits: the population count of every byte.
    std::uint64_t sums = bitmap - (bitmap >> 1 & 0x5555555555555555U);
    sums = (sums & 0x3333333333333333U) + (sums >> 2 & 0x3333333333333333U);
    sums = (sums + (sums >> 4)) & 0x0F0F0F0F0F0F0F0FU;
    even = sums & 0x00FF00FF00FF00FFU;
    odd = sums >> 8 & 0x00FF00FF00FF00FFU;
  }

  [[nodiscard]] TESSERA_HOST_DEVICE constexpr int of_row(int r) const noexcept {
    return static_cast<int>((r % 2 == 0 ? even : odd) >> (16 * (r / 2)) & 0xFFFFU);
  }
  TESSERA_HOST_DEVICE constexpr TileRowCounts& operator+=(const TileRowCounts& other) noexcept {
    even += other.even;
    odd += other.odd;
    return *this;
  }
};

}  // namespace tessera::detail
