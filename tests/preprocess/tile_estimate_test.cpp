// Sampled tiles and fill against the tiles by the book.
#include "preprocess/tile_estimate.hpp"

#include "tests/preprocess/naive_tiles.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace tessera {
namespace {

using testing::naive_tiles;

TEST(TileEstimate, OfEverythingIsExact) {
  for (const auto& [name, matrix] : testing::matrices_to_tile<double>(ValueStorage::weighted)) {
    SCOPED_TRACE(name);
    if (matrix.nnz() == 0) continue;
    const TileMatrix<double> tiles = naive_tiles(matrix.view());
    for (const int threads : {1, 3}) {
      const TileEstimate found = estimate_tiles(matrix.view(), Device::host(threads), TileSample::all());
      EXPECT_DOUBLE_EQ(found.tiles, static_cast<double>(tiles.tiles()));
      EXPECT_DOUBLE_EQ(found.fill, tiles.fill());
      EXPECT_EQ(found.tile_rows, tiles.view().tile_rows());
      EXPECT_DOUBLE_EQ(found.products_per_pair(), 512.0 * tiles.fill() * tiles.fill());
    }
  }
}

// 8000 tile rows of independent random windows: the fill of each spreads by less than .1, so the mean of 512 by .005.
TEST(TileEstimate, OfASampleIsNear) {
  const auto matrix = testing::random_windows<double>(64000, 20000, 60, 0.3, ValueStorage::pattern, 9);
  const double fill = to_tiles(matrix).fill();
  const TileEstimate found = estimate_tiles(matrix.view());
  EXPECT_EQ(found.tile_rows, 512);
  EXPECT_NEAR(found.fill, fill, 0.02);
  EXPECT_DOUBLE_EQ(found.tiles * found.fill * 64.0, static_cast<double>(matrix.nnz()));
}

TEST(TileEstimate, LongTileRowsAreCutShort) {
  // 200 full tiles, then single entries: only the first 100 tiles are looked at.
  std::vector<index_t> columns;
  for (index_t j = 0; j < 1600; ++j) columns.push_back(j);
  for (index_t j = 1600; j < 16000; j += 8) columns.push_back(j);
  const auto length = static_cast<offset_t>(columns.size());
  const auto matrix = testing::make_pattern<double>(1, 16000, {0, length}, columns);
  EXPECT_DOUBLE_EQ(estimate_tiles(matrix.view(), Device{}, {1, 100}).fill, 8.0 / 64.0);
  EXPECT_DOUBLE_EQ(estimate_tiles(matrix.view(), Device{}, TileSample::all()).tiles, 2000.0);
}

TEST(TileEstimate, WithoutEntries) {
  EXPECT_EQ(estimate_tiles(Csr<double>{}.view()).tiles, 0.0);
  const auto matrix = testing::make_pattern<double>(9, 9, std::vector<offset_t>(10, 0), {});
  EXPECT_EQ(estimate_tiles(matrix.view()).fill, 0.0);
  // All entries lie where a sample of one tile row does not look: a tile per entry.
  std::vector<offset_t> offsets(8001, 0);
  const index_t looked_at = detail::SampledTileRows{1000, 1}[0];
  for (std::size_t i = looked_at == 0 ? 8000 : 1; i < offsets.size(); ++i) offsets[i] = 3;
  const auto hidden = testing::make_pattern<double>(8000, 9, offsets, {0, 1, 2});
  EXPECT_EQ(estimate_tiles(hidden.view(), Device{}, {1, 128}).tiles, 3.0);
}

TEST(TileEstimate, SampleHasOneTileRowPerPart) {
  for (const index_t tile_rows : {1, 5, 512, 513, 100000, 1 << 28}) {
    for (const index_t count : {1, 5, 512}) {
      if (count > tile_rows) continue;
      const detail::SampledTileRows sample{tile_rows, count};
      std::set<index_t> chosen;
      for (std::int64_t s = 0; s < count; ++s) {
        ASSERT_GE(sample[s], s * tile_rows / count);
        ASSERT_LT(sample[s], (s + 1) * tile_rows / count);
        chosen.insert(sample[s]);
      }
      EXPECT_EQ(chosen.size(), static_cast<std::size_t>(count));
    }
  }
}

/// Sampled by entries, tile rows turn up as often as their share of the entries says.
TEST(TileEstimate, SampleByEntriesSeesWhereTheyAre) {
  // Tile row 2 has half of all entries; 5 and 6 have none.
  std::vector<offset_t> offsets{0};
  for (index_t i = 0; i < 77; ++i) {
    const index_t tile_row = i / 8;
    const offset_t length = tile_row == 2 ? 60 : tile_row == 5 || tile_row == 6 ? 0 : 9;
    offsets.push_back(offsets.back() + length);
  }
  const detail::CsrStructurePointers a{77, offsets.data(), nullptr};
  const double nnz = static_cast<double>(offsets.back());
  for (const index_t count : {1, 10, 128}) {
    const detail::SampledTileRows sample{10, count, true};
    std::vector<int> drawn(10, 0);
    for (std::int64_t s = 0; s < count; ++s) ++drawn.at(static_cast<std::size_t>(sample.at(s, a)));
    EXPECT_EQ(drawn[5] + drawn[6], 0);
    for (std::size_t t = 0; t < drawn.size(); ++t) {
      const auto first = std::min<std::size_t>(8 * t, 77);
      const auto last = std::min<std::size_t>(8 * t + 8, 77);
      const double expected = static_cast<double>(offsets[last] - offsets[first]) / nnz * count;
      // Strata that lie inside draw it surely, the two at its ends may.
      EXPECT_NEAR(drawn[t], expected, 2.0) << t;
    }
  }
}

}  // namespace
}  // namespace tessera
