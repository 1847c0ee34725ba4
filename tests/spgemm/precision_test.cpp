// Products in less than working precision on the host: every bit and the reported loss against oracles, and what is
// refused.
#include "tests/spgemm/precision_check.hpp"

#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/statistics.hpp"

namespace tessera {
namespace {

using testing::precision_options;

template <class T>
class PrecisionOnHost : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PrecisionOnHost, Types);

/// Rounded values, exact products, sums in single precision in the order of A's row.
template <class T>
void expect_half_bits(const Csr<T>& a, const Csr<T>& b, const Csr<T>& c) {
  const Csr<T> left = testing::rounded_to_half(a);
  const Csr<T> right = testing::rounded_to_half(b);
  for (index_t i = 0; i < c.rows(); ++i) {
    std::vector<float> sums(static_cast<std::size_t>(b.cols()), -0.0F);
    for (offset_t k = left.row_offsets()[i]; k < left.row_offsets()[i + 1]; ++k) {
      const index_t inner = left.columns()[k];
      for (offset_t l = right.row_offsets()[inner]; l < right.row_offsets()[inner + 1]; ++l) {
        const double product = static_cast<double>(left.view().value(k)) * static_cast<double>(right.view().value(l));
        const auto rounded = static_cast<float>(product);
        if (std::isfinite(product)) {
          ASSERT_EQ(static_cast<double>(rounded), product) << "products are exact";
        }
        volatile float& sum = sums[static_cast<std::size_t>(right.columns()[l])];
        sum = sum + rounded;
      }
    }
    for (offset_t e = c.row_offsets()[i]; e < c.row_offsets()[i + 1]; ++e) {
      const float expected = sums[static_cast<std::size_t>(c.columns()[e])];
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(c.values()[e])) << i << ", " << c.columns()[e];
      } else {
        ASSERT_EQ(c.values()[e], static_cast<T>(expected)) << i << ", " << c.columns()[e];
      }
    }
  }
}

/// The losses of the values by the closed form. \param seen matrices that are factors, each once
template <class T>
void expect_value_loss(const std::vector<const Csr<T>*>& seen, const SpgemmLoss& loss) {
  SpgemmLoss expected;
  for (const Csr<T>* matrix : seen) {
    for (std::int64_t k = 0; k < (matrix->is_pattern() ? 0 : matrix->nnz()); ++k) {
      const auto value = static_cast<long double>(matrix->values()[k]);
      ++expected.values;
      if (!std::isfinite(value) || value == 0.0L) continue;
      const long double half = testing::nearest_half(value);
      expected.to_zero += half == 0.0L ? 1 : 0;
      expected.to_subnormal += half != 0.0L && std::fabs(half) < 0x1p-14L ? 1 : 0;
      expected.largest_rounding =
          std::max(expected.largest_rounding, static_cast<double>(std::fabs((half - value) / value)));
    }
  }
  EXPECT_EQ(loss.values, expected.values);
  EXPECT_EQ(loss.to_zero, expected.to_zero);
  EXPECT_EQ(loss.to_subnormal, expected.to_subnormal);
  EXPECT_NEAR(loss.largest_rounding, expected.largest_rounding, 1e-6 * expected.largest_rounding);
}

template <class T>
SpgemmReport check_half(const Csr<T>& a, const Csr<T>& b) {
  const auto result = spgemm(a, b, precision_options(SpgemmPrecision::fp16_fp32));
  const auto positions = spgemm_pattern(a, b);
  EXPECT_TRUE(testing::same_bytes(positions.matrix.columns().span(), result.matrix.columns().span()));
  EXPECT_TRUE(testing::same_bytes(positions.matrix.row_offsets().span(), result.matrix.row_offsets().span()));
  expect_half_bits(a, b, result.matrix);
  EXPECT_EQ(result.report.workflow, SpgemmWorkflow::tiles);
  EXPECT_EQ(result.report.precision, SpgemmPrecision::fp16_fp32);
  EXPECT_EQ(result.report.determinism, Determinism::gpu_to_gpu);
  EXPECT_EQ(result.report.products, testing::count_products(a.view(), b.view()));
  EXPECT_EQ(result.report.nnz, result.matrix.nnz());
  if (&a == &b) {
    expect_value_loss<T>({&a}, result.report.loss.value());
  } else {
    expect_value_loss<T>({&a, &b}, result.report.loss.value());
  }
  return result.report;
}

