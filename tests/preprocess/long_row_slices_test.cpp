// Slices of long rows: they cut exactly what the runs hold, at the windows, and exist only where they gain something.
#include "preprocess/long_row_slices.hpp"
#include "tests/support/adversarial.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace tessera {
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

TEST(LongRowSlicesTest, KnowTheRunOfEveryTile) {
  const Built built = build(hubs_among_short_rows(30, 40000));
  std::int64_t in_runs = 0;
  for (std::int64_t tile = 0; tile < built.tiles.tiles(); ++tile) {
    const std::int64_t run = built.slices.run_of(tile);
    if (run == built.slices.runs()) continue;
    ++in_runs;
    EXPECT_TRUE(built.tiles.is_long_row(tile));
    EXPECT_GE(tile, built.slices.first_tile[run]);
    EXPECT_LT(tile, built.slices.end_tile[run]);
  }
  std::int64_t expected = 0;
  for (std::int64_t r = 0; r < built.slices.runs(); ++r)
    expected += built.slices.end_tile[r] - built.slices.first_tile[r];
  EXPECT_EQ(in_runs, expected);
  EXPECT_GT(expected, 30 * 50);
}

TEST(LongRowSlicesTest, AreNotMadeWhereTheyGainNothing) {
  EXPECT_EQ(build(hubs_among_short_rows(1, 250000)).slices.runs(), 0);          // x is read once
  EXPECT_EQ(build(hubs_among_short_rows(0, 0)).slices.runs(), 0);               // no long row
  EXPECT_EQ(build(hubs_among_short_rows(100, 3000)).slices.runs(), 0);          // rows too short
  EXPECT_EQ(build(hubs_among_short_rows(30, 40000), 100000).slices.runs(), 0);  // x stays in the cache
  EXPECT_EQ(build(hubs_among_short_rows(14, 40000)).slices.bytes(), 0U);        // fewer than two passes over x
  const LongRowSlices empty =
      build_long_row_slices(build_merbit_tiles(0, std::vector<offset_t>{0}, 21, 32), {}, cols, 8);
  EXPECT_EQ(empty.run_of(0), empty.runs());
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
