/// \file
/// The index arrays that cuSPARSE wants of a matrix, made on the GPU.
#pragma once

#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <cstdint>
#include <span>

namespace tessera::cuda {

/// \param from values below 2^31 \param to as many
void narrow_offsets(const Device& device, std::span<const offset_t> from, std::span<std::int32_t> to);

/// row_of[k]: the row of nonzero k. O(rows + nnz) up to a small logarithm.
/// \param row_offsets rows + 1 entries \param row_of nnz entries
void expand_rows(const Device& device, std::span<const offset_t> row_offsets, std::span<index_t> row_of);

/// Sets all to 1.
template <class T>
void fill_ones(const Device& device, std::span<T> values);

}  // namespace tessera::cuda
