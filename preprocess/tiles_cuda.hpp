/// \file
/// Tiles built on a GPU from row offsets that lie there. In a build without CUDA every function throws
/// DeviceUnavailable.
#pragma once

#include "preprocess/merbit_tiles.hpp"
#include "preprocess/snapped_tiles.hpp"

#include <span>

namespace tessera::cuda {

/// build_merbit_tiles() on a GPU: the same bits. One search a lane, O(lanes (log rows + sigma)) in all. Waits for the
/// number of nonzeros, which only the offsets tell. \throws as build_merbit_tiles()
[[nodiscard]] MerbitTiles build_merbit_tiles(index_t rows, std::span<const offset_t> row_offsets, int sigma,
                                             int descriptor_bits, const Device& device);

/// Snapped tiles. One search a tile, then every row offset is read once: O(tiles log rows + rows). Waits once, for what
/// was counted.
/// \param row_offsets rows + 1 entries on the device
/// \param nnz         the last of them
/// \param rules       sigma in [0, 22], snap in [0, spacing); tiles of at most 32 sigma steps, or max_tile_steps where
///                    sigma is 0
/// \throws InvalidArgument for other rules, OutOfMemory
[[nodiscard]] SnappedTiles build_snapped_tiles(index_t rows, std::span<const offset_t> row_offsets, offset_t nnz,
                                               const TileRules& rules, const Device& device);

}  // namespace tessera::cuda
