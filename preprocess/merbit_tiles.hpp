/// \file
/// MERBIT's tiles: equal parts of the merge path with a descriptor per lane, built once per structure (MERBIT, §4.1).
#pragma once

#include "preprocess/lane_descriptor.hpp"
#include "preprocess/merge_search.hpp"
#include "tessera/csr.hpp"

#include <cstdint>

namespace tessera {

namespace detail {

/// Set in tile_y of a tile without row ends: all its nonzeros belong to one long row.
inline constexpr std::uint32_t long_row_mark = std::uint32_t{1} << 31;

/// Plain data: built by build_merbit_tiles(), then only read.
struct MerbitTiles : LaneWords {
  index_t rows = 0;
  offset_t nnz = 0;
  int sigma = 0;
  Array<offset_t> tile_x;       ///< tiles + 1: first nonzero of each tile, then nnz
  Array<std::uint32_t> tile_y;  ///< tiles + 1: first row of each tile, with long_row_mark; then rows

  [[nodiscard]] offset_t length() const noexcept { return path_length(rows, nnz); }
  [[nodiscard]] std::int64_t tiles() const noexcept { return tile_x.size() - 1; }
  [[nodiscard]] std::int64_t items_per_tile() const noexcept { return std::int64_t{lanes_per_tile} * sigma; }
  [[nodiscard]] bool is_long_row(std::int64_t tile) const noexcept { return (tile_y[tile] & long_row_mark) != 0; }
  [[nodiscard]] index_t first_row(std::int64_t tile) const noexcept {
    return static_cast<index_t>(tile_y[tile] & ~long_row_mark);
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return tile_x.bytes() + tile_y.bytes() + lane_bytes(); }
};

/// Cuts the merge path of a valid matrix into tiles, on the device where its offsets lie. On the host O(tiles log rows
/// + rows + nnz), parallel over tiles. \param sigma           path items per lane, in [1, max_sigma(descriptor_bits)]
/// \param descriptor_bits 32 or 64
/// \throws InvalidArgument for other values, OutOfMemory
[[nodiscard]] MerbitTiles build_merbit_tiles(index_t rows, std::span<const offset_t> row_offsets, int sigma,
                                             int descriptor_bits, const Device& device = Device{});

}  // namespace detail

namespace cuda {

/// The same on a GPU, bit by bit. One search per lane, O(lanes (log rows + sigma)) in total. Waits for the number of
/// nonzeros, which only the offsets hold. \throws as above; DeviceUnavailable in a build without CUDA
[[nodiscard]] MerbitTiles build_merbit_tiles(index_t rows, std::span<const offset_t> row_offsets, int sigma,
                                             int descriptor_bits, const Device& device);

}  // namespace cuda
}  // namespace tessera
