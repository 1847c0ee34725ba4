// Plans on a GPU beside right products: repeatable bits, new values, products from several threads.
#include "spmv/registry.hpp"
#include "tests/spmv/cuda_check.hpp"
#include "tests/support/compare.hpp"

#include <thread>
#include <type_traits>

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::CudaCase;
using testing::CudaProduct;
using testing::near;

template <class T>
class CudaPlan : public testing::CudaTest {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaPlan, Types);

/// Hub rows that many blocks share, among a power law.
template <class T>
Csr<T> shared_rows_matrix() {
  std::vector<index_t> lengths = testing::power_law_lengths(6000, 2000, 8);
  lengths[0] = 90000;
  lengths[3000] = 80000;
  lengths[3001] = 20001;
  return testing::with_row_lengths<T>(lengths, 100000, ValueStorage::weighted);
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return testing::same_bytes(std::span<const T>(a), std::span<const T>(b));
}

TYPED_TEST(CudaPlan, RepeatsBitwiseWhereItSaysSo) {
  const auto matrix = shared_rows_matrix<TypeParam>();
  const auto x = testing::random_vector<TypeParam>(100000, 3);
  const auto y0 = testing::random_vector<TypeParam>(6000, 5);
  for (CudaCase kernel : testing::cuda_cases<TypeParam>(this->gpu())) {
    kernel.determinism = spmv_kernel_entry(kernel.algorithm).cuda.strongest;
    if (kernel.determinism == Determinism::not_guaranteed) continue;
    SCOPED_TRACE(kernel.name());
    const CudaProduct<TypeParam> first(matrix, kernel.options(this->gpu()));
    const CudaProduct<TypeParam> second(matrix, kernel.options(this->gpu()));
    EXPECT_GE(first.plan().info().determinism, kernel.determinism);
    const auto expected = first.apply(TypeParam{2}, x, TypeParam{-3}, y0);
    const auto [expected_product, expected_dots] = first.apply_and_dot(x, y0);
    for (int run = 0; run < testing::repetitions(20, 2); ++run) {
      const CudaProduct<TypeParam>& product = run % 2 == 0 ? first : second;
      ASSERT_TRUE(same_bits(product.apply(TypeParam{2}, x, TypeParam{-3}, y0), expected)) << "run " << run;
      const auto [y, dots] = product.apply_and_dot(x, y0);
      ASSERT_TRUE(same_bits(y, expected_product)) << "run " << run;
      ASSERT_EQ(dots.wy, expected_dots.wy);
      ASSERT_EQ(dots.yy, expected_dots.yy);
    }
  }
}

TYPED_TEST(CudaPlan, UpdatesOfValuesReachEveryKernel) {
  const auto matrix =
      testing::with_row_lengths<TypeParam>(testing::power_law_lengths(800, 1500, 2), 1600, ValueStorage::weighted);
  const auto x = testing::random_vector<TypeParam>(1600, 3);
  for (const CudaCase& kernel : testing::cuda_cases<TypeParam>(this->gpu())) {
    SCOPED_TRACE(kernel.name());
    CudaProduct<TypeParam> product(matrix, kernel.options(this->gpu()));
    const std::uint64_t bytes = product.plan().info().bytes;
    for (std::uint64_t round = 0; round < 3; ++round) {
      const auto values = testing::random_vector<TypeParam>(matrix.nnz(), 50 + round);
      product.update_values(values, kernel.fp32_values);
      ASSERT_TRUE(near(testing::product_oracle(product.matrix(), constant(x)), constant(product.apply(x)))) << round;
    }
    EXPECT_EQ(product.plan().info().bytes, bytes);
  }
}

