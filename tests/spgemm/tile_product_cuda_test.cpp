// Products of matrices in tiles on a GPU: tensor instructions within the bound of a sum in any order, and entry by
// entry with the bits of the host; limits, memory, values that are not finite.
#include "tests/spgemm/product_cuda_check.hpp"

#include "tessera/generators.hpp"
#include "tessera/statistics.hpp"
#include "tests/spgemm/tile_product_check.hpp"
#include "tests/support/make_csr.hpp"

#include <algorithm>

namespace tessera {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class TileProductOnGpu : public testing::CudaTest {
 protected:
  static SpgemmOptions options_of(Determinism determinism) {
    SpgemmOptions options;
    options.device = gpu();
    options.determinism = determinism;
    return options;
  }

  template <class T>
  static TileProduct<T> multiply(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options) {
    const TileMatrix<T> left = to_tiles(a.to(gpu()));
    return &a == &b ? spgemm(left, left, options) : spgemm(left, to_tiles(b.to(gpu())), options);
  }

  /// In the order of A's rows the bits of the host; else the bound, and the same bits in every run.
  template <class T>
  static void check(const Csr<T>& a, const Csr<T>& b) {
    const auto ordered = multiply(a, b, options_of(Determinism::gpu_to_gpu));
    EXPECT_EQ(ordered.report.workflow, SpgemmWorkflow::tiles) << ordered.report.fallback;
    EXPECT_EQ(ordered.report.determinism, Determinism::gpu_to_gpu);
    EXPECT_EQ(ordered.matrix.device(), gpu());
    testing::expect_product_in_tiles(a, b, ordered);
    const auto any = multiply(a, b, options_of(Determinism::not_guaranteed));
    EXPECT_EQ(any.report.workflow, SpgemmWorkflow::tiles) << any.report.fallback;
    testing::expect_product_in_any_order(a, b, any);
    const auto again = multiply(a, b, options_of(Determinism::run_to_run));
    testing::expect_identical_tiles(any.matrix.to(Device{}).view(), again.matrix.to(Device{}).view());
  }

  template <class T>
  static void check_all(ValueStorage storage) {
    for (const auto& [name, a, b] : testing::products_in_tiles<T>(storage)) {
      SCOPED_TRACE(name);
      check(a, b);
      ASSERT_FALSE(HasFailure());
    }
  }

