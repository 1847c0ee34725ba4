/// \file
/// Sizes of the hash tables of SpGEMM in shared memory.
#pragma once

#include "core/host_device.hpp"
#include "spgemm/common/factors.hpp"
#include "tessera/types.hpp"

#include <cstddef>
#include <cstdint>

namespace tessera::cuda {

/// Where key i lies in shared memory: neighbouring keys, and those a power of two apart, are in different banks.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr unsigned spread(unsigned i) { return i + i / 32; }

/// Entries of a row in the largest table that there is; a device may have memory for smaller ones only
/// (Tuning::hash_entries).
inline constexpr index_t largest_hash_entries = 4096;

[[nodiscard]] constexpr unsigned log2_of(unsigned power) { return power <= 1 ? 0 : 1 + log2_of(power / 2); }

/// Sizes of a table and of the threads that share it: a warp up to 1024 slots, else a block.
template <int Slots>
struct HashShape {
  static_assert((Slots & (Slots - 1)) == 0);
  static constexpr int group = Slots <= 1024 ? 32 : 256;
  static constexpr int threads = group == 32 ? 128 : group;
  static constexpr int rows = threads / group;  ///< of a block
  static constexpr unsigned bits = log2_of(Slots);
  /// Entries of a row: three quarters of the slots.
  static constexpr int entries = Slots / 4 * 3 < largest_hash_entries ? Slots / 4 * 3 : largest_hash_entries;
  /// Keys that are sorted.
  static constexpr int keys = Slots < largest_hash_entries ? Slots : largest_hash_entries;
};

/// Where the sums of a row are formed: beside the table, in the order of A's row, or in C itself by atomic additions in
/// any order (Ocean, §3: keys in shared, values in global memory).
enum class HashSums { in_table, in_product };

/// Where a group's arrays lie in shared memory: values or offsets in the row, and columns, by slot; keys that are
/// sorted. A warp adds before it sorts, so that short keys may overwrite the columns.
template <class V, class Key, int Slots, HashSums Sums>
struct HashLayout {
  using Shape = HashShape<Slots>;
  static constexpr bool keys_over_columns = Shape::group == 32 && sizeof(Key) == sizeof(index_t);
  static constexpr std::size_t cell_bytes = Sums == HashSums::in_product ? sizeof(std::uint16_t) : sizeof(V);
  static constexpr std::size_t values_bytes = has_values<V> ? Slots * cell_bytes : 0;
  static constexpr std::size_t columns_bytes = Slots * sizeof(index_t);
  static constexpr std::size_t keys_begin = values_bytes + (keys_over_columns ? 0 : columns_bytes);
  static constexpr std::size_t keys_bytes = spread(Shape::keys) * sizeof(Key);
  static constexpr std::size_t bytes = values_bytes + columns_bytes + (keys_over_columns ? 0 : keys_bytes);
  static_assert(!keys_over_columns || spread(Shape::entries) * sizeof(Key) <= columns_bytes);
  static_assert(bytes % 16 == 0);
};

}  // namespace tessera::cuda
