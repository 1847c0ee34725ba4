/// \file
/// Bitmap tiles to CSR on the host: for to_csr(), and for files that hold tiles.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/tile_matrix.hpp"

namespace tessera::host {

/// \param tiles valid, on the host. O(nnz + rows), in parallel over tile rows. \throws OutOfMemory
template <class T>
[[nodiscard]] Csr<T> csr_of(const TileView<T>& tiles, const Device& device);

}  // namespace tessera::host
