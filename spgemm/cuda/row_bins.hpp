/// \file
/// Bins of the rows of C: accumulator and size class of a row, as a function of the row alone. Rows of a bin are done
/// in one launch, whose shared memory is that of its largest row; so an accumulator has several bins.
#pragma once

#include "core/host_device.hpp"
#include "spgemm/cuda/accumulators/accumulators.hpp"
#include "spgemm/cuda/accumulators/esc_levels.hpp"
#include "spgemm/cuda/accumulators/tuning.hpp"
#include "tessera/spgemm.hpp"

#include <array>
#include <cstdint>

namespace tessera::cuda {

enum class RowBin : std::uint8_t {
  none,  ///< rows without products
  merge,
  esc_thread_16,  ///< by products
  esc_thread_32,
  esc_64,
  esc_128,
  esc_256,
  esc_512,
  small_28,  ///< by entries
  small_56,
  small_112,
  small_224,
  dense,
  bitmap_4k,  ///< by bytes of shared memory per warp
  bitmap_8k,
  bitmap_16k,
  bitmap_32k,
  bitmap_large,
  bitmap_row_group,  ///< rows of A with the same positions, by the first of them
  hash_384,          ///< by entries
  hash_1536,
  hash_4096,
  bitmap_tiled,  ///< by products
  tiled_heavy,
  tiled_huge,
  tiled_shared_48k,  ///< by bytes of shared memory per block
  tiled_shared_large,
};
inline constexpr int row_bins = 27;
static_assert(row_group_size == 3 && row_bins <= third_bit);

/// The accumulator of a bin other than `none`.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr SpgemmAccumulator accumulator_of(RowBin bin) noexcept {
  if (bin == RowBin::merge) return SpgemmAccumulator::merge;
  if (bin <= RowBin::esc_512) return SpgemmAccumulator::esc;
  if (bin <= RowBin::small_224) return SpgemmAccumulator::small_hash;
  if (bin == RowBin::dense) return SpgemmAccumulator::dense;
  if (bin <= RowBin::bitmap_row_group) return SpgemmAccumulator::bitmap;
  if (bin <= RowBin::hash_4096) return SpgemmAccumulator::hash;
  return SpgemmAccumulator::bitmap_tiled;
}

/// A row before it is done.
struct RowShape {
  index_t a_row_nnz = 0;  ///< entries of A's row
  std::uint32_t products = 0;
  index_t width = 0;
  index_t entries = 0;    ///< of C's row: counted, foreseen, or what products and columns allow
  bool in_group = false;  ///< it is in a row group: a neighbour has the same positions in A
};

/// What the choice depends on besides the row.
struct RowPolicy {
  SpgemmAccumulator preferred = SpgemmAccumulator::automatic;  ///< for every row that it can serve
  bool counting = false;                                       ///< entries are not needed, only their number
  bool counted = false;                                        ///< the entries of a row are known, not foreseen
  bool short_positions = true;                                 ///< B has less than 2^32 entries
  int value_bytes = 8;                                         ///< of a value of C, 0 for a pattern
  bool compresses = false;      ///< a sample of C says that many products meet in few entries
  Tuning tuning = tuning_sm90;  ///< of the device

  /// Whether rows with few entries in A may be merged.
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr bool merges() const noexcept {
    return short_positions && (preferred == SpgemmAccumulator::automatic || preferred == SpgemmAccumulator::merge);
  }
  /// Whether a row with few entries in A is merged.
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr bool merges(std::uint64_t products) const noexcept {
    return merges() && (preferred == SpgemmAccumulator::merge || products <= tuning.merge_products);
  }
};

/// Upper bound of the entries of a row.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr index_t entries_at_most(std::uint32_t products, index_t width) noexcept {
  return products < static_cast<std::uint32_t>(width) ? static_cast<index_t>(products) : width;
}

[[nodiscard]] TESSERA_HOST_DEVICE constexpr RowBin esc_bin(std::uint32_t products) noexcept {
  if (products <= 16) return RowBin::esc_thread_16;
  if (products <= esc_thread_products) return RowBin::esc_thread_32;
  if (products <= 64) return RowBin::esc_64;
  if (products <= 128) return RowBin::esc_128;
  return products <= 256 ? RowBin::esc_256 : RowBin::esc_512;
}

/// Offsets that a key must number where rows of so many products are sorted.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::uint32_t esc_sort_size(std::uint32_t products) noexcept {
  std::uint32_t offsets = esc_thread_products;
  while (offsets < products) offsets *= 2;
  return offsets;
}

/// Whether ESC can do the row at all.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr bool esc_serves(const RowShape& row) noexcept {
  return row.products <= esc_products && short_keys(row.width, esc_sort_size(row.products));
}

/// Shared memory of the bitmap of the row.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t bitmap_bytes_of(const RowShape& row,
                                                                         const RowPolicy& policy) noexcept {
  return policy.counting ? bitmap_warp_bytes(row.width, 0, 0)
                         : bitmap_warp_bytes(row.width, row.entries, policy.value_bytes);
}

/// The bitmap bin of the row; `none` when it needs more shared memory than a block has.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr RowBin bitmap_bin(const RowShape& row, const RowPolicy& policy) noexcept {
  const std::int64_t bytes = bitmap_bytes_of(row, policy);
  if (bytes <= 4096) return RowBin::bitmap_4k;
  if (bytes <= 8192) return RowBin::bitmap_8k;
  if (bytes <= 16384) return RowBin::bitmap_16k;
  if (bytes <= 32768) return RowBin::bitmap_32k;
  return bytes <= policy.tuning.block_bytes ? RowBin::bitmap_large : RowBin::none;
}

[[nodiscard]] TESSERA_HOST_DEVICE constexpr bool is_bitmap(RowBin bin) noexcept {
  return bin >= RowBin::bitmap_4k && bin <= RowBin::bitmap_large;
}

/// Shared memory of a row group that begins with the row.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t row_group_bytes(const RowShape& row,
                                                                         const RowPolicy& policy) noexcept {
  return bitmap_warp_bytes(row.width, row.entries, policy.value_bytes, row_group_size);
}

/// `bin`, unless the row is better done as part of its row group.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr RowBin with_row_group(RowBin bin, const RowShape& row,
                                                                  const RowPolicy& policy) noexcept {
  const bool gains = row.in_group && is_bitmap(bin) && policy.counted && policy.value_bytes > 0;
  return gains && row_group_bytes(row, policy) <= policy.tuning.block_bytes ? RowBin::bitmap_row_group : bin;
}

/// Entries that a table must hold: a table that overflows cannot say how many entries the row has.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr index_t table_entries(const RowShape& row,
                                                                  const RowPolicy& policy) noexcept {
  return policy.counted ? row.entries : entries_at_most(row.products, row.width);
}

/// The bin by entries; `none` when there are too many.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr RowBin hash_bin(const RowShape& row, const RowPolicy& policy) noexcept {
  const index_t entries = table_entries(row, policy);
  if (entries <= 384) return RowBin::hash_384;
  if (entries <= 1536) return RowBin::hash_1536;
  return entries <= policy.tuning.hash_entries ? RowBin::hash_4096 : RowBin::none;
}

/// The bin by entries; `none` when there are too many, or more products than one group of lanes should do.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr RowBin small_bin(const RowShape& row, const RowPolicy& policy) noexcept {
  if (row.products > policy.tuning.small_products) return RowBin::none;
  if (row.entries <= 28) return RowBin::small_28;
  if (row.entries <= 56) return RowBin::small_56;
  if (row.entries <= 112) return RowBin::small_112;
  // Rows of any length are counted.
  return policy.counting || row.entries <= small_hash_entries ? RowBin::small_224 : RowBin::none;
}

/// Whether a small table costs less than the accumulators that remain for the row.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr bool prefers_small(const RowShape& row, const RowPolicy& policy) noexcept {
  return policy.compresses && policy.counted && row.entries <= policy.tuning.small_entries &&
         row.products <= policy.tuning.small_products && row.products / 2 >= static_cast<std::uint32_t>(row.entries);
}

[[nodiscard]] TESSERA_HOST_DEVICE constexpr RowBin tiled_bin(const RowShape& row, const RowPolicy& policy) noexcept {
  if (row.products <= policy.tuning.heavy_products) return RowBin::bitmap_tiled;
  return row.products <= policy.tuning.huge_products ? RowBin::tiled_heavy : RowBin::tiled_huge;
}

/// Bytes of shared memory that a row of `bin` takes, where rows of a bin differ in that; else 0.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t shared_bytes_of(RowBin bin, const RowShape& row,
                                                                         const RowPolicy& policy) noexcept {
  if (is_bitmap(bin)) return bitmap_bytes_of(row, policy);
  if (bin == RowBin::bitmap_row_group) return row_group_bytes(row, policy);
  if (bin >= RowBin::tiled_shared_48k) return tiled_shared_bytes(row.width, row.entries, policy.value_bytes);
  return 0;
}

/// Entries for which `bin` must have room in this row: those of a table may be more than foreseen.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr index_t entries_to_hold(RowBin bin, const RowShape& row,
                                                                    const RowPolicy& policy) noexcept {
  const bool in_table = bin >= RowBin::hash_384 && bin <= RowBin::hash_4096;
  return in_table ? table_entries(row, policy) : row.entries;
}

