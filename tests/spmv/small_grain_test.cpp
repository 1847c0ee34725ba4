// Small grain: products of small matrices on several threads, with chunks of a few path items, so that nearly every row
// is shared.
#include "tests/support/small_grain.hpp"
#include "tests/spmv/product_check.hpp"

#include "spmv/common/chunks.hpp"

#include <cstring>

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::near;

template <class T>
class SmallGrainProducts : public ::testing::Test {
 protected:
  const testing::SmallGrain grain;  // NOLINT(misc-non-private-member-variables-in-classes)
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SmallGrainProducts, Types);

/// Products of a plan for `threads` threads, plain and buffered, against the oracle.
template <class T>
[[nodiscard]] std::vector<T> checked_product(const std::shared_ptr<const Csr<T>>& matrix,
                                             const testing::KernelCase& kernel, int threads) {
  const SpmvPlan<T> plan(matrix, testing::options_of(kernel, threads));
  const auto x = testing::random_vector<T>(plan.cols(), 3);
  const auto w = testing::random_vector<T>(plan.rows(), 4);
  const auto oracle = testing::product_oracle(plan.matrix(), constant(x));
  std::vector<T> y(static_cast<std::size_t>(plan.rows()), std::numeric_limits<T>::quiet_NaN());
  const ProductDots dots = plan.apply_and_dot(x, y, w);
  EXPECT_TRUE(near(oracle, constant(y)));
  EXPECT_TRUE(testing::dots_match(dots, constant(y), constant(w)));
  DualBuffer<T> buffer = plan.make_output();
  for (int round = 0; round < 3; ++round) {
    plan.apply(x, buffer);
    EXPECT_TRUE(near(oracle, std::as_const(buffer).current())) << "round " << round;
  }
  return y;
}

TYPED_TEST(SmallGrainProducts, AreRightAndRepeatForEveryNumberOfThreads) {
  ASSERT_EQ(host::threads_for(Device::host(3), 100), 3);
  ASSERT_GT(host::chunk_count(100), 8);
  for (const auto storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (auto& [name, matrix] : testing::adversarial_matrices<TypeParam>(storage, {32, 700})) {
      const auto shared = std::make_shared<const Csr<TypeParam>>(std::move(matrix));
      for (const testing::KernelCase& kernel : testing::all_kernel_cases) {
        SCOPED_TRACE(name + ", " + testing::name_of(kernel));
        const auto first = checked_product(shared, kernel, 1);
        for (const int threads : {2, 3, 7}) {
          const auto again = checked_product(shared, kernel, threads);
          ASSERT_FALSE(this->HasFailure()) << threads << " threads";
          if (kernel.determinism != Determinism::gpu_to_gpu || first.empty()) continue;
          ASSERT_EQ(std::memcmp(first.data(), again.data(), first.size() * sizeof(TypeParam)), 0) << threads;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera
