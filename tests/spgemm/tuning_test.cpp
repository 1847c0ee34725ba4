// Thresholds of SpGEMM per architecture: no accumulator asks for more shared memory than the device has.
#include "spgemm/cuda/accumulators/tuning.hpp"
#include "spgemm/cuda/accumulators/esc_levels.hpp"
#include "spgemm/cuda/accumulators/hash_tuning.hpp"
#include "tests/spgemm/device_limits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace tessera::cuda {
namespace {

TEST(Tuning, EachArchitectureHasItsTable) {
  for (const DeviceLimits& limits : testing::all_limits) {
    const Tuning& tuning = tuning_for(limits);
    EXPECT_EQ(tuning.compute_capability, limits.compute_capability);
    EXPECT_EQ(tuning.block_bytes, limits.largest_shared_per_block);
  }
}

TEST(Tuning, OtherArchitecturesTakeATableThatFits) {
  EXPECT_EQ(tuning_for(testing::limits_of(86, 1536, 16, 100)).block_bytes, 99 * 1024);
  EXPECT_EQ(tuning_for(testing::limits_of(87, 1536, 16, 164)).compute_capability, 80);
  EXPECT_EQ(tuning_for(testing::limits_of(100, 2048, 32, 228)).compute_capability, 90);
  EXPECT_EQ(tuning_for(testing::limits_of(110, 1536, 24, 228)).compute_capability, 90);
  EXPECT_EQ(tuning_for(testing::limits_of(121, 1536, 24, 100)).block_bytes, 99 * 1024);
}

/// bench/NOTES.md has the times with these.
TEST(Tuning, AnH200HasTheThresholdsThatWereMeasured) {
  const Tuning& tuning = tuning_for(testing::limits_sm90);
  EXPECT_EQ(tuning.block_bytes, 227 * 1024);
  EXPECT_EQ(tuning.tiled_bytes, 200 * 1024);
  EXPECT_EQ(tuning.shared_sums_bytes, 104 * 1024);
  EXPECT_EQ(tuning.hash_entries, 4096);
  EXPECT_EQ(tuning.esc_block_products, 6144U);
  EXPECT_EQ(tuning.merge_products, 48U);
  EXPECT_EQ(tuning.dense_width, 1024);
  EXPECT_EQ(tuning.dense_compression, 4U);
  EXPECT_EQ(tuning.dense_products, 1U << 14);
  EXPECT_EQ(tuning.warp_b_rows, 256);
  EXPECT_EQ(tuning.bitmap_products, 1U << 13);
  EXPECT_EQ(tuning.bitmap_width, 24576);
  EXPECT_EQ(tuning.bitmap_bytes, 12 * 1024);
  EXPECT_EQ(tuning.bitmap_columns, 8U);
  EXPECT_EQ(tuning.bitmap_columns_beyond, 64U);
  EXPECT_EQ(tuning.bitmap_compression, 2U);
  EXPECT_EQ(tuning.shared_compression, 3U);
  EXPECT_EQ(tuning.shared_b_row, 1024U);
  EXPECT_EQ(tuning.shared_many_threads, 512U);
  EXPECT_EQ(tuning.hash_columns, 256U);
  EXPECT_EQ(tuning.heavy_products, 1U << 14);
  EXPECT_EQ(tuning.huge_products, 1U << 18);
  EXPECT_EQ(tuning.heavy_entries, 4096.0);
  EXPECT_EQ(tuning.heavy_bytes, 24 * 1024);
  EXPECT_EQ(tuning.launch_products, std::uint64_t{1} << 18);
  EXPECT_EQ(tuning.resident_rows, 256U);
  EXPECT_EQ(tuning.few_rows, 1024U);
  EXPECT_EQ(tuning.dense_launch_products, std::uint64_t{1} << 21);
}

TEST(Tuning, BitmapsOfABlockLeaveItsStaticMemory) {
  for (const DeviceLimits& limits : testing::all_limits) {
    const Tuning& tuning = tuning_for(limits);
    EXPECT_LE(tuning.tiled_bytes + static_shared_bytes, limits.largest_shared_per_block);
    EXPECT_LE(tuning.shared_sums_bytes, tuning.tiled_bytes);
    EXPECT_GT(tuning.shared_sums_bytes, 48 * 1024) << "else the larger of the two bins is empty";
    EXPECT_LE(tuning.bitmap_bytes, tuning.block_bytes);
  }
}

/// Dynamic shared memory of a block with tables for rows of so many entries.
template <class V, class Key, int Slots, HashSums Sums>
std::int64_t hash_bytes() {
  return HashShape<Slots>::rows * static_cast<std::int64_t>(HashLayout<V, Key, Slots, Sums>::bytes);
}
template <class V, int Slots>
std::int64_t most_hash_bytes() {
  std::int64_t most = std::max(hash_bytes<V, std::uint32_t, Slots, HashSums::in_table>(),
                               hash_bytes<V, std::uint64_t, Slots, HashSums::in_table>());
  if constexpr (HashShape<Slots>::group != 32) {
    most = std::max(most, hash_bytes<V, std::uint64_t, Slots, HashSums::in_product>());
  }
  return most;
}
template <class V, int Slots>
void check_table(const DeviceLimits& limits) {
  constexpr int smaller = Slots == 512 ? 0 : HashShape<Slots / 2>::entries;
  const bool is_used = tuning_for(limits).hash_entries > smaller;
  if (is_used) {
    EXPECT_LE((most_hash_bytes<V, Slots>()) + static_shared_bytes, limits.largest_shared_per_block)
        << limits.compute_capability << ": " << Slots << " slots of " << sizeof(V) << " bytes";
  }
}
template <class V>
void check_tables(const DeviceLimits& limits) {
  check_table<V, 512>(limits);
  check_table<V, 1024>(limits);
  check_table<V, 2048>(limits);
  check_table<V, 4096>(limits);
  check_table<V, 8192>(limits);
}

TEST(Tuning, HashTablesFit) {
  for (const DeviceLimits& limits : testing::all_limits) {
    check_tables<double>(limits);
    check_tables<float>(limits);
    check_tables<host::NoValue>(limits);
    EXPECT_LE(tuning_for(limits).hash_entries, largest_hash_entries);
  }
  EXPECT_GT((most_hash_bytes<double, 8192>()), testing::limits_sm89.largest_shared_per_block) << "why 3072 entries";
}

/// Teams of 128, 256 and 512 threads with 16 keys each, as enqueue_esc_blocks() chooses them.
TEST(Tuning, RowsThatABlockSortsFit) {
  for (const DeviceLimits& limits : testing::all_limits) {
    const std::uint32_t most = tuning_for(limits).esc_block_products;
    bool is_class = false;
    for (int k = 0; k < esc_classes; ++k) is_class |= most_products_of(static_cast<EscClass>(k)) == most;
    EXPECT_TRUE(is_class) << "rows of a class are done by one kernel";
    for (std::uint32_t products = 1; products <= most; ++products) {
      const unsigned threads = products <= 2048 ? 128 : products <= 4096 ? 256 : 512;
      for (const std::size_t value_bytes : {std::size_t{0}, std::size_t{4}, std::size_t{8}}) {
        for (const std::size_t key_bytes : {std::size_t{4}, std::size_t{8}}) {
          ASSERT_LE(esc_group_bytes(threads, 16, key_bytes, value_bytes, products + 1),
                    static_cast<std::size_t>(limits.largest_shared_per_block));
        }
      }
    }
    EXPECT_EQ(esc_class(most, true, most), most == 6144 ? EscClass::block_6144 : EscClass::block_4096);
    EXPECT_EQ(esc_class(most + 1, true, most), EscClass::device);
  }
}

}  // namespace
}  // namespace tessera::cuda
