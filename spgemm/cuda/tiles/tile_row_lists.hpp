/// \file
/// Sets of tile rows on a GPU, where a product is formed in tiles only in part.
#pragma once

#include "spgemm/cuda/tiles/tiled_factor.hpp"
#include "tessera/array.hpp"

#include <cstdint>

namespace tessera::cuda {

struct TileRowRule;

/// A flag per tile row, and room for the list of those that are set.
class TileRowSet {
 public:
  TileRowSet() = default;
  TileRowSet(index_t tile_rows, const Device& device)
      : flags_(tile_rows, Init::zero, device), list_(tile_rows, Init::none, device) {}

  [[nodiscard]] std::uint8_t* flags() noexcept { return flags_.data(); }
  [[nodiscard]] index_t* list() noexcept { return list_.data(); }
  /// After enqueue_tile_row_list(). \param count of the list's totals
  [[nodiscard]] TileRowList listed(unsigned count) const noexcept {
    return {list_.data(), static_cast<index_t>(count)};
  }
  [[nodiscard]] static constexpr std::uint64_t bytes(index_t tile_rows) noexcept {
    return static_cast<std::uint64_t>(tile_rows) * (sizeof(std::uint8_t) + sizeof(index_t));
  }

 private:
  Array<std::uint8_t> flags_;
  Array<index_t> list_;
};

/// Lists tile rows of a matrix, in any order, and adds to totals->listed[which]. O(tile rows).
/// \param least_entries 0: those whose flags are set; else those with so many entries, whatever the flags
/// \param tiles null, or positions of all of these, whose tiles are counted
void enqueue_tile_row_list(const Context& context, const detail::CsrStructurePointers& matrix, TileRowSet& set,
                           offset_t least_entries, const TilePositions* tiles, int which, TileTotals* totals);

/// Sets the flags of the tile rows of B that tile rows of A meet. O(tiles of A). \param in_tiles flags of these among
/// the tile rows that A takes; null: all that may pay by the rule \param itself whether A is B: the flags of these tile
/// rows are set, too
void enqueue_met_tile_rows(const Context& context, const TilePositions& a, const TileRowRule& rule,
                           const std::uint8_t* in_tiles, bool itself, TileRowSet& of_b);

}  // namespace tessera::cuda
