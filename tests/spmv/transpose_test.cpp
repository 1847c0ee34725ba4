// y = α Aᵀ x + β y of every kernel.
#include "tessera/error.hpp"
#include "tests/spmv/product_check.hpp"
#include "tests/support/make_csr.hpp"

#include <cstring>

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::near;

template <class T>
class TransposedProduct : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(TransposedProduct, Types);

SpmvOptions transposing(const testing::KernelCase& kernel, int threads = 2) {
  SpmvOptions options = testing::options_of(kernel, threads);
  options.with_transpose = true;
  return options;
}

/// y = α Aᵀ x + β y in long double straight from the rows of A, with the bound of ProductOracle; x has a.rows elements.
template <class T>
testing::ProductOracle transposed_oracle(T alpha, const CsrView<T>& a, std::span<const T> x, T beta,
                                         std::span<const T> y) {
  const auto cols = static_cast<std::size_t>(a.cols);
  testing::ProductOracle result{std::vector<long double>(cols), std::vector<long double>(cols)};
  std::vector<offset_t> terms(cols);
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (offset_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
      const auto j = static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)]);
      const long double term =
          static_cast<long double>(alpha) * static_cast<long double>(a.value(k)) * static_cast<long double>(x[i]);
      result.y[j] += term;
      result.bound[j] += std::fabs(term);
      ++terms[j];
    }
  }
  constexpr long double unit = static_cast<long double>(std::numeric_limits<T>::epsilon()) / 2;
  for (std::size_t j = 0; j < cols; ++j) {
    const long double old = beta == T{0} ? 0.0L : static_cast<long double>(beta) * static_cast<long double>(y[j]);
    const long double n = static_cast<long double>(terms[j] + 4) * unit;
    result.y[j] += old;
    result.bound[j] = n / (1 - n) * (result.bound[j] + std::fabs(old)) +
                      static_cast<long double>(std::numeric_limits<T>::denorm_min());
  }
  return result;
}

template <class T>
void check_transposed_products(const SpmvPlan<T>& plan) {
  constexpr std::pair<double, double> factors[] = {{1, 0}, {2, 1}, {-0.5, 3}, {0, 2}, {0, 0}};
  const auto x = testing::random_vector<T>(plan.rows(), 3);
  for (const auto& [a, b] : factors) {
    const auto alpha = static_cast<T>(a);
    const auto beta = static_cast<T>(b);
    auto y = testing::random_vector<T>(plan.cols(), 4);
    if (beta == T{0}) std::fill(y.begin(), y.end(), std::numeric_limits<T>::quiet_NaN());
    const auto oracle = transposed_oracle<T>(alpha, plan.matrix(), x, beta, y);
    plan.apply_transposed(alpha, x, beta, y);
    ASSERT_TRUE(near(oracle, constant(y))) << "alpha " << alpha << ", beta " << beta;
  }
}

/// <A x, w> = <x, Aᵀ w> up to the rounding of both sides.
template <class T>
void check_adjoint(const SpmvPlan<T>& plan) {
  const auto x = testing::random_vector<T>(plan.cols(), 5);
  const auto w = testing::random_vector<T>(plan.rows(), 6);
  std::vector<T> ax(w.size());
  std::vector<T> atw(x.size());
  plan.apply(x, ax);
  plan.apply_transposed(w, atw);
  const auto forward = testing::product_oracle(plan.matrix(), constant(x));
  const auto backward = transposed_oracle<T>(T{1}, plan.matrix(), w, T{0}, {});
  long double left = 0;
  long double right = 0;
  long double bound = 1e-15L;
  for (std::size_t i = 0; i < w.size(); ++i) {
    left += static_cast<long double>(ax[i]) * static_cast<long double>(w[i]);
    bound += forward.bound[i] * std::fabs(static_cast<long double>(w[i]));
  }
  for (std::size_t j = 0; j < x.size(); ++j) {
    right += static_cast<long double>(atw[j]) * static_cast<long double>(x[j]);
    bound += backward.bound[j] * std::fabs(static_cast<long double>(x[j]));
  }
  ASSERT_LE(std::fabs(left - right), bound);
}

