#include "preprocess/merbit_tiles.hpp"

#include "tessera/error.hpp"
#include "tests/preprocess/naive_path.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tessera {

using namespace detail;
namespace {

/// Every tile and lane against the path walked item by item.
template <DescriptorWord Word>
void expect_tiles_are_the_path(const MerbitTiles& tiles, const std::vector<PathPoint>& path) {
  const auto length = static_cast<offset_t>(path.size()) - 1;
  const offset_t per_tile = tiles.items_per_tile();
  ASSERT_EQ(tiles.tiles(), (length + per_tile - 1) / per_tile);
  ASSERT_EQ(tiles.lane_words<Word>().size(), 32 * tiles.tiles());
  for (std::int64_t tile = 0; tile <= tiles.tiles(); ++tile) {
    const auto begin = static_cast<std::size_t>(std::min(tile * per_tile, length));
    const auto end = static_cast<std::size_t>(std::min((tile + 1) * per_tile, length));
    ASSERT_EQ(tiles.tile_x[tile], path[begin].x);
    ASSERT_EQ(tiles.first_row(tile), path[begin].y);
    ASSERT_EQ(tiles.is_long_row(tile), tile < tiles.tiles() && path[begin].y == path[end].y);
  }
  for (std::int64_t lane = 0; lane < tiles.lane_words<Word>().size(); ++lane) {
    const auto items = unpack_lane(tiles.lane_words<Word>()[lane], tiles.sigma);
    const auto begin = static_cast<std::size_t>(std::min(lane * tiles.sigma, length));
    const auto end = static_cast<std::size_t>(std::min((lane + 1) * tiles.sigma, length));
    ASSERT_EQ(tiles.first_row(lane / 32) + static_cast<index_t>(items.y_offset), path[begin].y);
    for (std::size_t i = begin; i < end; ++i) {
      ASSERT_EQ(items.down_flags >> (i - begin) & 1, path[i + 1].y > path[i].y ? 1U : 0U);
    }
    ASSERT_EQ(items.down_flags >> (end - begin), 0U);
  }
}

void expect_correct_tiles(const std::vector<offset_t>& offsets, int sigma, int descriptor_bits) {
  const auto rows = static_cast<index_t>(offsets.size() - 1);
  const MerbitTiles tiles = build_merbit_tiles(rows, offsets, sigma, descriptor_bits, Device::host(2));
  ASSERT_EQ(tiles.rows, rows);
  ASSERT_EQ(tiles.nnz, offsets.back());
  const auto path = testing::naive_path(offsets);
  if (descriptor_bits == 32) {
    expect_tiles_are_the_path<std::uint32_t>(tiles, path);
    ASSERT_TRUE(tiles.lane_words_64.empty());
  } else {
    expect_tiles_are_the_path<std::uint64_t>(tiles, path);
    ASSERT_TRUE(tiles.lane_words_32.empty());
  }
}

TEST(MerbitTiles, EverySmallMatrix) {
  for (const auto& offsets : testing::all_small_offsets(5, 4)) {
    for (const int sigma : {1, 2, 3, 5}) {
      expect_correct_tiles(offsets, sigma, 32);
      expect_correct_tiles(offsets, sigma, 64);
      ASSERT_FALSE(HasFatalFailure()) << "sigma " << sigma << ", " << offsets.size() - 1 << " rows";
    }
  }
}

TEST(MerbitTiles, RandomMatricesForEverySigmaOfBothWidths) {
  std::mt19937_64 generator(11);
  for (const int bits : {32, 64}) {
    for (int sigma = 1; sigma <= max_sigma(bits); ++sigma) {
      std::vector<offset_t> offsets{0};
      const auto rows = generator() % 600;
      for (std::uint64_t i = 0; i < rows; ++i) {
        const auto kind = generator() % 20;
        const offset_t length = kind == 0 ? 3000 : kind < 8 ? 0 : static_cast<offset_t>(generator() % 30);
        offsets.push_back(offsets.back() + length);
      }
      expect_correct_tiles(offsets, sigma, bits);
      ASSERT_FALSE(HasFatalFailure()) << "sigma " << sigma << ", " << bits << " bits";
    }
  }
}

TEST(MerbitTiles, BuiltLanesAreThoseOfTheSearch) {
  std::mt19937_64 generator(13);
  std::vector<offset_t> offsets{0};
  for (int i = 0; i < 700; ++i) offsets.push_back(offsets.back() + static_cast<offset_t>(generator() % 40));
  const MerbitTiles tiles = build_merbit_tiles(700, offsets, 21, 32);
  for (std::int64_t lane = 0; lane < tiles.lane_words_32.size(); ++lane) {
    const auto located = locate_lane<std::uint32_t>(offsets.data(), 700, offsets.back(), 21, lane);
    const auto y_offset = static_cast<std::uint32_t>(located.start.y - tiles.first_row(lane / 32));
    ASSERT_EQ(tiles.lane_words_32[lane], pack_lane<std::uint32_t>({located.down_flags, y_offset}, 21)) << lane;
  }
}

TEST(MerbitTiles, EmptyPathHasNoTiles) {
  const std::vector<offset_t> offsets{0};
  const MerbitTiles tiles = build_merbit_tiles(0, offsets, 21, 32);
  EXPECT_EQ(tiles.tiles(), 0);
  EXPECT_EQ(tiles.tile_x[0], 0);
  EXPECT_EQ(tiles.tile_y[0], 0U);
}

TEST(MerbitTiles, SameForEveryNumberOfThreads) {
  std::vector<offset_t> offsets{0};
  for (int i = 0; i < 30000; ++i) offsets.push_back(offsets.back() + i % 7);
  const MerbitTiles one = build_merbit_tiles(30000, offsets, 7, 32, Device::host(1));
  const MerbitTiles five = build_merbit_tiles(30000, offsets, 7, 32, Device::host(5));
  EXPECT_TRUE(std::equal(one.tile_y.begin(), one.tile_y.end(), five.tile_y.begin(), five.tile_y.end()));
  EXPECT_TRUE(std::equal(one.tile_x.begin(), one.tile_x.end(), five.tile_x.begin(), five.tile_x.end()));
  EXPECT_TRUE(std::equal(one.lane_words_32.begin(), one.lane_words_32.end(), five.lane_words_32.begin(),
                         five.lane_words_32.end()));
}

TEST(MerbitTiles, BytesAreThoseOfTheArrays) {
  const std::vector<offset_t> offsets{0, 100, 100, 2000};
  const MerbitTiles tiles = build_merbit_tiles(3, offsets, 10, 32);
  ASSERT_EQ(tiles.tiles(), 7);  // 2003 items, 320 per tile
  EXPECT_EQ(tiles.bytes(), 8U * 8 + 8 * 4 + 7 * 32 * 4);
}

TEST(MerbitTiles, RefusesParametersThatDoNotFit) {
  const std::vector<offset_t> offsets{0, 1};
  EXPECT_THROW((void)build_merbit_tiles(1, offsets, 0, 32), InvalidArgument);
  EXPECT_THROW((void)build_merbit_tiles(1, offsets, 23, 32), InvalidArgument);
  EXPECT_THROW((void)build_merbit_tiles(1, offsets, 54, 64), InvalidArgument);
  EXPECT_THROW((void)build_merbit_tiles(1, offsets, 7, 16), InvalidArgument);
}

}  // namespace
}  // namespace tessera
