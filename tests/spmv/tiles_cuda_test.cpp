// Bitmap tiles on a GPU: tile rows of every length, filled in every way, whole and cut.
#include "spmv/selection.hpp"
#include "spmv/tiles/tiles.hpp"
#include "spmv/tiles/tiles_tuning.hpp"
#include "tests/spmv/cuda_check.hpp"
#include "tests/spmv/tiled_matrices.hpp"
#include "tests/support/compare.hpp"

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::CudaCase;
using testing::CudaProduct;
using testing::near;
using testing::TileFilling;

template <class T>
class CudaTiles : public testing::CudaTest {
 protected:
  [[nodiscard]] static SpmvOptions options(bool fp32_values = false) {
    return CudaCase{SpmvAlgorithm::tiles, Determinism::run_to_run, fp32_values}.options(testing::CudaTest::gpu());
  }
  static void check(const Csr<T>& matrix) {
    for (const bool fp32_values : {false, true}) {
      if (fp32_values && (sizeof(T) == 4 || matrix.is_pattern())) continue;
      testing::check_all_products(CudaProduct<T>(matrix, options(fp32_values)));
    }
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaTiles, Types);

constexpr ValueStorage storages[] = {ValueStorage::weighted, ValueStorage::pattern};

TYPED_TEST(CudaTiles, EveryMeanNumberOfTilesPerTileRow) {
  for (const index_t tiles : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 31, 32}) {
    std::vector<index_t> lengths = testing::lengths_of(37, tiles);
    lengths[5] = 0;
    lengths[6] = std::min(2 * tiles + 1, index_t{33});
    for (const ValueStorage storage : storages) {
      SCOPED_TRACE(std::to_string(tiles) + (storage == ValueStorage::pattern ? " tiles, pattern" : " tiles"));
      this->check(testing::with_tiles<TypeParam>(lengths, 40, storage, {0.4, tiles % 8, (tiles + 3) % 8}));
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

TYPED_TEST(CudaTiles, EveryFill) {
  for (const double fill : {0.0, 0.02, 0.3, 0.7, 1.0}) {
    for (const index_t tiles : {2, 4, 11}) {
      SCOPED_TRACE("fill " + std::to_string(fill) + ", tiles " + std::to_string(tiles));
      this->check(
          testing::with_tiles<TypeParam>(testing::lengths_of(23, tiles), 19, ValueStorage::weighted, {fill, 3, 5}));
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

/// Tile rows just before, at and after the lengths at which they are cut, and into which they are cut.
TYPED_TEST(CudaTiles, LongTileRowsAmongFew) {
  static_assert(cuda::long_of_few_tile_rows == 32 && cuda::part_of_few_tile_rows == 16);
  for (const ValueStorage storage : storages) {
    this->check(testing::with_tiles<TypeParam>({31, 32, 33, 0, 48, 49, 1, 700, 64, 65}, 701, storage, {0.3, 6, 1}));
    this->check(testing::with_tiles<TypeParam>({5, 900}, 901, storage, {0.1, 7, 0}));
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

TYPED_TEST(CudaTiles, LongTileRowsAmongMany) {
  static_assert(cuda::few_tile_rows == 2048 && cuda::least_long_tile_row == 64 && cuda::tiles_per_part == 64);
  for (const index_t typical : {1, 4, 8}) {
    std::vector<index_t> lengths = testing::lengths_of(2100, typical);
    const index_t hubs[] = {63, 64, 65, 0, 127, 128, 129, 1000, 192, 193};
    for (std::size_t i = 0; i < std::size(hubs); ++i) lengths[1000 + i] = hubs[i];
    lengths.back() = 200;
    SCOPED_TRACE("typical " + std::to_string(typical));
    this->check(testing::with_tiles<TypeParam>(lengths, 1100, ValueStorage::weighted, {0.1, 2, 3}));
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

TYPED_TEST(CudaTiles, CarriesOfPartsAreJoinedInSeveralLevels) {
  // 8 sums per part of 16 tiles, 256 carries per block: more than 256 * 256 sums would take 131072 tiles.
  const index_t tiles = testing::repetitions(140000, 1000);
  this->check(testing::with_tiles<TypeParam>({3, tiles, 40, 2}, tiles, ValueStorage::pattern, {0.0}));
}

/// Lanes per tile row and per tile, some tile rows cut.
TYPED_TEST(CudaTiles, EveryShape) {
  constexpr std::pair<int, int> lane_counts[] = {{8, 8}, {16, 8}, {16, 16}, {32, 8}, {32, 16}, {32, 32}};
  const auto matrix = testing::with_tiles<TypeParam>({0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 1, 33}, 40,
                                                     ValueStorage::weighted, {0.4, 3, 2});
  const auto on_gpu = matrix.to(this->gpu());
  const auto x = testing::random_vector<TypeParam>(matrix.cols(), 3);
  const auto w = testing::random_vector<TypeParam>(matrix.rows(), 4);
  const auto oracle = testing::product_oracle(matrix.view(), constant(x));
  const auto source = Array<TypeParam>::copy_of(x, this->gpu());
  const auto weights = Array<TypeParam>::copy_of(w, this->gpu());
  for (const auto& [lanes, tile_lanes] : lane_counts) {
    for (const offset_t long_row : {offset_t{14}, offset_t{64}}) {
      SCOPED_TRACE(std::to_string(lanes) + " lanes, per tile " + std::to_string(tile_lanes));
      const auto kernel =
          cuda::make_shaped_tiles_kernel(on_gpu.view(), this->options(), {lanes, tile_lanes, long_row, long_row / 2});
      Array<TypeParam> target(matrix.rows(), Init::none, this->gpu());
      kernel->apply(on_gpu.view(), TypeParam{1}, source.span(), TypeParam{0}, target.span());
      const auto y = target.to(Device{});
      ASSERT_TRUE(near(oracle, y.span()));
      const ProductDots dots = kernel->apply_and_dot(on_gpu.view(), source.span(), target.span(), weights.span());
      const auto z = target.to(Device{});
      ASSERT_TRUE(near(oracle, z.span()));
      ASSERT_TRUE(testing::dots_match(dots, z.span(), constant(w)));
    }
  }
}

TYPED_TEST(CudaTiles, UpdatesOfValuesReachWholeAndCutTileRows) {
  const auto matrix =
      testing::with_tiles<TypeParam>({3, 400, 0, 7, 33, 32, 90}, 410, ValueStorage::weighted, {0.35, 5, 2});
  const auto x = testing::random_vector<TypeParam>(matrix.cols(), 3);
  for (const bool fp32_values : {false, true}) {
    CudaProduct<TypeParam> product(matrix, this->options(fp32_values));
    for (std::uint64_t round = 0; round < 3; ++round) {
      const auto values = testing::random_vector<TypeParam>(matrix.nnz(), 50 + round);
      product.update_values(values, fp32_values);
      ASSERT_TRUE(near(testing::product_oracle(product.matrix(), constant(x)), constant(product.apply(x)))) << round;
    }
  }
}

TYPED_TEST(CudaTiles, NanAndInfinityStayInTheRowsThatHoldTheColumn) {
  for (const index_t tile_rows : {2, 2100}) {
    const CudaProduct<TypeParam> product(testing::with_one_entry_in_column<TypeParam>(tile_rows, 13), this->options());
    for (const TypeParam special :
         {std::numeric_limits<TypeParam>::quiet_NaN(), std::numeric_limits<TypeParam>::infinity()}) {
      auto x = testing::random_vector<TypeParam>(24, 5);
      x[13] = special;
      const std::vector<TypeParam> y = product.apply(x);
      for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(std::isfinite(y[i]), i % 8 != 3) << i;
    }
  }
}

TYPED_TEST(CudaTiles, RepeatsBitwise) {
  std::vector<index_t> lengths = testing::lengths_of(200, 9);
  const auto whole = testing::with_tiles<TypeParam>(lengths, 60, ValueStorage::weighted);
  lengths[50] = 3000;
  const auto cut = testing::with_tiles<TypeParam>(lengths, 3100, ValueStorage::weighted, {0.2});
  for (const Csr<TypeParam>* matrix : {&whole, &cut}) {
    const CudaProduct<TypeParam> first(*matrix, this->options());
    const CudaProduct<TypeParam> second(*matrix, this->options());
    EXPECT_EQ(first.plan().info().determinism, Determinism::run_to_run);
    const auto x = testing::random_vector<TypeParam>(matrix->cols(), 3);
    const auto w = testing::random_vector<TypeParam>(matrix->rows(), 4);
    const auto [expected, expected_dots] = first.apply_and_dot(x, w);
    for (int run = 0; run < testing::repetitions(20, 2); ++run) {
      const auto [y, dots] = (run % 2 == 0 ? first : second).apply_and_dot(x, w);
      ASSERT_TRUE(testing::same_bytes(constant(y), constant(expected)));
      ASSERT_EQ(dots.wy, expected_dots.wy);
      ASSERT_EQ(dots.yy, expected_dots.yy);
    }
  }
}

/// The choice alone: no plan is made.
TYPED_TEST(CudaTiles, AreChosenWhereASampleIsWellFilled) {
  const auto chosen = [&](const Csr<TypeParam>& on_gpu, std::int64_t applications) {
    SpmvOptions options;
    options.device = this->gpu();
    options.expected_applications = applications;
    return select_spmv_kernel(on_gpu.view(), options);
  };
  const auto blocks =
      testing::with_tiles<TypeParam>(testing::lengths_of(2900, 12), 40, ValueStorage::weighted, {1.0}).to(this->gpu());
  const SpmvSelection often = chosen(blocks, 1000);
  EXPECT_EQ(often.algorithm, SpmvAlgorithm::tiles);
  EXPECT_NE(often.reason.find("filled by 1 in a sample: "), std::string::npos) << often.reason;
  EXPECT_NE(often.reason.find("1000 products repay"), std::string::npos) << often.reason;
  EXPECT_NE(chosen(blocks, 10).algorithm, SpmvAlgorithm::tiles) << "few products";
  const auto sparse =
      testing::with_tiles<TypeParam>(testing::lengths_of(2900, 80), 90, ValueStorage::weighted, {0.15}).to(this->gpu());
  EXPECT_NE(chosen(sparse, 1000).algorithm, SpmvAlgorithm::tiles);
}

}  // namespace
}  // namespace tessera
