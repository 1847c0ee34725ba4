// What is MERBIT's own: every sigma and width, the reference walk, and that row offsets are not read.
#include "spmv/merbit/merbit.hpp"
#include "preprocess/long_row_slices.hpp"
#include "tests/spmv/product_check.hpp"
#include "tests/spmv/references.hpp"

#include <sstream>

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::near;

template <class T>
class Merbit : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Merbit, Types);

template <class T>
void check_all_commits(const SpmvOptions& options, const Csr<T>& matrix) {
  const auto x = testing::random_vector<T>(matrix.cols(), 3);
  const auto oracle = testing::product_oracle(matrix.view(), constant(x));
  for (const auto determinism : {Determinism::not_guaranteed, Determinism::run_to_run}) {
    SpmvOptions chosen = options;
    chosen.determinism = determinism;
    const SpmvPlan<T> plan(Csr<T>::copy_of(matrix.view()), chosen);
    DualBuffer<T> buffer = plan.make_output();
    for (int round = 0; round < 3; ++round) plan.apply(x, buffer);
    ASSERT_TRUE(near(oracle, std::as_const(buffer).current()));
    std::vector<T> y(oracle.y.size(), T{1});
    plan.apply(T{1}, x, T{0}, y);
    ASSERT_TRUE(near(oracle, constant(y)));
  }
}

