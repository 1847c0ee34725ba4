// The workflow `tiles` on a GPU: tensor instructions within the bound of a sum in any order, and entry by entry with
// the bits of the host; its limits, its memory, values that are not finite.
#include "tests/spgemm/product_cuda_check.hpp"

#include "core/cuda/context.hpp"
#include "spgemm/cuda/tiles/tile_choice.hpp"
#include "tessera/generators.hpp"
#include "tessera/statistics.hpp"
#include "tests/support/make_csr.hpp"

namespace tessera {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class TilesOnGpu : public testing::CudaTest {
 protected:
  static SpgemmOptions options_of(Determinism determinism) {
    auto options = testing::gpu_options(gpu(), SpgemmWorkflow::tiles);
    options.determinism = determinism;
    return options;
  }

  /// In the order of A's rows: the bits of the host.
  template <class T>
  static void check_ordered(const Csr<T>& a, const Csr<T>& b, const SpgemmResult<T>& expected) {
    const auto ordered = spgemm(a, b, options_of(Determinism::gpu_to_gpu));
    EXPECT_EQ(ordered.report.workflow, SpgemmWorkflow::tiles) << ordered.report.fallback;
    EXPECT_EQ(ordered.report.determinism, Determinism::gpu_to_gpu);
    EXPECT_EQ(ordered.report.products, expected.report.products);
    testing::expect_identical(expected.matrix.view(), ordered.matrix.to(Device{}).view());
  }

  /// In any order: the bound; the same bits in every run.
  template <class T>
  static void check_any_order(const Csr<T>& a, const Csr<T>& b) {
    const auto any = spgemm(a, b, options_of(Determinism::not_guaranteed));
    EXPECT_EQ(any.report.workflow, SpgemmWorkflow::tiles) << any.report.fallback;
    const Csr<T> found = any.matrix.to(Device{});
    EXPECT_TRUE(testing::is_product(a.view(), b.view(), found.view()));
    const auto again = spgemm(a, b, options_of(Determinism::run_to_run));
    EXPECT_NE(again.report.determinism, Determinism::not_guaranteed);
    testing::expect_identical(found.view(), again.matrix.to(Device{}).view());
  }

  template <class T>
  static void check(const Csr<T>& a, const Csr<T>& b) {
    const SpgemmResult<T> expected = spgemm(a, b);
    check_ordered(a, b, expected);
    check_any_order(a, b);
    const Csr<T> pattern = spgemm_pattern(a, b, options_of(Determinism::not_guaranteed)).matrix.to(Device{});
    EXPECT_TRUE(testing::same_bytes(pattern.columns().span(), expected.matrix.columns().span()));
    EXPECT_TRUE(testing::same_bytes(pattern.row_offsets().span(), expected.matrix.row_offsets().span()));
  }

  /// The product is right, and `reason` says why it was not formed in tiles.
  static void check_given_up(const Csr<double>& a, const Csr<double>& b, const std::string& reason) {
    const auto result = spgemm(a, b, options_of(Determinism::gpu_to_gpu));
    EXPECT_EQ(result.report.workflow, SpgemmWorkflow::symbolic);
    EXPECT_TRUE(contains(result.report.fallback, reason) && contains(result.report.fallback, "exact instead"))
        << result.report.fallback;
    testing::expect_identical(spgemm(a, b).matrix.view(), result.matrix.to(Device{}).view());
  }

  /// A whole tile of entries in each diagonal block.
  static Csr<double> dense_blocks(index_t blocks, const std::vector<double>& values) {
    std::vector<offset_t> offsets{0};
    std::vector<index_t> columns;
    for (index_t i = 0; i < 8 * blocks; ++i) {
      for (index_t c = 0; c < 8; ++c) columns.push_back(i / 8 * 8 + c);
      offsets.push_back(static_cast<offset_t>(columns.size()));
    }
    return testing::make_csr<double>(8 * blocks, 8 * blocks, offsets, columns, values);
  }

