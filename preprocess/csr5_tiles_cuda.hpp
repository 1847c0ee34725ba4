/// \file
/// CSR5's tiles built on a GPU. In a build without CUDA every function throws DeviceUnavailable.
#pragma once

#include "preprocess/csr5_tiles.hpp"

#include <span>

namespace tessera::cuda {

/// As tessera::build_csr5_tiles(), whose arrays these are bit by bit, from a matrix on a GPU, to which all arrays go.
/// Every row sets the flag of its first nonzero, a warp a tile makes descriptors of the flags.
/// O(tiles log rows + rows + nnz) \param sigma,descriptor_bits checked \throws OutOfMemory, CudaError
[[nodiscard]] Csr5Tiles build_csr5_tiles(const Device& device, index_t rows, std::span<const offset_t> row_offsets,
                                         std::span<const index_t> columns, int sigma, int descriptor_bits);

/// As tessera::permute_csr5_values(), rounded to To.
template <class From, class To>
void permute_csr5_values(const Device& device, const Csr5Tiles& tiles, std::span<const From> values,
                         std::span<To> permuted);

}  // namespace tessera::cuda
