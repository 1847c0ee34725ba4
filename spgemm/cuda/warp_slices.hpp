/// \file
/// Shared memory of the kernels whose warps do a row of C each: every warp of a block has a slice of it.
#pragma once

#include "core/cuda/device_limits.hpp"
#include "core/host_device.hpp"
#include "tessera/types.hpp"

#include <algorithm>
#include <cstdint>

namespace tessera::cuda {

/// Slices begin at multiples of this.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t aligned_bytes(std::int64_t bytes) noexcept {
  return (bytes + 15) / 16 * 16;
}

/// An entry of a row of A, or of several rows with the same positions (row_lists.cuh). \param value_bytes of a value; 0
/// where only positions count
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t list_bytes(int value_bytes, int rows = 1) noexcept {
  return value_bytes == 0 ? 8 : aligned_bytes(8 + std::int64_t{rows} * value_bytes);
}

/// Room for 32 of them.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t stage_bytes(int value_bytes, int rows = 1) noexcept {
  return 32 * list_bytes(value_bytes, rows);
}

/// Words of 32 columns that a row of so many columns may touch, wherever it begins.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t window_words(std::int64_t width) noexcept {
  return width == 0 ? 0 : (width + 62) / 32;
}

/// Bytes of such a word: its bits and, where values are summed, the place of the first of them in the row.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr int window_word_bytes(int value_bytes) noexcept {
  return value_bytes == 0 ? 4 : 8;
}

/// Slice of enqueue_window. \param value_bytes of a value of C; 0 for NoValue and for the count pass \param rows that a
/// warp does at once, all with the same positions
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t window_bytes(index_t widest, index_t most_entries,
                                                                      int value_bytes, int rows = 1) noexcept {
  const std::int64_t entry_bytes =
      value_bytes == 0 ? 0 : std::int64_t{rows} * value_bytes + std::int64_t{sizeof(index_t)};
  return aligned_bytes(stage_bytes(value_bytes, rows) + window_words(widest) * window_word_bytes(value_bytes) +
                       most_entries * entry_bytes);
}
/// Rows of A with the same positions, one after the other, that enqueue_window_alike() does at once.
inline constexpr int rows_alike = 3;

/// Slice of enqueue_dense. \param value_bytes see window_bytes()
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t dense_bytes(index_t widest, int value_bytes) noexcept {
  return stage_bytes(value_bytes) + aligned_bytes(std::int64_t{widest} * value_bytes) + aligned_bytes(widest);
}

inline constexpr int most_warps_of_block = 4;

/// Warps that an SM holds in blocks of so many, as far as it depends on their slices.
[[nodiscard]] constexpr std::int64_t resident_warps(int warps, std::int64_t slice,
                                                    const DeviceLimits& limits) noexcept {
  const std::int64_t by_memory = limits.shared_per_multiprocessor / (warps * slice + limits.reserved_shared_per_block);
  const std::int64_t all_warps = limits.threads_per_multiprocessor / 32;
  const std::int64_t by_threads = std::min<std::int64_t>(all_warps / warps, limits.blocks_per_multiprocessor);
  return warps * std::min(by_memory, by_threads);
}

/// Warps of a block: as many as let a multiprocessor hold the most warps; of several such numbers the largest.
[[nodiscard]] constexpr int warps_of_block(std::int64_t slice, const DeviceLimits& limits) noexcept {
  int best = 1;
  for (int warps = 2; warps <= most_warps_of_block; warps *= 2) {
    const bool fits = warps * slice <= limits.largest_shared_per_block;
    if (fits && resident_warps(warps, slice, limits) >= resident_warps(best, slice, limits)) best = warps;
  }
  return best;
}

/// Share of the shared memory of an SM, in percent, in which `blocks` blocks of a kernel have room; the rest is left to
/// the L1. \param shared_bytes of a block
[[nodiscard]] constexpr int carve_out(std::int64_t shared_bytes, int blocks, const DeviceLimits& limits) noexcept {
  if (shared_bytes == 0) return 0;
  const std::int64_t wanted = blocks * (shared_bytes + limits.reserved_shared_per_block);
  const std::int64_t all = limits.shared_per_multiprocessor;
  return static_cast<int>(std::min<std::int64_t>(100, (100 * wanted + all - 1) / all));
}

/// Lanes that read one row of B where the order of its entries does not matter. \param mean_list entries of such a row
[[nodiscard]] constexpr int lanes_of_list(double mean_list) noexcept {
  if (mean_list > 16) return 32;
  return mean_list > 8 ? 16 : 8;
}

}  // namespace tessera::cuda
