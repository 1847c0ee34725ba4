// Each class that a plan claims, bit by bit.
#include "tests/spmv/product_check.hpp"

#include <cstring>

namespace tessera {

using namespace detail;
namespace {

template <class T>
class DeterminismOf : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DeterminismOf, Types);

template <class T>
bool same_bits(std::span<const T> a, std::span<const T> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

/// Hub rows that many threads share, among a power law; several segments.
template <class T>
std::shared_ptr<const Csr<T>> shared_rows_matrix() {
  std::vector<index_t> lengths = testing::power_law_lengths(20000, 2000, 8);
  lengths[0] = 90000;
  lengths[9000] = 80000;
  lengths[9001] = 20001;
  return std::make_shared<const Csr<T>>(testing::with_row_lengths<T>(lengths, 100000, ValueStorage::weighted));
}

TYPED_TEST(DeterminismOf, GpuToGpuPlansGiveTheSameBitsForAnyNumberOfThreads) {
  const auto matrix = shared_rows_matrix<TypeParam>();
  const auto x = testing::random_vector<TypeParam>(100000, 3);
  const auto w = testing::random_vector<TypeParam>(20000, 4);
  const auto y0 = testing::random_vector<TypeParam>(20000, 5);
  for (const auto& kernel : testing::all_kernel_cases) {
    if (kernel.determinism != Determinism::gpu_to_gpu) continue;
    SCOPED_TRACE(testing::name_of(kernel));
    std::vector<TypeParam> expected;
    ProductDots expected_dots;
    for (const int threads : {1, 2, 3, 4, 5}) {
      const SpmvPlan<TypeParam> plan(matrix, testing::options_of(kernel, threads));
      ASSERT_EQ(plan.info().determinism, Determinism::gpu_to_gpu);
      for (int run = 0; run < 20; ++run) {
        std::vector<TypeParam> y = y0;
        plan.apply(TypeParam{2}, x, TypeParam{-3}, y);
        std::vector<TypeParam> z(y.size());
        const ProductDots dots = plan.apply_and_dot(x, z, w);
        y.insert(y.end(), z.begin(), z.end());
        if (expected.empty()) {
          expected = y;
          expected_dots = dots;
        }
        ASSERT_TRUE(same_bits(testing::constant(y), testing::constant(expected))) << threads << " threads, run " << run;
        ASSERT_EQ(dots.wy, expected_dots.wy);
        ASSERT_EQ(dots.yy, expected_dots.yy);
      }
    }
  }
}

TYPED_TEST(DeterminismOf, BufferedProductsAreThoseOfPlainVectors) {
  const auto matrix = shared_rows_matrix<TypeParam>();
  const auto x = testing::random_vector<TypeParam>(100000, 3);
  for (const auto& kernel : testing::all_kernel_cases) {
    if (kernel.determinism != Determinism::gpu_to_gpu) continue;
    const SpmvPlan<TypeParam> plan(matrix, testing::options_of(kernel, 2));
    std::vector<TypeParam> y(20000);
    plan.apply(x, y);
    DualBuffer<TypeParam> buffer = plan.make_output();
    plan.apply(x, buffer);
    EXPECT_TRUE(same_bits(std::as_const(buffer).current(), testing::constant(y))) << testing::name_of(kernel);
  }
}

TYPED_TEST(DeterminismOf, OneThreadRepeatsEvenWithoutAGuarantee) {
  // Not claimed, but a single thread has no order to vary: a difference here is a bug of the commit, not of rounding.
  const SpmvPlan<TypeParam> plan(shared_rows_matrix<TypeParam>(),
                                 testing::options_of({SpmvAlgorithm::merbit, Determinism::not_guaranteed}, 1));
  ASSERT_EQ(plan.info().determinism, Determinism::not_guaranteed);
  const auto x = testing::random_vector<TypeParam>(100000, 3);
  std::vector<TypeParam> expected(20000);
  plan.apply(x, expected);
  DualBuffer<TypeParam> buffer = plan.make_output();
  for (int run = 0; run < 20; ++run) {
    plan.apply(x, buffer);
    ASSERT_TRUE(same_bits(std::as_const(buffer).current(), testing::constant(expected))) << run;
  }
}

}  // namespace
}  // namespace tessera
