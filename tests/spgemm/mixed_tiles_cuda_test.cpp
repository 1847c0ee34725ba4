// Mixed products on a GPU: some tile rows of C in tiles, the others row by row; against the host's bits in order, and
// the bound of a sum in any order.
#include "tests/spgemm/blocky_matrices.hpp"
#include "tests/spgemm/product_cuda_check.hpp"

#include "core/cuda/context.hpp"
#include "spgemm/cuda/tiles/tile_choice.hpp"
#include "spgemm/cuda/workflows/tiles.hpp"
#include "tessera/statistics.hpp"

#include <limits>
#include <set>
#include <utility>

namespace tessera {
namespace {

using cuda::TileChoice;
using cuda::TileShare;
using testing::Block;
using testing::grid_with_blocks;
using testing::insert_blocks;
using testing::insert_grid;
using testing::matrix_of;

constexpr double any_gain = -std::numeric_limits<double>::infinity();

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Tiles of a tile row: their columns.
std::set<index_t> tiles_of(const Csr<double>& a, index_t tile_row) {
  std::set<index_t> tiles;
  for (index_t i = 8 * tile_row; i < std::min(8 * tile_row + 8, a.rows()); ++i) {
    for (offset_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) tiles.insert(a.columns()[k] / 8);
  }
  return tiles;
}

/// Tile rows with products that the rule forms in tiles, by the book; -1 where it forms all tile rows.
int tile_rows_by_rule(const Csr<double>& a, const Csr<double>& b, TileShare share) {
  int formed = 0;
  bool all = true;
  for (index_t t = 0; 8 * t < a.rows(); ++t) {
    const std::set<index_t> tiles = tiles_of(a, t);
    double pairs = 0.0;
    for (const index_t tile : tiles) pairs += static_cast<double>(tiles_of(b, tile).size());
    const offset_t begin = a.row_offsets()[8 * t];
    const offset_t end = a.row_offsets()[std::min(8 * t + 8, a.rows())];
    double products = 0.0;
    for (offset_t k = begin; k < end; ++k) {
      const index_t j = a.columns()[k];
      products += static_cast<double>(b.row_offsets()[j + 1] - b.row_offsets()[j]);
    }
    const bool looked_at = share == TileShare::all || end - begin >= 128;
    const bool own = 8.0 * static_cast<double>(end - begin) >= 40.0 * static_cast<double>(tiles.size());
    const bool is_formed = looked_at && own && products >= 40.0 * pairs;
    all = all && is_formed;
    if (is_formed && pairs > 0.0) ++formed;
  }
  return all ? -1 : formed;
}

class MixedTilesOnGpu : public testing::CudaTest {
 protected:
  static SpgemmOptions options_of(Determinism determinism, SpgemmWorkflow workflow = SpgemmWorkflow::automatic) {
    auto options = testing::gpu_options(gpu(), workflow);
    options.determinism = determinism;
    return options;
  }

  template <class V, class T>
  static std::optional<Csr<T>> form(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options,
                                    const TileChoice& choice, SpgemmReport& report) {
    const Csr<T> left = a.to(gpu());
    const Csr<T> right = &a == &b ? Csr<T>() : b.to(gpu());
    auto c = cuda::form_in_tiles<V>(left.view(), &a == &b ? left.view() : right.view(), options, choice, report);
    if (!c) return std::nullopt;
    if constexpr (detail::has_values<V>) {
      return Csr<T>(a.rows(), b.cols(), std::move(c->offsets), std::move(c->columns), std::move(c->values),
                    Check::trusted)
          .to(Device{});
    } else {
      return Csr<T>::pattern(a.rows(), b.cols(), std::move(c->offsets), std::move(c->columns), Check::trusted)
          .to(Device{});
    }
  }

  /// Tile rows that the report says to be formed in tiles; -1 if the product is not mixed.
  static int tile_rows_in_tiles(const SpgemmReport& report) {
    const std::size_t end = report.reason.find(" tile rows by tiles");
    if (end == std::string::npos) return -1;
    const std::size_t of = report.reason.rfind(" of ", end);
    return std::stoi(report.reason.substr(report.reason.rfind(' ', of - 1) + 1));
  }

  template <class T>
  static Csr<double> structure_in_double(const Csr<T>& a) {
    return Csr<double>::pattern(a.rows(), a.cols(), a.row_offsets().to(Device{}), a.columns().to(Device{}),
                                Check::trusted);
  }

