/// \file
/// What the lengths of the rows of a matrix on a GPU say about csr-vector.
#pragma once

#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <span>

namespace tessera::cuda {

/// Mean of the squared row lengths over the square of the mean: 1 where all are equal, more the more they differ; 0
/// without nonzeros. O(rows); waits. \param row_offsets on the device, rows + 1 entries \throws CudaError
[[nodiscard]] double row_length_spread(const Device& device, std::span<const offset_t> row_offsets);

/// Whether csr-vector multiplies with inner products in one kernel: few rows, and none too long. O(rows); waits.
/// \param row_offsets on the device, rows + 1 entries \throws CudaError
[[nodiscard]] bool is_product_in_one_kernel(const Device& device, std::span<const offset_t> row_offsets);

}  // namespace tessera::cuda
