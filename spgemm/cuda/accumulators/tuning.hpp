/// \file
/// Thresholds of SpGEMM on a GPU, one table per architecture: how much shared memory the accumulators ask for, and from
/// which size on a row of C goes to another accumulator.
#pragma once

#include "core/cuda/device_limits.hpp"
#include "core/host_device.hpp"
#include "tessera/types.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace tessera::cuda {

/// The defaults are those of compute capability 9.0, measured on an H200 (bench/NOTES.md, "SpGEMM on a GPU"). The other
/// tables differ where their shared memory forces them to; nothing was measured there.
struct Tuning {
  int compute_capability = 90;

  // Limits of the accumulators, in bytes of dynamic shared memory and what follows from these. A row beyond a limit
  // goes to the next accumulator that can do it; bitmap_tiled does any row.
  std::int64_t block_bytes = std::int64_t{227} * 1024;        ///< what a block may have, static memory included
  std::int64_t tiled_bytes = std::int64_t{200} * 1024;        ///< bitmap of a block, one column range after the other
  std::int64_t shared_sums_bytes = std::int64_t{104} * 1024;  ///< bitmap and sums of a block: two blocks per SM
  index_t hash_entries = 4096;                                ///< of a row in the largest hash table
  std::uint32_t esc_block_products = 6144;                    ///< of a row that one block sorts

  // Rows that one thread merges.
  std::uint32_t merge_products = 48;

  // Rows that some lanes of a warp sum in a small hash table, where a sample says that they compress.
  double small_compression = 4.0;          ///< products per entry of the sample, from which
  index_t small_entries = 112;             ///< of a row
  std::uint32_t small_products = 1 << 12;  ///< of a row
  double small_least_products = 1 << 23;   ///< expected of the whole product, from which a sample is taken
  double small_mean_products = 32;         ///< expected of a row, from which a sample is taken
  index_t tiny_rows = 1 << 17;             ///< up to which, and below tiny_products, nothing is analysed first
  double tiny_products = 1 << 22;

  // Rows that a warp sums in a dense array.
  index_t dense_width = 1024;
  std::uint32_t dense_compression = 4;  ///< products per column of the range
  std::uint32_t dense_products = 1 << 14;

  // Rows that a warp does alone with a bitmap, one row of B after the other.
  index_t warp_b_rows = 256;  ///< also for the dense array
  std::uint32_t bitmap_products = 1 << 13;
  index_t bitmap_width = 24576;
  std::int64_t bitmap_bytes = std::int64_t{12} * 1024;  ///< where no accumulator was asked for by name
  std::uint32_t bitmap_columns = 8;          ///< per product, up to 256 products: below, a bitmap beats sorting
  std::uint32_t bitmap_columns_beyond = 64;  ///< the same for more products
  std::uint32_t bitmap_compression = 2;      ///< products per entry, from which it costs less than sums in C

  // Sums of a block in shared memory instead of in C.
  std::uint32_t shared_compression = 3;     ///< products per entry
  std::uint32_t shared_b_row = 1024;        ///< products per entry of A
  std::uint32_t shared_many_threads = 512;  ///< mean products per entry of A, from which a block has 512 threads

  std::uint32_t hash_columns = 256;  ///< per product, beyond which bitmap_tiled costs more to clear and to scan

  // Threads of a block of bitmap_tiled.
  std::uint32_t heavy_products = 1 << 14;              ///< of a row, from which it is launched apart from shorter ones
  std::uint32_t huge_products = 1 << 18;               ///< of a row, from which a block has 1024 threads
  double heavy_entries = 4096;                         ///< mean of a launch, from which a block has 512 threads
  std::int64_t heavy_bytes = std::int64_t{24} * 1024;  ///< bitmap beyond which blocks of 128 threads leave the SM idle

  // Bins that join others (merge_bins.hpp).
  std::uint64_t launch_products = 1 << 18;        ///< worth a launch beside others: 8 to 13 us (measured)
  std::uint32_t resident_rows = 256;              ///< rows for as many blocks as run at once
  std::uint32_t few_rows = 1024;                  ///< rows that may lose shared memory to larger ones
  std::uint64_t dense_launch_products = 1 << 21;  ///< up to which `dense` gains less over `bitmap` than a launch costs
};

/// Static shared memory of the kernels of a block is below this: it counts towards Tuning::block_bytes.
inline constexpr std::int64_t static_shared_bytes = std::int64_t{16} * 1024;

/// 164 KB per SM, of which a block may have 163.
inline constexpr Tuning tuning_sm80{.compute_capability = 80,
                                    .block_bytes = std::int64_t{163} * 1024,
                                    .tiled_bytes = std::int64_t{146} * 1024,
                                    .shared_sums_bytes = std::int64_t{72} * 1024};
