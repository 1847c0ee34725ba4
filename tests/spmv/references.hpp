/// \file
/// The kernels' algorithms as plain loops: oracles, and the shortest explanation of the descriptors.
#pragma once

#include "preprocess/csr5_tiles.hpp"
#include "preprocess/merbit_tiles.hpp"
#include "tessera/csr.hpp"

#include <algorithm>
#include <span>

namespace tessera::reference {

using namespace detail;

/// y = A x by the definition: the plainest loop.
template <class T>
void csr_multiply(const CsrView<T>& a, std::span<const T> x, std::span<T> y) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    T sum{0};
    for (offset_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
      sum += a.value(k) * x[static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)])];
    }
    y[i] = sum;
  }
}

/// MERBIT: y = A x from the descriptors alone, one path item after the other, with one running sum. Row offsets are not
/// read. Word is that of the descriptors.
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

/// CSR5: y = A x, one nonzero after the other. Complete tiles are multiplied from the descriptors alone; `a` holds the
/// permuted columns and values, and the row offsets of the matrix. Word is that of the descriptors.
template <DescriptorWord Word, class T>
void csr5_multiply(const CsrView<T>& a, const Csr5Tiles& tiles, std::span<const T> x, std::span<T> y) {
  const auto term = [&](offset_t k) {
    return a.value(k) * x[static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)])];
  };
  std::fill(y.begin(), y.end(), T{0});
  for (std::int64_t tile = 0; tile < tiles.tiles(); ++tile) {
    std::int64_t row = tiles.first_row(tile);
    for (int lane = 0; lane < lanes_per_tile; ++lane) {
      const auto content = unpack_csr5_lane<Word>(tiles.lane_words<Word>()[tile * lanes_per_tile + lane], tiles.sigma);
      std::int64_t segment = std::int64_t{content.y_offset} - 1;  // the one that is open where the lane begins
      for (int j = 0; j < tiles.sigma; ++j) {
        if ((content.row_starts >> j & 1) != 0) {
          ++segment;
          row = tiles.first_row(tile) +
                (tiles.has_empty_rows(tile) ? tiles.empty_offset[tiles.empty_ptr[tile] + segment] : segment);
        }
        y[static_cast<std::size_t>(row)] += term(tile * tiles.nonzeros_per_tile() + j * lanes_per_tile + lane);
      }
    }
  }
  for (index_t row = tiles.first_row(tiles.tiles()); row < a.rows; ++row) {
    const auto i = static_cast<std::size_t>(row);
    const offset_t begin = std::max(a.row_offsets[i], tiles.tiled_nnz());
    for (offset_t k = begin; k < a.row_offsets[i + 1]; ++k) y[i] += term(k);
  }
}

}  // namespace tessera::reference
