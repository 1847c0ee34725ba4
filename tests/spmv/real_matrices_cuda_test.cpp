// Every kernel of a GPU on every real matrix.
#include "tessera/matrix_market.hpp"
#include "tests/spmv/cuda_check.hpp"
#include "tests/support/matrices_dir.hpp"

namespace tessera {
namespace {

class CudaRealMatrices : public testing::CudaTest {};

TEST_F(CudaRealMatrices, EveryKernelIsWithinItsErrorBound) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const auto& file : testing::real_matrix_files()) {
    const Csr<double> matrix = read_matrix_market<double>(file).matrix;
    if (testing::is_too_large_here(matrix.nnz())) continue;
    const auto x = testing::random_vector<double>(matrix.cols(), 3);
    for (const auto& kernel :
         testing::cuda_cases<double>(gpu(), matrix.is_pattern() ? ValueStorage::pattern : ValueStorage::weighted)) {
      SCOPED_TRACE(file.filename().string() + ", " + kernel.name());
      const testing::CudaProduct<double> product(matrix, kernel.options(gpu()));
      const auto oracle = testing::product_oracle(product.matrix(), testing::constant(x));
      ASSERT_TRUE(testing::near(oracle, testing::constant(product.apply(x))));
    }
  }
}

}  // namespace
}  // namespace tessera
