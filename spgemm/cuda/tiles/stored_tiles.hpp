/// \file
/// Plans in tiles: what a product keeps for other values.
#pragma once

#include "spgemm/cuda/tiles/tile_product.hpp"
#include "tessera/array.hpp"

#include <cstdint>

namespace tessera::cuda {

struct StoredTiles {
  bool same = false;  ///< whether A and B share their tiles, though not the copies of values
  TilePositions a;
  TilePositions b;  ///< none where A and B share their tiles
  CTiles c;
  Array<double> a_dense;
  Array<double> b_dense;
  Array<TileTotals> totals;  ///< on the device
  Array<offset_t> offsets;   ///< of the rows of C
  offset_t nnz = 0;          ///< of C

  /// Of what stays, the offsets of C left out.
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return a.bytes() + b.bytes() + c.bytes() + a_dense.bytes() + b_dense.bytes() + totals.bytes();
  }
};

}  // namespace tessera::cuda
