/// \file
/// Tiles and fill of a matrix from a stratified sample of its tile rows (public: estimate_tiles() in
/// tessera/tile_matrix.hpp).
#pragma once

#include "core/random.hpp"
#include "core/sums.hpp"
#include "preprocess/tile_merge.hpp"
#include "tessera/device.hpp"

#include <cstdint>

namespace tessera::detail {

/// One tile row at random in each of `count` nearly equal parts of all.
struct SampledTileRows {
  index_t tile_rows = 0;
  index_t count = 0;  ///< at most tile_rows

  [[nodiscard]] TESSERA_HOST_DEVICE index_t operator[](std::int64_t number) const noexcept {
    const std::int64_t begin = number * tile_rows / count;
    const std::int64_t size = (number + 1) * tile_rows / count - begin;
    const double place = SplitMix64(8, static_cast<std::uint64_t>(number)).uniform();
    return static_cast<index_t>(begin + static_cast<std::int64_t>(place * static_cast<double>(size)));
  }
};

/// Tiles (first) and their entries (second) of a tile row: of its first `most` tiles. Integers, so that sums are exact.
[[nodiscard]] TESSERA_HOST_DEVICE inline TwoSums count_tile_row(const CsrStructurePointers& a, index_t tile_row,
                                                                offset_t most) {
  offset_t tiles = 0;
  offset_t entries = 0;
  TileMerge merge(a, tile_row);
  for (index_t column = merge.next(); column != TileMerge::no_tile && tiles < most; column = merge.next()) {
    entries += count_bits(merge.take(column));
    ++tiles;
  }
  return {static_cast<double>(tiles), static_cast<double>(entries)};
}

}  // namespace tessera::detail

namespace tessera::cuda {
/// Σ count_tile_row over the sample. Waits for it.
[[nodiscard]] detail::TwoSums count_sample(const detail::CsrStructurePointers& a, const detail::SampledTileRows& sample,
                                           offset_t most, const Device& device);
}  // namespace tessera::cuda
