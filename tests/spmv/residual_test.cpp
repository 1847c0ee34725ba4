/// Residuals by which solvers judge x: summed in double for both element types, whatever the kernel.
#include "tessera/error.hpp"
#include "tests/spmv/product_check.hpp"

namespace tessera::testing {

using namespace detail;
namespace {

template <class T>
void expect_residual(const SpmvPlan<T>& plan, int exponent, const std::string& name) {
  SCOPED_TRACE(name);
  const std::vector<T> x = random_vector<T>(plan.cols(), 3);
  const std::vector<T> b = random_vector<T>(plan.rows(), 4);
  std::vector<T> r(b.size(), std::numeric_limits<T>::quiet_NaN());
  const double squares = plan.residual(exponent, b, x, r);
  ASSERT_TRUE(residual_matches<T>(plan.matrix(), exponent, b, x, r, squares));
}

template <class T>
class Residual : public ::testing::Test {};
using ElementTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Residual, ElementTypes);

TYPED_TEST(Residual, IsAccurateForEveryKernelAndMatrix) {
  for (const ValueStorage storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (const auto& [name, matrix] : adversarial_matrices<TypeParam>(storage, default_path_units<TypeParam>())) {
      for (const KernelCase& kernel : all_kernel_cases) {
        const SpmvPlan<TypeParam> plan(Csr<TypeParam>::copy_of(matrix.view()), options_of(kernel));
        for (const int exponent : {0, -7, 20}) expect_residual(plan, exponent, name + ", " + name_of(kernel));
      }
    }
  }
}

TYPED_TEST(Residual, DoesNotDependOnTheNumberOfThreads) {
  const auto lengths = power_law_lengths(30000, 4000, 5);
  const auto a = with_row_lengths<TypeParam>(lengths, 20000, ValueStorage::weighted, 9);
  const std::vector<TypeParam> x = random_vector<TypeParam>(a.cols(), 1);
  const std::vector<TypeParam> b = random_vector<TypeParam>(a.rows(), 2);
  const auto residual = [&](int threads) {
    const SpmvPlan<TypeParam> plan(Csr<TypeParam>::copy_of(a.view()),
                                   options_of({SpmvAlgorithm::csr, Determinism::gpu_to_gpu}, threads));
    std::vector<TypeParam> r(b.size());
    return std::pair(plan.residual(0, b, x, r), r);
  };
  const auto one = residual(1);
  for (const int threads : {2, 3, 5}) EXPECT_EQ(residual(threads), one) << threads;
}

TYPED_TEST(Residual, RefusesVectorsThatDoNotFit) {
  const SpmvPlan<TypeParam> plan(with_row_lengths<TypeParam>({1, 2, 0}, 2, ValueStorage::weighted, 1));
  std::vector<TypeParam> two(2);
  std::vector<TypeParam> three(3);
  std::vector<TypeParam> other(3);
  EXPECT_THROW(plan.residual(0, two, two, three), DimensionError);
  EXPECT_THROW(plan.residual(0, three, three, other), DimensionError);
  EXPECT_THROW(plan.residual(0, three, two, two), DimensionError);
  EXPECT_THROW(plan.residual(0, three, two, three), InvalidArgument);
}

}  // namespace
}  // namespace tessera::testing
