// Random shapes for every kernel.
#include "tests/spmv/product_check.hpp"

namespace tessera {

using namespace detail;
namespace {

template <class T>
void fuzz(const testing::KernelCase& kernel, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  const auto rows = static_cast<index_t>(generator() % (seed % 10 == 0 ? 8000 : 700));
  const auto cols = static_cast<index_t>(1 + generator() % 3000);
  const auto storage = generator() % 2 == 0 ? ValueStorage::weighted : ValueStorage::pattern;
  SpmvOptions options = testing::options_of(kernel, static_cast<int>(1 + generator() % 4));
  if (kernel.algorithm == SpmvAlgorithm::merbit) options.sigma = static_cast<int>(generator() % 54);
  if (kernel.algorithm == SpmvAlgorithm::csr5) options.sigma = static_cast<int>(generator() % 49);
  const SpmvPlan<T> plan(
      testing::with_row_lengths<T>(testing::random_lengths(generator, 12, rows, cols), cols, storage, seed), options);
  const auto x = testing::random_vector<T>(cols, seed + 1);
  auto y = testing::random_vector<T>(rows, seed + 2);
  const auto update = testing::multiply_oracle<T>(T{2}, plan.matrix(), x, T{-1}, y);
  plan.apply(T{2}, x, T{-1}, y);
  ASSERT_TRUE(testing::near(update, testing::constant(y)));
  DualBuffer<T> buffer = plan.make_output();
  const auto product = testing::product_oracle(plan.matrix(), testing::constant(x));
  for (int round = 0; round < 3; ++round) {
    const ProductDots dots = plan.apply_and_dot(x, buffer, y);
    ASSERT_TRUE(testing::near(product, std::as_const(buffer).current()));
    ASSERT_TRUE(testing::dots_match(dots, std::as_const(buffer).current(), testing::constant(y)));
  }
}

TEST(Fuzz, RandomShapesOfEveryKernel) {
  for (const auto& kernel : testing::all_kernel_cases) {
    for (std::uint64_t seed = 0; seed < 110; ++seed) {
      SCOPED_TRACE(testing::name_of(kernel) + ", seed " + std::to_string(seed));
      fuzz<double>(kernel, seed);
      fuzz<float>(kernel, 1000 + seed);
      ASSERT_FALSE(HasFatalFailure());
    }
  }
}

}  // namespace
}  // namespace tessera
