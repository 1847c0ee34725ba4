// Residuals on a GPU: summed in double for both element types, whatever the kernel.
#include "tests/spmv/cuda_check.hpp"

namespace tessera::testing {

using namespace detail;
namespace {

template <class T>
class CudaResidual : public CudaTest {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaResidual, Types);

template <class T>
void expect_residual(const CudaProduct<T>& product, int exponent) {
  const CsrView<T> a = product.matrix();
  const Device& gpu = product.plan().device();
  const auto x = random_vector<T>(a.cols, 3);
  const auto b = random_vector<T>(a.rows, 4);
  auto target = Array<T>::copy_of(product.poison(), gpu);
  const double squares = product.plan().residual(exponent, Array<T>::copy_of(b, gpu).span(),
                                                 Array<T>::copy_of(x, gpu).span(), target.span());
  const std::vector<T> r = product.download(std::as_const(target).span());
  ASSERT_TRUE(residual_matches<T>(a, exponent, b, x, r, squares));
}

TYPED_TEST(CudaResidual, IsAccurateForEveryMatrix) {
  for (const ValueStorage storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (const auto& [name, matrix] : adversarial_matrices<TypeParam>(storage, {1152})) {
      SCOPED_TRACE(name);
      const CudaProduct<TypeParam> product(matrix, CudaCase{SpmvAlgorithm::csr_vector}.options(this->gpu()));
      for (const int exponent : {0, -7, 20}) expect_residual(product, exponent);
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

}  // namespace
}  // namespace tessera::testing
