/// \file
/// Limits and tuning of sliced ELL, and when it pays.
#pragma once

#include "core/host_device.hpp"
#include "tessera/types.hpp"

#include <algorithm>
#include <cstdint>

namespace tessera::detail {

/// Relative columns lie within so many places of the row's own.
inline constexpr index_t farthest_relative_column = 32767;

inline constexpr index_t longest_row_of_slices = 1024;

/// Rows of more nonzeros than this are read from CSR, by a warp each: a thread that sums a row takes 9 terms at a time.
/// \param mean nonzeros per row
[[nodiscard]] inline index_t longest_sliced_row(double mean) noexcept {
  return static_cast<index_t>(std::clamp(8.0 * mean, 64.0, static_cast<double>(longest_row_of_slices)));
}

/// Nonzeros of such a row, and the part of all nonzeros that such rows may hold.
inline constexpr offset_t longest_long_row = 8192;
inline constexpr double most_in_long_rows = 0.5;

/// Slices hold neighbouring rows up to this ratio of places to nonzeros; else rows are sorted by length first.
inline constexpr double most_padding_of_sell = 1.05;

/// Rows of the largest window that is sorted: σ of SELL-C-σ. A block multiplies a window: its sums meet in shared
/// memory, and most of what it reads of x lies in a few times as much. Rows of a slice that differ in length are
/// padded; with all lengths from 0 to l there are l such slices in a window, which add about half a slice each.
inline constexpr int largest_sell_window = 2048;
/// Windows are halved, down to a slice for each warp, until each multiprocessor gets so many of them.
inline constexpr int sell_windows_per_multiprocessor = 2;

/// Products from which `auto` takes sliced ELL on a GPU: set-up looks at every value and writes the matrix anew.
inline constexpr std::int64_t applications_worth_sell = 50;

/// Bytes per nonzero, over those of CSR, up to which `auto` takes slices of neighbours; and bytes per nonzero from
/// which on it takes sorted rows if they are saved: what is lost with x, read on more cache lines at once, depends on
/// the nonzeros alone (bench/NOTES.md).
inline constexpr double most_bytes_worth_sell = 0.52;
inline constexpr double least_saving_worth_sorting = 4.0;

/// Bytes of a column and of a value in CSR.
[[nodiscard]] constexpr double csr_entry_bytes(double value_bytes) noexcept {
  return static_cast<double>(sizeof(index_t)) + value_bytes;
}

}  // namespace tessera::detail

namespace tessera::cuda {

inline constexpr int sell_threads = 256;

/// Blocks per multiprocessor that registers are bounded for: a lane holds all terms of its rows that are in flight.
/// More of them without values from memory (bench/NOTES.md).
inline constexpr int sell_min_blocks = 2;
inline constexpr int sell_min_blocks_of_codes = 3;

/// Terms of a row that are under way at once, and rows of a lane, so that about 20 terms are.
inline constexpr int sell_short_chunk = 5;
inline constexpr int sell_long_chunk = 9;
/// Of short rows that are sorted: slices are of all widths from none on, and wait twice per chunk. Of a few warps that
/// load much at once and more of them that load less, those wait less (bench/NOTES.md).
inline constexpr int sell_sorted_chunk = 2;
inline constexpr int sell_min_blocks_of_sorted = 4;
[[nodiscard]] TESSERA_HOST_DEVICE constexpr int sell_rows_per_lane(int chunk) noexcept { return chunk <= 5 ? 4 : 2; }

/// Rows of a window: a power of two.
[[nodiscard]] constexpr int sell_window_rows(index_t rows, int rows_per_lane, int multiprocessors) noexcept {
  const std::int64_t wanted = std::int64_t{detail::sell_windows_per_multiprocessor} * multiprocessors;
  int window = detail::largest_sell_window;
  while (window > sell_threads * rows_per_lane && rows < wanted * window) window /= 2;
  return window;
}

/// Copies of a value in the dictionary in shared memory: as many as lanes that read 128 bytes together, so that no two
/// of them meet in a bank.
template <class T>
inline constexpr int dictionary_copies = sizeof(T) == 8 ? 16 : 32;

/// Slices of a warp, so that a block that writes its dictionary to shared memory does so for more than a few terms.
/// \param copied elements of the dictionary with its copies \param terms of a lane in a slice
[[nodiscard]] constexpr int sell_slices_per_warp(int copied, double terms) noexcept {
  const double writes = static_cast<double>(copied) / sell_threads;
  return std::clamp(static_cast<int>(4.0 * writes / std::max(terms, 1.0) + 1.0), 1, 8);
}

}  // namespace tessera::cuda