TYPED_TEST(CudaPlan, ServesTwoThreadsAtOnce) {
  const auto matrix = shared_rows_matrix<TypeParam>();
  for (const CudaCase& kernel : testing::cuda_cases<TypeParam>(this->gpu())) {
    SCOPED_TRACE(kernel.name());
    const CudaProduct<TypeParam> product(matrix, kernel.options(this->gpu()));
    std::vector<TypeParam> results[2];
    const auto work = [&](std::size_t which) {
      for (int run = 0; run < testing::repetitions(10, 2); ++run) {
        results[which] = product.apply(testing::random_vector<TypeParam>(100000, which));
      }
    };
    std::thread other([&] { work(1); });
    work(0);
    other.join();
    for (const std::size_t which : {0U, 1U}) {
      const auto x = testing::random_vector<TypeParam>(100000, which);
      ASSERT_TRUE(near(testing::product_oracle(product.matrix(), constant(x)), constant(results[which])));
    }
  }
}

/// Aᵀ x by the plan against sums in long double. \param a the 900 x 800 matrix of the plan, on the host
template <class T>
void expect_transposed_product(const SpmvPlan<T>& plan, const CsrView<T>& a) {
  const auto x = testing::random_vector<T>(900, 1);
  std::vector<long double> expected(800);
  std::vector<long double> magnitude(800);
  for (std::size_t i = 0; i < 900; ++i) {
    for (offset_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
      const auto j = static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)]);
      const long double term = static_cast<long double>(a.value(k)) * static_cast<long double>(x[i]);
      expected[j] += term;
      magnitude[j] += std::fabs(term);
    }
  }
  const auto source = Array<T>::copy_of(x, plan.device());
  Array<T> target(800, Init::none, plan.device());
  plan.apply_transposed(source.span(), target.span());
  const Array<T> y = target.to(Device{});
  for (std::size_t j = 0; j < 800; ++j) {
    ASSERT_LE(std::fabs(static_cast<long double>(y[static_cast<std::int64_t>(j)]) - expected[j]),
              904 * std::numeric_limits<T>::epsilon() * magnitude[j]);
  }
}

TYPED_TEST(CudaPlan, MultipliesWithTheTransposeAndWithItsNewValues) {
  const auto matrix =
      testing::with_row_lengths<TypeParam>(testing::power_law_lengths(900, 700, 2), 800, ValueStorage::weighted);
  for (const SpmvAlgorithm algorithm : {SpmvAlgorithm::merge, SpmvAlgorithm::tiles}) {
    SCOPED_TRACE(to_string(algorithm));
    SpmvOptions options = CudaCase{algorithm}.options(this->gpu());
    options.with_transpose = true;
    SpmvPlan<TypeParam> plan(Csr<TypeParam>::copy_of(matrix.view()), options);
    expect_transposed_product(plan, matrix.view());
    const auto values = testing::random_vector<TypeParam>(matrix.nnz(), 9);
    plan.update_values(std::span<const TypeParam>(values));
    CsrView<TypeParam> updated = matrix.view();
    updated.values = values;
    expect_transposed_product(plan, updated);
    EXPECT_GT(plan.info().transpose->bytes, std::uint64_t{0});
  }
}

TYPED_TEST(CudaPlan, MeasuresWhenItHasPaid) {
  const auto matrix = testing::with_row_lengths<TypeParam>(testing::lengths_of(500, 4), 600, ValueStorage::weighted);
  for (const CudaCase& kernel : testing::cuda_cases<TypeParam>(this->gpu())) {
    const CudaProduct<TypeParam> product(matrix, kernel.options(this->gpu()));
    const BreakEven result = product.plan().measure_break_even(3);
    EXPECT_GT(result.apply_ms, 0.0) << kernel.name();
    EXPECT_GT(result.reference_ms, 0.0) << kernel.name();
  }
}

