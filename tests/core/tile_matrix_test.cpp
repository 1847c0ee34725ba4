// The class of bitmap tiles and the check of its invariants. Conversions: tests/preprocess/bitmap_tiles_test.cpp.
#include "tessera/tile_matrix.hpp"

#include "core/bitmap_tile.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bitset>
#include <string>
#include <utility>
#include <vector>

namespace tessera {
namespace {

/// Arrays of a matrix in tiles, to be broken.
struct Parts {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  ValueStorage storage = ValueStorage::weighted;
  std::vector<offset_t> tile_row_offsets;
  std::vector<index_t> tile_columns;
  std::vector<std::uint64_t> bitmaps;
  std::vector<offset_t> value_offsets;
  std::vector<double> values;

  [[nodiscard]] TileMatrix<double> make(Check check = Check::full) const {
    return {rows,
            cols,
            storage,
            Array<offset_t>::copy_of(tile_row_offsets),
            Array<index_t>::copy_of(tile_columns),
            Array<std::uint64_t>::copy_of(bitmaps),
            Array<offset_t>::copy_of(value_offsets),
            Array<double>::copy_of(values),
            check};
  }
};

/// 10 x 19 with tiles (0, 0), (0, 2) and (1, 1); the second holds the last column, the third the last row.
[[nodiscard]] Parts sound() {
  return {10,
          19,
          ValueStorage::weighted,
          {0, 2, 3},
          {0, 2, 1},
          {std::uint64_t{1} << 63 | 1, std::uint64_t{1} << 2, std::uint64_t{1} << 15 | 2},
          {0, 2, 3, 5},
          {1, 2, 3, 4, 5}};
}

template <class Break>
std::string refusal(Break&& break_it, Check check = Check::full) {
  Parts parts = sound();
  break_it(parts);
  try {
    static_cast<void>(parts.make(check));
  } catch (const InvalidMatrix& e) {
    return e.what();
  }
  return "accepted";
}

void expect_empty(const TileMatrix<double>& a) {
  EXPECT_EQ(a.rows(), 0);
  EXPECT_EQ(a.cols(), 0);
  EXPECT_EQ(a.nnz(), 0);
  EXPECT_EQ(a.tiles(), 0);
  EXPECT_EQ(a.fill(), 0.0);
  EXPECT_FALSE(a.is_pattern());
  validate(a.view());
}

TEST(TileMatrix, DefaultIsEmpty) { expect_empty(TileMatrix<double>{}); }

TEST(TileMatrix, KeepsItsArrays) {
  const TileMatrix<double> a = sound().make();
  EXPECT_EQ(a.rows(), 10);
  EXPECT_EQ(a.cols(), 19);
  EXPECT_EQ(a.tiles(), 3);
  EXPECT_EQ(a.nnz(), 5);
  EXPECT_EQ(a.view().tile_rows(), 2);
  EXPECT_EQ(a.view().tile_cols(), 3);
  EXPECT_EQ(a.view().nnz, 5);
  EXPECT_DOUBLE_EQ(a.fill(), 5.0 / 192.0);
  EXPECT_EQ(a.bytes(), 3U * 8 + 3U * 4 + 3U * 8 + 4U * 8 + 5U * 8);
  const TileMatrix<double> copy = a.to(Device{});
  EXPECT_NE(copy.view().bitmaps.data(), a.view().bitmaps.data());
  EXPECT_EQ(copy.view().bitmaps[2], a.view().bitmaps[2]);
  EXPECT_EQ(copy.view().values[4], 5.0);
  EXPECT_EQ(copy.nnz(), 5);
}

TEST(TileMatrix, PatternCountsItsEntries) {
  Parts parts = sound();
  parts.storage = ValueStorage::pattern;
  parts.values.clear();
  const TileMatrix<double> a = parts.make();
  EXPECT_TRUE(a.is_pattern());
  EXPECT_EQ(a.nnz(), 5);
  EXPECT_TRUE(a.view().values.empty());
  EXPECT_TRUE(a.to(Device{}).is_pattern());
  EXPECT_EQ(a.to(Device{}).nnz(), 5);
}

TEST(TileMatrix, MovedFromIsEmpty) {
  TileMatrix<double> a = sound().make();
  TileMatrix<double> b = std::move(a);
  expect_empty(a);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(b.nnz(), 5);
  validate(b.view());
  a = std::move(b);
  expect_empty(b);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(a.view().values[2], 3.0);
  auto& itself = a;
  a = std::move(itself);
  EXPECT_EQ(a.nnz(), 5);
  EXPECT_EQ(TileMatrix<double>(TileMatrix<double>{}).tiles(), 0);
}

TEST(TileMatrix, MatricesWithoutEntries) {
  const auto empty = [](std::int64_t rows, std::int64_t cols, std::vector<offset_t> offsets) {
    return Parts{rows, cols, ValueStorage::weighted, std::move(offsets), {}, {}, {0}, {}}.make();
  };
  EXPECT_EQ(empty(0, 0, {0}).tiles(), 0);
  EXPECT_EQ(empty(0, 5, {0}).cols(), 5);
  EXPECT_EQ(empty(9, 0, {0, 0, 0}).rows(), 9);
  EXPECT_EQ(empty(8, 8, {0, 0}).rows(), 8);
}

TEST(TileMatrix, SizesAreChecked) {
  for (const Check check : {Check::full, Check::trusted}) {
    const auto refused = [check](auto&& break_it) { return refusal(break_it, check); };
    EXPECT_EQ(refused([](Parts& p) { p.rows = -1; }), "number of rows must be in [0, 2147483647], got -1");
    EXPECT_EQ(refused([](Parts& p) { p.cols = std::int64_t{1} << 31; }),
              "number of columns must be in [0, 2147483647], got 2147483648");
    EXPECT_EQ(refused([](Parts& p) { p.rows = 17; }), "17 x 19 matrix in tiles needs 4 tile row offsets, got 3");
    EXPECT_EQ(refused([](Parts& p) { p.tile_row_offsets.clear(); }),
              "10 x 19 matrix in tiles needs 3 tile row offsets, got 0");
    EXPECT_EQ(refused([](Parts& p) { p.bitmaps.pop_back(); }), "a matrix of 3 tiles needs 3 bitmaps, got 2");
    EXPECT_EQ(refused([](Parts& p) { p.value_offsets.clear(); }), "a matrix of 3 tiles needs 4 value offsets, got 0");
    EXPECT_EQ(refused([](Parts& p) { p.storage = ValueStorage::pattern; }),
              "pattern matrix of 5 nonzeros needs 0 values, got 5");
    EXPECT_EQ(refused([](Parts& p) { p.values.pop_back(); }),
              "value offsets must run from 0 to the 4 nonzeros, but run from 0 to 5");
    EXPECT_EQ(refused([](Parts& p) { p.value_offsets[0] = 1; }),
              "value offsets must run from 0 to the 5 nonzeros, but run from 1 to 5");
    EXPECT_EQ(refused([](Parts& p) { p.tile_row_offsets[0] = 1; }),
              "tile row offsets must run from 0 to the 3 tiles, but run from 1 to 3");
    EXPECT_EQ(refused([](Parts& p) { p.tile_row_offsets[2] = 2; }),
              "tile row offsets must run from 0 to the 3 tiles, but run from 0 to 2");
  }
}

TEST(TileMatrix, EveryInvariantOfATileIsChecked) {
  EXPECT_EQ(refusal([](Parts& p) { p.tile_row_offsets[1] = 4; }),
            "tile row 0: offsets 0 ... 4 do not ascend within the 3 tiles");
  EXPECT_EQ(refusal([](Parts& p) { p.tile_row_offsets[1] = -1; }),
            "tile row 0: offsets 0 ... -1 do not ascend within the 3 tiles");
  EXPECT_EQ(refusal([](Parts& p) { p.tile_columns[1] = 3; }), "tile row 0, tile 1: tile column 3 is outside [0, 3)");
  EXPECT_EQ(refusal([](Parts& p) { p.tile_columns[0] = -1; }), "tile row 0, tile 0: tile column -1 is outside [0, 3)");
  EXPECT_EQ(refusal([](Parts& p) { p.tile_columns[1] = 0; }),
            "tile row 0, tile 1: tile column 0 after tile column 0: tile columns must ascend without duplicates");
  EXPECT_EQ(refusal([](Parts& p) { p.bitmaps[1] = 0; }), "tile row 0, tile 1: the bitmap is empty");
  EXPECT_EQ(refusal([](Parts& p) { p.bitmaps[1] = 8; }),
            "tile row 0, tile 1: the bitmap has entries outside the 10 x 19 matrix");
  EXPECT_EQ(refusal([](Parts& p) { p.bitmaps[2] = 1 << 16 | 2; }),
            "tile row 1, tile 2: the bitmap has entries outside the 10 x 19 matrix");
  EXPECT_EQ(refusal([](Parts& p) { p.bitmaps[0] = 1; }),
            "tile row 0, tile 0: value offsets 0 ... 2 within 5 nonzeros for the 1 entries of its bitmap");
  EXPECT_EQ(refusal([](Parts& p) { p.value_offsets[2] = std::int64_t{-1} << 63; }),
            "tile row 0, tile 1: value offsets 2 ... -9223372036854775808 within 5 nonzeros for the 1 entries of its "
            "bitmap");
  EXPECT_EQ(refusal([](Parts&) {}), "accepted");
  EXPECT_EQ(refusal([](Parts& p) { p.bitmaps[1] = 0; }, Check::trusted), "accepted");
}

TEST(TileMatrix, FirstFaultyTileRowIsReported) {
  const std::int64_t tile_rows = 100000;
  Parts parts{8 * tile_rows, 8, ValueStorage::pattern, {}, {}, {}, {}, {}};
  for (std::int64_t i = 0; i <= tile_rows; ++i) {
    parts.tile_row_offsets.push_back(i);
    parts.value_offsets.push_back(i);
  }
  parts.tile_columns.assign(static_cast<std::size_t>(tile_rows), 0);
  parts.bitmaps.assign(static_cast<std::size_t>(tile_rows), 2);
  EXPECT_EQ(parts.make().nnz(), tile_rows);
  parts.bitmaps[99998] = 0;
  parts.tile_columns[61234] = 1;
  try {
    static_cast<void>(parts.make());
    ADD_FAILURE() << "accepted";
  } catch (const InvalidMatrix& e) {
    EXPECT_STREQ(e.what(), "tile row 61234, tile 61234: tile column 1 is outside [0, 1)");
  }
}

TEST(BitmapTile, BitsInside) {
  for (index_t rows = 1; rows <= 9; ++rows) {
    for (index_t cols = 1; cols <= 9; ++cols) {
      for (int bit = 0; bit < 64; ++bit) {
        const bool inside = bit / 8 < rows && bit % 8 < cols;
        ASSERT_EQ(detail::bits_inside(rows, cols) >> bit & 1, inside ? 1U : 0U) << rows << " x " << cols;
      }
    }
  }
}

TEST(BitmapTile, RowCountsAddUp) {
  detail::TileRowCounts sum;
  std::array<int, 8> expected{};
  std::uint64_t bitmap = 0x9E3779B97F4A7C15U;
  for (int k = 0; k < 8191; ++k) {
    bitmap = k % 5 == 0 ? ~std::uint64_t{0} : bitmap * 6364136223846793005U + 1442695040888963407U;
    const detail::TileRowCounts of_tile(bitmap);
    for (int r = 0; r < 8; ++r) {
      const auto row = std::bitset<8>(detail::row_bits(bitmap, r));
      ASSERT_EQ(of_tile.of_row(r), static_cast<int>(row.count()));
      expected[static_cast<std::size_t>(r)] += static_cast<int>(row.count());
    }
    sum += of_tile;
  }
  for (int r = 0; r < 8; ++r) EXPECT_EQ(sum.of_row(r), expected[static_cast<std::size_t>(r)]);
}

}  // namespace
}  // namespace tessera