/// The bin of a block with the sums in shared memory; `none` where they do not fit or do not pay.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr RowBin shared_bin(const RowShape& row, const RowPolicy& policy) noexcept {
  if (!policy.counted || policy.value_bytes == 0) return RowBin::none;
  const std::uint32_t per_entry = row.products / policy.tuning.shared_compression;
  if (per_entry < static_cast<std::uint32_t>(row.entries)) return RowBin::none;
  if (row.products / policy.tuning.shared_b_row < static_cast<std::uint32_t>(row.a_row_nnz)) return RowBin::none;
  const std::int64_t bytes = tiled_shared_bytes(row.width, row.entries, policy.value_bytes);
  if (bytes <= std::int64_t{48} * 1024) return RowBin::tiled_shared_48k;
  return bytes <= policy.tuning.shared_sums_bytes ? RowBin::tiled_shared_large : RowBin::none;
}

/// The bin of an accumulator by name; `none` where it cannot do the row.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr RowBin named_bin(SpgemmAccumulator name, const RowShape& row,
                                                             const RowPolicy& policy) noexcept {
  switch (name) {
    case SpgemmAccumulator::merge:
      return row.a_row_nnz <= merge_b_rows ? RowBin::merge : RowBin::none;
    case SpgemmAccumulator::esc:
      return esc_serves(row) ? esc_bin(row.products) : RowBin::none;
    case SpgemmAccumulator::dense:
      return row.width <= dense_columns ? RowBin::dense : RowBin::none;
    case SpgemmAccumulator::bitmap:
      return bitmap_bin(row, policy);
    case SpgemmAccumulator::hash:
      return hash_bin(row, policy);
    case SpgemmAccumulator::bitmap_tiled:
      return tiled_bin(row, policy);
    case SpgemmAccumulator::small_hash:
      return small_bin(row, policy);
    default:
      return RowBin::none;
  }
}

/// Whether a bitmap costs less than the accumulators that remain for the row.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr bool prefers_bitmap(const RowShape& row, const RowPolicy& policy) noexcept {
  if (row.products > policy.tuning.bitmap_products || row.a_row_nnz > policy.tuning.warp_b_rows) return false;
  if (row.width > policy.tuning.bitmap_width) return false;
  if (bitmap_bytes_of(row, policy) > policy.tuning.bitmap_bytes) return false;
  const std::uint32_t columns =
      row.products <= 256 ? policy.tuning.bitmap_columns : policy.tuning.bitmap_columns_beyond;
  const bool narrow = static_cast<std::uint32_t>(row.width) / columns <= row.products;
  const auto entries = static_cast<std::uint32_t>(row.entries);
  const bool compresses = policy.counted && row.products / policy.tuning.bitmap_compression >= entries;
  // Short rows would be sorted instead.
  if (esc_serves(row)) return narrow && (!policy.counted || compresses);
  return !policy.counted || compresses;
}

/// The bin in which the row costs least.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr RowBin cheapest_bin(const RowShape& row, const RowPolicy& policy) noexcept {
  if (row.a_row_nnz <= merge_b_rows && policy.merges(row.products)) return RowBin::merge;
  if (row.products <= esc_thread_products && esc_serves(row)) return esc_bin(row.products);
  if (prefers_small(row, policy)) return small_bin(row, policy);
  const auto width = static_cast<std::uint32_t>(row.width);
  const bool dense = row.width <= policy.tuning.dense_width &&
                     row.products / policy.tuning.dense_compression >= width &&
                     row.products <= policy.tuning.dense_products && row.a_row_nnz <= policy.tuning.warp_b_rows;
  if (dense) return RowBin::dense;
  if (prefers_bitmap(row, policy)) return bitmap_bin(row, policy);
  if (esc_serves(row)) return esc_bin(row.products);
  const bool sparse = width / policy.tuning.hash_columns > row.products;
  const RowBin hash = sparse ? hash_bin(row, policy) : RowBin::none;
  if (hash != RowBin::none) return hash;
  const RowBin shared = shared_bin(row, policy);
  return shared != RowBin::none ? shared : tiled_bin(row, policy);
}

/// O(1).
[[nodiscard]] TESSERA_HOST_DEVICE constexpr RowBin choose_bin(const RowShape& row, const RowPolicy& policy) noexcept {
  if (row.products == 0) return RowBin::none;
  if (!policy.short_positions) return tiled_bin(row, policy);
  if (policy.preferred != SpgemmAccumulator::automatic) {
    const RowBin named = named_bin(policy.preferred, row, policy);
    if (named != RowBin::none) return with_row_group(named, row, policy);
  }
  return with_row_group(cheapest_bin(row, policy), row, policy);
}

/// Sums and maxima over the rows of a bin and their followers.
struct BinTotals {
  unsigned rows = 0;
  unsigned max_a_row_nnz = 0;
  unsigned most_products = 0;
  unsigned widest = 0;
  unsigned most_entries = 0;
  unsigned shared_bytes = 0;  ///< shared_bytes_of() the largest
  unsigned followers = 0;     ///< rows of row groups other than the first, which are not in `rows`
  unsigned long long a_nnz = 0;
  unsigned long long products = 0;
  unsigned long long entries = 0;
};
using BinTable = std::array<BinTotals, row_bins>;

}  // namespace tessera::cuda
