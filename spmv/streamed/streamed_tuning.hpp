/// \file
/// Tuning of the streamed product.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tessera::detail {

/// Bytes of a slice. A copy of the largest takes a millisecond, beside which the start of a copy and of three kernels
/// is nothing; the smallest hold a part of a long row.
inline constexpr std::uint64_t least_slice_bytes = std::uint64_t{1} << 14;
inline constexpr std::uint64_t largest_slice_bytes = std::uint64_t{64} << 20;

/// Slices of a matrix, and of the memory that is allowed, at least, while they are not the smallest.
inline constexpr std::uint64_t slices_per_matrix = 16;

/// Slices on the GPU at a time, beside those that stay there: one is multiplied, the others are on their way.
inline constexpr std::uint64_t slice_buffers = 3;
inline constexpr std::uint64_t least_slice_buffers = 2;

/// Sections of a slice begin at multiples of so many bytes.
inline constexpr std::uint64_t slice_section_bytes = 128;

/// Of the memory that a GPU has free, what a matrix may take beside the vectors of a solve.
inline constexpr double streamed_free_share = 0.9;
inline constexpr std::uint64_t vectors_of_a_solve = 10;

/// Smaller matrices are not held against the free memory, which the driver is asked for.
inline constexpr std::uint64_t surely_fits_bytes = std::uint64_t{64} << 20;

/// \param matrix_bytes of all slices \param memory_bytes that may be taken; 0: not limited
[[nodiscard]] constexpr std::uint64_t slice_bytes_for(std::uint64_t matrix_bytes, std::uint64_t memory_bytes) noexcept {
  const std::uint64_t smaller = memory_bytes == 0 ? matrix_bytes : std::min(matrix_bytes, memory_bytes);
  return std::clamp(smaller / slices_per_matrix, least_slice_bytes, largest_slice_bytes);
}

}  // namespace tessera::detail
