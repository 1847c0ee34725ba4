/// \file
/// The tiles of a matrix on a GPU as the kernels read them, and values brought into their order.
#pragma once

#include "core/detail_namespace.hpp"
#include "spmv/csr_vector/row_lengths.hpp"
#include "spmv/tiles/tile_arrays.hpp"
#include "spmv/tiles/tile_record.hpp"
#include "spmv/tiles/tiles_tuning.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace tessera::cuda {

/// Everything about the tiles but their values. Plain data on the device.
struct GpuTiles {
  index_t rows = 0;
  TilesShape shape;
  Array<TileRecord> records;
  Array<offset_t> offsets;       ///< first tile of each tile row, and the number of tiles
  Array<offset_t> first_values;  ///< of each tile row
  LongRows long_rows;            ///< tile rows, cut into parts
  Array<offset_t> part_first_values;
  /// Entries of the rows of long tile rows in the order of PartOfTileRow::place(), before each part: from the first
  /// entry of all long tile rows on.
  Array<offset_t> part_row_starts;

  [[nodiscard]] index_t tile_rows() const noexcept { return static_cast<index_t>(first_values.size()); }
  [[nodiscard]] std::int64_t parts() const noexcept { return long_rows.parts(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return records.bytes() + offsets.bytes() + first_values.bytes() + long_rows.bytes() + part_first_values.bytes() +
           part_row_starts.bytes();
  }
  [[nodiscard]] TileRowArrays row_arrays() const noexcept {
    return {rows, tile_rows(), shape.long_row, offsets.data(), first_values.data()};
  }
  [[nodiscard]] TilePartArrays part_arrays() const noexcept {
    return {
        parts(), shape.part, offsets.data(), long_rows.row.data(), long_rows.begin.data(), part_first_values.data()};
  }
};

/// O(nnz + rows). \param a on `device` \param shape chosen by the tiles if there is none \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] GpuTiles build_gpu_tiles(const CsrView<T>& a, const Device& device,
                                       const std::optional<TilesShape>& shape = std::nullopt);

/// Values in the order of the tiles, rounded where To is narrower. O(nnz); neither waits nor allocates.
/// \param from in the order of CSR \param to of the tiles, and one more, which becomes 0
template <class From, class To>
void fill_tile_values(const Device& device, const GpuTiles& tiles, std::span<const From> from, std::span<To> to);

}  // namespace tessera::cuda
