/// \file
/// A bitmap tile as a GPU reads it, by one load of 16 bytes.
#pragma once

#include "core/detail_namespace.hpp"
#include "core/host_device.hpp"
#include "tessera/tile_matrix.hpp"
#include "tessera/types.hpp"

#include <cstdint>

namespace tessera::detail {

/// Bits of a place that count entries; the others hold a number of values modulo 2^26. That is enough: warps know the
/// first value of their tiles, and never take so many tiles.
inline constexpr int tile_count_bits = 6;
inline constexpr offset_t most_values_of_a_warp = offset_t{1} << (32 - tile_count_bits);

struct alignas(16) TileRecord {
  std::uint32_t upper = 0;         ///< bitmap of rows 0 to 3
  std::uint32_t lower = 0;         ///< bitmap of rows 4 to 7
  std::uint32_t first_column = 0;  ///< of the matrix
  std::uint32_t place = 0;         ///< first value modulo 2^26, then the entries of `upper`

  /// Entries of `upper`.
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr std::uint32_t upper_count() const noexcept {
    return place & ((1U << tile_count_bits) - 1);
  }
  /// Values between the first of a warp's tiles and the first of this one. \param warp_first first value of the warp
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr std::uint32_t values_after(std::uint32_t warp_first) const noexcept {
    return (place - (warp_first << tile_count_bits)) >> tile_count_bits;
  }
};

/// \param column of tiles \param upper_count bits set in the lower half of `bitmap`, which holds the upper rows
[[nodiscard]] TESSERA_HOST_DEVICE constexpr TileRecord pack_tile(std::uint64_t bitmap, index_t column,
                                                                 offset_t first_value, int upper_count) noexcept {
  return {static_cast<std::uint32_t>(bitmap), static_cast<std::uint32_t>(bitmap >> 32),
          static_cast<std::uint32_t>(column) * tile_size,
          static_cast<std::uint32_t>(first_value) << tile_count_bits | static_cast<std::uint32_t>(upper_count)};
}

}  // namespace tessera::detail