  static void check_report(const SpgemmReport& report, const SpgemmReport& expected, int in_tiles) {
    EXPECT_EQ(report.workflow, SpgemmWorkflow::tiles);
    EXPECT_EQ(report.fallback, "");
    EXPECT_EQ(report.products, expected.products);
    EXPECT_EQ(tile_rows_in_tiles(report), in_tiles) << report.reason;
    offset_t by_rows = 0;
    for (const SpgemmAccumulatorUse& use : report.accumulators) by_rows += use.products;
    EXPECT_LT(by_rows, std::max<offset_t>(expected.products, 1));
    EXPECT_EQ(by_rows == 0, report.accumulators.empty());
  }

  /// \returns tile rows of C formed in tiles, if others are not; else -1
  template <class T>
  static int check(const Csr<T>& a, const Csr<T>& b, TileShare share) {
    int in_tiles = 0;
    check(a, b, share, in_tiles);
    return in_tiles;
  }
  template <class T>
  static void check(const Csr<T>& a, const Csr<T>& b, TileShare share, int& in_tiles) {
    const SpgemmResult<T> expected = spgemm(a, b);
    in_tiles = tile_rows_by_rule(structure_in_double(a), structure_in_double(b), share);
    const TileChoice choice{share, "by a test", any_gain};
    SpgemmReport report;
    const auto ordered = form<T>(a, b, options_of(Determinism::gpu_to_gpu), choice, report);
    ASSERT_TRUE(ordered.has_value()) << report.fallback;
    EXPECT_EQ(report.determinism, Determinism::gpu_to_gpu);
    check_report(report, expected.report, in_tiles);
    testing::expect_identical(expected.matrix.view(), ordered->view());
    report = {};
    const auto any = form<T>(a, b, options_of(Determinism::not_guaranteed), choice, report);
    ASSERT_TRUE(any.has_value()) << report.fallback;
    check_report(report, expected.report, in_tiles);
    EXPECT_TRUE(testing::is_product(a.view(), b.view(), any->view()));
    if (report.determinism != Determinism::not_guaranteed) {
      SpgemmReport again;
      testing::expect_identical(any->view(),
                                form<T>(a, b, options_of(Determinism::not_guaranteed), choice, again)->view());
    }
    const auto pattern = form<detail::NoValue>(a, b, options_of(Determinism::not_guaranteed), choice, report);
    ASSERT_TRUE(pattern.has_value());
    EXPECT_TRUE(testing::same_bytes(pattern->columns().span(), expected.matrix.columns().span()));
    EXPECT_TRUE(testing::same_bytes(pattern->row_offsets().span(), expected.matrix.row_offsets().span()));
  }

