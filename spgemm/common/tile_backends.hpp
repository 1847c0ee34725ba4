/// \file
/// The two backends of products in tiles as spgemm() of TileMatrix calls them, and what both need.
#pragma once

#include "core/detail_namespace.hpp"
#include "tessera/spgemm.hpp"
#include "tessera/tile_matrix.hpp"

#include <cstdint>
#include <optional>

namespace tessera::detail {

/// Whether two views are of the same arrays.
template <class T>
[[nodiscard]] bool is_same_matrix(const TileView<T>& a, const TileView<T>& b) noexcept {
  return a.rows == b.rows && a.cols == b.cols && a.tile_row_offsets.data() == b.tile_row_offsets.data() &&
         a.tile_columns.data() == b.tile_columns.data() && a.values.data() == b.values.data();
}

/// Bytes of a matrix in tiles.
template <class T>
[[nodiscard]] std::uint64_t tile_matrix_bytes(std::int64_t tile_rows, std::int64_t tiles, std::int64_t nnz,
                                              ValueStorage storage) noexcept {
  constexpr std::uint64_t per_tile = sizeof(index_t) + sizeof(std::uint64_t) + sizeof(offset_t);
  return static_cast<std::uint64_t>(tile_rows + 2) * sizeof(offset_t) + static_cast<std::uint64_t>(tiles) * per_tile +
         (storage == ValueStorage::pattern ? 0 : static_cast<std::uint64_t>(nnz) * sizeof(T));
}

}  // namespace tessera::detail

namespace tessera::host {

/// C = A B in tiles on the host; nothing where it does not fit into memory, which report.fallback then says. The terms
/// of an entry are added in the order of A's row. \param report gets what tells of the product; its reason is continued
template <class T>
[[nodiscard]] std::optional<TileMatrix<T>> multiply_tiles(const TileView<T>& a, const TileView<T>& b,
                                                          const SpgemmOptions& options, SpgemmReport& report);

}  // namespace tessera::host

namespace tessera::cuda {

/// The same on a GPU, where A and B lie; nothing beyond the limits of tiles, too.
/// \throws CudaError, DeviceUnavailable in a build without CUDA
template <class T>
[[nodiscard]] std::optional<TileMatrix<T>> multiply_tiles(const TileView<T>& a, const TileView<T>& b,
                                                          const SpgemmOptions& options, SpgemmReport& report);

}  // namespace tessera::cuda
