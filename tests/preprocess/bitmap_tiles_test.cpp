// Bitmap tiles on the host against tiles by the book, and back again bit by bit.
#include "preprocess/bitmap_tiles.hpp"

#include "preprocess/tile_merge.hpp"
#include "tests/preprocess/naive_tiles.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

using testing::expect_identical;
using testing::expect_identical_tiles;
using testing::naive_tiles;

template <class T>
class BitmapTiles : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(BitmapTiles, Types);

TYPED_TEST(BitmapTiles, EqualTilesByTheBookAndComeBack) {
  for (const auto storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (const auto& [name, matrix] : testing::matrices_to_tile<TypeParam>(storage)) {
      SCOPED_TRACE(name);
      const TileMatrix<TypeParam> expected = naive_tiles(matrix.view());
      for (const int threads : {1, 3}) {
        const TileMatrix<TypeParam> tiles = detail::build_tiles(matrix.view(), Device::host(threads)).matrix;
        ASSERT_NO_THROW(validate(tiles.view()));
        expect_identical_tiles(tiles.view(), expected.view());
        const Csr<TypeParam> back = detail::csr_of(tiles.view(), Device::host(threads));
        ASSERT_NO_THROW(validate(back.view()));
        expect_identical(back.view(), matrix.view());
        ASSERT_FALSE(this->HasFailure());
      }
    }
  }
}

TYPED_TEST(BitmapTiles, OneEntry) {
  const TileMatrix<TypeParam> tiles = to_tiles(testing::make_csr<TypeParam>(1, 1, {0, 1}, {0}, {3}));
  EXPECT_EQ(tiles.tiles(), 1);
  EXPECT_EQ(tiles.nnz(), 1);
  EXPECT_EQ(tiles.fill(), 1.0 / 64.0);
  EXPECT_EQ(tiles.view().bitmaps[0], 1U);
  EXPECT_EQ(tiles.view().values[0], TypeParam{3});
}

TYPED_TEST(BitmapTiles, FullTiles) {
  const TileMatrix<TypeParam> tiles =
      to_tiles(testing::random_windows<TypeParam>(24, 40, 40, 1.0, ValueStorage::weighted, 1));
  EXPECT_EQ(tiles.tiles(), 15);
  EXPECT_EQ(tiles.fill(), 1.0);
  for (const std::uint64_t bitmap : tiles.view().bitmaps) EXPECT_EQ(bitmap, ~std::uint64_t{0});
}

TYPED_TEST(BitmapTiles, BitsOfValuesAreKept) {
  using Limits = std::numeric_limits<TypeParam>;
  // Stored zeros stay entries; signs of zeros and payloads of NaN stay as they are.
  const auto matrix = testing::make_csr<TypeParam>(
      9, 17, {0, 3, 3, 3, 4, 4, 4, 4, 5, 7}, {0, 7, 16, 8, 2, 2, 9},
      {TypeParam{0}, -TypeParam{0}, Limits::infinity(), std::copysign(Limits::quiet_NaN(), TypeParam{-1}),
       Limits::denorm_min(), std::nextafter(TypeParam{1}, TypeParam{2}), -Limits::infinity()});
  const TileMatrix<TypeParam> tiles = to_tiles(matrix);
  EXPECT_EQ(tiles.nnz(), 7);
  expect_identical(to_csr(tiles).view(), matrix.view());
}

TYPED_TEST(BitmapTiles, EmptyMatrices) {
  EXPECT_EQ(to_tiles(Csr<TypeParam>{}).tiles(), 0);
  expect_identical(to_csr(TileMatrix<TypeParam>{}).view(), Csr<TypeParam>{}.view());
  const TileMatrix<TypeParam> tiles = to_tiles(testing::make_pattern<TypeParam>(3, 5, {0, 0, 0, 0}, {}));
  EXPECT_TRUE(tiles.is_pattern());
  EXPECT_EQ(tiles.tiles(), 0);
  EXPECT_TRUE(to_csr(tiles).is_pattern());
}

// Ranges of tile columns, merged one after the other, give what the whole tile row gives.
TEST(TileMerge, RangesOfTileColumnsJoin) {
  const auto matrix = testing::random_windows<double>(21, 700, 700, 0.05, ValueStorage::pattern, 3);
  const detail::CsrStructurePointers a{matrix.rows(), matrix.row_offsets().data(), matrix.columns().data()};
  for (index_t tile_row = 0; tile_row < 3; ++tile_row) {
    detail::TileMerge whole(a, tile_row);
    offset_t entries = 0;
    const std::vector<index_t> cuts{0, 1, 13, 13, 60, 87, detail::TileMerge::no_tile};
    for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
      detail::TileMerge part(a, tile_row, cuts[s], cuts[s + 1]);
      ASSERT_EQ(part.entries_before(a, tile_row), entries);
      for (index_t column = part.next(); column != detail::TileMerge::no_tile; column = part.next()) {
        ASSERT_GE(column, cuts[s]);
        ASSERT_LT(column, cuts[s + 1]);
        ASSERT_EQ(whole.next(), column);
        const std::uint64_t bitmap = part.take(column);
        ASSERT_EQ(whole.take(column), bitmap);
        entries += std::popcount(bitmap);
      }
    }
    EXPECT_EQ(whole.next(), detail::TileMerge::no_tile);
  }
}

}  // namespace
}  // namespace tessera