TYPED_TEST(TransposedProduct, OfAdversarialMatrices) {
  for (const auto storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (auto& [name, matrix] : testing::adversarial_matrices<TypeParam>(storage, {672})) {
      const auto shared = std::make_shared<const Csr<TypeParam>>(std::move(matrix));
      for (const auto& kernel : testing::all_kernel_cases) {
        SCOPED_TRACE(name + ", " + testing::name_of(kernel));
        const SpmvPlan<TypeParam> plan(shared, transposing(kernel));
        check_transposed_products(plan);
        check_adjoint(plan);
        ASSERT_FALSE(this->HasFatalFailure());
      }
    }
  }
}

TYPED_TEST(TransposedProduct, OfAHubColumn) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t i = 0; i < 40000; ++i) {  // column 7 in every row, another in every third
    columns.push_back(7);
    if (i % 3 == 0) columns.push_back(8 + i % 50);
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto values = testing::random_vector<TypeParam>(static_cast<std::int64_t>(columns.size()), 9);
  const auto matrix =
      std::make_shared<const Csr<TypeParam>>(testing::make_csr<TypeParam>(40000, 60, offsets, columns, values));
  for (const auto& kernel : testing::all_kernel_cases) {
    SCOPED_TRACE(testing::name_of(kernel));
    const SpmvPlan<TypeParam> plan(matrix, transposing(kernel, 3));
    check_transposed_products(plan);
    check_adjoint(plan);
  }
}

TYPED_TEST(TransposedProduct, KeepsTheClassOfThePlan) {
  const auto matrix = std::make_shared<const Csr<TypeParam>>(
      testing::with_row_lengths<TypeParam>(testing::power_law_lengths(30000, 2000, 8), 2500, ValueStorage::weighted));
  const auto x = testing::random_vector<TypeParam>(30000, 3);
  const auto y0 = testing::random_vector<TypeParam>(2500, 4);
  for (const auto& kernel : testing::all_kernel_cases) {
    if (kernel.determinism != Determinism::gpu_to_gpu) continue;
    SCOPED_TRACE(testing::name_of(kernel));
    std::vector<TypeParam> expected;
    for (const int threads : {1, 2, 3, 5}) {
      const SpmvPlan<TypeParam> plan(matrix, transposing(kernel, threads));
      ASSERT_EQ(plan.info().determinism, Determinism::gpu_to_gpu);
      for (int run = 0; run < 5; ++run) {
        std::vector<TypeParam> y = y0;
        plan.apply_transposed(TypeParam{2}, x, TypeParam{-3}, y);
        if (expected.empty()) expected = y;
        ASSERT_EQ(std::memcmp(y.data(), expected.data(), y.size() * sizeof(TypeParam)), 0) << threads << " threads";
      }
    }
  }
}

TYPED_TEST(TransposedProduct, FollowsUpdatedValues) {
  const auto matrix = std::make_shared<const Csr<TypeParam>>(
      testing::with_row_lengths<TypeParam>(testing::power_law_lengths(800, 500, 2), 600, ValueStorage::weighted));
  const auto x = testing::random_vector<TypeParam>(800, 3);
  for (const auto& kernel : testing::all_kernel_cases) {
    SCOPED_TRACE(testing::name_of(kernel));
    SpmvPlan<TypeParam> plan(matrix, transposing(kernel));
    for (std::uint64_t round = 0; round < 3; ++round) {
      const auto values = testing::random_vector<TypeParam>(matrix->nnz(), 50 + round);
      plan.update_values(std::span<const TypeParam>(values));
      std::vector<TypeParam> y(600);
      plan.apply_transposed(x, y);
      const auto oracle = transposed_oracle<TypeParam>(TypeParam{1}, plan.matrix(), x, TypeParam{0}, {});
      ASSERT_TRUE(near(oracle, constant(y)));
      check_adjoint(plan);
    }
  }
}

