// Every kernel of a GPU on every real matrix, with its values and as a pattern.
#include "tessera/matrix_market.hpp"
#include "tests/spmv/cuda_check.hpp"
#include "tests/support/matrices_dir.hpp"

namespace tessera {

using namespace detail;
namespace {

template <class T>
class CudaRealMatrices : public testing::CudaTest {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaRealMatrices, Types);

template <class T>
Csr<T> pattern_of(const Csr<T>& matrix) {
  return Csr<T>::pattern(matrix.rows(), matrix.cols(), matrix.row_offsets().to(Device{}),
                         matrix.columns().to(Device{}));
}

/// A x over NaN, and an update.
template <class T>
void check_kernels(const Csr<T>& matrix, const std::string& name) {
  const Device gpu = Device::cuda(0);
  const auto storage = matrix.is_pattern() ? ValueStorage::pattern : ValueStorage::weighted;
  const auto x = testing::random_vector<T>(matrix.cols(), 3);
  const auto y = testing::random_vector<T>(matrix.rows(), 4);
  for (const auto& kernel : testing::cuda_cases<T>(gpu, storage)) {
    SCOPED_TRACE(name + ", " + kernel.name());
    const testing::CudaProduct<T> product(matrix, kernel.options(gpu));
    const auto oracle = testing::product_oracle(product.matrix(), testing::constant(x));
    ASSERT_TRUE(testing::near(oracle, testing::constant(product.apply(x))));
    const auto updated = testing::multiply_oracle<T>(T{-2}, product.matrix(), x, T{0.5}, y);
    ASSERT_TRUE(testing::near(updated, testing::constant(product.apply(T{-2}, x, T{0.5}, y))));
  }
}

TYPED_TEST(CudaRealMatrices, EveryKernelIsWithinItsErrorBound) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const auto& file : testing::real_matrix_files()) {
    const Csr<TypeParam> matrix = read_matrix_market<TypeParam>(file).matrix;
    if (testing::is_too_large_here(matrix.nnz())) continue;
    check_kernels(matrix, file.filename().string());
    if (!matrix.is_pattern()) check_kernels(pattern_of(matrix), file.filename().string() + ", pattern");
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

}  // namespace
}  // namespace tessera
