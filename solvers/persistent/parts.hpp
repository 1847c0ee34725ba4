/// \file
/// A small matrix in parts of consecutive rows, one per block of threads of a persistent kernel: each part with its
/// vectors fits the shared memory of a multiprocessor.
///
/// A part numbers columns anew, in 16 bits: its own rows first, then its halo, the columns of other parts' rows that it
/// reads. Element i of an extended vector belongs to number i.
#pragma once

#include "core/host_device.hpp"
#include "core/partition_point.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace tessera::cuda {

/// Of one part, or the most of any.
struct PartSize {
  std::int32_t rows = 0;
  std::int32_t halo = 0;
  std::int32_t entries = 0;
  std::int32_t longest = 0;  ///< entries of the longest row
};

/// Halo of a part that has too many columns.
inline constexpr std::int32_t halo_overflows = -1;
/// Columns of a halo, so that a table of twice the size finds them in shared memory.
inline constexpr std::int32_t most_halo = 8192;

/// What a row costs beside its entries, in entries: its vector operations.
inline constexpr offset_t cost_of_row = 4;

/// Below these a part costs less than the reduction of one block more.
inline constexpr offset_t least_entries_per_part = 1024;
inline constexpr offset_t least_rows_per_part = 128;
/// A warp would take longer for a row than all others together.
inline constexpr std::int32_t most_rounds_per_row = 64;

inline constexpr int persistent_threads = 384;
inline constexpr int few_persistent_threads = 256;

[[nodiscard]] constexpr int part_count(index_t rows, offset_t nnz, int multiprocessors) noexcept {
  const offset_t wanted = std::max(nnz / least_entries_per_part, rows / least_rows_per_part);
  return static_cast<int>(std::clamp(wanted, offset_t{1}, offset_t{multiprocessors}));
}

/// Threads per row: a power of two.
[[nodiscard]] constexpr int lanes_per_row(index_t rows, offset_t nnz) noexcept {
  return nnz <= 12 * offset_t{rows} ? 1 : nnz <= 32 * offset_t{rows} ? 4 : 8;
}

[[nodiscard]] constexpr int threads_per_part(const PartSize& most, int lanes) noexcept {
  return most.rows * lanes <= few_persistent_threads ? few_persistent_threads : persistent_threads;
}

/// First row of a part; `rows` for part == parts. Parts cost about the same. O(log rows)
[[nodiscard]] TESSERA_HOST_DEVICE inline index_t first_row_of_part(const offset_t* row_offsets, index_t rows, int part,
                                                                   int parts) noexcept {
  const offset_t all = row_offsets[rows] + cost_of_row * rows;
  const offset_t wanted = all * part / parts;
  return detail::partition_point(index_t{0}, rows,
                                 [&](index_t i) { return row_offsets[i] + cost_of_row * i < wanted; });
}

/// The parts of one matrix, on its GPU. Part p has rows [first_rows[p], first_rows[p + 1]), and its columns lie where
/// its entries do.
struct Parts {
  int count = 0;
  int lanes = 1;  ///< threads per row
  int threads = persistent_threads;
  PartSize most;
  Array<index_t> first_rows;      ///< count + 1
  Array<PartSize> sizes;          ///< count
  Array<std::uint16_t> numbers;   ///< of the columns, nnz
  Array<index_t> halo;            ///< columns; those of part p begin at the first entry of the part
  Array<std::uint8_t> is_shared;  ///< per row: whether another part reads it

  [[nodiscard]] std::uint64_t bytes() const {
    return first_rows.bytes() + sizes.bytes() + numbers.bytes() + halo.bytes() + is_shared.bytes();
  }
};

/// Cuts a matrix; reads its structure twice. Nothing where it has no rows, or a part has more than 2^16 columns, too
/// many in its halo, or a row too long for its threads. \param row_offsets, columns on `device`
/// \throws OutOfMemory, CudaError; DeviceUnavailable in a build without CUDA
[[nodiscard]] std::optional<Parts> cut_into_parts(const Device& device, index_t rows,
                                                  std::span<const offset_t> row_offsets,
                                                  std::span<const index_t> columns);

}  // namespace tessera::cuda
