/// \file
/// Quads: four neighbouring tiles of a tile row of C, which one warp sums with every tile of A loaded once.
#pragma once

#include "core/host_device.hpp"
#include "tessera/types.hpp"

#include <cstdint>

namespace tessera::cuda {

/// Slots of a tile row of C that make a quad.
inline constexpr int quad_tiles = 4;

/// A tile of A and the tiles of B that it meets in a quad. Those of B in the columns of the quad lie one after the
/// other.
struct alignas(8) QuadTerm {
  std::int32_t first_b;  ///< first tile of B
  std::uint32_t packed;  ///< number of the tile of A in its tile row; then a bit per slot with a tile of B, and a bit
                         ///< per slot whose pair is not empty

  [[nodiscard]] static TESSERA_HOST_DEVICE constexpr QuadTerm of(int a_tile, int first_b, unsigned present,
                                                                 unsigned live) noexcept {
    return {first_b, static_cast<std::uint32_t>(a_tile) << 8 | present << quad_tiles | live};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr std::uint32_t a_tile() const noexcept { return packed >> 8; }
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr unsigned present() const noexcept { return packed >> quad_tiles & 15U; }
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr unsigned live() const noexcept { return packed & 15U; }
};

/// A quad: its terms, tiles of A ascending.
struct alignas(16) CQuad {
  std::uint32_t first_term;
  std::uint16_t terms;
  std::uint16_t slots;      ///< a bit per slot with entries
  std::int32_t first_tile;  ///< record of the first slot; where empty slots have none, of the first with entries
  index_t tile_row;
};

/// Quads of all tile rows, at most. \param most slots of all tile rows
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t most_quads(index_t tile_rows, std::int64_t most) noexcept {
  return most / quad_tiles + tile_rows;
}

}  // namespace tessera::cuda
