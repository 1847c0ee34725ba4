// The workflow `tiles`: arithmetic on bitmaps, the choice of `automatic`, and products on the host.
#include "spgemm/common/tile_arithmetic.hpp"

#include "spgemm/cuda/tiles/tile_choice.hpp"
#include "tessera/generators.hpp"
#include "tessera/statistics.hpp"
#include "tests/spgemm/product_check.hpp"
#include "tests/support/make_csr.hpp"

#include <cstring>
#include <set>

namespace tessera {
namespace {

bool bit(std::uint64_t bitmap, int r, int c) { return (bitmap >> (8 * r + c) & 1U) != 0; }

/// Bitmaps of all densities: as many bits are set as the conjunction of `sparsity` random words leaves.
std::uint64_t random_bitmap(std::mt19937_64& generator, int sparsity) {
  std::uint64_t bitmap = generator();
  for (int k = 1; k < sparsity; ++k) bitmap &= generator();
  return bitmap;
}

TEST(TileArithmetic, BooleanProductIsThatOfMatrices) {
  std::mt19937_64 generator(1);
  for (int round = 0; round < 400; ++round) {
    const std::uint64_t a = random_bitmap(generator, 1 + round % 5);
    const std::uint64_t b = random_bitmap(generator, 1 + round % 3);
    const std::uint64_t found = detail::boolean_product(a, b);
    for (int r = 0; r < 8; ++r) {
      for (int c = 0; c < 8; ++c) {
        bool expected = false;
        for (int k = 0; k < 8; ++k) expected = expected || (bit(a, r, k) && bit(b, k, c));
        ASSERT_EQ(bit(found, r, c), expected) << r << ", " << c;
      }
    }
  }
  for (int round = 0; round < 100; ++round) {
    const std::uint64_t b = random_bitmap(generator, 1 + round % 6);
    ASSERT_EQ(detail::boolean_product_of_full(b), detail::boolean_product(~std::uint64_t{0}, b));
  }
  EXPECT_EQ(detail::boolean_product(~std::uint64_t{0}, 0), 0U);
  EXPECT_EQ(detail::boolean_product(0x8040201008040201U, 0x123456789abcdef0U), 0x123456789abcdef0U) << "identity";
}

TEST(TileArithmetic, CountsLieWhereKernelsLoadThem) {
  std::mt19937_64 generator(2);
  for (int round = 0; round < 50; ++round) {
    const detail::TileRowCounts counts(generator());
    unsigned short in_memory[8];
    std::memcpy(in_memory, &counts, sizeof(in_memory));
    for (int r = 0; r < 8; ++r) ASSERT_EQ(in_memory[detail::place_of_count(r)], counts.of_row(r)) << r;
  }
}

TEST(TileArithmetic, ProductsAreThoseOfStoredEntries) {
  std::mt19937_64 generator(3);
  for (int round = 0; round < 50; ++round) {
    const std::uint64_t a = random_bitmap(generator, 1 + round % 4);
    const std::uint64_t b = random_bitmap(generator, 2);
    int expected = 0;
    for (int r = 0; r < 8; ++r) {
      for (int k = 0; k < 8; ++k) {
        for (int c = 0; c < 8; ++c) expected += bit(a, r, k) && bit(b, k, c) ? 1 : 0;
      }
    }
    ASSERT_EQ(detail::products_of(a, detail::TileRowCounts(b)), expected);
    ASSERT_EQ(detail::bits_before(detail::row_bits(b, 3), 8), detail::count_bits(b >> 24 & 255U));
  }
}

/// 16 lanes load 8 bytes each at a time, from 16 pairs of banks.
TEST(TileArithmetic, OperandsOfTensorInstructionsMeetDistinctBanks) {
  std::set<int> places;
  for (int r = 0; r < 8; ++r) {
    for (int c = 0; c < 8; ++c) places.insert(detail::dense_place(r, c));
  }
  EXPECT_EQ(places.size(), 64U);
  EXPECT_EQ(*places.rbegin(), 63);
  for (int first = 0; first < 32; first += 16) {
    std::set<int> banks_of_a;
    std::set<int> banks_of_b;
    for (int lane = first; lane < first + 16; ++lane) {
      banks_of_a.insert(detail::dense_place(lane / 4, lane % 4) % 16);
      banks_of_b.insert(detail::dense_place(lane % 4, lane / 4) % 16);
      // The other half of the inner indices.
      EXPECT_EQ(detail::dense_place(lane / 4, lane % 4 + 4), detail::dense_place(lane / 4, lane % 4) ^ 4);
      EXPECT_EQ(detail::dense_place(lane % 4 + 4, lane / 4), detail::dense_place(lane % 4, lane / 4) + 32);
    }
    EXPECT_EQ(banks_of_a.size(), 16U);
    EXPECT_EQ(banks_of_b.size(), 16U);
  }
}

/// The matrices of the measurements: those that won, and the one that lost.
TEST(TileChoice, TakesWhatWonAndLeavesWhatLost) {
  const auto squared = [](index_t rows, offset_t nnz) { return cuda::TileProspect{rows, rows, nnz, nnz}; };
  const auto pays = [](const cuda::TileProspect& product, double fill) {
    return cuda::may_pay_in_tiles(product) && cuda::pays_in_tiles(product, fill, fill);
  };
  EXPECT_TRUE(pays(squared(60'000, 7'196'400), .882)) << "band";
  EXPECT_TRUE(pays(squared(192'000, 14'992'416), .386)) << "elast3";
  EXPECT_TRUE(pays(squared(8'738, 591'904), .343)) << "bcsstk33";
  EXPECT_TRUE(pays(squared(4'884, 290'378), .418)) << "bcsstk16";
  EXPECT_FALSE(pays(squared(262'144, 6'859'000), .135)) << "fem27";
  EXPECT_FALSE(cuda::may_pay_in_tiles(squared(1'000'000, 5'000'000))) << "5 entries per row";
  EXPECT_FALSE(cuda::may_pay_in_tiles(squared(1'182, 32'282))) << "too few products";
  EXPECT_FALSE(cuda::may_pay_in_tiles({0, 0, 0, 0}));
}

TEST(TileChoice, OnlyGpusWithFastTensorCoresInDoublePrecision) {
  for (const auto& [capability, fast] : {std::pair{80, true}, {86, false}, {89, false}, {90, true}, {120, false}}) {
    cuda::DeviceLimits limits;
    limits.compute_capability = capability;
    EXPECT_EQ(cuda::has_fast_fp64_tensor(limits), fast) << capability;
  }
}

cuda::TileRowFacts tile_row(unsigned tiles, unsigned long long pairs, unsigned long long products) {
  cuda::TileRowFacts row;
  row.tiles = tiles;
  row.pairs = pairs;
  row.products = products;
  row.layout = {static_cast<std::int32_t>(pairs), 4, static_cast<std::int32_t>(tiles)};
  return row;
}

TEST(TileRowChoice, ByProductsPerPair) {
  const cuda::TileRowRule by_name{200'000, 0.0};
  const cuda::TileRowRule by_products{200'000, cuda::least_pair_products};
  EXPECT_DOUBLE_EQ(cuda::least_pair_products, 40.0);
  EXPECT_TRUE(cuda::is_formed_in_tiles(tile_row(10, 100, 4000), by_products));
  EXPECT_FALSE(cuda::is_formed_in_tiles(tile_row(10, 100, 3999), by_products));
  EXPECT_TRUE(cuda::is_formed_in_tiles(tile_row(10, 100, 1), by_name));
  EXPECT_TRUE(cuda::is_formed_in_tiles(tile_row(0, 0, 0), by_products)) << "nothing to form";
}

TEST(TileRowChoice, NeverBeyondTheLimits) {
  const auto beyond = [](const cuda::TileRowFacts& row, std::int64_t shared_bytes) {
    const cuda::TileRowRule rule{shared_bytes, 0.0};
    EXPECT_EQ(cuda::is_formed_in_tiles(row, rule), cuda::limits_exceeded(row, rule) == 0);
    return cuda::limits_exceeded(row, rule);
  };
  const auto bit = [](cuda::BeyondTiles limit) { return static_cast<unsigned>(limit); };
  cuda::TileRowFacts row = tile_row(40, 5000, 2'560'000);
  EXPECT_EQ(beyond(row, row.layout.bytes()), 0U);
  EXPECT_EQ(beyond(row, row.layout.bytes() - 1), bit(cuda::BeyondTiles::shared));
  row.layout.slots = cuda::most_c_row_tiles;
  EXPECT_EQ(beyond(row, 1 << 30), 0U);
  row.layout.slots = cuda::most_c_row_tiles + 1;
  EXPECT_EQ(beyond(row, 1 << 30), bit(cuda::BeyondTiles::c_row));
  row = tile_row(40, 50, 25'600);
  row.beyond = bit(cuda::BeyondTiles::not_found);
  EXPECT_EQ(beyond(row, 1 << 30), bit(cuda::BeyondTiles::not_found));
}

/// With full tiles of B a tile row of A has 8 products per entry, and a pair for each of its tiles.
TEST(TileRowChoice, OwnFillBoundsTheProductsPerPair) {
  const cuda::TileRowRule rule{200'000, cuda::least_pair_products};
  const auto lengths = [](int entries_of_tile, int tiles) {
    detail::TileRowCounts sum;
    for (int t = 0; t < tiles; ++t) {
      sum +=
          detail::TileRowCounts(entries_of_tile == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << entries_of_tile) - 1);
    }
    return sum;
  };
  EXPECT_TRUE(cuda::tile_row_may_pay(10, lengths(5, 10), rule));
  EXPECT_FALSE(cuda::tile_row_may_pay(10, lengths(4, 10), rule));
  EXPECT_TRUE(cuda::tile_row_may_pay(512, lengths(64, 512), rule));
  EXPECT_TRUE(cuda::tile_row_may_pay(3, lengths(1, 3), {200'000, 0.0}));
  EXPECT_TRUE(cuda::tile_row_may_pay(0, {}, rule));
}

/// 5 million entries of a grid beside a dense block of 2000 rows, which has 8 of 8.1 milliard products.
TEST(TileChoice, TakesThePartThatPays) {
  const cuda::TileProspect grid{1'000'000, 1'000'000, 4'996'000, 4'996'000};
  const cuda::TileProspect with_block{1'000'000, 1'000'000, 8'986'000, 8'986'000};
  EXPECT_FALSE(cuda::may_pay_in_tiles(with_block)) << "9 entries per row";
  EXPECT_FALSE(cuda::may_pay_in_part(grid, false)) << "too small for a sample";
  EXPECT_TRUE(cuda::may_pay_in_part(with_block, false));
  EXPECT_FALSE(cuda::may_pay_in_part(with_block, true));
  const std::vector<detail::CountedTiles> poor(128, {4, 40});
  EXPECT_FALSE(cuda::mixed_prospect(4'996'000, poor).pays());
  EXPECT_FALSE(cuda::mixed_prospect(8'986'000, {}).pays());
  std::vector<detail::CountedTiles> found = poor;
  for (std::size_t i = 0; i < 57; ++i) found[2 * i] = {252, 16'020};
  const cuda::MixedProspect prospect = cuda::mixed_prospect(8'986'000, found);
  EXPECT_TRUE(prospect.pays());
  EXPECT_NEAR(prospect.entries, 0.445, 0.001);
  EXPECT_NEAR(prospect.products, 8.0e9, 0.1e9);
  EXPECT_NEAR(prospect.pairs, 250.0 * 250.0 * 250.0, 0.04 * 250.0 * 250.0 * 250.0);
  // More tiles than a tile row may have are none for tiles, however full.
  std::vector<detail::CountedTiles> wide = poor;
  for (std::size_t i = 0; i < 57; ++i) wide[2 * i] = {cuda::most_counted_tiles, 64 * cuda::most_counted_tiles};
  EXPECT_FALSE(cuda::mixed_prospect(8'986'000, wide).pays());
}

class TilesOnHost : public ::testing::Test {
 protected:
  template <class T>
  static SpgemmReport check(const Csr<T>& a, const Csr<T>& b, int threads = 2) {
    auto options = testing::spgemm_options(SpgemmWorkflow::tiles, SpgemmAccumulator::automatic, threads);
    const auto result = spgemm(a, b, options);
    EXPECT_TRUE(testing::is_product(a.view(), b.view(), result.matrix.view()));
    options.workflow = SpgemmWorkflow::symbolic;
    testing::expect_identical(spgemm(a, b, options).matrix.view(), result.matrix.view());
    EXPECT_EQ(result.report.workflow, SpgemmWorkflow::tiles);
    EXPECT_EQ(result.report.fallback, "");
    EXPECT_TRUE(result.report.accumulators.empty()) << "tiles have none";
    EXPECT_EQ(result.report.products, testing::count_products(a.view(), b.view()));
    return result.report;
  }
};

TEST_F(TilesOnHost, SizesBesideMultiplesOfEight) {
  for (const index_t m : {1, 7, 8, 9, 17}) {
    for (const index_t k : {1, 8, 15}) {
      for (const index_t n : {1, 7, 16, 23}) {
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
}

TEST_F(TilesOnHost, GeneratedFamilies) {
  for (const char* spec : {"band:900,width=60", "fem3d:2000", "rmat:1024", "elasticity3d:5"}) {
    SCOPED_TRACE(spec);
    const auto a = generate<double>(parse_generator(spec));
    for (const int threads : {1, 3}) check(a, a, threads);
    check(a, transpose(a.view()));
    const auto single = generate<float>(parse_generator(spec));
    check(single, single);
  }
}

/// Ten dense 8 x 8 blocks on the diagonal: ten full tiles, ten pairs.
TEST_F(TilesOnHost, ReportSaysFillAndPairs) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t i = 0; i < 80; ++i) {
    for (index_t c = 0; c < 8; ++c) columns.push_back(i / 8 * 8 + c);
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto a = testing::make_pattern<double>(80, 80, offsets, columns);
  EXPECT_EQ(check(a, a).reason, "chosen by name; tiles are 1 full, 10 of 10 pairs are not empty");
}

/// The tile of A has column 0 alone, that of B row 1 alone: they meet, but have no product.
TEST_F(TilesOnHost, EmptyPairsAreLeftOut) {
  const auto a = testing::make_csr<double>(2, 3, {0, 1, 2}, {0, 0}, {1.0, 2.0});
  const auto b = testing::make_csr<double>(3, 2, {0, 0, 2, 2}, {0, 1}, {3.0, 4.0});
  const SpgemmReport report = check(a, b);
  EXPECT_EQ(report.nnz, 0);
  EXPECT_NE(report.reason.find("0 of 1 pairs"), std::string::npos) << report.reason;
}

}  // namespace
}  // namespace tessera
