#include "preprocess/csr5_tiles.hpp"

#include "tessera/error.hpp"
#include "tests/preprocess/naive_path.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace tessera {

using namespace detail;
namespace {

/// The row of every nonzero.
std::vector<index_t> rows_of_nonzeros(const std::vector<offset_t>& offsets) {
  std::vector<index_t> rows;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    rows.insert(rows.end(), static_cast<std::size_t>(offsets[i + 1] - offsets[i]), static_cast<index_t>(i));
  }
  return rows;
}

/// One tile by the definitions, from the rows of its nonzeros, the first of which is number `begin`.
template <DescriptorWord Word>
void expect_tile(const Csr5Tiles& tiles, std::int64_t tile, const std::vector<index_t>& rows) {
  const auto begin = static_cast<std::size_t>(tile * tiles.nonzeros_per_tile());
  const auto sigma = static_cast<std::size_t>(tiles.sigma);
  std::vector<std::uint32_t> segment_rows;  // relative
  std::vector<bool> has_start(32);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const auto content = unpack_csr5_lane(tiles.lane_words<Word>()[tile * 32 + static_cast<int>(lane)], tiles.sigma);
    ASSERT_EQ(content.y_offset, segment_rows.size());
    for (std::size_t j = 0; j < sigma; ++j) {
      const std::size_t k = begin + lane * sigma + j;
      const bool start = k == begin || rows[k] != rows[k - 1];
      ASSERT_EQ(content.row_starts >> j & 1, start ? 1U : 0U);
      if (!start) continue;
      has_start[lane] = true;
      segment_rows.push_back(static_cast<std::uint32_t>(rows[k] - rows[begin]));
    }
    ASSERT_EQ(content.row_starts >> sigma, 0U);
  }
  for (std::size_t lane = 0; lane < 32; ++lane) {
    std::uint32_t without = 0;
    for (std::size_t later = lane + 1; later < 32 && !has_start[later]; ++later) ++without;
    const auto content = unpack_csr5_lane(tiles.lane_words<Word>()[tile * 32 + static_cast<int>(lane)], tiles.sigma);
    ASSERT_EQ(content.seg_offset, without);
  }
  ASSERT_EQ(tiles.first_row(tile), rows[begin]);
  ASSERT_EQ(tiles.has_empty_rows(tile), segment_rows.back() + 1 != segment_rows.size());
  if (!tiles.has_empty_rows(tile)) {
    if (!tiles.empty_ptr.empty()) {
      ASSERT_EQ(tiles.empty_ptr[tile], tiles.empty_ptr[tile + 1]);
    }
    return;
  }
  ASSERT_EQ(tiles.empty_ptr[tile + 1] - tiles.empty_ptr[tile], static_cast<offset_t>(segment_rows.size()));
  ASSERT_TRUE(std::equal(segment_rows.begin(), segment_rows.end(), tiles.empty_offset.begin() + tiles.empty_ptr[tile]));
}

void expect_correct_tiles(const std::vector<offset_t>& offsets, int sigma, int descriptor_bits) {
  const auto rows = static_cast<index_t>(offsets.size() - 1);
  std::vector<index_t> columns(static_cast<std::size_t>(offsets.back()));
  std::iota(columns.begin(), columns.end(), 0);  // any numbers that tell entries apart
  const Csr5Tiles tiles = build_csr5_tiles(rows, offsets, columns, sigma, descriptor_bits, Device::host(2));
  const std::vector<index_t> row_of = rows_of_nonzeros(offsets);
  ASSERT_EQ(tiles.rows, rows);
  ASSERT_EQ(tiles.nnz, offsets.back());
  ASSERT_EQ(tiles.tiles(), offsets.back() / (32 * sigma));
  const auto tiled = static_cast<std::size_t>(tiles.tiled_nnz());
  ASSERT_EQ(tiles.first_row(tiles.tiles()), tiled < row_of.size() ? row_of[tiled] : rows);
  ASSERT_FALSE(tiles.has_empty_rows(tiles.tiles()));
  for (std::int64_t tile = 0; tile < tiles.tiles(); ++tile) {
    if (descriptor_bits == 32) {
      expect_tile<std::uint32_t>(tiles, tile, row_of);
    } else {
      expect_tile<std::uint64_t>(tiles, tile, row_of);
    }
    if (::testing::Test::HasFatalFailure()) return;
  }
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const auto tile_begin = static_cast<offset_t>(k) / (32 * sigma) * (32 * sigma);
    const offset_t place =
        k < tiled ? tile_begin + csr5_position(static_cast<int>(static_cast<offset_t>(k) - tile_begin), sigma)
                  : static_cast<offset_t>(k);
    ASSERT_EQ(tiles.columns[place], columns[k]);
  }
}

