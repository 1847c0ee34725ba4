/// \file
/// CSR5's product step by step: one lane after the other, one nonzero after the other, one running sum. The oracle of
/// the kernel and the shortest explanation of the descriptors.
#pragma once

#include "preprocess/csr5_tiles.hpp"
#include "tessera/csr.hpp"

#include <algorithm>
#include <span>

namespace tessera::reference {

using namespace detail;

/// y = A x. Complete tiles are multiplied from the descriptors alone; `a` holds the permuted columns and values with
/// the row offsets of the matrix. Word is that of the descriptors.
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