  /// One row with entries in these columns, seven empty ones.
  static Csr<double> one_row(index_t cols, const std::vector<index_t>& columns) {
    std::vector<offset_t> offsets(9, static_cast<offset_t>(columns.size()));
    offsets[0] = 0;
    return testing::make_csr<double>(8, cols, offsets, columns, std::vector<double>(columns.size(), 0.5));
  }
};

TEST_F(TilesOnGpu, GeneratedFamilies) {
  const bool small = testing::gpu_is_emulated || testing::sparing();
  const std::vector<const char*> specs = small ? std::vector<const char*>{"band:120,width=20", "fem3d:216"}
                                               : std::vector<const char*>{"band:3000,width=120", "fem3d:8000",
                                                                          "elasticity3d:14", "rmat:4096", "lap2d:3000"};
  for (const char* spec : specs) {
    SCOPED_TRACE(spec);
    const auto a = generate<double>(parse_generator(spec));
    check(a, a);
    check(a, transpose(a.view()));
    const auto single = generate<float>(parse_generator(spec));
    check(single, single);
    if (HasFailure()) return;
  }
}

TEST_F(TilesOnGpu, SizesBesideMultiplesOfEight) {
  for (const index_t m : {1, 7, 9, 17}) {
    for (const index_t k : {1, 8, 15}) {
      const index_t n = (m + 3 * k) % 24 + 1;
      SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n));
      const auto rows = static_cast<std::size_t>(m);
      const auto inner = static_cast<std::size_t>(k);
      const auto a = testing::with_row_lengths<double>(std::vector<index_t>(rows, (k + 1) / 2), k,
                                                       ValueStorage::weighted, static_cast<std::uint64_t>(m + k));
      const auto b = testing::with_row_lengths<double>(std::vector<index_t>(inner, (n + 2) / 3), n,
                                                       ValueStorage::weighted, static_cast<std::uint64_t>(n));
      check(a, b);
    }
  }
}

TEST_F(TilesOnGpu, EmptyFactors) {
  const auto empty = [](index_t rows, index_t cols) {
    return testing::make_pattern<double>(rows, cols, std::vector<offset_t>(static_cast<std::size_t>(rows) + 1, 0), {});
  };
  for (const auto& [m, k, n] : {std::tuple{0, 0, 0}, {0, 5, 3}, {5, 0, 3}, {9, 9, 0}, {20, 30, 40}}) {
    SCOPED_TRACE(m);
    check(empty(m, k), empty(k, n));
  }
}

TEST_F(TilesOnGpu, PatternsGiveCounts) {
  const auto lengths = std::vector<index_t>(40, 9);
  const auto pattern = testing::with_row_lengths<double>(lengths, 40, ValueStorage::pattern, 3);
  const auto weighted = testing::with_row_lengths<double>(lengths, 40, ValueStorage::weighted, 4);
  check(pattern, pattern);
  check(pattern, weighted);
  check(weighted, pattern);
  const auto single = testing::with_row_lengths<float>(lengths, 40, ValueStorage::pattern, 3);
  check(single, single);
}

/// Rows with more entries than a warp keeps in registers, and more than 32 tiles per tile row.
TEST_F(TilesOnGpu, LongRowsAmongEmptyOnes) {
  const index_t cols = testing::repetitions(3000, 700);
  std::vector<index_t> lengths(30, 0);
  lengths[3] = cols / 2;
  lengths[8] = 1;
  lengths[12] = 300;
  lengths[29] = cols - 1;
  const auto a = testing::with_row_lengths<double>(lengths, cols, ValueStorage::weighted, 5);
  const auto b = testing::with_row_lengths<double>(std::vector<index_t>(static_cast<std::size_t>(cols), 3), 50,
                                                   ValueStorage::weighted, 6);
  check(a, b);
}

/// Tiles of one entry are eight times as many as there is room for at first.
TEST_F(TilesOnGpu, MoreTilesThanExpected) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t i = 0; i < 64; ++i) {
    for (index_t c = 0; c < 20; ++c) columns.push_back(160 * (i % 8) + 8 * c + i % 3);
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto values = testing::random_vector<double>(static_cast<std::int64_t>(columns.size()), 7);
  const auto a = testing::make_csr<double>(64, 1300, offsets, columns, values);
  check(a, transpose(a.view()));
}

TEST_F(TilesOnGpu, ReportSaysFillPairsAndArithmetic) {
  const auto a = dense_blocks(5, testing::random_vector<double>(5 * 64, 1));
  const std::string facts = "chosen by name; tiles are 1 full, 5 of 5 pairs are not empty, ";
  const SpgemmReport any = spgemm(a, a, options_of(Determinism::not_guaranteed)).report;
  EXPECT_EQ(any.reason, facts + "tensor instructions");
  EXPECT_EQ(any.determinism, Determinism::run_to_run);
  EXPECT_EQ(any.products, 5 * 512);
  EXPECT_TRUE(any.accumulators.empty());
  EXPECT_EQ(spgemm(a, a, options_of(Determinism::gpu_to_gpu)).report.reason,
            facts + "entry by entry for the bits of the host");
}

