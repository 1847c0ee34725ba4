// Bitmap tiles on a GPU: the bits of the host, which bitmap_tiles_test.cpp holds against tiles by the book.
#include "preprocess/bitmap_tiles.hpp"
#include "tests/preprocess/naive_tiles.hpp"
#include "tests/support/cuda_test.hpp"

namespace tessera {
namespace {

class BitmapTilesCuda : public testing::CudaTest {
 protected:
  template <class T>
  static void check(const Csr<T>& matrix) {
    const TileMatrix<T> expected = to_tiles(matrix);
    const TileMatrix<T> on_gpu = to_tiles(matrix.to(gpu()));
    ASSERT_EQ(on_gpu.device(), gpu());
    const TileMatrix<T> tiles = on_gpu.to(Device{});
    ASSERT_NO_THROW(validate(tiles.view()));
    testing::expect_identical_tiles(tiles.view(), expected.view());
    const Csr<T> back = to_csr(on_gpu);
    ASSERT_EQ(back.device(), gpu());
    testing::expect_identical(back.to(Device{}).view(), matrix.view());
  }

  template <class T>
  static void check_all(ValueStorage storage) {
    for (const auto& [name, matrix] : testing::matrices_to_tile<T>(storage)) {
      SCOPED_TRACE(name);
      check(matrix);
      ASSERT_FALSE(HasFailure());
    }
  }
};

TEST_F(BitmapTilesCuda, EqualThoseOfTheHostForDoubles) { check_all<double>(ValueStorage::weighted); }
TEST_F(BitmapTilesCuda, EqualThoseOfTheHostForFloats) { check_all<float>(ValueStorage::weighted); }
TEST_F(BitmapTilesCuda, EqualThoseOfTheHostForPatterns) { check_all<double>(ValueStorage::pattern); }

// Rows with more entries than a lane keeps in registers, and runs of a tile that begin in one round and end in the
// next.
TEST_F(BitmapTilesCuda, RowsLongerThanRegisters) {
  for (const index_t width : {127, 128, 129, 400}) {
    SCOPED_TRACE(width);
    check(testing::random_windows<double>(64, 3000, width, 1.0, ValueStorage::weighted, 3));
    check(testing::random_windows<float>(64, 3000, width, 0.7, ValueStorage::weighted, 4));
  }
}

// As many tiles as a block can hold, and one more; the widest window, and one word more.
TEST_F(BitmapTilesCuda, LimitsOfABlock) {
  const auto with_columns = [](const std::vector<index_t>& columns, index_t cols) {
    std::vector<offset_t> offsets(17, 0);
    for (std::size_t i = 1; i < offsets.size(); ++i) {
      offsets[i] = offsets[i - 1] + (i % 5 == 3 ? static_cast<offset_t>(columns.size()) : 0);
    }
    std::vector<index_t> all;
    for (offset_t k = 0; k < offsets.back(); ++k) {
      all.push_back(columns[static_cast<std::size_t>(k) % columns.size()]);
    }
    return Csr<double>(16, cols, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(all),
                       Array<double>::copy_of(testing::random_vector<double>(offsets.back(), 2)));
  };
  for (const index_t tiles : {511, 512, 513}) {
    SCOPED_TRACE(tiles);
    std::vector<index_t> columns;
    for (index_t t = 0; t < tiles; ++t) columns.push_back(8 * (t + 3) + t % 8);
    check(with_columns(columns, 8 * tiles + 40));
  }
  constexpr index_t window = 8 * 32 * 1024;
  for (const index_t last : {window - 1, window, window + 1, window + 300}) {
    SCOPED_TRACE(last);
    check(with_columns({0, 5, last}, 2 * window));
    check(with_columns({300, 1000, last, last + 7}, 2 * window));
  }
}

TEST_F(BitmapTilesCuda, RandomShapes) {
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(testing::repetitions(200, 30)); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 generator(seed);
    const auto rows = static_cast<index_t>(1 + generator() % 200);
    const auto cols = static_cast<index_t>(1 + generator() % (seed % 3 == 0 ? 40000 : 600));
    const double density = seed % 4 == 0 ? 0.9 : 0.03;
    check(testing::random_windows<double>(rows, cols, static_cast<index_t>(1 + generator() % 500), density,
                                          ValueStorage::weighted, seed));
    ASSERT_FALSE(HasFailure());
  }
}

TEST_F(BitmapTilesCuda, EstimateIsThatOfTheHost) {
  for (const auto& [name, matrix] : testing::matrices_to_tile<double>(ValueStorage::pattern)) {
    SCOPED_TRACE(name);
    const Csr<double> on_gpu = matrix.to(gpu());
    for (const TileSample& sample : {TileSample{}, TileSample{3, 5}, TileSample::all()}) {
      const TileEstimate expected = estimate_tiles(matrix.view(), Device{}, sample);
      const TileEstimate found = estimate_tiles(on_gpu.view(), gpu(), sample);
      EXPECT_EQ(found.tiles, expected.tiles);
      EXPECT_EQ(found.fill, expected.fill);
      EXPECT_EQ(found.tile_rows, expected.tile_rows);
    }
  }
}

// Tile rows of several windows of 1024 tile columns, cut inside a window, at its end, and not at all.
TEST_F(BitmapTilesCuda, EstimatesOfWideTileRows) {
  for (const double density : {0.002, 0.03, 0.5}) {
    const auto matrix = testing::random_windows<double>(40, 60000, 30000, density, ValueStorage::pattern, 11);
    const Csr<double> on_gpu = matrix.to(gpu());
    for (const offset_t tiles : {1, 2, 31, 100, 1024, 1025, 3000}) {
      SCOPED_TRACE(tiles);
      for (const index_t tile_rows : {1, 4, 300}) {
        const TileSample sample{tile_rows, tiles};
        EXPECT_EQ(estimate_tiles(on_gpu.view(), gpu(), sample).tiles,
                  estimate_tiles(matrix.view(), Device{}, sample).tiles);
      }
    }
  }
}

TEST_F(BitmapTilesCuda, EmptyMatrices) {
  check(Csr<double>{});
  EXPECT_EQ(TileMatrix<double>{}.to(gpu()).tiles(), 0);
}

}  // namespace
}  // namespace tessera