/// 100 KB per SM, of which a block may have 99: one block per SM has its sums in shared memory.
inline constexpr Tuning tuning_sm89{.compute_capability = 89,
                                    .block_bytes = std::int64_t{99} * 1024,
                                    .tiled_bytes = std::int64_t{82} * 1024,
                                    .shared_sums_bytes = std::int64_t{82} * 1024,
                                    .hash_entries = 3072,
                                    .esc_block_products = 4096};
inline constexpr Tuning tuning_sm90{};
/// As 8.9.
inline constexpr Tuning tuning_sm120 = [] {
  Tuning result = tuning_sm89;
  result.compute_capability = 120;
  return result;
}();

inline constexpr std::array<Tuning, 4> tunings{tuning_sm80, tuning_sm89, tuning_sm90, tuning_sm120};

/// The table of the device's compute capability; else the one that uses the most of its shared memory. No device of
/// compute capability 8.0 or above has less of it than 8.9.
[[nodiscard]] constexpr const Tuning& tuning_for(const DeviceLimits& limits) noexcept {
  const Tuning* best = &tunings[1];
  for (const Tuning& tuning : tunings) {
    if (tuning.compute_capability == limits.compute_capability) return tuning;
    const bool fits = tuning.block_bytes <= limits.largest_shared_per_block;
    if (fits && tuning.block_bytes > best->block_bytes) best = &tuning;
  }
  return *best;
}

/// Rounded up to 16 bytes, where the memory of each warp begins.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t aligned_bytes(std::int64_t bytes) noexcept {
  return (bytes + 15) / 16 * 16;
}

/// A row of B that an entry of A names, with the factors of `rows` rows of A (warp_products.cuh).
/// \param value_bytes of a value; 0 where only positions count
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t b_row_bytes(int value_bytes, int rows = 1) noexcept {
  return value_bytes == 0 ? 8 : aligned_bytes(8 + std::int64_t{rows} * value_bytes);
}

/// Memory for 32 of them.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t stage_bytes(int value_bytes, int rows = 1) noexcept {
  return 32 * b_row_bytes(value_bytes, rows);
}

/// Words of 32 columns that a row of so many columns may touch, wherever it begins.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t bitmap_words(std::int64_t width) noexcept {
  return width == 0 ? 0 : (width + 62) / 32;
}

/// Bytes of such a word: its bits and, where values are summed, the offset of the first of them in the row.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr int bitmap_word_bytes(int value_bytes) noexcept {
  return value_bytes == 0 ? 4 : 8;
}

/// Shared memory of a warp of enqueue_bitmap. \param value_bytes of a value of C; 0 for NoValue and for phase symbolic
/// \param rows of a group
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t bitmap_warp_bytes(index_t widest, index_t most_entries,
                                                                           int value_bytes, int rows = 1) noexcept {
  const std::int64_t entry_bytes =
      value_bytes == 0 ? 0 : std::int64_t{rows} * value_bytes + std::int64_t{sizeof(index_t)};
  return aligned_bytes(stage_bytes(value_bytes, rows) + bitmap_words(widest) * bitmap_word_bytes(value_bytes) +
                       most_entries * entry_bytes);
}

/// Shared memory of a warp of enqueue_dense. \param value_bytes see bitmap_warp_bytes()
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t dense_warp_bytes(index_t widest, int value_bytes) noexcept {
  return stage_bytes(value_bytes) + aligned_bytes(std::int64_t{widest} * value_bytes) + aligned_bytes(widest);
}

inline constexpr int most_warps_of_block = 4;

/// Warps that an SM holds in blocks of so many, as far as shared memory, threads and blocks limit them.
/// \param shared_bytes of a warp
[[nodiscard]] constexpr std::int64_t resident_warps(int warps, std::int64_t shared_bytes,
                                                    const DeviceLimits& limits) noexcept {
  const std::int64_t by_memory =
      limits.shared_per_multiprocessor / (warps * shared_bytes + limits.reserved_shared_per_block);
  const std::int64_t all_warps = limits.threads_per_multiprocessor / 32;
  const std::int64_t by_threads = std::min<std::int64_t>(all_warps / warps, limits.blocks_per_multiprocessor);
  return warps * std::min(by_memory, by_threads);
}

/// Warps of a block: the number with which an SM holds the most warps; of several such numbers the largest.
[[nodiscard]] constexpr int warps_of_block(std::int64_t shared_bytes, const DeviceLimits& limits) noexcept {
  int best = 1;
  for (int warps = 2; warps <= most_warps_of_block; warps *= 2) {
    const bool fits = warps * shared_bytes <= limits.largest_shared_per_block;
    if (fits && resident_warps(warps, shared_bytes, limits) >= resident_warps(best, shared_bytes, limits)) best = warps;
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

/// Lanes that read one row of B where the order of its entries does not matter. \param mean_b_row_nnz entries of such a
/// row
[[nodiscard]] constexpr int lanes_per_b_row(double mean_b_row_nnz) noexcept {
  if (mean_b_row_nnz > 16) return 32;
  return mean_b_row_nnz > 8 ? 16 : 8;
}

}  // namespace tessera::cuda