TYPED_TEST(CudaPlan, SaysWhatItKeeps) {
  const auto weighted = testing::with_row_lengths<TypeParam>(testing::lengths_of(500, 4), 600, ValueStorage::weighted);
  const auto pattern = testing::with_row_lengths<TypeParam>(testing::lengths_of(500, 4), 600, ValueStorage::pattern);
  for (const CudaCase& kernel : testing::cuda_cases<TypeParam>(this->gpu())) {
    SCOPED_TRACE(kernel.name());
    const PlanInfo info = CudaProduct<TypeParam>(weighted, kernel.options(this->gpu())).plan().info();
    const PlanInfo without = CudaProduct<TypeParam>(pattern, kernel.options(this->gpu())).plan().info();
    EXPECT_EQ(info.algorithm, kernel.algorithm);
    EXPECT_GT(info.build_ms, 0.0);
    if (kernel.algorithm == SpmvAlgorithm::streamed) {  // the matrix stays on the host
      EXPECT_EQ(info.upload_ms, 0.0);
      ASSERT_TRUE(info.stream && without.stream);
      EXPECT_GT(info.stream->bytes_per_product, without.stream->bytes_per_product);
      continue;
    }
    EXPECT_GT(info.upload_ms, 0.0);
    if (testing::is_vendor(kernel.algorithm)) {
      EXPECT_EQ(without.bytes, info.bytes + 2000 * sizeof(TypeParam));  // ones
    } else if (kernel.algorithm == SpmvAlgorithm::tiles) {              // one value more than there are
      EXPECT_EQ(info.bytes, without.bytes + 2001 * (kernel.fp32_values ? sizeof(float) : sizeof(TypeParam)));
    } else if (kernel.fp32_values && kernel.algorithm != SpmvAlgorithm::merbit) {  // whose tiles depend on the types
      EXPECT_EQ(info.bytes, without.bytes + 2000 * sizeof(float));
    } else if (kernel.algorithm == SpmvAlgorithm::csr5) {
      EXPECT_EQ(info.bytes, without.bytes + 2000 * sizeof(TypeParam));
    }
  }
}

TYPED_TEST(CudaPlan, ChoosesAKernelByItself) {
  const auto matrix = testing::with_row_lengths<TypeParam>(testing::lengths_of(500, 4), 600, ValueStorage::weighted);
  SpmvOptions options;
  options.device = this->gpu();
  const CudaProduct<TypeParam> product(matrix, options);
  EXPECT_NE(product.plan().info().algorithm, SpmvAlgorithm::automatic);
  EXPECT_FALSE(product.plan().info().reason.empty());
  testing::check_all_products(product);
  options.determinism = Determinism::gpu_to_gpu;
  EXPECT_THROW(CudaProduct<TypeParam>(matrix, options), NotSupported);
}

TYPED_TEST(CudaPlan, AutomaticChoiceFollowsTheRowsAndTheProducts) {
  SpmvOptions options;
  options.device = this->gpu();
  const auto chosen = [&options](std::vector<index_t> lengths, ValueStorage storage = ValueStorage::pattern) {
    const auto matrix = testing::with_row_lengths<TypeParam>(lengths, 1500, storage);
    return CudaProduct<TypeParam>(matrix, options).plan().info().algorithm;
  };
  EXPECT_EQ(chosen(testing::lengths_of(500, 60)), SpmvAlgorithm::csr_vector);
  // Few nonzeros: one kernel, if no row keeps it waiting.
  std::vector<index_t> uneven = testing::lengths_of(500, 40);
  for (std::size_t i = 0; i < uneven.size(); i += 10) uneven[i] = 300;
  std::vector<index_t> with_hub = testing::lengths_of(500, 40);
  with_hub[7] = 1300;
  for (const ValueStorage storage : {ValueStorage::pattern, ValueStorage::weighted}) {
    EXPECT_EQ(chosen(testing::lengths_of(500, 0), storage), SpmvAlgorithm::csr_vector);
    EXPECT_EQ(chosen(testing::lengths_of(500, 40), storage), SpmvAlgorithm::csr_vector);
    EXPECT_EQ(chosen(uneven, storage), SpmvAlgorithm::csr_vector);
    EXPECT_EQ(chosen(with_hub, storage), SpmvAlgorithm::merbit);
  }
  options.expected_applications = 2;
  EXPECT_EQ(chosen(with_hub), SpmvAlgorithm::merge);
}

