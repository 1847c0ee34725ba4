/// \file
/// The tiles of a matrix without its values, which the kernels fill themselves, and again after each update.
#pragma once

#include "preprocess/bitmap_tiles.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/tile_matrix.hpp"

namespace tessera::detail {

/// \param a on `device` \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] TileMatrix<T> tile_structure(const CsrView<T>& a, const Device& device) {
  CsrView<T> pattern = a;
  pattern.storage = ValueStorage::pattern;
  pattern.values = {};
  return build_tiles(pattern, device).matrix;
}

}  // namespace tessera::detail