TYPED_TEST(PrecisionOnHost, GeneratedFamilies) {
  for (const char* spec : {"band:300,width=40", "fem3d:700", "rmat:512", "elasticity3d:4"}) {
    SCOPED_TRACE(spec);
    const auto a = generate<TypeParam>(parse_generator(spec));
    check_half(a, a);
    check_half(a, transpose(a.view()));
  }
}

TYPED_TEST(PrecisionOnHost, SizesBesideMultiplesOfEight) {
  for (const auto& [m, k, n] : {std::tuple{1, 1, 1}, {7, 15, 9}, {17, 8, 23}, {9, 1, 16}}) {
    const auto lengths = [](index_t rows, index_t cols) {
      return std::vector<index_t>(static_cast<std::size_t>(rows), (cols + 1) / 2);
    };
    const auto a = testing::with_row_lengths<TypeParam>(lengths(m, k), k, ValueStorage::weighted, 1);
    const auto b = testing::with_row_lengths<TypeParam>(lengths(k, n), n, ValueStorage::weighted, 2);
    check_half(a, b);
  }
}

TYPED_TEST(PrecisionOnHost, EmptyFactors) {
  const auto empty = [](index_t rows, index_t cols) {
    return testing::make_pattern<TypeParam>(rows, cols, std::vector<offset_t>(static_cast<std::size_t>(rows) + 1, 0),
                                            {});
  };
  for (const auto& [m, k, n] : {std::tuple{0, 0, 0}, {0, 5, 3}, {5, 0, 3}, {9, 9, 0}, {20, 30, 40}}) {
    const SpgemmReport report = check_half(empty(m, k), empty(k, n));
    EXPECT_EQ(report.loss->sampled_entries, 0);
    EXPECT_EQ(report.loss->frobenius_error, 0.0);
  }
}

TYPED_TEST(PrecisionOnHost, PatternsAreExact) {
  const auto lengths = std::vector<index_t>(40, 9);
  const auto pattern = testing::with_row_lengths<TypeParam>(lengths, 40, ValueStorage::pattern, 3);
  const SpgemmReport report = check_half(pattern, pattern);
  EXPECT_EQ(report.loss->values, 0);
  EXPECT_EQ(report.loss->largest_error, 0.0);
  EXPECT_GT(report.loss->sampled_entries, 0);
  check_half(pattern, testing::with_row_lengths<TypeParam>(lengths, 40, ValueStorage::weighted, 4));
}

/// Ties, subnormal numbers, numbers that vanish, the largest number, and both zeros.
TYPED_TEST(PrecisionOnHost, ValuesAtTheEdgesOfTheFormat) {
  const std::vector<TypeParam> values{static_cast<TypeParam>(1 + 0x1p-11),
                                      static_cast<TypeParam>(1 + 3 * 0x1p-11),
                                      static_cast<TypeParam>(-65519.0),
                                      static_cast<TypeParam>(0x1p-15),
                                      static_cast<TypeParam>(-3 * 0x1p-25),
                                      static_cast<TypeParam>(0x1p-25),
                                      static_cast<TypeParam>(0x1.8p-14),
                                      static_cast<TypeParam>(1e-30),
                                      static_cast<TypeParam>(0x1.FFEp-15),
                                      static_cast<TypeParam>(0.1),
                                      static_cast<TypeParam>(0),
                                      static_cast<TypeParam>(-0.0)};
  const auto a = testing::make_csr<TypeParam>(3, 4, {0, 4, 8, 12}, {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}, values);
  const auto b = testing::make_csr<TypeParam>(4, 2, {0, 1, 2, 3, 4}, {0, 0, 1, 0},
                                              std::vector<TypeParam>{2, 3, 4, TypeParam(0.3)});
  const SpgemmReport report = check_half(a, b);
  EXPECT_EQ(report.loss->to_zero, 2);
  EXPECT_EQ(report.loss->to_subnormal, 2);
  EXPECT_EQ(report.loss->largest_rounding, 1.0);
}

