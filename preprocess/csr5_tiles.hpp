/// \file
/// CSR5's tiles: equal numbers of nonzeros with a descriptor per lane, built once per structure (Liu & Vinter, CSR5,
/// ICS 2015).
#pragma once

#include "preprocess/csr5_descriptor.hpp"
#include "tessera/csr.hpp"

#include <cstdint>
#include <functional>
#include <span>

namespace tessera {

namespace detail {

/// Set in tile_ptr of a tile with an empty row between the rows of its first and its last nonzero: then the rows of its
/// segments are not consecutive.
inline constexpr std::uint32_t empty_row_mark = std::uint32_t{1} << 31;

/// Plain data: built by build_csr5_tiles(), then only read. Nonzeros beyond the last complete tile have no descriptors;
/// they are multiplied row by row. All arrays lie on one device; has_empty_rows() and first_row() need it to be the
/// host.
struct Csr5Tiles : LaneWords {
  index_t rows = 0;
  offset_t nnz = 0;
  int sigma = 0;
  Array<std::uint32_t> tile_ptr;  ///< tiles + 1: row of each tile's first nonzero, with empty_row_mark; then the row
                                  ///< of the first nonzero beyond the tiles, or rows when there is none
  Array<offset_t> empty_ptr;      ///< tiles + 1: first entry of each tile in empty_offset; empty without any mark
  Array<std::uint32_t> empty_offset;  ///< for marked tiles, the row of each segment minus the tile's first row
  Array<index_t> columns;             ///< nnz: transposed inside each tile, beyond the tiles as in the matrix

  [[nodiscard]] std::int64_t tiles() const noexcept { return tile_ptr.size() - 1; }
  [[nodiscard]] std::int64_t nonzeros_per_tile() const noexcept { return std::int64_t{lanes_per_tile} * sigma; }
  /// Nonzeros that lie in complete tiles.
  [[nodiscard]] offset_t tiled_nnz() const noexcept { return tiles() * nonzeros_per_tile(); }
  [[nodiscard]] bool has_empty_rows(std::int64_t tile) const noexcept { return (tile_ptr[tile] & empty_row_mark) != 0; }
  [[nodiscard]] index_t first_row(std::int64_t tile) const noexcept {
    return static_cast<index_t>(tile_ptr[tile] & ~empty_row_mark);
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return tile_ptr.bytes() + lane_bytes() + empty_ptr.bytes() + empty_offset.bytes() + columns.bytes();
  }
};

/// Cuts the nonzeros of a valid matrix into tiles and permutes its columns. O(tiles log rows + rows + nnz), parallel
/// over tiles. The arrays are the same bit by bit on the host and on a GPU.
/// \param row_offsets,columns rows + 1 and nnz entries, on `device`, where the tiles go as well
/// \param sigma               nonzeros per lane, in [1, csr5_max_sigma(descriptor_bits)]
/// \param descriptor_bits     32 or 64
/// \throws InvalidArgument for other values, OutOfMemory
[[nodiscard]] Csr5Tiles build_csr5_tiles(index_t rows, std::span<const offset_t> row_offsets,
                                         std::span<const index_t> columns, int sigma, int descriptor_bits,
                                         const Device& device = Device{});

/// Permutes values from the order of the matrix into that of tiles.columns; never allocates, parallel over tiles.
/// \param values,permuted tiles.nnz entries on the device of the tiles, not overlapping
template <class T>
void permute_csr5_values(const Csr5Tiles& tiles, std::span<const T> values, std::span<T> permuted,
                         const Device& device = Device{});

}  // namespace detail

namespace cuda {

/// Tiles and what products on a GPU need besides. Arrays lie on the GPU.
struct Csr5GpuTiles {
  Csr5Tiles tiles;
  Array<std::uint8_t> begins_row;   ///< tiles: 1 where the first nonzero of a tile is the first of its row, else 0
  Array<std::uint32_t> empty_rows;  ///< bit i % 32 of entry i / 32: whether row i is empty; no entries without any
  index_t rest_begin = 0;           ///< row of the first nonzero beyond the tiles
  index_t rest_end = 0;             ///< one past the row of the last nonzero; rest_begin when all lie in tiles
};

/// As tessera::build_csr5_tiles(), bit by bit, for a matrix on a GPU. A pass over the rows marks where they begin;
/// warps turn the marks into descriptors while they permute columns. O(rows + nnz) \param sigma,descriptor_bits checked
/// \param meanwhile if given, called before the host waits: may enqueue permute_csr5_values() and what needs no more of
///                  the tiles
/// \throws OutOfMemory, CudaError, DeviceUnavailable in a build without CUDA
[[nodiscard]] Csr5GpuTiles build_csr5_tiles(const Device& device, index_t rows, std::span<const offset_t> row_offsets,
                                            std::span<const index_t> columns, int sigma, int descriptor_bits,
                                            const std::function<void(const Csr5Tiles&)>& meanwhile = {});

/// As tessera::permute_csr5_values(), rounded to To. \throws DeviceUnavailable in a build without CUDA
template <class From, class To>
void permute_csr5_values(const Device& device, const Csr5Tiles& tiles, std::span<const From> values,
                         std::span<To> permuted);

}  // namespace cuda
}  // namespace tessera
