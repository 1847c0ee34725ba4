// Batches of products on a GPU.
#include "core/cuda/memory.hpp"
#include "spmv/selection.hpp"
#include "tessera/generators.hpp"
#include "tests/spmv/spmv_batch_cases.hpp"
#include "tests/support/cuda_kernels.hpp"
#include "tests/support/cuda_test.hpp"

namespace tessera {
namespace {

template <class T>
class BatchCuda : public testing::CudaTest {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(BatchCuda, Types);

/// Of a batch of equal structures every kernel.
std::vector<SpmvAlgorithm> kernels(const Device& gpu) {
  std::vector<SpmvAlgorithm> all = testing::cuda_algorithms(gpu);
  all.insert(all.end(), {SpmvAlgorithm::patterns, SpmvAlgorithm::sell});
  return all;
}

TYPED_TEST(BatchCuda, ProductsAreRight) {
  testing::check_all_products<TypeParam>(this->gpu(), kernels(this->gpu()), ValueStorage::weighted,
                                         testing::gpu_is_emulated);
}

TYPED_TEST(BatchCuda, ProductsOfPatternsAreRight) {
  testing::check_all_products<TypeParam>(this->gpu(), kernels(this->gpu()), ValueStorage::pattern, true);
}

TYPED_TEST(BatchCuda, NothingLeaksIntoOtherParts) {
  testing::check_that_nothing_leaks<TypeParam>(this->gpu(), kernels(this->gpu()));
}

TYPED_TEST(BatchCuda, NewValues) {
  for (const SpmvAlgorithm algorithm : kernels(this->gpu())) {
    SCOPED_TRACE(to_string(algorithm));
    for (const Device& there : {Device{}, this->gpu()}) {
      testing::check_new_values<TypeParam>({.algorithm = algorithm, .device = this->gpu()}, there);
    }
  }
}

using SpmvBatchCuda = testing::CudaTest;

/// Rows of many equal grids have the lists of one, whatever the values: two million nonzeros are enough for `auto`.
TEST_F(SpmvBatchCuda, AutoTakesRowPatternsOfManyGrids) {
  const Csr<double> grid = poisson2d<double>(70, 70);
  for (const std::size_t count : {80U, 90U}) {
    const Csr<double> ones = block_diagonal<double>(std::vector(count, grid.view()));
    const auto values = testing::random_vector<double>(ones.nnz(), 1);
    const Csr<double> joined = ones.with_values(Array<double>::copy_of(values)).to(gpu());
    const detail::SpmvSelection selection = detail::select_spmv_kernel(joined.view(), {.device = gpu()});
    EXPECT_EQ(selection.algorithm, count == 90 ? SpmvAlgorithm::patterns : SpmvAlgorithm::csr_vector) << count;
    EXPECT_EQ(selection.reason.find("9 row patterns name 100 % of a sample of rows") == 0, count == 90)
        << selection.reason;
  }
}

TEST_F(SpmvBatchCuda, ProductsNeitherWaitNorAllocate) {
  const SpmvBatch<double> batch(testing::equal_structures<double>(20), {.device = gpu()});
  const Array<double> x(600, Init::zero, gpu());
  Array<double> y(600, Init::zero, gpu());
  batch.apply(x.span(), y.span());
  const ContextCounts before = cuda::counts_of(gpu());
  batch.apply(x.span(), y.span());
  batch.apply(2.0, x.span(), 3.0, y.span());
  const ContextCounts after = cuda::counts_of(gpu());
  EXPECT_EQ(after.allocations - before.allocations, 0U);
  EXPECT_EQ(after.waits - before.waits, 0U);
}

/// Parts on the host, a plan on the GPU.
TYPED_TEST(BatchCuda, PartsOfTheHost) {
  const auto parts = testing::equal_structures<TypeParam>(7);
  const SpmvBatch<TypeParam> batch(parts, {.device = this->gpu()});
  EXPECT_EQ(batch.plan().device(), this->gpu());
  testing::check_products(batch, parts);
}

}  // namespace
}  // namespace tessera