Csr<double> small() { return testing::with_row_lengths<double>({2, 0, 1}, 4, ValueStorage::weighted); }

TEST(TransposedPlan, SizesAndOverlapAreChecked) {
  const SpmvPlan<double> plan(small(), transposing({SpmvAlgorithm::csr, Determinism::gpu_to_gpu}));
  std::vector<double> three(3);
  std::vector<double> four(4);
  ASSERT_TRUE(plan.has_transpose());
  plan.apply_transposed(three, four);
  EXPECT_THROW(plan.apply_transposed(four, four), DimensionError);
  EXPECT_THROW(plan.apply_transposed(three, three), DimensionError);
  std::vector<double> six(6);
  const std::span<double> all(six);
  EXPECT_THROW(plan.apply_transposed(all.first(3), all.last(4)), InvalidArgument);
}

TEST(TransposedPlan, IsRefusedWithARemedyUnlessPlanned) {
  const SpmvPlan<double> plan(small());
  EXPECT_FALSE(plan.has_transpose());
  EXPECT_FALSE(plan.info().transpose.has_value());
  std::vector<double> three(3);
  std::vector<double> four(4);
  try {
    plan.apply_transposed(three, four);
    FAIL() << "not refused";
  } catch (const NotSupported& error) {
    EXPECT_STREQ(error.what(),
                 "this 3 x 4 operator offers no transposed product: make the plan with SpmvOptions::with_transpose, or "
                 "call its prepare_transpose()");
  }
}

TEST(TransposedPlan, CostsAreTold) {
  const auto matrix = std::make_shared<const Csr<double>>(
      testing::with_row_lengths<double>(testing::lengths_of(100, 5), 70, ValueStorage::weighted));
  const std::uint64_t transposed_bytes = 71 * sizeof(offset_t) + 500 * (sizeof(index_t) + sizeof(double));
  const SpmvPlan<double> plain(matrix, transposing({SpmvAlgorithm::csr, Determinism::gpu_to_gpu}));
  ASSERT_TRUE(plain.info().transpose.has_value());
  EXPECT_EQ(plain.info().bytes, 0U);
  EXPECT_EQ(plain.info().transpose->bytes, transposed_bytes);
  EXPECT_GT(plain.info().transpose->build_ms, 0.0);
  const SpmvPlan<double> tiles(matrix, transposing({SpmvAlgorithm::merbit, Determinism::gpu_to_gpu}));
  EXPECT_EQ(tiles.info().transpose->algorithm, SpmvAlgorithm::merbit);
  EXPECT_GT(tiles.info().transpose->bytes, transposed_bytes);
}

TEST(TransposedPlan, AutomaticLooksAtTheColumns) {
  // Even rows, but one column that holds a third of the matrix.
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t i = 0; i < 40000; ++i) {
    columns.insert(columns.end(), {0, 1 + i, 40001 + i});
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  SpmvOptions options;
  options.with_transpose = true;
  const SpmvPlan<double> plan(testing::make_pattern<double>(40000, 80001, offsets, columns), options);
  EXPECT_EQ(plan.info().algorithm, SpmvAlgorithm::csr);
  ASSERT_TRUE(plan.info().transpose.has_value());
  EXPECT_EQ(plan.info().transpose->algorithm, SpmvAlgorithm::merge);
  EXPECT_EQ(plan.info().determinism, Determinism::gpu_to_gpu);
  check_transposed_products(plan);
}

TEST(TransposedPlan, SurvivesAMove) {
  SpmvPlan<double> original(small(), transposing({SpmvAlgorithm::merge, Determinism::gpu_to_gpu}));
  const SpmvPlan<double> moved = std::move(original);
  check_transposed_products(moved);
}

}  // namespace
}  // namespace tessera
