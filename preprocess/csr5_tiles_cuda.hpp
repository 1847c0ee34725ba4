/// \file
/// CSR5's tiles built on a GPU. In a build without CUDA every function throws DeviceUnavailable.
#pragma once

#include "preprocess/csr5_tiles.hpp"

#include <cstdint>
#include <functional>
#include <span>

namespace tessera::cuda {

/// Tiles on a GPU and what products there need besides, found by the way. Arrays lie on the GPU.
struct Csr5GpuTiles {
  Csr5Tiles tiles;
  Array<std::uint8_t> begins_row;   ///< tiles: 1 where the first nonzero of a tile is the first of its row, else 0
  Array<std::uint32_t> empty_rows;  ///< bit i % 32 of entry i / 32: whether row i is empty; no entries without any
  index_t rest_begin = 0;           ///< row of the first nonzero beyond the tiles
  index_t rest_end = 0;             ///< one past the row of the last nonzero; rest_begin when all lie in tiles
};

/// As tessera::build_csr5_tiles(), whose arrays these are bit by bit, from a matrix on a GPU, to which all arrays go.
/// A pass over the rows marks where they begin; warps make descriptors of the marks while they permute columns.
/// O(rows + nnz) \param sigma,descriptor_bits checked
/// \param meanwhile if given, called before the host waits: puts work into the stream that needs of the tiles only what
///                  permute_csr5_values() does
/// \throws OutOfMemory, CudaError
[[nodiscard]] Csr5GpuTiles build_csr5_tiles(const Device& device, index_t rows, std::span<const offset_t> row_offsets,
                                            std::span<const index_t> columns, int sigma, int descriptor_bits,
                                            const std::function<void(const Csr5Tiles&)>& meanwhile = {});

/// As tessera::permute_csr5_values(), rounded to To.
template <class From, class To>
void permute_csr5_values(const Device& device, const Csr5Tiles& tiles, std::span<const From> values,
                         std::span<To> permuted);

}  // namespace tessera::cuda
