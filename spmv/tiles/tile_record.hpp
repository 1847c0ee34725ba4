/// \file
/// A bitmap tile as a GPU reads it, by one load of 16 bytes.
#pragma once

#include "core/detail_namespace.hpp"
#include "core/host_device.hpp"
#include "tessera/types.hpp"

#include <bit>
#include <cstdint>

namespace tessera::detail {

/// Bits of the place of a tile's values. Modulo 2^26 is enough: warps know the first value of their tiles, and never
/// take so many tiles.
inline constexpr int tile_place_bits = 26;
inline constexpr std::uint32_t tile_place_mask = (std::uint32_t{1} << tile_place_bits) - 1;

struct alignas(16) TileRecord {
  std::uint32_t upper = 0;   ///< bitmap of rows 0 to 3
  std::uint32_t lower = 0;   ///< bitmap of rows 4 to 7
  std::uint32_t column = 0;  ///< of tiles
  std::uint32_t place = 0;   ///< first value modulo 2^26, then, in 6 bits, the entries of `upper`

  /// Entries of `upper`.
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr std::uint32_t upper_count() const noexcept {
    return place >> tile_place_bits;
  }
  /// Values between the first of a warp's tiles and the first of this one. \param warp_first first value of the warp
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr std::uint32_t values_after(std::uint32_t warp_first) const noexcept {
    return (place - warp_first) & tile_place_mask;
  }
};

/// \param upper_count bits set in the lower half of `bitmap`, which holds the upper rows
[[nodiscard]] TESSERA_HOST_DEVICE constexpr TileRecord pack_tile(std::uint64_t bitmap, index_t column,
                                                                 offset_t first_value, int upper_count) noexcept {
  return {static_cast<std::uint32_t>(bitmap), static_cast<std::uint32_t>(bitmap >> 32),
          static_cast<std::uint32_t>(column),
          (static_cast<std::uint32_t>(first_value) & tile_place_mask) |
              static_cast<std::uint32_t>(upper_count) << tile_place_bits};
}

}  // namespace tessera::detail
