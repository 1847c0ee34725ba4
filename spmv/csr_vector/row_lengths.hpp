/// \file
/// Row lengths of a matrix on a GPU: what they say about csr-vector, and the long rows, cut into parts.
#pragma once

#include "tessera/array.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <span>

namespace tessera::cuda {

/// Parts of the rows longer than `longer_than`, in the order of the matrix. Plain data on the device.
struct LongRows {
  offset_t longer_than = 0;
  Array<index_t> row;     ///< of each part; ascending
  Array<offset_t> begin;  ///< first nonzero of each part

  [[nodiscard]] std::int64_t parts() const noexcept { return row.size(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return row.bytes() + begin.bytes(); }
};

struct RowLengths {
  offset_t typical = 0;  ///< nonzeros in rows of at most csr_vector_typical_row
  offset_t longest = 0;  ///< row
};

/// O(rows); waits. \param row_offsets on the device, rows + 1 entries
[[nodiscard]] RowLengths row_lengths(const Device& device, std::span<const offset_t> row_offsets);

/// Mean of the squared row lengths over the square of the mean: 1 where all are equal, more the more they differ; 0
/// without nonzeros. O(rows); waits. \param row_offsets on the device, rows + 1 entries \throws CudaError
[[nodiscard]] double row_length_spread(const Device& device, std::span<const offset_t> row_offsets);

/// A product of csr-vector in one kernel.
struct WholeProduct {
  int lanes = 0;         ///< per row; 0 where the product takes several kernels
  offset_t longest = 0;  ///< row
};

/// How csr-vector multiplies, also with inner products, in one kernel: few rows, and none too long. O(rows); waits.
/// \param row_offsets on the device, rows + 1 entries \throws CudaError
[[nodiscard]] WholeProduct whole_product(const Device& device, std::span<const offset_t> row_offsets);

/// O(rows + parts). \param part nonzeros of each part but the last of its row \throws OutOfMemory, CudaError
[[nodiscard]] LongRows find_long_rows(const Device& device, std::span<const offset_t> row_offsets, offset_t longer_than,
                                      offset_t part);

}  // namespace tessera::cuda
