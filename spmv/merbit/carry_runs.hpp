/// \file
/// The rows of a MERBIT plan on a GPU that lie in several tiles, found once for launches that join them again and
/// again.
#pragma once

#include "spmv/merbit/tile_arrays.hpp"
#include "tessera/array.hpp"

#include <cstdint>

namespace tessera::cuda {

/// The carries of a row that lies in several tiles: those of tiles [first, first + count).
struct CarryRun {
  index_t row = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;  ///< 0: no row that the tile ends began in an earlier one
};

/// In the order of the rows. O(tiles) work and scratch space; waits for the number of them. \throws OutOfMemory,
/// CudaError
[[nodiscard]] Array<CarryRun> find_carry_runs(const Device& device, const MerbitTileArrays& tiles);

}  // namespace tessera::cuda
