/// \file
/// The task list of two papers on products in bitmap tiles (Zhang & Gruenwald, bmSPARSE, GRADES-NDA 2018, §3.2;
/// Zachariadis et al., tSparse, Computers & Electrical Engineering 2020, §4.1): pairs of tiles with equal inner index,
/// sorted by the tile of C that they add to. For comparison only: the library does without a sort.
#pragma once

#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/tile_matrix.hpp"
#include "tessera/types.hpp"

#include <cstdint>

namespace tessera::bench {

/// Pairs of tiles, on a device.
struct TileTasks {
  Array<std::uint64_t> pairs;  ///< tile of A << 32 | tile of B; by tile of C, then by inner index
  Array<std::uint64_t> keys;   ///< of C's tiles: tile row << 32 | tile column; ascending
  Array<offset_t> first;       ///< first pair of each tile of C, and the number of pairs
  std::int64_t count = 0;      ///< pairs

  [[nodiscard]] std::int64_t tiles() const noexcept { return keys.size(); }
};

/// A product in tiles, in COO of tiles, on a device. \tparam V of its values
template <class V>
struct TiledProduct {
  Array<std::uint64_t> keys;  ///< as of the tasks
  Array<std::uint64_t> bitmaps;
  Array<offset_t> value_offsets;  ///< of each tile, and the number of values
  Array<V> values;
  std::int64_t tasks = 0;  ///< pairs of tiles that were multiplied
};

/// \param culls pairs of which no two entries meet are left out before the sort, as by tSparse; bmSPARSE keeps them
/// \throws NotSupported where there are more pairs than 2^31 - 1; OutOfMemory
[[nodiscard]] TileTasks make_tile_tasks(const Device& device, const TileView<double>& a, const TileView<double>& b,
                                        bool culls);

/// Counts of entries become value offsets. \param counts of each tile, and one more \returns their sum; waits
[[nodiscard]] offset_t place_values(const Device& device, Array<offset_t>& counts);

/// \param rows,cols of the product
template <class V>
[[nodiscard]] Csr<double> csr_of_product(const Device& device, const TiledProduct<V>& product, index_t rows,
                                         index_t cols);

}  // namespace tessera::bench