  /// The product is right, and `reason` says why it was not formed in tiles.
  static void check_given_up(const Csr<double>& a, const Csr<double>& b, const std::string& reason) {
    const auto result = multiply(a, b, options_of(Determinism::gpu_to_gpu));
    EXPECT_EQ(result.report.workflow, SpgemmWorkflow::symbolic);
    EXPECT_TRUE(contains(result.report.fallback, reason) && contains(result.report.fallback, "exact instead"))
        << result.report.fallback;
    testing::expect_product_in_tiles(a, b, result);
  }
};

TEST_F(TileProductOnGpu, Doubles) { check_all<double>(ValueStorage::weighted); }
TEST_F(TileProductOnGpu, Floats) { check_all<float>(ValueStorage::weighted); }
TEST_F(TileProductOnGpu, PatternsGiveCounts) {
  check_all<double>(ValueStorage::pattern);
  const auto pattern = testing::random_windows<double>(40, 40, 12, 0.5, ValueStorage::pattern, 1);
  const auto weighted = testing::random_windows<double>(40, 40, 12, 0.5, ValueStorage::weighted, 2);
  check(pattern, weighted);
  check(weighted, pattern);
  const auto single = testing::random_windows<float>(40, 40, 12, 0.5, ValueStorage::pattern, 1);
  check(single, single);
}

TEST_F(TileProductOnGpu, GeneratedFamilies) {
  const bool small = testing::gpu_is_emulated || testing::sparing();
  const std::vector<const char*> specs = small ? std::vector<const char*>{"band:120,width=20", "fem3d:216"}
                                               : std::vector<const char*>{"band:3000,width=120", "fem3d:8000",
                                                                          "elasticity3d:14", "rmat:4096", "lap2d:3000"};
  for (const char* spec : specs) {
    SCOPED_TRACE(spec);
    const auto a = generate<double>(parse_generator(spec));
    check(a, a);
    const auto single = generate<float>(parse_generator(spec));
    check(single, single);
    if (HasFailure()) return;
  }
}

TEST_F(TileProductOnGpu, ReportSaysPairsAndArithmetic) {
  const auto a = testing::diagonal_blocks(5, testing::random_vector<double>(5 * 64, 1));
  const std::string facts = "the factors are in tiles; 5 of 5 pairs are not empty, ";
  const SpgemmReport any = multiply(a, a, options_of(Determinism::not_guaranteed)).report;
  EXPECT_EQ(any.reason, facts + "tensor instructions");
  EXPECT_EQ(any.determinism, Determinism::run_to_run);
  EXPECT_EQ(any.products, 5 * 512);
  EXPECT_EQ(any.threads, 0);
  EXPECT_EQ(multiply(a, a, options_of(Determinism::gpu_to_gpu)).report.reason,
            facts + "entry by entry for the bits of the host");
}

TEST_F(TileProductOnGpu, EmptyPairsLeaveNoTile) {
  const auto a = testing::make_csr<double>(2, 3, {0, 1, 2}, {0, 0}, {1.0, 2.0});
  const auto b = testing::make_csr<double>(3, 2, {0, 0, 2, 2}, {0, 1}, {3.0, 4.0});
  check(a, b);
  EXPECT_EQ(multiply(a, b, options_of(Determinism::not_guaranteed)).matrix.tiles(), 0);
}

/// Padding is 0, and 0 times infinity is none: such a product is summed entry by entry.
TEST_F(TileProductOnGpu, ValuesThatAreNotFiniteSpreadAsOnTheHost) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
    SCOPED_TRACE(bad);
    auto values = testing::random_vector<double>(5 * 64, 1);
    values[70] = bad;
    const auto a = testing::diagonal_blocks(5, values);
    const auto b = testing::random_windows<double>(40, 40, 9, 0.5, ValueStorage::weighted, 3);
    for (const bool bad_is_left : {true, false}) {
      const auto& left = bad_is_left ? a : b;
      const auto& right = bad_is_left ? b : a;
      const auto result = multiply(left, right, options_of(Determinism::not_guaranteed));
      EXPECT_TRUE(contains(result.report.reason, "not finite")) << result.report.reason;
      testing::expect_identical(spgemm(left, right).matrix.view(), to_csr(result.matrix.to(Device{})).view());
    }
  }
}

TEST_F(TileProductOnGpu, CancellationLeavesAnEntry) {
  const auto a = testing::make_csr<double>(1, 2, {0, 2}, {0, 1}, {1.0, -1.0});
  const auto b = testing::make_csr<double>(2, 2, {0, 2, 3}, {0, 1, 1}, {3.0, 5.0, 5.0});
  const TileMatrix<double> c = multiply(a, b, options_of(Determinism::not_guaranteed)).matrix.to(Device{});
  ASSERT_EQ(c.nnz(), 2);
  EXPECT_EQ(c.view().values[0], 3.0);
  EXPECT_EQ(c.view().values[1], 0.0);
}

TEST_F(TileProductOnGpu, GivesUpWideTileRows) {
  const index_t wide = 2'000'000;
  const auto b = testing::make_pattern<double>(2, wide, {0, 2, 3}, {0, wide - 1, 5});
  const auto a = testing::make_csr<double>(1, 2, {0, 2}, {0, 1}, {1.0, 2.0});
  check_given_up(a, b, "eight rows span more than 262144 columns");
}

TEST_F(TileProductOnGpu, GivesUpTileRowsWithManyTiles) {
  const auto b = testing::with_row_lengths<double>(std::vector<index_t>(8 * 513, 1), 9, ValueStorage::weighted, 3);
  for (const index_t tiles : {512, 513}) {
    std::vector<index_t> columns;
    for (index_t c = 0; c < tiles; ++c) columns.push_back(8 * c);
    std::vector<offset_t> offsets(9, static_cast<offset_t>(columns.size()));
    offsets[0] = 0;
    const auto a = testing::make_csr<double>(8, 8 * 513, offsets, columns, std::vector<double>(columns.size(), 0.5));
    if (tiles == 512) {
      check(a, b);
    } else {
      check_given_up(a, b, "more than 512 tiles");
    }
  }
}

