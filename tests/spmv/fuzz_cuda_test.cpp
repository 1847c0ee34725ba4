// Random shapes for every kernel of a GPU.
#include "tests/spmv/cuda_check.hpp"

namespace tessera {

using namespace detail;
namespace {

using testing::CudaCase;

class CudaFuzz : public testing::CudaTest {};

template <class T>
void fuzz(const CudaCase& kernel, const Device& gpu, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  const auto rows = static_cast<index_t>(generator() % (seed % 10 == 0 ? 8000 : 700));
  const auto cols = static_cast<index_t>(1 + generator() % 3000);
  const auto storage = generator() % 2 == 0 ? ValueStorage::weighted : ValueStorage::pattern;
  SpmvOptions options = kernel.options(gpu);
  const auto sigma = static_cast<int>(generator() % 54);
  if (kernel.algorithm == SpmvAlgorithm::csr5) options.sigma = sigma % 49;
  const auto matrix =
      testing::with_row_lengths<T>(testing::random_lengths(generator, 40, rows, cols), cols, storage, seed);
  const testing::CudaProduct<T> product(matrix, options);
  const auto x = testing::random_vector<T>(cols, seed + 1);
  const auto y = testing::random_vector<T>(rows, seed + 2);
  const auto update = testing::multiply_oracle<T>(T{2}, product.matrix(), x, T{-1}, y);
  ASSERT_TRUE(testing::near(update, testing::constant(product.apply(T{2}, x, T{-1}, y))));
  const auto [z, dots] = product.apply_and_dot(x, y);
  ASSERT_TRUE(testing::near(testing::product_oracle(product.matrix(), testing::constant(x)), testing::constant(z)));
  ASSERT_TRUE(testing::dots_match(dots, testing::constant(z), testing::constant(y)));
}

TEST_F(CudaFuzz, RandomShapesOfEveryKernel) {
  for (const CudaCase& kernel : testing::cuda_cases<double>(gpu())) {
    for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(testing::repetitions(110, 6)); ++seed) {
      SCOPED_TRACE(kernel.name() + ", seed " + std::to_string(seed));
      fuzz<double>(kernel, gpu(), seed);
      if (!kernel.fp32_values) fuzz<float>(kernel, gpu(), 1000 + seed);
      ASSERT_FALSE(HasFatalFailure());
    }
  }
}

}  // namespace
}  // namespace tessera