/// 65520 is the first number that half precision does not hold.
TYPED_TEST(PrecisionOnHost, OverflowIsRefusedWithItsPlace) {
  const auto options = precision_options(SpgemmPrecision::fp16_fp32);
  const auto good = testing::make_csr<TypeParam>(2, 2, {0, 1, 2}, {0, 1}, std::vector<TypeParam>{1, -65519});
  const auto bad = testing::make_csr<TypeParam>(2, 2, {0, 1, 3}, {0, 0, 1}, std::vector<TypeParam>{1, 65520, -1e20F});
  EXPECT_NO_THROW(static_cast<void>(spgemm(good, good, options)));
  for (const bool left : {true, false}) {
    try {
      static_cast<void>(left ? spgemm(bad, good, options) : spgemm(good, bad, options));
      FAIL() << "not refused";
    } catch (const InvalidMatrix& error) {
      EXPECT_EQ(std::string(error.what()), std::string("precision 'fp16-fp32': entry (2, 1) of ") + (left ? "A" : "B") +
                                               " is 65520, beyond 65504, the largest number in half precision");
    }
  }
}

TYPED_TEST(PrecisionOnHost, ValuesThatAreNotFiniteSpread) {
  const TypeParam infinity = std::numeric_limits<TypeParam>::infinity();
  for (const TypeParam bad : {infinity, -infinity, std::numeric_limits<TypeParam>::quiet_NaN()}) {
    auto values = testing::random_vector<TypeParam>(200, 1);
    values[70] = bad;
    const auto shape = testing::with_row_lengths<TypeParam>(std::vector<index_t>(20, 10), 20, ValueStorage::pattern, 2);
    const auto a = Csr<TypeParam>::copy_of(shape.view());
    const auto weighted =
        Csr<TypeParam>(20, 20, Array<offset_t>::copy_of(a.row_offsets().span()),
                       Array<index_t>::copy_of(a.columns().span()), Array<TypeParam>::copy_of(values));
    const SpgemmReport report = check_half(weighted, weighted);
    EXPECT_TRUE(std::isfinite(report.loss->frobenius_error));
    EXPECT_TRUE(std::isfinite(report.loss->largest_error));
  }
}

/// So small that every entry is in the sample.
TYPED_TEST(PrecisionOnHost, MeasuredErrorIsThatOfTheEntries) {
  const auto a = testing::with_row_lengths<TypeParam>(std::vector<index_t>(30, 7), 25, ValueStorage::weighted, 5);
  const auto b = testing::with_row_lengths<TypeParam>(std::vector<index_t>(25, 6), 31, ValueStorage::weighted, 6);
  const auto result = spgemm(a, b, precision_options(SpgemmPrecision::fp16_fp32));
  long double errors = 0.0L;
  long double norm = 0.0L;
  long double largest = 0.0L;
  std::size_t entry = 0;
  EXPECT_TRUE(testing::is_within(a.view(), b.view(), result.matrix.view(), [&](const testing::ExactEntry& exact) {
    const long double error = std::fabs(static_cast<long double>(result.matrix.view().values[entry++]) - exact.sum);
    errors += error * error;
    norm += exact.sum * exact.sum;
    largest = std::max(largest, error / exact.magnitude);
    // Both values are off by 2^-11 of theirs, sums in single precision come on top.
    return (2 * 0x1p-11L + 0x1p-22L + exact.terms * 0x1p-24L) * exact.magnitude + exact.terms * 0x1p-24L;
  }));
  const SpgemmLoss& loss = result.report.loss.value();
  EXPECT_EQ(loss.sampled_entries, result.matrix.nnz());
  EXPECT_EQ(loss.sampled_rows, 30);
  EXPECT_NEAR(loss.frobenius_error, static_cast<double>(std::sqrt(errors / norm)), 1e-9);
  EXPECT_NEAR(loss.largest_error, static_cast<double>(largest), 1e-9);
  EXPECT_GT(loss.frobenius_error, 1e-6);
}

TYPED_TEST(PrecisionOnHost, SamplesOfLargeProductsAreBounded) {
  const auto a = generate<TypeParam>(parse_generator("band:2000,width=60"));
  const SpgemmLoss loss = spgemm(a, a, precision_options(SpgemmPrecision::fp16_fp32)).report.loss.value();
  EXPECT_EQ(loss.sampled_rows, 64);
  EXPECT_EQ(loss.sampled_entries, 64 * 32);
}