/// Tiles of one entry take more than the product in CSR does, conversions included.
TEST_F(TileProductOnGpu, KeepsToTheMemoryLimit) {
  const index_t rows = testing::repetitions(3000, 300);
  const auto a = testing::with_row_lengths<double>(std::vector<index_t>(static_cast<std::size_t>(rows), 4), rows,
                                                   ValueStorage::weighted, 5);
  auto options = options_of(Determinism::gpu_to_gpu);
  const auto whole = multiply(a, a, options);
  int in_tiles = 0;
  int fallen = 0;
  bool fits = true;
  for (std::uint64_t limit = whole.report.peak_bytes; fits; limit -= limit / 8) {
    SCOPED_TRACE(limit);
    options.memory_limit_bytes = limit;
    try {
      const auto result = multiply(a, a, options);
      EXPECT_LE(result.report.peak_bytes, limit);
      testing::expect_identical_tiles(whole.matrix.to(Device{}).view(), result.matrix.to(Device{}).view());
      const bool is_tiles = result.report.workflow == SpgemmWorkflow::tiles;
      EXPECT_EQ(result.report.fallback.empty(), is_tiles);
      (is_tiles ? in_tiles : fallen) += 1;
    } catch (const OutOfMemory&) {
      fits = false;
    }
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_EQ(in_tiles, 1) << "the whole";
  EXPECT_GE(fallen, 1);
}

/// What sizes let expect is too little: all tiles of A meet the one tile row of B that is not empty; one tile row of C
/// needs more shared memory than others.
TEST_F(TileProductOnGpu, MorePairsThanExpected) {
  const index_t size = testing::repetitions(1200, 400);
  std::vector<index_t> lengths(static_cast<std::size_t>(size), 0);
  std::fill_n(lengths.begin(), 8, size / 2);
  const auto row = testing::with_row_lengths<double>(lengths, size, ValueStorage::weighted, 2);
  check(transpose(row.view()), row);
  std::fill(lengths.begin() + 8, lengths.end(), 1);
  const auto long_first = testing::with_row_lengths<double>(lengths, size, ValueStorage::weighted, 3);
  const auto wide = testing::with_row_lengths<double>(std::vector<index_t>(static_cast<std::size_t>(size), 4), 8000,
                                                      ValueStorage::weighted, 4);
  check(long_first, wide);
}

TEST_F(TileProductOnGpu, FactorsOfTheHostAreCopied) {
  const auto a = testing::random_windows<double>(50, 60, 20, 0.5, ValueStorage::weighted, 1);
  const auto b = testing::random_windows<double>(60, 40, 20, 0.5, ValueStorage::weighted, 2);
  const auto options = options_of(Determinism::gpu_to_gpu);
  const auto product = spgemm(to_tiles(a), to_tiles(b.to(gpu())), options);
  testing::expect_product_in_tiles(a, b, product);
  const TileMatrix<double> on_gpu = to_tiles(a.to(gpu()));
  EXPECT_THROW(static_cast<void>(spgemm(on_gpu, to_tiles(b))), NotSupported);
}

TEST_F(TileProductOnGpu, AsynchronousProductsAreTheSame) {
  const auto a = testing::diagonal_blocks(6, testing::random_vector<double>(6 * 64, 9));
  auto options = options_of(Determinism::not_guaranteed);
  const auto expected = multiply(a, a, options);
  options.asynchronous = true;
  testing::expect_identical_tiles(expected.matrix.to(Device{}).view(),
                                  multiply(a, a, options).matrix.to(Device{}).view());
}

TEST_F(TileProductOnGpu, Powers) {
  const auto a = generate<double>(parse_generator(testing::gpu_is_emulated ? "band:48,width=9" : "band:4000,width=40"));
  const TileMatrix<double> tiles = to_tiles(a.to(gpu()));
  for (const int k : {0, 1, 2, 5}) {
    SCOPED_TRACE(k);
    const TilePower<double> power = matrix_power(tiles, k, options_of(Determinism::gpu_to_gpu));
    ASSERT_EQ(power.matrix.device(), gpu());
    for (const SpgemmReport& report : power.products) EXPECT_EQ(report.workflow, SpgemmWorkflow::tiles);
    testing::expect_identical(matrix_power(a, k, {}, PowerOrder::binary).matrix.view(),
                              to_csr(power.matrix.to(Device{})).view());
  }
}

}  // namespace
}  // namespace tessera
