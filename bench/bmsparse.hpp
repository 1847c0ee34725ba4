/// \file
/// bmSPARSE as its authors describe it (J. Zhang & L. Gruenwald, "Regularizing Irregularity: Bitmap-based and Portable
/// Sparse Matrix Multiplication for Graph Data on GPUs", GRADES-NDA 2018, §3): task list, one thread that counts per
/// tile of C, 64 threads that multiply per tile of C. For comparison only.
#pragma once

#include "bench/tile_tasks.hpp"

namespace tessera::bench {

/// C = A B in tiles; waits. Entries that cancel to zero stay, as in the library's products: the compaction of §3.4 is
/// left out. \param a, b weighted, on the device \throws NotSupported, OutOfMemory
[[nodiscard]] TiledProduct<double> multiply_bmsparse(const Device& device, const TileView<double>& a,
                                                     const TileView<double>& b);

}  // namespace tessera::bench