TEST(Csr5Tiles, EverySmallMatrix) {
  // Rows of up to 40 entries: a tile of sigma 1 holds 32, so tiles end everywhere and rows go on through several.
  for (const auto& small : testing::all_small_offsets(4, 4)) {
    std::vector<offset_t> offsets = small;
    for (offset_t& offset : offsets) offset *= 10;
    expect_correct_tiles(offsets, 1, 32);
    expect_correct_tiles(offsets, 2, 64);
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST(Csr5Tiles, RandomMatricesForEverySigmaOfBothWidths) {
  std::mt19937_64 generator(11);
  for (const int bits : {32, 64}) {
    for (int sigma = 1; sigma <= csr5_max_sigma(bits); ++sigma) {
      std::vector<offset_t> offsets{0};
      const auto rows = generator() % 900;
      for (std::uint64_t i = 0; i < rows; ++i) {
        const auto kind = generator() % 20;
        const bool gaps = sigma % 3 != 0;  // some matrices without any mark
        const offset_t length = kind == 0 ? 3000 : kind < 8 && gaps ? 0 : 1 + static_cast<offset_t>(generator() % 30);
        offsets.push_back(offsets.back() + length);
      }
      expect_correct_tiles(offsets, sigma, bits);
      ASSERT_FALSE(HasFatalFailure()) << "sigma " << sigma << ", " << bits << " bits";
    }
  }
}

TEST(Csr5Tiles, MarksAreSetForEmptyRowsInsideTilesOnly) {
  std::vector<index_t> columns(96);
  // Tile 0: rows 1 and 3 with an empty one between; tile 1 begins in row 3 and ends in 4; tile 2 is row 7 alone, after
  // two empty rows that lie between tiles. Row 0 and the last two are empty.
  const std::vector<offset_t> offsets{0, 0, 20, 20, 40, 64, 64, 64, 96, 96, 96};
  const Csr5Tiles tiles = build_csr5_tiles(10, offsets, columns, 1, 32);
  ASSERT_EQ(tiles.tiles(), 3);
  EXPECT_TRUE(tiles.has_empty_rows(0));
  EXPECT_FALSE(tiles.has_empty_rows(1));
  EXPECT_FALSE(tiles.has_empty_rows(2));
  EXPECT_EQ(tiles.first_row(0), 1);
  EXPECT_EQ(tiles.first_row(1), 3);
  EXPECT_EQ(tiles.first_row(2), 7);
  EXPECT_EQ(tiles.first_row(3), 10);
  ASSERT_EQ(tiles.empty_offset.size(), 2);
  EXPECT_EQ(tiles.empty_offset[0], 0U);
  EXPECT_EQ(tiles.empty_offset[1], 2U);
}

TEST(Csr5Tiles, LanesAreThoseOfTheSearch) {
  // What a GPU does: one thread a lane, each with a search of its own.
  std::mt19937_64 generator(13);
  std::vector<offset_t> offsets{0};
  for (int i = 0; i < 3000; ++i) offsets.push_back(offsets.back() + static_cast<offset_t>(generator() % 12));
  const std::vector<index_t> columns(static_cast<std::size_t>(offsets.back()));
  const int sigma = 7;
  const Csr5Tiles tiles = build_csr5_tiles(3000, offsets, columns, sigma, 32);
  for (std::int64_t lane = 0; lane < tiles.lane_words_32.size(); ++lane) {
    const offset_t begin = lane * sigma;
    index_t row = first_row_from(offsets.data(), 3000, lane % 32 == 0 ? begin + 1 : begin);
    auto starts = csr5_row_starts<std::uint32_t>(offsets.data(), 3000, begin, sigma, row);
    if (lane % 32 == 0) starts |= 1;
    ASSERT_EQ(unpack_csr5_lane(tiles.lane_words_32[lane], sigma).row_starts, starts) << lane;
  }
}

TEST(Csr5Tiles, NoNonzerosNoTiles) {
  const std::vector<offset_t> none{0};
  EXPECT_EQ(build_csr5_tiles(0, none, {}, 4, 32).tiles(), 0);
  const std::vector<offset_t> empty_rows{0, 0, 0, 0};
  const Csr5Tiles tiles = build_csr5_tiles(3, empty_rows, {}, 4, 32);
  EXPECT_EQ(tiles.tiles(), 0);
  EXPECT_EQ(tiles.first_row(0), 3);
}

TEST(Csr5Tiles, SameForEveryNumberOfThreads) {
  std::vector<offset_t> offsets{0};
  for (int i = 0; i < 30000; ++i) offsets.push_back(offsets.back() + i % 7);
  std::vector<index_t> columns(static_cast<std::size_t>(offsets.back()));
  std::iota(columns.begin(), columns.end(), 0);
  const Csr5Tiles one = build_csr5_tiles(30000, offsets, columns, 7, 32, Device::host(1));
  const Csr5Tiles five = build_csr5_tiles(30000, offsets, columns, 7, 32, Device::host(5));
  const auto same = [](const auto& a, const auto& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); };
  EXPECT_TRUE(same(one.tile_ptr, five.tile_ptr));
  EXPECT_TRUE(same(one.lane_words_32, five.lane_words_32));
  EXPECT_TRUE(same(one.empty_ptr, five.empty_ptr));
  EXPECT_TRUE(same(one.empty_offset, five.empty_offset));
  EXPECT_TRUE(same(one.columns, five.columns));
  EXPECT_FALSE(one.empty_offset.empty());
}

TEST(Csr5Tiles, ValuesAreOrderedAsColumns) {
  const std::vector<offset_t> offsets{0, 100, 100, 203};
  std::vector<index_t> columns(203);
  std::iota(columns.begin(), columns.end(), 0);
  const Csr5Tiles tiles = build_csr5_tiles(3, offsets, columns, 3, 32);
  const std::vector<double> values(columns.begin(), columns.end());
  std::vector<double> permuted(203);
  permute_csr5_values<double>(tiles, values, permuted);
  EXPECT_TRUE(std::equal(permuted.begin(), permuted.end(), tiles.columns.begin()));
  EXPECT_FALSE(std::is_sorted(permuted.begin(), permuted.end()));
}

TEST(Csr5Tiles, BytesAreThoseOfTheArrays) {
  const std::vector<offset_t> offsets{0, 100, 100, 2000};
  const std::vector<index_t> columns(2000);
  const Csr5Tiles tiles = build_csr5_tiles(3, offsets, columns, 10, 32);
  ASSERT_EQ(tiles.tiles(), 6);  // 320 nonzeros per tile
  // The first tile alone has the empty row inside, and two segments.
  EXPECT_EQ(tiles.bytes(), 7U * 4 + 6 * 32 * 4 + 7 * 8 + 2 * 4 + 2000 * 4);
}

TEST(Csr5Tiles, RefusesParametersThatDoNotFit) {
  const std::vector<offset_t> offsets{0, 1};
  const std::vector<index_t> columns{0};
  EXPECT_THROW((void)build_csr5_tiles(1, offsets, columns, 0, 32), InvalidArgument);
  EXPECT_THROW((void)build_csr5_tiles(1, offsets, columns, 18, 32), InvalidArgument);
  EXPECT_THROW((void)build_csr5_tiles(1, offsets, columns, 49, 64), InvalidArgument);
  EXPECT_THROW((void)build_csr5_tiles(1, offsets, columns, 7, 16), InvalidArgument);
}

}  // namespace
}  // namespace tessera
