#include "preprocess/snapped_tiles.hpp"

#include "tests/preprocess/naive_path.hpp"
#include "tests/preprocess/snapped_tiles_support.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tessera {

using namespace detail;
namespace {

using testing::naive_snapped_tiles;
using testing::NaiveSnappedTiles;

/// What kernels rely on, whatever the matrix.
void expect_sound(const std::vector<offset_t>& offsets, const TileRules& rules) {
  const NaiveSnappedTiles tiles = naive_snapped_tiles(offsets, rules);
  const TileStart& first = tiles.starts.front();
  ASSERT_EQ(first.x, 0);
  ASSERT_EQ(first.row, 0U);
  for (std::size_t t = 0; t + 1 < tiles.starts.size(); ++t) {
    const TileStart& start = tiles.starts[t];
    const TileStart& end = tiles.starts[t + 1];
    const offset_t items = end.x - start.x + end.y() - start.y();
    ASSERT_GT(items, 0);
    ASSERT_LE(items, rules.max_items());
    const offset_t row_begin = offsets[static_cast<std::size_t>(start.y())];
    ASSERT_EQ(start.inside_row(), start.x > row_begin);
    if (start.inside_row()) {
      ASSERT_GT(start.x - row_begin, rules.snap);
    }
    if (start.kind() == TileKind::one_row) {
      ASSERT_TRUE(end.inside_row());
    }
    if (start.kind() == TileKind::rows) {
      ASSERT_FALSE(start.inside_row() || end.inside_row());
    }
    if (start.kind() == TileKind::few_rows) {
      ASSERT_LE(end.y() - start.y(), lanes_per_tile);
    }
    if (start.kind() == TileKind::walk && rules.sigma == 0) {
      ASSERT_TRUE(tiles.cannot_be_summed);
    }
  }
}

TEST(SnappedTiles, AreSoundForEverySmallMatrix) {
  for (const auto& offsets : testing::all_small_offsets(4, 9)) {
    if (offsets.size() == 1) continue;
    for (const int snap : {0, 3, 15}) {
      expect_sound(offsets, walkable_tiles(1, snap));
      ASSERT_FALSE(HasFatalFailure()) << "snap " << snap;
    }
  }
}

TEST(SnappedTiles, AreSoundForRandomMatricesOfAllSigmas) {
  std::mt19937_64 generator(3);
  for (int sigma = 1; sigma <= 22; ++sigma) {
    for (const int snap : {0, std::min(16, 16 * sigma - 1), 16 * sigma - 1}) {
      expect_sound(testing::mixed_offsets(700, generator), walkable_tiles(sigma, snap));
      ASSERT_FALSE(HasFatalFailure()) << "sigma " << sigma << ", snap " << snap;
    }
  }
}

TEST(SnappedTiles, ShortRowsAreNeverSplit) {
  std::vector<offset_t> offsets{0};
  for (int i = 0; i < 5000; ++i) offsets.push_back(offsets.back() + i % 17);
  EXPECT_EQ(naive_snapped_tiles(offsets, walkable_tiles(11, 16)).shared_starts, 0);
  EXPECT_GT(naive_snapped_tiles(offsets, walkable_tiles(11, 3)).shared_starts, 0);
}

TEST(SnappedTiles, OffsetsBeyond32Bits) {
  const offset_t far = offset_t{1} << 33;
  const std::vector<offset_t> offsets{0, far, far + 4, far + 9};
  const TileStart start = snapped_start(offsets.data(), 3, far + 9, far + 4, 16);
  EXPECT_EQ(start.x, far);
  EXPECT_EQ(start.y(), 1);
  EXPECT_FALSE(start.inside_row());
  const TileStart inside = snapped_start(offsets.data(), 3, far + 9, far - 5, 16);
  EXPECT_EQ(inside.x, far - 5);
  EXPECT_EQ(inside.y(), 0);
  EXPECT_TRUE(inside.inside_row());
  EXPECT_EQ(snapped_tile_count(far, walkable_tiles(1, 0)), far / 32);
}

TEST(SnappedTiles, SummationFollowsTheRows) {
  const auto kind_by = [](const TileShape& shape, const TileRules& rules) {
    return static_cast<TileKind>(choose_summation(shape, rules) & tile_kind_mask);
  };
  const auto kind_of = [&](const TileShape& shape) { return kind_by(shape, walkable_tiles(11, 16)); };
  EXPECT_EQ(kind_of({352, 0, 0, false}), TileKind::one_row);
  EXPECT_EQ(kind_of({280, 56, 5, true}), TileKind::rows);
  EXPECT_EQ(kind_of({280, 56, 5, false}), TileKind::walk);
  EXPECT_EQ(kind_of({300, 2, 200, false}), TileKind::few_rows);
  EXPECT_EQ(kind_of({280, 56, 200, true}), TileKind::walk);
  EXPECT_EQ(kind_of({0, 129, 0, true}), TileKind::walk);
  EXPECT_EQ(kind_of({0, 128, 0, true}), TileKind::rows);
  TileRules reluctant = walkable_tiles(11, 16);
  reluctant.row_cost = 11;
  EXPECT_EQ(kind_by({280, 56, 5, true}, reluctant), TileKind::walk);
  EXPECT_EQ(kind_by({220, 56, 4, true}, reluctant), TileKind::rows);
  const TileRules unwalked = row_tiles(27, 928, 32);
  EXPECT_EQ(kind_by({864, 32, 27, true}, unwalked), TileKind::rows);
  EXPECT_EQ(kind_by({864, 32, 40, false}, unwalked), TileKind::few_rows);
  EXPECT_EQ(kind_by({864, 33, 40, false}, unwalked), TileKind::walk);
}

TEST(SnappedTiles, RowTilesHoldAWarpOfRows) {
  EXPECT_EQ(row_tiles(27, 928, 32), (TileRules{0, 32, 868}));
  EXPECT_EQ(row_tiles(100, 928, 32), (TileRules{0, 32, 896}));
  EXPECT_EQ(row_tiles(0, 928, 32), (TileRules{0, 32, 65}));
  std::vector<offset_t> offsets{0};
  for (int i = 0; i < 5000; ++i) offsets.push_back(offsets.back() + 27);
  const TileRules rules = row_tiles(27, 928, 32);
  expect_sound(offsets, rules);
  const NaiveSnappedTiles even = naive_snapped_tiles(offsets, rules);
  EXPECT_FALSE(even.cannot_be_summed);
  EXPECT_EQ(even.shared_starts, 0);
  std::mt19937_64 generator(3);
  for (int i = 0; i < 50; ++i) expect_sound(testing::mixed_offsets(2000, generator), row_tiles(i, 928, 32));
}

TEST(SnappedTiles, LongerRowsGetMoreLanes) {
  const auto lanes_of = [](const TileShape& shape) {
    return TileStart{0, 0, choose_summation(shape, walkable_tiles(13, 16))}.lanes_per_row_log2();
  };
  EXPECT_EQ(lanes_of({280, 56, 5, true}), 0);
  EXPECT_EQ(lanes_of({324, 12, 27, true}), 1);
  EXPECT_EQ(lanes_of({400, 2, 200, true}), 4);
}

}  // namespace
}  // namespace tessera
