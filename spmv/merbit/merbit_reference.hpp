/// \file
/// MERBIT's product step by step: one lane after the other, one item after the other, one running sum. The oracle of
/// the blocked kernel, and the shortest explanation of the descriptors.
#pragma once

#include "preprocess/merbit_tiles.hpp"
#include "tessera/csr.hpp"

#include <span>

namespace tessera::reference {

using namespace detail;

/// y = A x from the descriptors alone; row offsets are not read. Word is that of the descriptors.
template <DescriptorWord Word, class T>
void merbit_multiply(const CsrView<T>& a, const MerbitTiles& tiles, std::span<const T> x, std::span<T> y) {
  T sum{0};
  for (std::int64_t lane = 0; lane < tiles.tiles() * lanes_per_tile; ++lane) {
    const std::int64_t tile = lane / lanes_per_tile;
    const LaneItems<Word> items = unpack_lane<Word>(tiles.lane_words<Word>()[lane], tiles.sigma);
    const offset_t offset = (lane % lanes_per_tile) * tiles.sigma;
    PathPoint point{tiles.tile_x[tile] + offset - items.y_offset,
                    static_cast<index_t>(tiles.first_row(tile) + static_cast<std::int64_t>(items.y_offset))};
    const int count = lane_item_count(tiles.length(), tiles.sigma, lane);
    for (int item = 0; item < count; ++item) {
      if ((items.down_flags >> item & 1) != 0) {
        y[static_cast<std::size_t>(point.y++)] = sum;
        sum = T{0};
      } else {
        sum += a.value(point.x) * x[static_cast<std::size_t>(a.columns[static_cast<std::size_t>(point.x)])];
        ++point.x;
      }
    }
  }
}

}  // namespace tessera::reference
