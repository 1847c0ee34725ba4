// What is CSR5's own: every sigma and width, the reference walk, the order of the tiles, sigma by mean row length.
#include "spmv/csr5/csr5.hpp"
#include "spmv/csr5/csr5_tuning.hpp"
#include "tessera/error.hpp"
#include "tests/spmv/product_check.hpp"
#include "tests/spmv/references.hpp"

#include <sstream>

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::near;

template <class T>
class Csr5 : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Csr5, Types);

SpmvOptions csr5_options(int sigma = 0, int bits = 0, int threads = 2) {
  SpmvOptions options = testing::options_of({SpmvAlgorithm::csr5, Determinism::gpu_to_gpu}, threads);
  options.sigma = sigma;
  options.descriptor_bits = bits;
  return options;
}

/// Overwriting, updating and fused products.
template <class T>
void check_products(const SpmvOptions& options, const Csr<T>& matrix) {
  const SpmvPlan<T> plan(Csr<T>::copy_of(matrix.view()), options);
  const auto x = testing::random_vector<T>(matrix.cols(), 3);
  const auto oracle = testing::product_oracle(matrix.view(), constant(x));
  std::vector<T> y(oracle.y.size(), std::numeric_limits<T>::quiet_NaN());
  plan.apply(x, y);
  ASSERT_TRUE(near(oracle, constant(y)));
  const auto old = testing::random_vector<T>(matrix.rows(), 4);
  y = old;
  plan.apply(T{2}, x, T{-3}, y);
  ASSERT_TRUE(near(testing::multiply_oracle<T>(T{2}, matrix.view(), x, T{-3}, old), constant(y)));
  const ProductDots dots = plan.apply_and_dot(x, y, old);
  ASSERT_TRUE(near(oracle, constant(y)));
  ASSERT_TRUE(testing::dots_match(dots, constant(y), constant(old)));
}

