// Merging of bins: host-device logic, tested on the host.
#include "spgemm/cuda/merge_bins.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace tessera::cuda {
namespace {

constexpr std::size_t index(RowBin bin) { return static_cast<std::size_t>(bin); }

BinTotals bin_of(unsigned rows, unsigned long long products, unsigned widest = 100, unsigned entries = 10) {
  BinTotals bin;
  bin.rows = rows;
  bin.products = products;
  bin.most_products = static_cast<unsigned>(products / rows);
  bin.widest = widest;
  bin.most_entries = entries;
  bin.shared_bytes = 3000;
  bin.max_a_row_nnz = 7;
  bin.a_nnz = 7ULL * rows;
  bin.entries = products / 2;
  return bin;
}

BinTable table(const std::vector<std::pair<RowBin, BinTotals>>& bins) {
  BinTable totals{};
  for (const auto& [bin, of_bin] : bins) totals[index(bin)] = of_bin;
  return totals;
}

RowBin goes_to(const BinMap& map, RowBin bin) { return static_cast<RowBin>(map.of[index(bin)]); }

constexpr RowPolicy counted{.counted = true};

TEST(MergeBins, LargeBinsStay) {
  BinTable totals;
  for (int bin = 0; bin < row_bins; ++bin) totals[static_cast<std::size_t>(bin)] = bin_of(1 << 20, 1 << 28);
  const BinTable before = totals;
  const BinMap map = merge_bins(totals, counted);
  for (int bin = 0; bin < row_bins; ++bin) {
    EXPECT_EQ(map.of[bin], bin);
    EXPECT_EQ(totals[static_cast<std::size_t>(bin)].rows, before[static_cast<std::size_t>(bin)].rows);
  }
}

TEST(MergeBins, NothingIsLost) {
  BinTable totals;
  for (int bin = 0; bin < row_bins; ++bin) totals[static_cast<std::size_t>(bin)] = bin_of(3, 300);
  const BinMap map = merge_bins(totals, counted);
  BinTotals sum;
  for (int bin = 0; bin < row_bins; ++bin) {
    const BinTotals& of_bin = totals[static_cast<std::size_t>(bin)];
    join(sum, of_bin);
    const int target = map.of[bin];
    EXPECT_EQ(map.of[target], target) << "rows go where a bin is done";
    EXPECT_EQ(of_bin.rows > 0, target == bin);
  }
  EXPECT_EQ(sum.rows, 3U * row_bins);
  EXPECT_EQ(sum.products, 300ULL * row_bins);
  EXPECT_EQ(sum.a_nnz, 21ULL * row_bins);
  EXPECT_EQ(sum.entries, 150ULL * row_bins);
  EXPECT_EQ(goes_to(map, RowBin::none), RowBin::none);
  EXPECT_EQ(goes_to(map, RowBin::merge), RowBin::merge) << "the range of its rows is not known";
}

TEST(MergeBins, SortedRowsGoToTheNextSizeInUse) {
  BinTable totals = table({{RowBin::esc_thread_16, bin_of(100, 900)},
                           {RowBin::esc_64, bin_of(1500, 90000)},
                           {RowBin::esc_256, bin_of(9000, 1 << 21)},
                           {RowBin::esc_512, bin_of(9000, 1 << 22)}});
  const BinMap map = merge_bins(totals, counted);
  EXPECT_EQ(goes_to(map, RowBin::esc_thread_16), RowBin::esc_256) << "by way of the one between";
  EXPECT_EQ(goes_to(map, RowBin::esc_64), RowBin::esc_256);
  EXPECT_EQ(goes_to(map, RowBin::esc_256), RowBin::esc_256) << "too many";
  EXPECT_EQ(totals[index(RowBin::esc_256)].rows, 10600U);
  EXPECT_EQ(totals[index(RowBin::esc_64)].rows, 0U);
}

TEST(MergeBins, AFewRowsGoToWideUnlessTheyAreWider) {
  for (const RowBin few : {RowBin::dense, RowBin::bitmap_8k, RowBin::hash_1536}) {
    BinTable totals = table({{few, bin_of(256, 5000, 400)}, {RowBin::bitmap_tiled, bin_of(900, 1 << 24, 500)}});
    EXPECT_EQ(goes_to(merge_bins(totals, counted), few), RowBin::bitmap_tiled);
    totals = table({{few, bin_of(257, 5000, 400)}, {RowBin::bitmap_tiled, bin_of(900, 1 << 24, 500)}});
    EXPECT_EQ(goes_to(merge_bins(totals, counted), few), few);
    totals = table({{few, bin_of(256, 5000, 501)}, {RowBin::bitmap_tiled, bin_of(900, 1 << 24, 500)}});
    EXPECT_EQ(goes_to(merge_bins(totals, counted), few), few);
    totals = table({{few, bin_of(256, 5000, 400)}, {RowBin::tiled_heavy, bin_of(900, 1 << 24, 500)}});
    EXPECT_EQ(goes_to(merge_bins(totals, counted), few), RowBin::tiled_heavy);
    totals = table({{few, bin_of(256, 5000, 400)}});
    EXPECT_EQ(goes_to(merge_bins(totals, counted), few), few) << "alone";
  }
}

/// What only the kernel for groups would write.
TEST(MergeBins, GroupsStay) {
  BinTotals groups = bin_of(10, 500, 400);
  groups.followers = 20;
  BinTable totals = table({{RowBin::bitmap_row_group, groups}, {RowBin::bitmap_tiled, bin_of(900, 1 << 24, 500)}});
  EXPECT_EQ(goes_to(merge_bins(totals, counted), RowBin::bitmap_row_group), RowBin::bitmap_row_group);
  EXPECT_EQ(totals[index(RowBin::bitmap_row_group)].followers, 20U);
  totals = table({{RowBin::bitmap_row_group, groups}});
  totals[index(RowBin::bitmap_8k)] = bin_of(3, 60);
  EXPECT_EQ(goes_to(merge_bins(totals, counted), RowBin::bitmap_8k), RowBin::bitmap_8k) << "not into a group's";
}

TEST(MergeBins, SmallTablesKeepTheOrderOfTheirTerms) {
  RowPolicy policy = counted;
  policy.preferred = SpgemmAccumulator::hash;
  BinTable totals = table({{RowBin::hash_384, bin_of(5, 50)},
                           {RowBin::hash_1536, bin_of(5, 50)},
                           {RowBin::hash_4096, bin_of(5, 50, 100, 4000)}});
  const BinMap map = merge_bins(totals, policy);
  EXPECT_EQ(goes_to(map, RowBin::hash_384), RowBin::hash_384);
  EXPECT_EQ(goes_to(map, RowBin::hash_1536), RowBin::hash_4096);
}

TEST(MergeBins, ManyShortRowsKeepTheirSmallWindows) {
  RowPolicy policy = counted;
  policy.preferred = SpgemmAccumulator::bitmap;
  BinTable totals = table({{RowBin::bitmap_4k, bin_of(8000, 200'000)}, {RowBin::bitmap_large, bin_of(1, 5000)}});
  EXPECT_EQ(goes_to(merge_bins(totals, policy), RowBin::bitmap_4k), RowBin::bitmap_4k);
}

TEST(MergeBins, RowsWhoseEntriesAreForeseenStay) {
  BinTable totals = table({{RowBin::dense, bin_of(20, 500)},
                           {RowBin::bitmap_8k, bin_of(1 << 20, 1 << 28)},
                           {RowBin::bitmap_tiled, bin_of(900, 1 << 24, 500)}});
  EXPECT_EQ(goes_to(merge_bins(totals, RowPolicy{}), RowBin::dense), RowBin::dense);
}

/// It would lag behind the others of bitmap_tiled, which has longer rows begin earlier.
TEST(MergeBins, ARowOfManyProductsStays) {
  BinTable totals =
      table({{RowBin::hash_384, bin_of(1, (1 << 14) + 1)}, {RowBin::bitmap_tiled, bin_of(900, 1 << 24, 500)}});
  EXPECT_EQ(goes_to(merge_bins(totals, counted), RowBin::hash_384), RowBin::hash_384);
  totals = table({{RowBin::hash_384, bin_of(1, 1 << 14)}, {RowBin::bitmap_tiled, bin_of(900, 1 << 24, 500)}});
  EXPECT_EQ(goes_to(merge_bins(totals, counted), RowBin::hash_384), RowBin::bitmap_tiled);
}

TEST(MergeBins, ANamedAccumulatorKeepsItsRows) {
  RowPolicy policy = counted;
  policy.preferred = SpgemmAccumulator::dense;
  BinTable totals = table({{RowBin::dense, bin_of(2, 50)},
                           {RowBin::bitmap_4k, bin_of(2, 50)},
                           {RowBin::bitmap_8k, bin_of(2, 50)},
                           {RowBin::bitmap_tiled, bin_of(900, 1 << 24, 500)}});
  const BinMap map = merge_bins(totals, policy);
  EXPECT_EQ(goes_to(map, RowBin::dense), RowBin::dense);
  EXPECT_EQ(goes_to(map, RowBin::bitmap_4k), RowBin::bitmap_8k) << "a size of the same";
  EXPECT_EQ(goes_to(map, RowBin::bitmap_8k), RowBin::bitmap_8k);
}

TEST(MergeBins, DenseRowsFitTheWindowThatTheyGoTo) {
  BinTable totals = table({{RowBin::dense, bin_of(1000, 1 << 20, 1000, 200)},
                           {RowBin::bitmap_4k, bin_of(1 << 20, 1 << 28)},
                           {RowBin::bitmap_8k, bin_of(1 << 20, 1 << 28)}});
  totals[index(RowBin::bitmap_8k)].shared_bytes = 8000;
  EXPECT_EQ(goes_to(merge_bins(totals, counted), RowBin::dense), RowBin::bitmap_8k);
  EXPECT_EQ(totals[index(RowBin::bitmap_8k)].shared_bytes, 8000U);
  totals = table({{RowBin::dense, bin_of(1000, 1 << 22, 1000, 200)}, {RowBin::bitmap_8k, bin_of(1 << 20, 1 << 28)}});
  EXPECT_EQ(goes_to(merge_bins(totals, counted), RowBin::dense), RowBin::dense) << "worth a launch";
}

}  // namespace
}  // namespace tessera::cuda
