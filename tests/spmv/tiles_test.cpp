// Bitmap tiles on the host, and what the kernels of a GPU share with them.
#include "spmv/tiles/tile_arrays.hpp"
#include "spmv/tiles/tile_record.hpp"
#include "spmv/tiles/tiles_tuning.hpp"
#include "tests/spmv/product_check.hpp"
#include "tests/spmv/tiled_matrices.hpp"

#include <bit>
#include <limits>

namespace tessera {

using namespace detail;
namespace {

constexpr testing::KernelCase tiles_kernel{SpmvAlgorithm::tiles, Determinism::gpu_to_gpu};

TEST(TileRecord, CountsTheValuesBeforeEachTile) {
  // The first values of two tiles around a multiple of 2^26, and around one of 2^32.
  for (const offset_t warp_first : {offset_t{0}, (offset_t{1} << 26) - 3, (offset_t{1} << 32) - 3}) {
    for (const offset_t between : {0, 1, 3, 64, 16384}) {
      const std::uint64_t bitmap = 0x8000000180000101U;
      const TileRecord tile = pack_tile(bitmap, 77, warp_first + between, 3);
      EXPECT_EQ(tile.values_after(static_cast<std::uint32_t>(warp_first)), static_cast<std::uint32_t>(between));
      EXPECT_EQ(tile.upper_count(), 3U);
      EXPECT_EQ(tile.first_column, 8 * 77U);
      EXPECT_EQ((std::uint64_t{tile.lower} << 32) | tile.upper, bitmap);
    }
  }
  const TileRecord full = pack_tile(~std::uint64_t{0}, (index_t{1} << 28) - 1, 5, 32);
  EXPECT_EQ(full.upper_count(), 32U);
  EXPECT_EQ(full.first_column, 8 * ((1U << 28) - 1));
  EXPECT_LT(cuda::most_long_tile_row * 64, most_values_of_a_warp);
  EXPECT_LT(cuda::tiles_per_part * 64, most_values_of_a_warp);
}

TEST(TileParts, SumsStandInTheOrderOfTheRows) {
  // Tile rows 1 and 3 are long, with 3 and 2 parts of 4 tiles.
  constexpr std::array<offset_t, 5> offsets{0, 2, 13, 14, 21};
  constexpr std::array<index_t, 5> rows{1, 1, 1, 3, 3};
  constexpr std::array<offset_t, 5> begin{2, 6, 10, 14, 18};
  const cuda::TilePartArrays parts{5, 4, offsets.data(), rows.data(), begin.data(), nullptr};
  std::vector<int> taken(40);
  const cuda::RowOfPlace row_of{parts};
  for (std::int64_t part = 0; part < 5; ++part) {
    const cuda::PartOfTileRow own = parts.at(part);
    EXPECT_EQ(own.tiles, part == 2 || part == 4 ? 3 : 4);
    for (int row = 0; row < tile_size; ++row) {
      ++taken[static_cast<std::size_t>(own.place(row))];
      EXPECT_EQ(row_of(own.place(row)), tile_size * own.tile_row + row);
    }
  }
  EXPECT_EQ(taken, std::vector<int>(40, 1));
  for (std::int64_t i = 1; i < 40; ++i) EXPECT_LE(row_of(i - 1), row_of(i));
}

TEST(TilesTuning, ShortTileRowsShareAWarpAndLongOnesAreCut) {
  using cuda::choose_tiles_shape;
  EXPECT_EQ(choose_tiles_shape(10000, 260000), (cuda::TilesShape{32, 32, 104, 64}));
  EXPECT_EQ(choose_tiles_shape(10000, 50000), (cuda::TilesShape{16, 16, 64, 64}));
  EXPECT_EQ(choose_tiles_shape(10000, 9999), (cuda::TilesShape{8, 8, 64, 64}));
  EXPECT_EQ(choose_tiles_shape(10000, 5000000), (cuda::TilesShape{32, 32, 256, 64}));
  EXPECT_EQ(choose_tiles_shape(100, 1000), (cuda::TilesShape{32, 32, 32, 16}));
  EXPECT_EQ(choose_tiles_shape(1, 0), (cuda::TilesShape{8, 8, 32, 16}));
}

TEST(TilesTuning, TilesPayWhereTheyAreWellFilled) {
  EXPECT_DOUBLE_EQ(tile_bytes_per_nonzero(8, 0.25), 9.0);
  EXPECT_DOUBLE_EQ(csr_bytes_per_nonzero(4), 8.0);
  EXPECT_TRUE(bitmap_tiles_pay(8, 0.386));
  EXPECT_TRUE(bitmap_tiles_pay(0, 0.386));
  for (const double value_bytes : {0.0, 4.0, 8.0}) {
    EXPECT_TRUE(bitmap_tiles_pay(value_bytes, 1.0)) << value_bytes;
    EXPECT_FALSE(bitmap_tiles_pay(value_bytes, 0.135)) << value_bytes;
    EXPECT_FALSE(bitmap_tiles_pay(value_bytes, 1.0 / 64)) << value_bytes;
    EXPECT_FALSE(bitmap_tiles_pay(value_bytes, 0.0)) << value_bytes;  // without nonzeros
  }
}

template <class T>
class TilesOnHost : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(TilesOnHost, Types);

TYPED_TEST(TilesOnHost, EveryFillAndEveryEndOfTheMatrix) {
  for (const ValueStorage storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (const double fill : {0.0, 0.1, 0.5, 0.9, 1.0}) {
      for (const index_t cut : {0, 1, 5, 7}) {
        const auto matrix = testing::with_tiles<TypeParam>({1, 0, 3, 2, 9, 0, 1}, 9, storage, {fill, cut, 7 - cut});
        const SpmvPlan<TypeParam> plan(Csr<TypeParam>::copy_of(matrix.view()), testing::options_of(tiles_kernel, 3));
        const auto x = testing::random_vector<TypeParam>(plan.cols(), 3);
        auto y = testing::random_vector<TypeParam>(plan.rows(), 4);
        const auto oracle = testing::multiply_oracle<TypeParam>(TypeParam{2}, plan.matrix(), x, TypeParam{-1}, y);
        plan.apply(TypeParam{2}, x, TypeParam{-1}, y);
        ASSERT_TRUE(testing::near(oracle, testing::constant(y))) << fill << ", cut " << cut;
      }
    }
  }
}

TYPED_TEST(TilesOnHost, NanAndInfinityStayInTheRowsThatHoldTheColumn) {
  for (const TypeParam special :
       {std::numeric_limits<TypeParam>::quiet_NaN(), std::numeric_limits<TypeParam>::infinity()}) {
    const SpmvPlan<TypeParam> plan(testing::with_one_entry_in_column<TypeParam>(4, 13),
                                   testing::options_of(tiles_kernel));
    auto x = testing::random_vector<TypeParam>(24, 5);
    x[13] = special;
    std::vector<TypeParam> y(32);
    plan.apply(x, y);
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isfinite(y[i]), i % 8 != 3) << i;
  }
}

TYPED_TEST(TilesOnHost, SaysHowWellTilesAreFilled) {
  const auto matrix = testing::with_tiles<TypeParam>({2, 1, 1}, 4, ValueStorage::weighted, {1.0});
  const SpmvPlan<TypeParam> plan(Csr<TypeParam>::copy_of(matrix.view()), testing::options_of(tiles_kernel));
  EXPECT_NE(plan.info().reason.find("4 tiles of 8 x 8, 1 filled"), std::string::npos) << plan.info().reason;
  // Values, 4 tiles of 12 bytes, 5 first values, 4 offsets.
  EXPECT_EQ(plan.info().bytes, 256 * sizeof(TypeParam) + 4 * 12 + 5 * 8 + 4 * 8);
}

}  // namespace
}  // namespace tessera
