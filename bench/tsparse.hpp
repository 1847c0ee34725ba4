/// \file
/// tSparse as its authors describe it (O. Zachariadis et al., "Accelerating sparse matrix-matrix multiplication with
/// GPU Tensor Cores", Computers & Electrical Engineering 2020, §4): task list without pairs that do not meet, then a
/// counting and a multiplying kernel on tensor cores, with inputs in half and sums in single precision. Two tiles of
/// C lie on the diagonal of a 16 x 16 product. For comparison only.
#pragma once

#include "bench/tile_tasks.hpp"

namespace tessera::bench {

/// C = A B in tiles, from A and B rounded to half; waits. Entries that cancel to zero stay, as in the library's
/// products. \param a, b weighted, on the device, of compute capability 8.0 or later; a value beyond 65504 becomes
/// infinite \throws NotSupported, OutOfMemory
[[nodiscard]] TiledProduct<float> multiply_tsparse(const Device& device, const TileView<double>& a,
                                                   const TileView<double>& b);

}  // namespace tessera::bench