/// Few nonzeros, some rows far longer than the mean. One kernel takes every row whole, so there are no parts to list or
/// to join; MERBIT where that leaves most lanes idle.
TYPED_TEST(CudaPlan, FewNonzerosWithLongRowsTakeOneKernel) {
  SpmvOptions options;
  options.device = this->gpu();
  const auto plan = [&](std::size_t rows, index_t mean, std::size_t every, index_t longest) {
    std::vector<index_t> lengths = testing::lengths_of(rows, mean);
    for (std::size_t i = 0; i < lengths.size(); i += every) lengths[i] = longest;
    const auto matrix = testing::with_row_lengths<TypeParam>(lengths, 1200, ValueStorage::weighted);
    const CudaProduct<TypeParam> product(matrix, options);
    testing::check_all_products(product);
    return product.plan().info();
  };
  const auto with_values_of = [](SpmvAlgorithm of_double, SpmvAlgorithm of_float) {
    return std::is_same_v<TypeParam, double> ? of_double : of_float;
  };
  using enum SpmvAlgorithm;
  const PlanInfo like_bcsstk38 = plan(700, 40, 240, 614);
  EXPECT_EQ(like_bcsstk38.algorithm, csr_vector);
  EXPECT_NE(like_bcsstk38.reason.find("32 lanes per row, at most 20 loads"), std::string::npos) << like_bcsstk38.reason;
  constexpr std::uint64_t sums_of_blocks = (700 * 32 / 256 + 1 + 1) * 2 * sizeof(double);
  EXPECT_LE(like_bcsstk38.bytes, sums_of_blocks) << "no parts of long rows";
  const PlanInfo like_memplus = plan(700, 7, 240, 574);
  EXPECT_EQ(like_memplus.algorithm, with_values_of(merbit, csr_vector));
  EXPECT_NE(like_memplus.reason.find(with_values_of(merbit, csr_vector) == merbit ? "a row of 574" : "18 loads"),
            std::string::npos)
      << like_memplus.reason;
  EXPECT_EQ(plan(700, 9, 240, 893).algorithm, with_values_of(merbit, csr_vector)) << "as wiki-Vote";
  EXPECT_EQ(plan(700, 7, 240, 512).algorithm, csr_vector) << "16 loads";
  EXPECT_EQ(plan(300, 40, 100, 1024).algorithm, csr_vector);
  EXPECT_EQ(plan(300, 40, 100, 1025).algorithm, merbit);
  options.expected_applications = 2;
  EXPECT_EQ(plan(700, 7, 240, 574).algorithm, csr_vector) << "two products do not repay tiles";
}

/// bcsstk16's case: long rows of similar length, without values.
TYPED_TEST(CudaPlan, RanksOfAPatternTakeTheFusedProductForAnyRows) {
  SpmvOptions options;
  options.device = this->gpu();
  options.rank_products = true;
  const auto plan = [&options](ValueStorage storage) {
    const auto matrix = testing::with_row_lengths<TypeParam>(testing::lengths_of(500, 60), 600, storage);
    return CudaProduct<TypeParam>(matrix, options).plan().info();
  };
  EXPECT_EQ(plan(ValueStorage::pattern).algorithm, SpmvAlgorithm::merbit);
  EXPECT_NE(plan(ValueStorage::pattern).reason.find("iteration of PageRank"), std::string::npos);
  EXPECT_EQ(plan(ValueStorage::weighted).algorithm, SpmvAlgorithm::csr_vector) << "weights are not fused";
  options.expected_applications = 2;
  EXPECT_EQ(plan(ValueStorage::pattern).algorithm, SpmvAlgorithm::csr_vector) << "two products do not repay tiles";
}

class CudaVendor : public testing::CudaTest {};

TEST_F(CudaVendor, NamesTheLibraryThatIsMissing) {
  std::string why;
  if (testing::has_vendor_kernels(gpu(), why)) GTEST_SKIP() << "cuSPARSE is here";
  if (why.find("cusparse.h") != std::string::npos) GTEST_SKIP() << why;
  EXPECT_NE(why.find("libcusparse.so.12"), std::string::npos) << why;
  EXPECT_NE(why.find("LD_LIBRARY_PATH"), std::string::npos) << why;
}

}  // namespace
}  // namespace tessera