TYPED_TEST(PrecisionOnHost, ThreadsDoNotChangeABit) {
  const auto a = generate<TypeParam>(parse_generator("fem3d:3000"));
  auto options = precision_options(SpgemmPrecision::fp16_fp32, Device::host(1));
  const auto expected = spgemm(a, a, options);
  options.device = Device::host(3);
  const auto found = spgemm(a, a, options);
  testing::expect_identical(expected.matrix.view(), found.matrix.view());
  EXPECT_EQ(expected.report.loss->frobenius_error, found.report.loss->frobenius_error);
}

TYPED_TEST(PrecisionOnHost, ComposedProducts) {
  const auto a = generate<TypeParam>(parse_generator("band:200,width=9"));
  const auto options = precision_options(SpgemmPrecision::fp16_fp32);
  const auto power = matrix_power(a, 3, options);
  ASSERT_EQ(power.products.size(), 2U);
  for (const SpgemmReport& report : power.products) EXPECT_TRUE(report.loss.has_value());
  const auto product = galerkin(a, a, a, options);
  EXPECT_TRUE(product.first.loss.has_value() && product.second.loss.has_value());
  EXPECT_TRUE(matrix_power(a, 1, options).products.empty());
}

TYPED_TEST(PrecisionOnHost, WhatDoesNotGoTogether) {
  const auto a = generate<TypeParam>(parse_generator("band:100,width=5"));
  auto options = precision_options(SpgemmPrecision::fp16_fp32);
  EXPECT_THROW(SpgemmPlan<TypeParam>(Csr<TypeParam>::copy_of(a.view()), Csr<TypeParam>::copy_of(a.view()), options),
               NotSupported);
  const auto positions = spgemm_pattern(a, a, options);
  EXPECT_TRUE(positions.matrix.is_pattern());
  EXPECT_FALSE(positions.report.loss.has_value());
  for (const SpgemmWorkflow workflow : spgemm_workflows()) {
    options.workflow = workflow;
    if (workflow == SpgemmWorkflow::tiles) {
      EXPECT_NO_THROW(static_cast<void>(spgemm(a, a, options)));
    } else {
      EXPECT_THROW(static_cast<void>(spgemm(a, a, options)), InvalidArgument) << to_string(workflow);
    }
  }
  options.workflow = SpgemmWorkflow::automatic;
  options.memory_limit_bytes = 12'000;
  try {
    static_cast<void>(spgemm(a, a, options));
    FAIL() << "tiles do not fit";
  } catch (const OutOfMemory& error) {
    EXPECT_GT(error.requested_bytes(), 12'000U);
    EXPECT_EQ(error.available_bytes(), 12'000U);
  }
}

TEST(SpgemmPrecisionNames, AreParsed) {
  EXPECT_EQ(parse_spgemm_precision("working"), SpgemmPrecision::working);
  for (const SpgemmPrecision precision : spgemm_precisions()) {
    EXPECT_NE(precision, SpgemmPrecision::working);
    EXPECT_EQ(parse_spgemm_precision(to_string(precision)), precision);
    EXPECT_FALSE(describe(precision).empty());
  }
  EXPECT_EQ(spgemm_precisions().size(), 2U);
  try {
    static_cast<void>(parse_spgemm_precision("fp16"));
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("working, fp16-fp32, 3xtf32"), std::string::npos) << error.what();
  }
  EXPECT_THROW(static_cast<void>(to_string(static_cast<SpgemmPrecision>(7))), InvalidArgument);
}

/// The host has no tensor instructions: the bits of single precision.
TEST(Tf32OnHost, IsSinglePrecision) {
  const auto a = generate<float>(parse_generator("fem3d:700"));
  const auto result = spgemm(a, a, precision_options(SpgemmPrecision::tf32x3));
  testing::expect_identical(spgemm(a, a).matrix.view(), result.matrix.view());
  EXPECT_EQ(result.report.precision, SpgemmPrecision::tf32x3);
  EXPECT_EQ(result.report.loss->largest_rounding, 0.0);
  EXPECT_LT(result.report.loss->frobenius_error, 1e-6);
  EXPECT_EQ(spgemm(a, a).report.precision, SpgemmPrecision::working);
  EXPECT_FALSE(spgemm(a, a).report.loss.has_value());
}

TEST(Tf32OnHost, IsNotForDoublePrecision) {
  const auto a = generate<double>(parse_generator("band:50,width=5"));
  EXPECT_THROW(static_cast<void>(spgemm(a, a, precision_options(SpgemmPrecision::tf32x3))), InvalidArgument);
}

}  // namespace
}  // namespace tessera