  /// As `--estimate tiles`: all tile rows but those beyond the limits.
  static SpgemmReport check_by_name(const Csr<double>& a, const Csr<double>& b, int in_tiles,
                                    const std::string& limit) {
    const SpgemmResult<double> expected = spgemm(a, b);
    const auto ordered = spgemm(a, b, options_of(Determinism::gpu_to_gpu, SpgemmWorkflow::tiles));
    check_report(ordered.report, expected.report, in_tiles);
    EXPECT_TRUE(contains(ordered.report.reason, limit)) << ordered.report.reason;
    testing::expect_identical(expected.matrix.view(), ordered.matrix.to(Device{}).view());
    const auto any = spgemm(a, b, options_of(Determinism::not_guaranteed, SpgemmWorkflow::tiles));
    EXPECT_TRUE(testing::is_product(a.view(), b.view(), any.matrix.to(Device{}).view()));
    return any.report;
  }
};

/// Blocks at the top, across the border of tile rows, and in the last tile row, which is not whole.
TEST_F(MixedTilesOnGpu, DenseBlocksInAGrid) {
  const index_t rows = 403;
  const Block top{0, 40};
  const Block middle{100, 139};
  const Block last{371, 403};
  for (const std::vector<Block>& blocks :
       std::vector<std::vector<Block>>{{top}, {middle}, {last}, {top, middle, last}}) {
    SCOPED_TRACE(blocks.front().first);
    const auto a = grid_with_blocks(rows, blocks);
    EXPECT_GE(check(a, a, TileShare::some), 4);
    EXPECT_GE(check(a, transpose(a.view()), TileShare::some), 4);
    EXPECT_GE(check(a, a, TileShare::all), 4);
    if (HasFailure()) return;
  }
  const auto a = grid_with_blocks(rows, {top, middle});
  const auto single = Csr<float>(a.rows(), a.cols(), a.row_offsets().to(Device{}), a.columns().to(Device{}),
                                 Array<float>::copy_of(testing::random_vector<float>(a.nnz(), 5)), Check::full);
  EXPECT_GE(check(single, single, TileShare::some), 10);
  const auto pattern =
      Csr<double>::pattern(a.rows(), a.cols(), a.row_offsets().to(Device{}), a.columns().to(Device{}), Check::full);
  EXPECT_GE(check(pattern, a, TileShare::some), 10);
  EXPECT_GE(check(a, pattern, TileShare::all), 10);
}

/// Tile rows of A are full, but the rows of B that some of them meet are short: those do not pay.
TEST_F(MixedTilesOnGpu, FullTilesThatMeetPoorOnes) {
  const auto a = grid_with_blocks(160, {{0, 40}, {80, 120}});
  const auto b = matrix_of(160, 90, [](index_t k, std::set<index_t>& columns) {
    for (index_t j = 0; j < (k < 60 ? 30 : 1); ++j) columns.insert((7 * k) % 60 / 30 * 30 + j);
  });
  EXPECT_EQ(check(a, b, TileShare::some), 5);
}

TEST_F(MixedTilesOnGpu, AllOrNoTileRows) {
  const auto full = matrix_of(48, 48, [](index_t i, std::set<index_t>& columns) {
    insert_blocks(i, {{0, 24}, {24, 48}}, columns);
  });
  EXPECT_EQ(check(full, full, TileShare::some), -1);
  EXPECT_EQ(check(full, full, TileShare::all), -1);
  const auto grid = grid_with_blocks(203, {});
  for (const TileShare share : {TileShare::some, TileShare::all}) {
    SpgemmReport report;
    EXPECT_FALSE(form<double>(grid, grid, options_of(Determinism::not_guaranteed), {share, "", any_gain}, report));
    EXPECT_EQ(report.fallback, "no tile row pays: exact instead");
  }
  SpgemmReport report;
  const auto few = grid_with_blocks(203, {{0, 40}});
  EXPECT_FALSE(form<double>(few, few, options_of(Determinism::not_guaranteed), {TileShare::some, ""}, report));
  EXPECT_EQ(report.fallback, "few tile rows pay: exact instead");
  for (const auto& [m, k, n] : {std::tuple{0, 0, 0}, {0, 5, 3}, {5, 0, 3}, {20, 30, 40}}) {
    const auto empty_a = matrix_of(m, k, [](index_t, std::set<index_t>&) {});
    const auto empty_b = matrix_of(k, n, [](index_t, std::set<index_t>&) {});
    report = {};
    EXPECT_FALSE(form<double>(empty_a, empty_b, options_of(Determinism::not_guaranteed),
                              {TileShare::some, "", any_gain}, report));
  }
}

/// Rows of A that repeat the one before are counted once, but not across tile rows that are formed in tiles.
TEST_F(MixedTilesOnGpu, RepeatedRowsBesideTiles) {
  const auto a = matrix_of(240, 240, [](index_t i, std::set<index_t>& columns) {
    for (index_t k = 0; k < 10; ++k) columns.insert((i / 12 * 7 + 24 * k) % 240);
    // Rows of the block, all alike, continue in the tile rows beside them.
    if (i >= 60 && i < 132) columns.clear();
    if (i >= 60 && i < 132) insert_blocks(70, {{60, 132}}, columns);
  });
  EXPECT_GE(check(a, a, TileShare::some), 8);
  const auto thin = matrix_of(240, 240, [](index_t i, std::set<index_t>& columns) {
    for (index_t k = 0; k < 10; ++k) columns.insert((i / 24 * 7 + 24 * k) % 240);
    if (i % 24 < 8) columns.clear();
    if (i % 24 < 8) insert_blocks(100, {{96, 128}}, columns);
  });
  EXPECT_GE(check(thin, thin, TileShare::all), 8);
}

/// Eight rows with more tiles than a tile row may have, in A and in B.
TEST_F(MixedTilesOnGpu, HubRowsAmongBlocks) {
  const index_t wide = 8 * 513;
  const auto insert_hub = [](std::set<index_t>& columns) {
    for (index_t c = 0; c < 513; ++c) columns.insert(8 * c);
  };
  const auto a = matrix_of(61, wide, [&](index_t i, std::set<index_t>& columns) {
    if (i == 20) insert_hub(columns);
    for (index_t c = 0; c < 16; ++c) columns.insert(i / 8 * 64 + c);
  });
  const auto b = testing::with_row_lengths<double>(std::vector<index_t>(static_cast<std::size_t>(wide), 2), 50,
                                                   ValueStorage::weighted, 3);
  const SpgemmReport report = check_by_name(a, b, 7, "more than 512 tiles");
  EXPECT_TRUE(contains(report.reason, "7 of 8 tile rows by tiles, 8 rows with products row by row")) << report.reason;
  const auto of_blocks = matrix_of(64, 64, [](index_t i, std::set<index_t>& columns) {
    for (index_t c = 0; c < 8; ++c) columns.insert(i / 8 * 8 + c);
  });
  const auto hub_in_b = matrix_of(64, wide, [&](index_t i, std::set<index_t>& columns) {
    if (i == 30) insert_hub(columns);
    columns.insert(i);
  });
  static_cast<void>(check_by_name(of_blocks, hub_in_b, 7, "more than 512 tiles"));
  // A tile row of B that nothing meets is no obstacle.
  const auto upper = matrix_of(24, 64, [](index_t i, std::set<index_t>& columns) {
    for (index_t c = 0; c < 8; ++c) columns.insert(i / 8 * 8 + c);
  });
  const auto whole = spgemm(upper, hub_in_b, options_of(Determinism::gpu_to_gpu, SpgemmWorkflow::tiles));
  EXPECT_EQ(whole.report.workflow, SpgemmWorkflow::tiles);
  EXPECT_EQ(tile_rows_in_tiles(whole.report), -1) << whole.report.reason;
  testing::expect_identical(spgemm(upper, hub_in_b).matrix.view(), whole.matrix.to(Device{}).view());
}

TEST_F(MixedTilesOnGpu, WideRowsAmongBlocks) {
  const index_t wide = 2'000'000;
  const auto b = matrix_of(40, wide, [](index_t i, std::set<index_t>& columns) {
    for (index_t c = 0; c < 20; ++c) columns.insert(i / 8 * 8 + c);
    if (i == 17) columns.insert(wide - 1);
  });
  const auto a = matrix_of(37, 40, [](index_t i, std::set<index_t>& columns) {
    for (index_t c = 0; c < 8; ++c) columns.insert(i / 8 * 8 + c);
  });
  static_cast<void>(check_by_name(a, b, 4, "span more than 262144 columns"));
}

/// So many tiles of C in one tile row that shared memory does not hold a slot for each.
TEST_F(MixedTilesOnGpu, LongRowsOfCAmongOthers) {
  const index_t tiles = 500;
  const auto a = matrix_of(24, 320, [](index_t i, std::set<index_t>& columns) {
    for (index_t k = 0; k < (i < 8 ? 40 : 1); ++k) columns.insert(8 * k);
  });
  const auto b = matrix_of(320, 8 * 40 * tiles, [](index_t k, std::set<index_t>& columns) {
    for (index_t c = 0; c < tiles && k % 8 == 0; ++c) columns.insert(8 * (k / 8 * tiles + c));
  });
  static_cast<void>(check_by_name(a, b, 2, "eight rows"));
}

TEST_F(MixedTilesOnGpu, ValuesThatAreNotFiniteSpreadAsOnTheHost) {
  const auto finite = grid_with_blocks(203, {{50, 98}});
  const double infinity = std::numeric_limits<double>::infinity();
  for (const index_t row : {3, 60}) {
    for (const double bad : {infinity, std::numeric_limits<double>::quiet_NaN()}) {
      SCOPED_TRACE(std::to_string(row) + ": " + std::to_string(bad));
      std::vector<double> values(finite.values().begin(), finite.values().end());
      values[static_cast<std::size_t>(finite.row_offsets()[row]) + 1] = bad;
      const auto a = Csr<double>(finite.rows(), finite.cols(), finite.row_offsets().to(Device{}),
                                 finite.columns().to(Device{}), Array<double>::copy_of(values), Check::full);
      SpgemmReport report;
      const auto c = form<double>(a, a, options_of(Determinism::gpu_to_gpu), {TileShare::some, "", any_gain}, report);
      ASSERT_TRUE(c.has_value());
      testing::expect_identical(spgemm(a, a).matrix.view(), c->view());
      report = {};
      const auto any =
          form<double>(a, a, options_of(Determinism::not_guaranteed), {TileShare::some, "", any_gain}, report);
      // A bad value outside the tiles that are copied leaves these to tensor instructions.
      EXPECT_EQ(contains(report.reason, "not finite"), row == 60) << report.reason;
      for (std::int64_t k = 0; k < c->nnz(); ++k) {
        ASSERT_EQ(std::isfinite(c->values()[k]), std::isfinite(any->values()[k])) << k;
        ASSERT_EQ(std::isnan(c->values()[k]), std::isnan(any->values()[k])) << k;
      }
    }
  }
}

TEST_F(MixedTilesOnGpu, SumsThatOverflow) {
  const auto structure = grid_with_blocks(203, {{50, 98}});
  const auto a = Csr<double>(
      structure.rows(), structure.cols(), structure.row_offsets().to(Device{}), structure.columns().to(Device{}),
      Array<double>::copy_of(std::vector<double>(static_cast<std::size_t>(structure.nnz()), 1e200)), Check::full);
  SpgemmReport report;
  const auto c = form<double>(a, a, options_of(Determinism::not_guaranteed), {TileShare::some, "", any_gain}, report);
  for (const double value : c->values()) ASSERT_EQ(value, std::numeric_limits<double>::infinity());
}

TEST_F(MixedTilesOnGpu, KeepsToTheMemoryLimit) {
  const auto a = grid_with_blocks(403, {{50, 98}, {300, 403}});
  const auto expected = spgemm(a, a);
  auto options = options_of(Determinism::gpu_to_gpu);
  SpgemmReport whole;
  ASSERT_TRUE(form<double>(a, a, options, {TileShare::some, "", any_gain}, whole).has_value());
  int formed = 0;
  for (std::uint64_t limit = whole.peak_bytes; limit > 64; limit -= limit / 5) {
    SCOPED_TRACE(limit);
    options.memory_limit_bytes = limit;
    SpgemmReport report;
    const auto c = form<double>(a, a, options, {TileShare::some, "", any_gain}, report);
    EXPECT_EQ(c.has_value(), report.fallback.empty());
    if (!c) continue;
    ++formed;
    EXPECT_LE(report.peak_bytes, limit);
    testing::expect_identical(expected.matrix.view(), c->view());
  }
  EXPECT_EQ(formed, 1) << "the whole";
}

TEST_F(MixedTilesOnGpu, AsynchronousProductsAreTheSame) {
  const auto a = grid_with_blocks(403, {{50, 98}});
  auto options = options_of(Determinism::run_to_run);
  const TileChoice choice{TileShare::some, "", any_gain};
  SpgemmReport report;
  const auto expected = form<double>(a, a, options, choice, report);
  options.asynchronous = true;
  testing::expect_identical(expected->view(), form<double>(a, a, options, choice, report)->view());
}

/// Half a million rows of a grid, a tenth of them in dense blocks, which have nearly all products.
TEST_F(MixedTilesOnGpu, AutomaticTakesThePartThatPays) {
  if (testing::gpu_is_emulated || testing::sparing()) GTEST_SKIP() << "too many products";
  if (!cuda::has_fast_fp64_tensor(cuda::Context::of(gpu()).limits())) GTEST_SKIP() << "no fast tensor cores in fp64";
  const index_t rows = 500'000;
  const index_t size = 64;
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t i = 0; i < rows; ++i) {
    std::set<index_t> of_row;
    insert_grid(i, rows, 700, of_row);
    const index_t begin = i / size * size;
    if (i / size % 10 == 3 && begin + size <= rows) insert_blocks(i, {{begin, begin + size}}, of_row);
    columns.insert(columns.end(), of_row.begin(), of_row.end());
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto a = testing::make_csr<double>(
      rows, rows, offsets, columns, testing::random_vector<double>(static_cast<std::int64_t>(columns.size()), 3));
  const auto result = spgemm(a, a, options_of(Determinism::not_guaranteed));
  EXPECT_EQ(result.report.workflow, SpgemmWorkflow::tiles) << result.report.reason;
  EXPECT_EQ(tile_rows_in_tiles(result.report), 781 * 8) << result.report.reason;
  EXPECT_TRUE(testing::is_product(a.view(), a.view(), result.matrix.to(Device{}).view()));
  EXPECT_EQ(spgemm(a, a, options_of(Determinism::gpu_to_gpu)).report.workflow, SpgemmWorkflow::symbolic);
}

}  // namespace
}  // namespace tessera