TEST_F(TilesOnGpu, EmptyPairsAreLeftOut) {
  const auto a = testing::make_csr<double>(2, 3, {0, 1, 2}, {0, 0}, {1.0, 2.0});
  const auto b = testing::make_csr<double>(3, 2, {0, 0, 2, 2}, {0, 1}, {3.0, 4.0});
  check(a, b);
  const SpgemmReport report = spgemm(a, b, options_of(Determinism::not_guaranteed)).report;
  EXPECT_TRUE(contains(report.reason, "0 of 1 pairs")) << report.reason;
}

/// Padding is 0, and 0 times infinity is none: such a product is summed entry by entry.
TEST_F(TilesOnGpu, ValuesThatAreNotFiniteSpreadAsOnTheHost) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
    SCOPED_TRACE(bad);
    auto values = testing::random_vector<double>(5 * 64, 1);
    const auto b = dense_blocks(5, values);
    const auto band = testing::with_row_lengths<double>(std::vector<index_t>(40, 6), 40, ValueStorage::weighted, 2);
    values[70] = bad;
    const auto a = dense_blocks(5, values);
    for (const auto* right : {&b, &band}) {
      const auto result = spgemm(a, *right, options_of(Determinism::not_guaranteed));
      EXPECT_TRUE(contains(result.report.reason, "not finite")) << result.report.reason;
      EXPECT_EQ(result.report.determinism, Determinism::gpu_to_gpu);
      testing::expect_identical(spgemm(a, *right).matrix.view(), result.matrix.to(Device{}).view());
    }
    const auto from_right = spgemm(band, a, options_of(Determinism::not_guaranteed));
    testing::expect_identical(spgemm(band, a).matrix.view(), from_right.matrix.to(Device{}).view());
  }
}

/// Finite factors, infinite sums: the same infinities as in sums entry by entry.
TEST_F(TilesOnGpu, SumsThatOverflow) {
  const auto a = dense_blocks(2, std::vector<double>(128, 1e200));
  const auto result = spgemm(a, a, options_of(Determinism::not_guaranteed));
  EXPECT_EQ(result.report.determinism, Determinism::run_to_run);
  const auto c = result.matrix.to(Device{});
  for (const double value : c.values()) ASSERT_EQ(value, std::numeric_limits<double>::infinity());
}

TEST_F(TilesOnGpu, CancellationLeavesAnEntry) {
  const auto a = testing::make_csr<double>(1, 2, {0, 2}, {0, 1}, {1.0, -1.0});
  const auto b = testing::make_csr<double>(2, 2, {0, 2, 3}, {0, 1, 1}, {3.0, 5.0, 5.0});
  const auto c = spgemm(a, b, options_of(Determinism::not_guaranteed)).matrix.to(Device{});
  ASSERT_EQ(c.nnz(), 2);
  EXPECT_EQ(c.values()[0], 3.0);
  EXPECT_EQ(c.values()[1], 0.0);
}

TEST_F(TilesOnGpu, GivesUpWideTileRows) {
  const index_t wide = 2'000'000;
  const auto b = testing::make_pattern<double>(2, wide, {0, 2, 3}, {0, wide - 1, 5});
  const auto a = testing::make_csr<double>(1, 2, {0, 2}, {0, 1}, {1.0, 2.0});
  check_given_up(a, b, "eight rows span more than 262144 columns");
}

TEST_F(TilesOnGpu, GivesUpTileRowsWithManyTiles) {
  std::vector<index_t> columns;
  for (index_t c = 0; c < 513; ++c) columns.push_back(8 * c);
  const auto a = one_row(8 * 513, columns);
  const auto b = testing::with_row_lengths<double>(std::vector<index_t>(8 * 513, 1), 9, ValueStorage::weighted, 3);
  check_given_up(a, b, "more than 512 tiles");
  columns.pop_back();
  check(one_row(8 * 513, columns), b);
}

/// Few tiles of B in few rows, but so many of C that shared memory does not hold a slot for each.
TEST_F(TilesOnGpu, GivesUpRowsOfCWithManyTiles) {
  const index_t tiles = 500;
  std::vector<index_t> inner;
  for (index_t k = 0; k < 40; ++k) inner.push_back(8 * k);
  const auto a = one_row(320, inner);
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t k = 0; k < 320; ++k) {
    for (index_t c = 0; c < tiles && k % 8 == 0; ++c) columns.push_back(8 * (k / 8 * tiles + c));
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto b = testing::make_pattern<double>(320, 8 * 40 * tiles, offsets, columns);
  check_given_up(a, b, "shared memory");
}