TYPED_TEST(Merbit, EverySigmaOfBothWidths) {
  const auto matrix =
      testing::with_row_lengths<TypeParam>(testing::power_law_lengths(2500, 3000, 4), 3000, ValueStorage::weighted);
  SpmvOptions options;
  options.algorithm = SpmvAlgorithm::merbit;
  options.device = Device::host(2);
  for (const int bits : {32, 64}) {
    options.descriptor_bits = bits;
    for (options.sigma = 1; options.sigma <= max_sigma(bits); ++options.sigma) {
      SCOPED_TRACE("sigma " + std::to_string(options.sigma) + ", bits " + std::to_string(bits));
      check_all_commits(options, matrix);
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

TYPED_TEST(Merbit, AdversarialMatricesForSeveralSigmas) {
  constexpr std::pair<int, int> shapes[] = {{1, 32}, {2, 32}, {7, 32}, {22, 32}, {14, 64}, {53, 64}};
  for (const auto& [sigma, bits] : shapes) {
    SpmvOptions options;
    options.algorithm = SpmvAlgorithm::merbit;
    options.sigma = sigma;
    options.descriptor_bits = bits;
    options.device = Device::host(2);
    const index_t tile = lanes_per_tile * sigma;
    const index_t block = tile * host_merbit_policy<TypeParam>.tiles_per_block;
    for (const auto& [name, matrix] : testing::adversarial_matrices<TypeParam>(ValueStorage::weighted, {tile, block})) {
      SCOPED_TRACE(name + ", sigma " + std::to_string(sigma) + ", bits " + std::to_string(bits));
      check_all_commits(options, matrix);
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

TYPED_TEST(Merbit, ReferenceWalkEqualsTheDefinitionBitwise) {
  // Both add one term after the other, so even rounding agrees.
  for (const auto& [name, matrix] : testing::adversarial_matrices<TypeParam>(ValueStorage::weighted, {224})) {
    SCOPED_TRACE(name);
    const auto x = testing::random_vector<TypeParam>(matrix.cols(), 3);
    std::vector<TypeParam> expected(static_cast<std::size_t>(matrix.rows()));
    std::vector<TypeParam> actual(expected.size());
    reference::csr_multiply<TypeParam>(matrix.view(), x, expected);
    const auto offsets = matrix.row_offsets().span();
    reference::merbit_multiply<std::uint32_t, TypeParam>(matrix.view(),
                                                         build_merbit_tiles(matrix.rows(), offsets, 7, 32), x, actual);
    ASSERT_EQ(actual, expected);
    reference::merbit_multiply<std::uint64_t, TypeParam>(matrix.view(),
                                                         build_merbit_tiles(matrix.rows(), offsets, 53, 64), x, actual);
    ASSERT_EQ(actual, expected);
  }
}

TYPED_TEST(Merbit, NeverReadsRowOffsets) {
  const auto matrix =
      testing::with_row_lengths<TypeParam>(testing::power_law_lengths(2500, 3000, 4), 3000, ValueStorage::weighted);
  SpmvOptions options;
  options.device = Device::host(2);
  options.sigma = 21;
  const auto x = testing::random_vector<TypeParam>(3000, 3);
  const auto oracle = testing::product_oracle(matrix.view(), constant(x));
  CsrView<TypeParam> without_offsets = matrix.view();
  without_offsets.row_offsets = {};
  for (const auto determinism : {Determinism::not_guaranteed, Determinism::gpu_to_gpu}) {
    options.determinism = determinism;
    const auto kernel = host::make_merbit_kernel(matrix.view(), options);
    std::vector<TypeParam> y(2500);
    kernel->apply(without_offsets, TypeParam{1}, x, TypeParam{0}, y);
    ASSERT_TRUE(near(oracle, constant(y)));
  }
}

TYPED_TEST(Merbit, PathsOfEveryLengthAroundTheBlocks) {
  // One-entry rows: tile and block ends fall on both kinds of items as the size grows.
  SpmvOptions options;
  options.algorithm = SpmvAlgorithm::merbit;
  options.sigma = 1;
  options.device = Device::host(2);
  for (std::size_t rows = 0; rows < 600; ++rows) {
    SCOPED_TRACE("rows " + std::to_string(rows));
    check_all_commits(options,
                      testing::with_row_lengths<TypeParam>(testing::lengths_of(rows, 1), 3, ValueStorage::pattern));
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

/// Long rows that pass over a long x several times: of many lengths, next to each other, first and last.
template <class T>
std::shared_ptr<const Csr<T>> hubs_everywhere(std::uint64_t seed) {
  std::vector<index_t> lengths = testing::power_law_lengths(4000, 500, seed);
  for (std::size_t h = 0; h < 50; ++h) lengths[h * 79 + h * h % 5] = static_cast<index_t>(12000 + 517 * h);
  lengths[1] = 20000;
  lengths.back() = 30000;
  return std::make_shared<const Csr<T>>(testing::with_row_lengths<T>(lengths, 300000, ValueStorage::weighted));
}

TYPED_TEST(Merbit, RowsSummedByWindowsMayLieAnywhereInTheBlocks) {
  const auto matrix = hubs_everywhere<TypeParam>(5);
  const auto x = testing::random_vector<TypeParam>(300000, 3);
  const auto oracle = testing::product_oracle(matrix->view(), constant(x));
  const auto multiply = [&](int sigma, Determinism determinism, int threads) {
    SpmvOptions options = testing::options_of({SpmvAlgorithm::merbit, determinism}, threads);
    options.sigma = sigma;
    std::vector<TypeParam> y(oracle.y.size(), TypeParam{1});
    SpmvPlan<TypeParam>(matrix, options).apply(TypeParam{1}, x, TypeParam{0}, y);
    return y;
  };
  for (const int sigma : {1, 7, 21, 53}) {
    SCOPED_TRACE(sigma);
    const auto offsets = matrix->row_offsets().span();
    const MerbitTiles tiles = build_merbit_tiles(matrix->rows(), offsets, sigma, sigma > max_sigma(32) ? 64 : 32);
    ASSERT_GT(build_long_row_slices(tiles, matrix->columns().span(), 300000, sizeof(TypeParam)).runs(), 40);
    const auto y = multiply(sigma, Determinism::gpu_to_gpu, 1);
    ASSERT_TRUE(near(oracle, constant(y)));
    ASSERT_EQ(multiply(sigma, Determinism::gpu_to_gpu, 3), y);
    ASSERT_TRUE(near(oracle, constant(multiply(sigma, Determinism::not_guaranteed, 2))));
  }
}

TEST(MerbitPolicy, PrintsAndCompares) {
  std::ostringstream text;
  text << MerbitPolicy{8, 21, 53};
  EXPECT_EQ(text.str(), "{tiles_per_block 8, sigma_32 21, sigma_64 53}");
  EXPECT_EQ((MerbitPolicy{8, 21, 53}), (MerbitPolicy{8, 21, 53}));
  EXPECT_NE((MerbitPolicy{8, 21, 53}), (MerbitPolicy{4, 21, 53}));
  EXPECT_EQ(host_merbit_policy<double>.sigma_32 % 2, 1);
}

}  // namespace
}  // namespace tessera
