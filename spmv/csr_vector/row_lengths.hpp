/// \file
/// The long rows of a matrix on a GPU, cut into parts.
#pragma once

#include "tessera/array.hpp"
#include "tessera/types.hpp"

#include <span>

namespace tessera::cuda {

/// Parts of the rows longer than `longer_than`, in the order of the matrix. Plain data on the device.
struct LongRows {
  offset_t longer_than = 0;
  Array<index_t> row;     ///< of each part; ascending
  Array<offset_t> begin;  ///< first nonzero of each part, which has csr_vector_part of them or ends with its row

  [[nodiscard]] std::int64_t parts() const noexcept { return row.size(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return row.bytes() + begin.bytes(); }
};

struct RowLengths {
  offset_t typical = 0;  ///< nonzeros in rows of at most csr_vector_typical_row
  offset_t longest = 0;  ///< row
};

/// O(rows); waits. \param row_offsets on the device, rows + 1 entries
[[nodiscard]] RowLengths row_lengths(const Device& device, std::span<const offset_t> row_offsets);

/// O(rows + parts). \throws OutOfMemory, CudaError
[[nodiscard]] LongRows find_long_rows(const Device& device, std::span<const offset_t> row_offsets,
                                      offset_t longer_than);

}  // namespace tessera::cuda