TEST_F(TilesOnGpu, KeepsToTheMemoryLimit) {
  const auto a = generate<double>(parse_generator(testing::gpu_is_emulated ? "fem3d:216" : "fem3d:8000"));
  auto options = options_of(Determinism::gpu_to_gpu);
  const auto whole = spgemm(a, a, options);
  int in_tiles = 0;
  int fallen = 0;
  for (std::uint64_t limit = whole.report.peak_bytes; fallen < 2; limit -= limit / 4) {
    SCOPED_TRACE(limit);
    options.memory_limit_bytes = limit;
    const auto result = spgemm(a, a, options);
    EXPECT_LE(result.report.peak_bytes, limit);
    testing::expect_identical(whole.matrix.to(Device{}).view(), result.matrix.to(Device{}).view());
    const bool is_tiles = result.report.workflow == SpgemmWorkflow::tiles;
    EXPECT_EQ(result.report.fallback.empty(), is_tiles);
    (is_tiles ? in_tiles : fallen) += 1;
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_EQ(in_tiles, 1) << "the whole";
}

TEST_F(TilesOnGpu, AsynchronousProductsAreTheSame) {
  const auto a = dense_blocks(6, testing::random_vector<double>(6 * 64, 9));
  auto options = options_of(Determinism::not_guaranteed);
  const auto expected = spgemm(a, a, options);
  options.asynchronous = true;
  testing::expect_identical(expected.matrix.to(Device{}).view(), spgemm(a, a, options).matrix.to(Device{}).view());
}

TEST_F(TilesOnGpu, ComposedProductsAndPlans) {
  const auto a = generate<double>(parse_generator(testing::gpu_is_emulated ? "band:48,width=9" : "band:4000,width=40"));
  const auto link = testing::with_row_lengths<double>(std::vector<index_t>(static_cast<std::size_t>(a.rows()), 1),
                                                      a.rows() / 4, ValueStorage::weighted, 3);
  const auto options = options_of(Determinism::gpu_to_gpu);
  const auto product = galerkin(transpose(link.view()), a, link, options);
  EXPECT_EQ(product.first.workflow, SpgemmWorkflow::tiles) << product.first.fallback;
  testing::expect_identical(galerkin(transpose(link.view()), a, link).matrix.view(),
                            product.matrix.to(Device{}).view());
  testing::expect_identical(matrix_power(a, 3).matrix.view(), matrix_power(a, 3, options).matrix.to(Device{}).view());
  SpgemmPlan<double> plan(Csr<double>::copy_of(a.view()), Csr<double>::copy_of(a.view()), options);
  EXPECT_EQ(plan.report().workflow, SpgemmWorkflow::tiles);
  testing::expect_identical(spgemm(a, a).matrix.view(), plan.multiply().to(Device{}).view());
}

/// A band fills its tiles, 27 points in three dimensions do not.
TEST_F(TilesOnGpu, AutomaticTakesTilesThatAreFull) {
  if (testing::gpu_is_emulated || testing::sparing()) GTEST_SKIP() << "too many products";
  if (!cuda::has_fast_fp64_tensor(cuda::Context::of(gpu()).limits())) GTEST_SKIP() << "no fast tensor cores in fp64";
  auto options = testing::gpu_options(gpu(), SpgemmWorkflow::automatic);
  for (const auto& [spec, is_full] : {std::pair{"band:20000,width=80", true}, {"fem3d:60000", false}}) {
    SCOPED_TRACE(spec);
    const auto a = generate<double>(parse_generator(spec));
    options.determinism = Determinism::not_guaranteed;
    const auto result = spgemm(a, a, options);
    EXPECT_EQ(result.report.workflow, is_full ? SpgemmWorkflow::tiles : SpgemmWorkflow::symbolic);
    EXPECT_EQ(contains(result.report.reason, "sampled tiles are"), is_full) << result.report.reason;
    EXPECT_TRUE(testing::is_product(a.view(), a.view(), result.matrix.to(Device{}).view()));
    options.determinism = Determinism::gpu_to_gpu;
    EXPECT_EQ(spgemm(a, a, options).report.workflow, SpgemmWorkflow::symbolic) << "tensor instructions keep less";
    const auto single = generate<float>(parse_generator(spec));
    options.determinism = Determinism::not_guaranteed;
    EXPECT_EQ(spgemm(single, single, options).report.workflow, SpgemmWorkflow::symbolic);
  }
}

}  // namespace
}  // namespace tessera