TYPED_TEST(Csr5, EverySigmaOfBothWidths) {
  const auto matrix =
      testing::with_row_lengths<TypeParam>(testing::power_law_lengths(2500, 3000, 4), 3000, ValueStorage::weighted);
  for (const int bits : {32, 64}) {
    for (int sigma = 1; sigma <= csr5_max_sigma(bits); ++sigma) {
      SCOPED_TRACE("sigma " + std::to_string(sigma) + ", bits " + std::to_string(bits));
      check_products(csr5_options(sigma, bits), matrix);
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

TYPED_TEST(Csr5, AdversarialMatricesForSeveralSigmas) {
  // Rows and whole matrices that end just before, at and after the tiles of each sigma.
  for (const int sigma : {1, 2, 7, 17, 32, 48}) {
    for (const auto storage : {ValueStorage::weighted, ValueStorage::pattern}) {
      for (const auto& [name, matrix] : testing::adversarial_matrices<TypeParam>(storage, {32 * sigma})) {
        SCOPED_TRACE(name + ", sigma " + std::to_string(sigma));
        check_products(csr5_options(sigma), matrix);
        ASSERT_FALSE(this->HasFatalFailure());
      }
    }
  }
}

TYPED_TEST(Csr5, EveryNumberOfNonzerosAroundTheTiles) {
  for (std::size_t rows = 0; rows < 200; ++rows) {
    SCOPED_TRACE("rows " + std::to_string(rows));
    check_products(csr5_options(1),
                   testing::with_row_lengths<TypeParam>(testing::lengths_of(rows, 1), 3, ValueStorage::weighted));
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

TYPED_TEST(Csr5, EmptyRowsWhereverTilesMeet) {
  // A row of 32 entries, `gap` empty rows, and so on: with sigma 1 gaps lie between tiles, and inside them when the
  // first row is shorter.
  for (const std::size_t gap : {1U, 2U, 40U}) {
    for (const index_t first : {32, 31, 1, 33}) {
      std::vector<index_t> lengths(gap);
      for (int i = 0; i < 8; ++i) {
        lengths.push_back(i == 0 ? first : 32);
        lengths.insert(lengths.end(), gap, 0);
      }
      SCOPED_TRACE("gap " + std::to_string(gap) + ", first row " + std::to_string(first));
      check_products(csr5_options(1), testing::with_row_lengths<TypeParam>(lengths, 50, ValueStorage::weighted));
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

TYPED_TEST(Csr5, ReferenceWalkEqualsTheDefinitionBitwise) {
  // Both add one term after the other, so even rounding agrees.
  for (const auto& [name, matrix] : testing::adversarial_matrices<TypeParam>(ValueStorage::weighted, {224})) {
    SCOPED_TRACE(name);
    const auto x = testing::random_vector<TypeParam>(matrix.cols(), 3);
    std::vector<TypeParam> expected(static_cast<std::size_t>(matrix.rows()));
    std::vector<TypeParam> actual(expected.size());
    reference::csr_multiply<TypeParam>(matrix.view(), x, expected);
    for (const auto& [sigma, bits] : {std::pair{7, 32}, {33, 64}}) {
      const Csr5Tiles tiles =
          build_csr5_tiles(matrix.rows(), matrix.row_offsets().span(), matrix.columns().span(), sigma, bits);
      std::vector<TypeParam> values(static_cast<std::size_t>(matrix.nnz()));
      permute_csr5_values<TypeParam>(tiles, matrix.values().span(), values);
      CsrView<TypeParam> permuted = matrix.view();
      permuted.columns = tiles.columns.span();
      permuted.values = values;
      if (bits == 32) {
        reference::csr5_multiply<std::uint32_t, TypeParam>(permuted, tiles, x, actual);
      } else {
        reference::csr5_multiply<std::uint64_t, TypeParam>(permuted, tiles, x, actual);
      }
      ASSERT_EQ(actual, expected);
    }
  }
}

TYPED_TEST(Csr5, UpdatesReuseTheCopyOfTheValues) {
  const auto matrix =
      testing::with_row_lengths<TypeParam>(testing::power_law_lengths(800, 500, 2), 600, ValueStorage::weighted);
  SpmvPlan<TypeParam> plan(Csr<TypeParam>::copy_of(matrix.view()), csr5_options());
  const std::uint64_t bytes = plan.info().bytes;
  EXPECT_GE(bytes, static_cast<std::uint64_t>(matrix.nnz()) * (sizeof(index_t) + sizeof(TypeParam)));
  const auto x = testing::random_vector<TypeParam>(600, 3);
  std::vector<TypeParam> y(800);
  for (std::uint64_t round = 0; round < 3; ++round) {
    const auto values = testing::random_vector<TypeParam>(matrix.nnz(), 50 + round);
    plan.update_values(std::span<const TypeParam>(values));
    plan.apply(x, y);
    ASSERT_TRUE(near(testing::product_oracle(plan.matrix(), constant(x)), constant(y)));
  }
  EXPECT_EQ(plan.info().bytes, bytes);
}

TEST(Csr5Plan, PatternMatricesHaveNoCopyOfValues) {
  const auto info = [](ValueStorage storage) {
    return SpmvPlan<double>(testing::with_row_lengths<double>(testing::lengths_of(1000, 5), 50, storage),
                            csr5_options())
        .info();
  };
  EXPECT_EQ(info(ValueStorage::weighted).bytes, info(ValueStorage::pattern).bytes + 5000 * sizeof(double));
}

TEST(Csr5Plan, SigmaFollowsTheMeanRowLength) {
  for (const auto& [length, sigma] :
       {std::pair{0, 4}, {3, 4}, {4, 4}, {5, 5}, {17, 17}, {32, 32}, {33, 32}, {256, 32}, {257, 6}}) {
    const SpmvPlan<double> plan(
        testing::with_row_lengths<double>(testing::lengths_of(200, length), 300, ValueStorage::pattern),
        csr5_options());
    EXPECT_EQ(plan.info().sigma, sigma) << length;
    EXPECT_EQ(plan.info().descriptor_bits, sigma <= 17 ? 32 : 64) << length;
    EXPECT_EQ(plan.info().tiles, 200 * length / (32 * sigma)) << length;
  }
}

TEST(Csr5Plan, RefusesShapesThatDoNotFit) {
  const auto build = [](int sigma, int bits, index_t length = 3) {
    return SpmvPlan<double>(
        testing::with_row_lengths<double>(testing::lengths_of(10, length), 50, ValueStorage::pattern),
        csr5_options(sigma, bits));
  };
  EXPECT_THROW(build(18, 32), NotSupported);
  EXPECT_THROW(build(49, 0), NotSupported);
  EXPECT_EQ(build(18, 0).info().descriptor_bits, 64);
  try {
    build(0, 32, 20);
    FAIL() << "not refused";
  } catch (const NotSupported& error) {
    EXPECT_STREQ(error.what(), "32-bit CSR5 descriptors hold at most sigma 17, the mean row length asks for 20");
  }
}

TEST(Csr5Policy, PrintsAndCompares) {
  std::ostringstream text;
  text << csr5_policy<double>;
  EXPECT_EQ(text.str(), "{min_sigma 4, max_sigma 32, long_mean 256, long_sigma 6}");
  EXPECT_EQ((Csr5Policy{4, 32, 256, 6}), csr5_policy<float>);
  EXPECT_NE((Csr5Policy{4, 32, 256, 7}), csr5_policy<float>);
  EXPECT_EQ(csr5_policy<double>.sigma(1, (offset_t{1} << 40)), 6);
}

}  // namespace
}  // namespace tessera
