/// \file
/// Tuning of the csr-vector kernel.
#pragma once

#include "core/host_device.hpp"
#include "tessera/types.hpp"

#include <cstdint>

namespace tessera::cuda {

/// Rows beyond this length do not count towards the mean: a few of them would decide for all.
inline constexpr offset_t csr_vector_typical_row = 512;

/// Nonzeros per part of a long row, which one warp adds up.
inline constexpr offset_t csr_vector_part = 1024;

/// Threads per block.
inline constexpr int csr_vector_threads = 256;

/// Terms that each lane has in flight, of a row and of a part of a long row.
inline constexpr int csr_vector_batch = 4;
inline constexpr int csr_vector_part_batch = 8;

/// Lanes of a warp that share a row: 1, 2, 4, 8, 16 or 32, the fewest that load a row of mean length at once, with an
/// eighth of the loads to spare. Few lanes keep many rows in flight. \param rows 1 or more \param nnz nonzeros of the
/// rows that are not beyond csr_vector_typical_row
[[nodiscard]] constexpr int csr_vector_lanes(index_t rows, offset_t nnz) noexcept {
  int lanes = 1;
  while (lanes < 32 && 8 * nnz > 7 * offset_t{rows} * lanes * csr_vector_batch) lanes *= 2;
  return lanes;
}

/// Rows longer than this are long: their lanes would finish long after the others.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr offset_t csr_vector_long_row(int lanes) noexcept {
  return 64 * offset_t{lanes} < csr_vector_typical_row ? 64 * offset_t{lanes} : csr_vector_typical_row;
}

/// Parts of a row longer than `long_row`; 0 for other rows. \param part nonzeros of a part
[[nodiscard]] TESSERA_HOST_DEVICE constexpr offset_t csr_vector_parts(offset_t length, offset_t long_row,
                                                                      offset_t part = csr_vector_part) noexcept {
  return length > long_row ? (length + part - 1) / part : 0;
}

/// The product with inner products in one kernel, for small matrices, whose time is that of launches and of dependent
/// loads: so many lanes per row that the longest row ends in a few batches.
inline constexpr int csr_vector_whole_threads = 256;
inline constexpr std::int64_t csr_vector_whole_blocks = 4096;
inline constexpr int csr_vector_few_batches = 4;
inline constexpr int csr_vector_most_batches = 8;

/// Lanes per row; 0 where the product takes several kernels. \param longest row
[[nodiscard]] constexpr int csr_vector_whole_lanes(index_t rows, offset_t typical_nonzeros, offset_t longest) noexcept {
  if (rows == 0) return 0;
  int lanes = csr_vector_lanes(rows, typical_nonzeros);
  while (lanes < 32 && longest > offset_t{lanes} * csr_vector_batch * csr_vector_few_batches) lanes *= 2;
  if (longest > offset_t{lanes} * csr_vector_batch * csr_vector_most_batches) return 0;
  return offset_t{rows} * lanes <= csr_vector_whole_blocks * csr_vector_whole_threads ? lanes : 0;
}

/// Loads in a chain of the longest row.
[[nodiscard]] constexpr offset_t csr_vector_chain(int lanes, offset_t longest) noexcept {
  return (longest + lanes - 1) / lanes;
}

/// Whether lanes that a few long rows ask for leave most lanes of the other rows idle: MERBIT's equal shares are then
/// faster with values of 8 bytes (H200: memplus and wiki-Vote by a fifth), not with those of 4 (bench/NOTES.md).
[[nodiscard]] constexpr bool csr_vector_idles(index_t rows, offset_t nnz, int lanes, offset_t longest) noexcept {
  return csr_vector_chain(lanes, longest) > offset_t{csr_vector_batch} * csr_vector_few_batches &&
         offset_t{rows} * lanes > 2 * nnz;
}

}  // namespace tessera::cuda
