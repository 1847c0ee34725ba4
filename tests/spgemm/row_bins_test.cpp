// Which accumulator of a GPU does a row: the logic is the host's to test.
#include "spgemm/cuda/row_bins.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace tessera::cuda {
namespace {

RowShape row(index_t b_rows, std::uint32_t products, index_t width) {
  return {b_rows, products, width, entries_at_most(products, width)};
}

TEST(RowBins, RowsWithoutProductsAreInNone) {
  EXPECT_EQ(choose_bin(row(0, 0, 0), {}), RowBin::none);
  RowPolicy named;
  named.preferred = SpgemmAccumulator::bitmap_tiled;
  EXPECT_EQ(choose_bin(row(3, 0, 0), named), RowBin::none);
}

TEST(RowBins, EveryBinButNoneHasAnAccumulator) {
  EXPECT_EQ(accumulator_of(RowBin::merge), SpgemmAccumulator::merge);
  EXPECT_EQ(accumulator_of(RowBin::esc_thread_16), SpgemmAccumulator::esc);
  EXPECT_EQ(accumulator_of(RowBin::esc_512), SpgemmAccumulator::esc);
  EXPECT_EQ(accumulator_of(RowBin::small_28), SpgemmAccumulator::small_hash);
  EXPECT_EQ(accumulator_of(RowBin::small_224), SpgemmAccumulator::small_hash);
  EXPECT_EQ(accumulator_of(RowBin::dense), SpgemmAccumulator::dense);
  EXPECT_EQ(accumulator_of(RowBin::bitmap_4k), SpgemmAccumulator::bitmap);
  EXPECT_EQ(accumulator_of(RowBin::bitmap_large), SpgemmAccumulator::bitmap);
  EXPECT_EQ(accumulator_of(RowBin::hash_384), SpgemmAccumulator::hash);
  EXPECT_EQ(accumulator_of(RowBin::hash_4096), SpgemmAccumulator::hash);
  EXPECT_EQ(accumulator_of(RowBin::bitmap_tiled), SpgemmAccumulator::bitmap_tiled);
  EXPECT_EQ(accumulator_of(RowBin::tiled_heavy), SpgemmAccumulator::bitmap_tiled);
  EXPECT_EQ(accumulator_of(RowBin::tiled_huge), SpgemmAccumulator::bitmap_tiled);
  EXPECT_EQ(accumulator_of(RowBin::tiled_shared_48k), SpgemmAccumulator::bitmap_tiled);
  EXPECT_EQ(accumulator_of(RowBin::tiled_shared_large), SpgemmAccumulator::bitmap_tiled);
  EXPECT_EQ(static_cast<int>(RowBin::tiled_shared_large) + 1, row_bins);
}

TEST(RowBins, ANamedAccumulatorTakesWhatItCan) {
  RowPolicy policy{.counted = true};
  const auto chosen = [&](SpgemmAccumulator name, const RowShape& shape) {
    policy.preferred = name;
    return accumulator_of(choose_bin(shape, policy));
  };
  EXPECT_EQ(chosen(SpgemmAccumulator::merge, row(merge_b_rows, 100000, 100000)), SpgemmAccumulator::merge);
  EXPECT_NE(chosen(SpgemmAccumulator::merge, row(merge_b_rows + 1, 9, 9)), SpgemmAccumulator::merge);
  EXPECT_EQ(chosen(SpgemmAccumulator::esc, row(40, esc_products, 1000)), SpgemmAccumulator::esc);
  EXPECT_NE(chosen(SpgemmAccumulator::esc, row(40, esc_products + 1, 1000)), SpgemmAccumulator::esc);
  EXPECT_NE(chosen(SpgemmAccumulator::esc, row(40, 500, 2'000'000'000)), SpgemmAccumulator::esc)
      << "column and offset need more than 32 bits";
  EXPECT_EQ(chosen(SpgemmAccumulator::dense, row(40, 100, dense_columns)), SpgemmAccumulator::dense);
  EXPECT_NE(chosen(SpgemmAccumulator::dense, row(40, 100, dense_columns + 1)), SpgemmAccumulator::dense);
  EXPECT_EQ(chosen(SpgemmAccumulator::hash, row(40, tuning_sm90.hash_entries, 1 << 30)), SpgemmAccumulator::hash);
  EXPECT_NE(chosen(SpgemmAccumulator::hash, row(40, tuning_sm90.hash_entries + 1, 1 << 30)), SpgemmAccumulator::hash);
  EXPECT_EQ(chosen(SpgemmAccumulator::bitmap, row(400, 3000, 100000)), SpgemmAccumulator::bitmap);
  EXPECT_NE(chosen(SpgemmAccumulator::bitmap, row(400, 3000, 1 << 30)), SpgemmAccumulator::bitmap);
  EXPECT_EQ(chosen(SpgemmAccumulator::bitmap_tiled, row(1, 1, 1)), SpgemmAccumulator::bitmap_tiled);
  EXPECT_EQ(chosen(SpgemmAccumulator::small_hash, row(40, 4096, small_hash_entries)), SpgemmAccumulator::small_hash);
  EXPECT_NE(chosen(SpgemmAccumulator::small_hash, row(40, 4096, small_hash_entries + 1)),
            SpgemmAccumulator::small_hash);
  EXPECT_NE(chosen(SpgemmAccumulator::small_hash, row(40, 4097, 20)), SpgemmAccumulator::small_hash);
}

TEST(RowBins, SmallTablesBySizes) {
  RowPolicy policy{.preferred = SpgemmAccumulator::small_hash, .counted = true};
  EXPECT_EQ(choose_bin(row(9, 400, 28), policy), RowBin::small_28);
  EXPECT_EQ(choose_bin(row(9, 400, 29), policy), RowBin::small_56);
  EXPECT_EQ(choose_bin(row(9, 400, 57), policy), RowBin::small_112);
  EXPECT_EQ(choose_bin(row(9, 400, 113), policy), RowBin::small_224);
  policy.counted = false;
  policy.counting = true;
  EXPECT_EQ(choose_bin(row(9, 4000, 4000), policy), RowBin::small_224) << "rows of any length are counted";
}

TEST(RowBins, SmallTablesWhereASampleCompresses) {
  RowPolicy policy{.counted = true, .compresses = true};
  RowShape shape = row(20, 240, 100000);
  shape.entries = 25;
  EXPECT_EQ(choose_bin(shape, policy), RowBin::small_28);
  shape.entries = 121;
  EXPECT_EQ(choose_bin(shape, policy), RowBin::esc_256) << "hardly two products an entry";
  shape = row(20, 4000, 100000);
  shape.entries = 112;
  EXPECT_EQ(choose_bin(shape, policy), RowBin::small_112);
  shape.entries = 113;
  EXPECT_NE(accumulator_of(choose_bin(shape, policy)), SpgemmAccumulator::small_hash);
  shape = row(3, 40, 100);
  shape.entries = 10;
  EXPECT_EQ(choose_bin(shape, policy), RowBin::merge);
  policy.compresses = false;
  shape = row(20, 240, 100000);
  shape.entries = 25;
  EXPECT_EQ(choose_bin(shape, policy), RowBin::esc_256);
}

TEST(RowBins, TablesAreSizedByWhatARowCanHoldUnlessItIsCounted) {
  RowPolicy policy;
  policy.preferred = SpgemmAccumulator::hash;
  RowShape shape = row(100, 10000, 1 << 28);
  shape.entries = 300;
  EXPECT_EQ(accumulator_of(choose_bin(shape, policy)), SpgemmAccumulator::bitmap_tiled)
      << "the estimate may be too low";
  policy.counted = true;
  EXPECT_EQ(choose_bin(shape, policy), RowBin::hash_384);
}

TEST(RowBins, WindowsNeedNoRoomForEntriesToCount) {
  RowPolicy policy;
  const RowShape shape = row(200, 8000, 8000);
  EXPECT_NE(accumulator_of(choose_bin(shape, policy)), SpgemmAccumulator::bitmap) << "8000 entries of 12 bytes";
  policy.counting = true;
  EXPECT_EQ(accumulator_of(choose_bin(shape, policy)), SpgemmAccumulator::bitmap);
}

TEST(RowBins, TablesHoldMoreThanIsForeseen) {
  RowPolicy policy;
  RowShape shape = row(20, 1200, 1 << 20);
  shape.entries = 170;
  EXPECT_EQ(choose_bin(shape, policy), RowBin::hash_1536);
  EXPECT_EQ(entries_to_hold(RowBin::hash_1536, shape, policy), 1200);
  EXPECT_EQ(entries_to_hold(RowBin::bitmap_4k, shape, policy), 170) << "a bitmap counts what it cannot hold";
  policy.counted = true;
  EXPECT_EQ(entries_to_hold(RowBin::hash_384, shape, policy), 170);
}

TEST(RowBins, SumsInSharedMemoryWhereLongListsOverlap) {
  RowPolicy policy{.counted = true};
  RowShape shape = row(17, 23000, 3000);
  shape.entries = 3000;
  EXPECT_EQ(choose_bin(shape, policy), RowBin::tiled_shared_48k);
  shape.a_row_nnz = 100;
  EXPECT_EQ(choose_bin(shape, policy), RowBin::tiled_heavy) << "short b_rows";
  shape = row(10, 30000, 12000);
  shape.entries = 10000;
  EXPECT_EQ(choose_bin(shape, policy), RowBin::tiled_shared_large);
  shape.entries = 10001;
  EXPECT_EQ(choose_bin(shape, policy), RowBin::tiled_heavy) << "few products an entry";
  shape = row(10, 300000, 20000);
  shape.entries = 20000;
  EXPECT_EQ(choose_bin(shape, policy), RowBin::tiled_huge) << "more than fits";
  policy.counted = false;
  EXPECT_NE(choose_bin(row(17, 23000, 3000), policy), RowBin::tiled_shared_48k) << "entries are not known";
}

TEST(RowBins, RowsOfManyListsAreForABlock) {
  RowPolicy policy{.counted = true};
  RowShape shape = row(256, 6000, 800);
  EXPECT_EQ(choose_bin(shape, policy), RowBin::dense);
  shape.a_row_nnz = 257;
  EXPECT_EQ(choose_bin(shape, policy), RowBin::bitmap_tiled);
  shape = row(256, 6000, 2000);
  shape.entries = 700;
  EXPECT_EQ(accumulator_of(choose_bin(shape, policy)), SpgemmAccumulator::bitmap);
  shape.a_row_nnz = 257;
  EXPECT_EQ(choose_bin(shape, policy), RowBin::bitmap_tiled);
}

TEST(RowBins, FactorsBeyond32BitsAreForWideAlone) {
  RowPolicy policy;
  policy.short_positions = false;
  for (const auto name : {SpgemmAccumulator::automatic, SpgemmAccumulator::merge, SpgemmAccumulator::bitmap}) {
    policy.preferred = name;
    EXPECT_EQ(choose_bin(row(2, 10, 10), policy), RowBin::bitmap_tiled);
  }
}

/// Whether the row is within what the accumulator of its bin does with so much shared memory.
void check_fits(RowBin bin, const RowShape& shape, const RowPolicy& policy) {
  const Tuning& tuning = policy.tuning;
  const int value_bytes = policy.counting ? 0 : policy.value_bytes;
  ASSERT_NE(bin, RowBin::none);
  const SpgemmAccumulator name = accumulator_of(bin);
  if (name == SpgemmAccumulator::merge) {
    ASSERT_LE(shape.a_row_nnz, merge_b_rows);
  }
  if (name == SpgemmAccumulator::esc) {
    ASSERT_TRUE(esc_serves(shape));
  }
  if (name == SpgemmAccumulator::small_hash) {
    ASSERT_LE(shape.products, tuning.small_products);
    ASSERT_TRUE(policy.counting || shape.entries <= small_hash_entries);
  }
  if (name == SpgemmAccumulator::dense) {
    ASSERT_LE(shape.width, dense_columns);
    ASSERT_LE(dense_warp_bytes(shape.width, value_bytes), tuning.block_bytes);
  }
  if (name == SpgemmAccumulator::hash) {
    ASSERT_LE(table_entries(shape, policy), tuning.hash_entries);
  }
  if (name == SpgemmAccumulator::bitmap) {
    ASSERT_LE(shared_bytes_of(bin, shape, policy), tuning.block_bytes);
    ASSERT_LE(bitmap_warp_bytes(shape.width, policy.counting ? 0 : shape.entries, value_bytes), tuning.block_bytes);
  }
  if (bin >= RowBin::tiled_shared_48k) {
    ASSERT_LE(tiled_shared_bytes(shape.width, shape.entries, value_bytes), tuning.shared_sums_bytes);
  }
}

TEST(RowBins, EveryRowFitsTheBinItGetsOnEveryArchitecture) {
  enum class Known { nothing, entries, nothing_needed };
  std::vector<SpgemmAccumulator> names{SpgemmAccumulator::automatic};
  for (const auto name : spgemm_accumulators(Device::Kind::cuda)) names.push_back(name);
  for (const Tuning& tuning : tunings) {
    for (const Known known : {Known::nothing, Known::entries, Known::nothing_needed}) {
      for (const SpgemmAccumulator name : names) {
        for (const int value_bytes : {0, 4, 8}) {
          RowPolicy policy;
          policy.preferred = name;
          policy.tuning = tuning;
          policy.value_bytes = value_bytes;
          policy.counting = known == Known::nothing_needed;
          policy.counted = known == Known::entries;
          for (std::uint64_t products = 1; products <= std::numeric_limits<std::uint32_t>::max(); products *= 2) {
            for (std::int64_t width = 1; width <= std::numeric_limits<index_t>::max(); width += 1 + width / 2) {
              RowShape shape = row(static_cast<index_t>(products % 1000 + 1), static_cast<std::uint32_t>(products),
                                   static_cast<index_t>(width));
              shape.in_group = known == Known::entries && width % 2 == 0;
              check_fits(choose_bin(shape, policy), shape, policy);
              ASSERT_FALSE(::testing::Test::HasFatalFailure())
                  << tuning.compute_capability << ": " << products << " products, " << width << " columns";
            }
          }
        }
      }
    }
  }
}

TEST(RowBins, RowsOfAWindowGoAlongWithTheirNeighbours) {
  RowPolicy policy{.counted = true};
  RowShape shape = row(80, 6000, 20000);
  shape.entries = 340;
  ASSERT_EQ(choose_bin(shape, policy), RowBin::bitmap_16k);
  shape.in_group = true;
  EXPECT_EQ(choose_bin(shape, policy), RowBin::bitmap_row_group);
  EXPECT_EQ(shared_bytes_of(RowBin::bitmap_row_group, shape, policy), bitmap_warp_bytes(20000, 340, 8, row_group_size));
  EXPECT_GT(bitmap_warp_bytes(20000, 340, 8, row_group_size), bitmap_warp_bytes(20000, 340, 8) + 2 * 340 * 8);
  policy.value_bytes = 0;
  EXPECT_NE(choose_bin(shape, policy), RowBin::bitmap_row_group) << "columns alone";
  policy.value_bytes = 8;
  policy.counted = false;
  EXPECT_NE(choose_bin(shape, policy), RowBin::bitmap_row_group) << "entries are not known";
  policy.counted = true;
  policy.preferred = SpgemmAccumulator::bitmap_tiled;
  EXPECT_EQ(choose_bin(shape, policy), RowBin::bitmap_tiled);
  policy.preferred = SpgemmAccumulator::bitmap;
  shape.entries = 10'000;
  EXPECT_EQ(choose_bin(shape, policy), RowBin::bitmap_large) << "too many for three rows at once";
}

TEST(RowBins, ShortRowsAreSortedUnlessTheyAreNarrow) {
  RowPolicy policy;
  policy.counting = true;
  EXPECT_EQ(choose_bin(row(27, 120, 960), policy), RowBin::bitmap_4k);
  EXPECT_EQ(choose_bin(row(27, 120, 2300), policy), RowBin::esc_128);
  EXPECT_EQ(choose_bin(row(27, 256, 2056), policy), RowBin::esc_256);
  EXPECT_EQ(choose_bin(row(27, 257, 2056), policy), RowBin::bitmap_4k);
  EXPECT_EQ(choose_bin(row(27, 300, 19264), policy), RowBin::esc_512);
  policy.counting = false;
  policy.counted = true;
  RowShape shape = row(18, 486, 16600);
  shape.entries = 98;
  EXPECT_EQ(accumulator_of(choose_bin(shape, policy)), SpgemmAccumulator::bitmap);
  shape.entries = 300;
  EXPECT_EQ(choose_bin(shape, policy), RowBin::esc_512) << "compresses too little";
}

TEST(RowBins, ShortRowsOfManyListsAreSortedByAThread) {
  for (const bool counted : {false, true}) {
    RowPolicy policy;
    policy.counted = counted;
    EXPECT_EQ(choose_bin(row(merge_b_rows, 30, 40), policy), RowBin::merge);
    EXPECT_EQ(choose_bin(row(merge_b_rows + 1, 16, 40), policy), RowBin::esc_thread_16);
    EXPECT_EQ(choose_bin(row(merge_b_rows + 1, 30, 2), policy), RowBin::esc_thread_32);
    EXPECT_NE(choose_bin(row(merge_b_rows + 1, 33, 40), policy), RowBin::esc_thread_32);
    const RowShape widest = row(merge_b_rows + 1, 30, (1 << 27) - 2);
    EXPECT_EQ(choose_bin(widest, policy), RowBin::esc_thread_32);
    EXPECT_NE(accumulator_of(choose_bin(row(merge_b_rows + 1, 30, 1 << 27), policy)), SpgemmAccumulator::esc)
        << "column and offset need more than 32 bits";
  }
}

TEST(RowBins, EscBinsByProducts) {
  EXPECT_EQ(esc_bin(16), RowBin::esc_thread_16);
  EXPECT_EQ(esc_bin(17), RowBin::esc_thread_32);
  EXPECT_EQ(esc_bin(32), RowBin::esc_thread_32);
  EXPECT_EQ(esc_bin(33), RowBin::esc_64);
  EXPECT_EQ(esc_bin(256), RowBin::esc_256);
  EXPECT_EQ(esc_bin(257), RowBin::esc_512);
  EXPECT_EQ(esc_sort_size(1), 32U);
  EXPECT_EQ(esc_sort_size(33), 64U);
  EXPECT_EQ(esc_sort_size(512), 512U);
}

}  // namespace
}  // namespace tessera::cuda
