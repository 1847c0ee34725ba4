/// \file
/// CSR to bitmap tiles and back, on the host and on a GPU (public: to_tiles(), to_csr() in tessera/tile_matrix.hpp).
#pragma once

#include "core/detail_namespace.hpp"
#include "core/tiles_to_csr.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/tile_matrix.hpp"

#include <cstdint>

namespace tessera::detail {

/// A matrix in tiles, and what it took.
template <class T>
struct BuiltTiles {
  TileMatrix<T> matrix;
  double build_ms = 0.0;  ///< wall time of the call; on a GPU the values may still be on their way
};

/// The tiles of a matrix that lies on `device` and keeps the invariants of CsrView, which are not checked. O(nnz +
/// rows). On a GPU it returns before the work is done, after one wait for the number of tiles. \throws OutOfMemory,
/// CudaError
template <class T>
[[nodiscard]] BuiltTiles<T> build_tiles(const CsrView<T>& matrix, const Device& device);

/// The CSR matrix of tiles that lie on `device` and keep the invariants of TileView. O(nnz + rows). On a GPU it returns
/// before the work is done. \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] Csr<T> csr_of(const TileView<T>& tiles, const Device& device);

}  // namespace tessera::detail

namespace tessera::host {
template <class T>
[[nodiscard]] TileMatrix<T> build_tiles(const CsrView<T>& matrix, const Device& device);
}  // namespace tessera::host

namespace tessera::cuda {
template <class T>
[[nodiscard]] TileMatrix<T> build_tiles(const CsrView<T>& matrix, const Device& device);
template <class T>
[[nodiscard]] Csr<T> csr_of(const TileView<T>& tiles, const Device& device);
}  // namespace tessera::cuda
