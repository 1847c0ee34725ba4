// How reads of x are judged, and that prefetching and slices change no result beyond rounding.
#include "spmv/common/gather_access.hpp"
#include "preprocess/long_row_slices.hpp"
#include "spmv/common/terms.hpp"
#include "tessera/generators.hpp"
#include "tests/spmv/product_check.hpp"

namespace tessera {

using namespace detail;
namespace {

TEST(GatherAccessTest, MeshesStreamAndGraphsScatter) {
  for (const char* spec : {"lap2d:200000", "fem3d:200000", "band:200000", "road:200000"}) {
    const auto a = generate<double>(parse_generator(spec), ValueStorage::pattern);
    EXPECT_EQ(classify_gathers(a.view()), GatherAccess::streamed) << spec << ' ' << sampled_line_share(a.view());
  }
  for (const char* spec : {"kmer:200000", "rmat:262144", "mawi:200000", "rowskew:200000"}) {
    const auto a = generate<double>(parse_generator(spec), ValueStorage::pattern);
    EXPECT_EQ(classify_gathers(a.view()), GatherAccess::scattered) << spec << ' ' << sampled_line_share(a.view());
  }
}

TEST(GatherAccessTest, AVectorThatFitsTheCacheIsNeverPrefetched) {
  const auto a = generate<double>(parse_generator("kmer:50000"), ValueStorage::pattern);
  EXPECT_GT(sampled_line_share(a.view()), 0.5);
  EXPECT_EQ(classify_gathers(a.view()), GatherAccess::streamed);
}

TEST(GatherAccessTest, TinyMatricesHaveNothingToSample) {
  EXPECT_EQ(sampled_line_share(Csr<float>().view()), 0.0);
  EXPECT_EQ(sampled_line_share(testing::with_row_lengths<float>({3}, 10, ValueStorage::pattern).view()), 0.0);
}

TEST(GatherAccessTest, SkipsWindowsInsideOneRow) {
  // Two rows: all windows but those across their border lie inside one.
  const auto a = testing::with_row_lengths<double>({60000, 60000}, 500000, ValueStorage::pattern);
  EXPECT_EQ(classify_gathers(a.view()), GatherAccess::streamed);
}

TEST(PrefetchedTermsTest, AreTheTermsThemselves) {
  const auto a =
      testing::with_row_lengths<double>(testing::power_law_lengths(300, 100, 5), 100, ValueStorage::weighted);
  const auto x = testing::random_vector<double>(100, 6);
  host::with_terms(a.view(), testing::constant(x), GatherAccess::scattered, [&](const auto& prefetched) {
    for (offset_t k = 0; k < a.nnz(); ++k) {
      const auto j = static_cast<std::size_t>(a.columns()[k]);
      ASSERT_EQ(prefetched[k], a.values()[k] * x[j]);  // up to the very last nonzero: nothing is read past the end
      ASSERT_EQ(host::cached(prefetched)[k], prefetched[k]);
    }
  });
}

template <class T>
class ScatteredProducts : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ScatteredProducts, Types);

/// Long rows that pass over a long x several times, among short rows: prefetched and, for MERBIT, sliced.
TYPED_TEST(ScatteredProducts, AgreeWithTheOracleForEveryKernel) {
  std::vector<index_t> lengths(30000, 3);
  for (std::size_t h = 0; h < 40; ++h) lengths[h * 731 + 5] = 30000;
  constexpr index_t cols = 300000;
  for (const auto storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    const auto matrix =
        std::make_shared<const Csr<TypeParam>>(testing::with_row_lengths<TypeParam>(lengths, cols, storage));
    ASSERT_EQ(classify_gathers(matrix->view()), GatherAccess::scattered);
    const auto x = testing::random_vector<TypeParam>(cols, 7);
    const auto w = testing::random_vector<TypeParam>(matrix->rows(), 8);
    const auto oracle = testing::product_oracle(matrix->view(), testing::constant(x));
    for (const auto& kernel : testing::all_kernel_cases) {
      SCOPED_TRACE(testing::name_of(kernel));
      const SpmvPlan<TypeParam> plan(matrix, testing::options_of(kernel));
      std::vector<TypeParam> y(lengths.size(), std::numeric_limits<TypeParam>::quiet_NaN());
      const ProductDots dots = plan.apply_and_dot(x, y, w);
      ASSERT_TRUE(testing::near(oracle, testing::constant(y)));
      ASSERT_TRUE(testing::dots_match(dots, testing::constant(y), testing::constant(w)));
      DualBuffer<TypeParam> out = plan.make_output();
      for (int round = 0; round < 3; ++round) plan.apply(x, out);
      ASSERT_TRUE(testing::near(oracle, std::as_const(out).current()));
    }
  }
}

/// The slices that the matrix above has, for MERBIT's default tiles: the test would else not test them.
TEST(ScatteredProductsMatrix, HasSlices) {
  std::vector<index_t> lengths(30000, 3);
  for (std::size_t h = 0; h < 40; ++h) lengths[h * 731 + 5] = 30000;
  const auto a = testing::with_row_lengths<float>(lengths, 300000, ValueStorage::pattern);
  const MerbitTiles tiles =
      build_merbit_tiles(a.rows(), a.row_offsets().span(), host_merbit_policy<float>.sigma_32, 32);
  EXPECT_EQ(build_long_row_slices(tiles, a.columns().span(), a.cols(), sizeof(float)).runs(), 40);
}

TYPED_TEST(ScatteredProducts, AreBitwiseTheSameForAnyNumberOfThreads) {
  std::vector<index_t> lengths(3000, 3);
  for (std::size_t h = 0; h < 40; ++h) lengths[h * 71 + 5] = 30000;
  const auto matrix = std::make_shared<const Csr<TypeParam>>(
      testing::with_row_lengths<TypeParam>(lengths, 300000, ValueStorage::weighted));
  const auto x = testing::random_vector<TypeParam>(300000, 7);
  SpmvOptions options;
  options.algorithm = SpmvAlgorithm::merbit;
  options.determinism = Determinism::gpu_to_gpu;
  std::vector<TypeParam> first(lengths.size());
  options.device = Device::host(1);
  SpmvPlan<TypeParam>(matrix, options).apply(x, first);
  for (const int threads : {2, 3, 5}) {
    options.device = Device::host(threads);
    std::vector<TypeParam> y(lengths.size());
    SpmvPlan<TypeParam>(matrix, options).apply(x, y);
    ASSERT_EQ(y, first) << threads;
  }
}

}  // namespace
}  // namespace tessera
