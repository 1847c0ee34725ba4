// Slices of long rows: they cut exactly what the runs hold, at the windows, and exist only where they gain something.
#include "preprocess/long_row_slices.hpp"
#include "tests/support/adversarial.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace tessera {

using namespace detail;
namespace {

constexpr index_t cols = 300000;  // x of 2.4 MB in double

std::vector<index_t> hubs_among_short_rows(int hubs, index_t length) {
  std::vector<index_t> lengths(2000, 2);
  for (int h = 0; h < hubs; ++h) lengths[static_cast<std::size_t>(h) * 17 + 3] = length;
  return lengths;
}

struct Built {
  Csr<double> matrix;
  MerbitTiles tiles;
  LongRowSlices slices;
};

Built build(const std::vector<index_t>& lengths, index_t columns = cols) {
  Built built;
  built.matrix = testing::with_row_lengths<double>(lengths, columns, ValueStorage::pattern);
  built.tiles = build_merbit_tiles(built.matrix.rows(), built.matrix.row_offsets().span(), 21, 32);
  built.slices = build_long_row_slices(built.tiles, built.matrix.columns().span(), columns, sizeof(double));
  return built;
}

TEST(LongRowSlicesTest, CutEveryRunAtTheWindowsWithoutLossOrOverlap) {
  const Built built = build(hubs_among_short_rows(30, 40000));
  const LongRowSlices& slices = built.slices;
  ASSERT_EQ(slices.runs(), 30);
  ASSERT_GT(slices.windows, 1);
  const std::int64_t width = (std::int64_t{1} << 17) / 8;
  ASSERT_EQ(slices.windows, (cols + width - 1) / width);
  for (std::int64_t r = 0; r < slices.runs(); ++r) {
    EXPECT_EQ(slices.begin[r], built.tiles.tile_x[slices.first_tile[r]]);
    EXPECT_EQ(slices.begin[slices.windows * slices.runs() + r], built.tiles.tile_x[slices.end_tile[r]]);
    for (std::int64_t w = 0; w < slices.windows; ++w) {
      for (offset_t k = slices.begin[w * slices.runs() + r]; k < slices.begin[(w + 1) * slices.runs() + r]; ++k) {
        ASSERT_EQ(built.matrix.columns()[k] / width, w);
      }
    }
  }
}

TEST(LongRowSlicesTest, KnowTheRunAtOrAfterEveryTile) {
  const Built built = build(hubs_among_short_rows(30, 40000));
  const LongRowSlices& slices = built.slices;
  std::int64_t in_runs = 0;
  for (std::int64_t tile = 0; tile < built.tiles.tiles(); ++tile) {
    const std::int64_t run = slices.first_run_after(tile);
    if (run > 0) {
      ASSERT_LE(slices.end_tile[run - 1], tile);
    }
    if (run == slices.runs()) continue;
    ASSERT_GT(slices.end_tile[run], tile);
    if (slices.first_tile[run] > tile) continue;
    ASSERT_TRUE(built.tiles.is_long_row(tile));
    ++in_runs;
  }
  EXPECT_EQ(slices.first_run_after(built.tiles.tiles()), slices.runs());
  EXPECT_GT(in_runs, 30 * 50);
}

TEST(LongRowSlicesTest, AreNotMadeWhereTheyGainNothing) {
  EXPECT_EQ(build(hubs_among_short_rows(1, 250000)).slices.runs(), 0);          // x is read once
  EXPECT_EQ(build(hubs_among_short_rows(0, 0)).slices.runs(), 0);               // no long row
  EXPECT_EQ(build(hubs_among_short_rows(100, 3000)).slices.runs(), 0);          // rows too short
  EXPECT_EQ(build(hubs_among_short_rows(30, 40000), 100000).slices.runs(), 0);  // x stays in the cache
  EXPECT_EQ(build(hubs_among_short_rows(14, 40000)).slices.bytes(), 0U);        // fewer than two passes over x
  const LongRowSlices empty =
      build_long_row_slices(build_merbit_tiles(0, std::vector<offset_t>{0}, 21, 32), {}, cols, 8);
  EXPECT_EQ(empty.first_run_after(0), empty.runs());
}

TEST(LongRowSlicesTest, StayWithinTheirBoundByWiderWindowsAndFewerRuns) {
  std::vector<index_t> lengths(300, 6500);
  lengths.resize(400, 12000);
  const Built built = build(lengths);
  const auto slices_for = [&](std::size_t element_bytes) {
    return build_long_row_slices(built.tiles, built.matrix.columns().span(), cols, element_bytes);
  };
  const LongRowSlices wider = slices_for(16);  // 37 of the narrowest windows are too many for 400 runs
  EXPECT_EQ(wider.windows, 19);
  EXPECT_EQ(wider.runs(), 400);
  const LongRowSlices fewer = slices_for(64);  // even 37 of the widest are
  EXPECT_EQ(fewer.windows, 37);
  EXPECT_EQ(fewer.runs(), 100);
}

LongRowTotals worth_slicing(const std::vector<index_t>& lengths, index_t columns, std::size_t element_bytes) {
  const auto a = testing::with_row_lengths<double>(lengths, columns, ValueStorage::pattern);
  return rows_worth_slicing(a.row_offsets().span(), columns, element_bytes);
}

TEST(LongRowSlicesTest, RowLengthsTellWhetherTheyGain) {
  const LongRowTotals totals = worth_slicing(hubs_among_short_rows(30, 40000), cols, 8);
  EXPECT_EQ(totals.rows, 30);
  EXPECT_EQ(totals.nonzeros, 30 * 40000);
  EXPECT_EQ(worth_slicing(hubs_among_short_rows(1, 250000), cols, 8).rows, 0);    // x is read once
  EXPECT_EQ(worth_slicing(hubs_among_short_rows(0, 0), cols, 8).rows, 0);         // no long row
  EXPECT_EQ(worth_slicing(hubs_among_short_rows(100, 3000), cols, 8).rows, 0);    // rows too short
  EXPECT_EQ(worth_slicing(hubs_among_short_rows(30, 40000), 100000, 8).rows, 0);  // x stays in the cache
  EXPECT_EQ(worth_slicing(hubs_among_short_rows(14, 40000), cols, 8).rows, 0);    // fewer than two passes over x
  EXPECT_EQ(worth_slicing(std::vector<index_t>(400, 6500), cols, 16).rows, 400);  // with wider windows
  EXPECT_EQ(worth_slicing(std::vector<index_t>(400, 6500), cols, 64).rows, 0);    // too many for the bound
  EXPECT_EQ(rows_worth_slicing(std::vector<offset_t>{0}, cols, 8).nonzeros, 0);
}

TEST(LongRowSlicesTest, DoNotDependOnTheNumberOfThreads) {
  const Built built = build(hubs_among_short_rows(30, 40000));
  for (const int threads : {1, 3}) {
    const LongRowSlices again =
        build_long_row_slices(built.tiles, built.matrix.columns().span(), cols, sizeof(double), Device::host(threads));
    ASSERT_EQ(again.begin.size(), built.slices.begin.size());
    EXPECT_TRUE(std::equal(again.begin.begin(), again.begin.end(), built.slices.begin.begin()));
  }
}

}  // namespace
}  // namespace tessera
