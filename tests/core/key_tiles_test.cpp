// Tiles of keys: no tile has keys of two segments. The host tests the logic.
#include "core/cuda/radix_sort.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::cuda {
namespace {

TEST(KeyTiles, OneSegment) {
  for (const offset_t keys : {1, 4095, 4096, 4097, 10000}) {
    const KeyTiles tiles = one_segment(keys);
    offset_t seen = 0;
    for (std::int64_t t = 0; t < tiles.tiles; ++t) {
      const KeyTile tile = tiles.tile(t);
      EXPECT_EQ(tile.first, seen);
      EXPECT_EQ(tile.segment, 0);
      EXPECT_EQ(tile.before, 0);
      EXPECT_EQ(tile.number, t);
      EXPECT_EQ(tile.of_segment, tiles.tiles);
      EXPECT_GT(tile.keys, 0);
      EXPECT_LE(tile.keys, keys_of_tile);
      seen += tile.keys;
    }
    EXPECT_EQ(seen, keys);
  }
  EXPECT_EQ(one_segment(0).tiles, 0);
}

TEST(KeyTiles, SegmentsWithAndWithoutKeys) {
  // Segments of 5, 0, 4097 and 4096 keys.
  const std::vector<offset_t> begins{0, 5, 5, 4102, 8198};
  const std::vector<std::int64_t> befores{0, 1, 1, 3, 4};
  const std::vector<index_t> segments{0, 2, 2, 3};
  const KeyTiles tiles{8198, 4, begins.data(), befores.data(), segments.data()};
  EXPECT_EQ(tiles.tile(0).keys, 5);
  const KeyTile full = tiles.tile(1);
  EXPECT_EQ(full.first, 5);
  EXPECT_EQ(full.keys, 4096);
  EXPECT_EQ(full.segment, 2);
  EXPECT_EQ(full.before, 1);
  EXPECT_EQ(full.of_segment, 2);
  const KeyTile rest = tiles.tile(2);
  EXPECT_EQ(rest.first, 4101);
  EXPECT_EQ(rest.keys, 1);
  EXPECT_EQ(rest.number, 1);
  EXPECT_EQ(tiles.tile(3).first, 4102);
  EXPECT_EQ(tiles.tile(3).keys, 4096);
}

}  // namespace
}  // namespace tessera::cuda
