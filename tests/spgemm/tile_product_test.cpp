// Products and powers of matrices in tiles on the host, against those in CSR and the long-double oracle.
#include "tessera/generators.hpp"
#include "tests/spgemm/tile_product_check.hpp"
#include "tests/support/make_csr.hpp"
#include "tests/support/small_grain.hpp"

namespace tessera {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

template <class T>
TileProduct<T> multiply(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options) {
  const TileMatrix<T> left = to_tiles(a);
  return &a == &b ? spgemm(left, left, options) : spgemm(left, to_tiles(b), options);
}

template <class T>
void check_all(ValueStorage storage) {
  int threads = 0;
  for (const auto& [name, a, b] : testing::products_in_tiles<T>(storage)) {
    SCOPED_TRACE(name);
    SpgemmOptions options;
    options.device = Device::host(1 + threads++ % 3);
    const TileProduct<T> product = multiply(a, b, options);
    testing::expect_product_in_tiles(a, b, product);
    EXPECT_EQ(product.report.workflow, SpgemmWorkflow::tiles);
    EXPECT_EQ(product.report.fallback, "");
    EXPECT_EQ(product.report.determinism, Determinism::gpu_to_gpu);
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
}

TEST(TileProduct, HasTheBitsOfTheProductInCsr) { check_all<double>(ValueStorage::weighted); }
TEST(TileProduct, HasTheBitsOfTheProductInCsrInSinglePrecision) { check_all<float>(ValueStorage::weighted); }
TEST(TileProduct, CountsWhereFactorsArePatterns) {
  check_all<double>(ValueStorage::pattern);
  check_all<float>(ValueStorage::pattern);
  const auto pattern = testing::random_windows<double>(40, 40, 12, 0.5, ValueStorage::pattern, 1);
  const auto weighted = testing::random_windows<double>(40, 40, 12, 0.5, ValueStorage::weighted, 2);
  testing::expect_product_in_tiles(pattern, weighted, multiply(pattern, weighted, {}));
  testing::expect_product_in_tiles(weighted, pattern, multiply(weighted, pattern, {}));
}

TEST(TileProduct, GeneratedFamiliesOnManyThreads) {
  const testing::SmallGrain grain;
  for (const char* spec : {"band:900,width=60", "fem3d:2000", "rmat:1024", "elasticity3d:5"}) {
    SCOPED_TRACE(spec);
    const auto a = generate<double>(parse_generator(spec));
    for (const int threads : {1, 3}) {
      SpgemmOptions options;
      options.device = Device::host(threads);
      const TileProduct<double> product = multiply(a, a, options);
      testing::expect_product_in_tiles(a, a, product);
      EXPECT_EQ(product.report.threads, threads);
    }
  }
}

TEST(TileProduct, ReportSaysPairs) {
  const auto a = testing::diagonal_blocks(10, std::vector<double>(640, 1.0));
  const SpgemmReport report = multiply(a, a, {}).report;
  EXPECT_EQ(report.reason, "the factors are in tiles; 10 of 10 pairs are not empty");
  EXPECT_EQ(report.products, 5120);
  EXPECT_EQ(report.expansion, 8.0);
  EXPECT_GE(report.peak_bytes, 640 * sizeof(double));
}

/// The tile of A has column 0 alone, that of B row 1 alone: they meet, but have no product, so that C has no tile.
TEST(TileProduct, EmptyPairsLeaveNoTile) {
  const auto a = testing::make_csr<double>(2, 3, {0, 1, 2}, {0, 0}, {1.0, 2.0});
  const auto b = testing::make_csr<double>(3, 2, {0, 0, 2, 2}, {0, 1}, {3.0, 4.0});
  const auto product = multiply(a, b, {});
  EXPECT_EQ(product.matrix.tiles(), 0);
  EXPECT_EQ(product.matrix.nnz(), 0);
  testing::expect_product_in_tiles(a, b, product);
}

TEST(TileProduct, CancellationLeavesAnEntry) {
  const auto a = testing::make_csr<double>(1, 2, {0, 2}, {0, 1}, {1.0, -1.0});
  const auto b = testing::make_csr<double>(2, 2, {0, 2, 3}, {0, 1, 1}, {3.0, 5.0, 5.0});
  const TileMatrix<double> c = multiply(a, b, {}).matrix;
  ASSERT_EQ(c.nnz(), 2);
  EXPECT_EQ(c.view().values[0], 3.0);
  EXPECT_EQ(c.view().values[1], 0.0);
}

TEST(TileProduct, ValuesThatAreNotFiniteSpreadAsInCsr) {
  for (const double bad : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    auto values = testing::random_vector<double>(5 * 64, 1);
    values[70] = bad;
    const auto a = testing::diagonal_blocks(5, values);
    const auto b = testing::random_windows<double>(40, 40, 9, 0.5, ValueStorage::weighted, 3);
    const TileMatrix<double> c = multiply(a, b, {}).matrix;
    testing::expect_identical(spgemm(a, b).matrix.view(), to_csr(c).view());
  }
}

TEST(TileProduct, OtherWorkflowsAreFormedInCsr) {
  const auto a = testing::random_windows<double>(90, 90, 20, 0.5, ValueStorage::weighted, 4);
  for (const SpgemmWorkflow workflow : {SpgemmWorkflow::symbolic, SpgemmWorkflow::hll, SpgemmWorkflow::esc}) {
    SpgemmOptions options;
    options.workflow = workflow;
    const TileProduct<double> product = multiply(a, a, options);
    EXPECT_EQ(product.report.workflow, workflow);
    EXPECT_EQ(product.report.fallback, "");
    testing::expect_product_in_tiles(a, a, product);
  }
}

/// Every limit is kept, down to one that nothing fits into. One long row of C makes the sums of tiles larger than a
/// product in CSR: below what they need, exact serves for a while.
TEST(TileProduct, KeepsToTheMemoryLimit) {
  std::vector<index_t> lengths(400, 2);
  lengths[100] = 400;
  const auto a = testing::with_row_lengths<double>(lengths, 400, ValueStorage::weighted, 5);
  const auto b = testing::with_row_lengths<double>(std::vector<index_t>(400, 3), 9000, ValueStorage::weighted, 6);
  SpgemmOptions options;
  options.device = Device::host(8);
  int in_tiles = 0;
  int fallen = 0;
  bool fits = true;
  for (std::uint64_t limit = multiply(a, b, options).report.peak_bytes; fits; limit -= limit / 8) {
    SCOPED_TRACE(limit);
    options.memory_limit_bytes = limit;
    try {
      const TileProduct<double> product = multiply(a, b, options);
      EXPECT_LE(product.report.peak_bytes, limit);
      const bool is_tiles = product.report.workflow == SpgemmWorkflow::tiles;
      EXPECT_EQ(contains(product.report.fallback, "exact instead"), !is_tiles) << product.report.fallback;
      (is_tiles ? in_tiles : fallen) += 1;
      testing::expect_product_in_tiles(a, b, product);
    } catch (const OutOfMemory&) {
      fits = false;
    }
  }
  EXPECT_EQ(in_tiles, 1) << "the whole";
  EXPECT_GE(fallen, 1);
}

TEST(TileProduct, RefusesSizesThatDoNotMatch) {
  const auto a = to_tiles(testing::random_windows<double>(5, 6, 6, 0.5, ValueStorage::weighted, 1));
  try {
    static_cast<void>(spgemm(a, a));
    FAIL();
  } catch (const DimensionError& error) {
    EXPECT_STREQ(error.what(), "A is 5 x 6 and B is 5 x 6: the columns of A must be as many as the rows of B");
  }
  EXPECT_THROW(static_cast<void>(matrix_power(a, 2)), DimensionError);
  const auto square = to_tiles(testing::random_windows<double>(6, 6, 6, 0.5, ValueStorage::weighted, 1));
  EXPECT_THROW(static_cast<void>(matrix_power(square, -1)), InvalidArgument);
  SpgemmOptions options;
  options.workflow = static_cast<SpgemmWorkflow>(99);
  EXPECT_THROW(static_cast<void>(spgemm(square, square, options)), InvalidArgument);
}

TEST(TilePower, HasTheBitsOfThePowerInCsr) {
  for (const ValueStorage storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    const auto a = testing::random_windows<double>(70, 70, 11, 0.4, storage, 6);
    for (const int k : {0, 1, 2, 3, 4, 7}) {
      SCOPED_TRACE(k);
      const MatrixPower<double> expected = matrix_power(a, k, {}, PowerOrder::binary);
      const TilePower<double> found = matrix_power(to_tiles(a), k);
      EXPECT_EQ(found.products.size(), expected.products.size());
      ASSERT_NO_THROW(validate(found.matrix.view()));
      testing::expect_identical(expected.matrix.view(), to_csr(found.matrix).view());
    }
  }
}

/// On a path, (A^k)_ij counts the walks of length k from i to j: with steps to the left and right of a line, binomials.
TEST(TilePower, CountsWalks) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t i = 0; i < 41; ++i) {
    if (i > 0) columns.push_back(i - 1);
    if (i < 40) columns.push_back(i + 1);
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto path = to_tiles(testing::make_pattern<double>(41, 41, offsets, columns));
  const Csr<double> walks = to_csr(matrix_power(path, 6).matrix);
  // From the middle nothing meets the ends: C(6, 3 + d) walks to a distance of 2 d.
  const std::vector<double> expected{1, 6, 15, 20, 15, 6, 1};
  ASSERT_EQ(walks.row_offsets()[21] - walks.row_offsets()[20], 7);
  for (std::size_t d = 0; d < expected.size(); ++d) {
    const offset_t k = walks.row_offsets()[20] + static_cast<offset_t>(d);
    EXPECT_EQ(walks.columns()[k], 14 + 2 * static_cast<index_t>(d));
    EXPECT_EQ(walks.values()[k], expected[d]);
  }
}

TEST(TilePower, CountsThePowerSoFarAgainstTheLimit) {
  const auto a = to_tiles(testing::random_windows<double>(200, 200, 30, 0.5, ValueStorage::weighted, 6));
  const TilePower<double> power = matrix_power(a, 3);
  SpgemmOptions options;
  options.memory_limit_bytes = power.products[1].peak_bytes;
  EXPECT_THROW(static_cast<void>(matrix_power(a, 3, options)), OutOfMemory);
}

}  // namespace
}  // namespace tessera
