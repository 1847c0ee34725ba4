// Residuals on a GPU: summed in double for both element types, whatever the kernel.
#include "tests/spmv/cuda_check.hpp"

#include <cmath>

namespace tessera::testing {

using namespace detail;
namespace {

template <class T>
class CudaResidual : public CudaTest {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaResidual, Types);

/// ‖r‖₂² and every r_i, which is rounded to T only once: the bound of sums in T, smaller by the ratio of the epsilons.
template <class T>
void expect_residual(const CudaProduct<T>& product, int exponent) {
  const CsrView<T> a = product.matrix();
  const Device& gpu = product.plan().device();
  const auto x = random_vector<T>(a.cols, 3);
  const auto b = random_vector<T>(a.rows, 4);
  std::vector<T> scaled_b = b;
  for (T& value : scaled_b) value = std::ldexp(value, exponent);
  const ProductOracle oracle = multiply_oracle<T>(T{-1}, a, x, T{1}, scaled_b);
  auto target = Array<T>::copy_of(product.poison(), gpu);
  const double squares = product.plan().residual(exponent, Array<T>::copy_of(b, gpu).span(),
                                                 Array<T>::copy_of(x, gpu).span(), target.span());
  const std::vector<T> r = product.download(std::as_const(target).span());
  constexpr long double ratio =
      static_cast<long double>(std::numeric_limits<double>::epsilon()) / std::numeric_limits<T>::epsilon();
  long double expected = 0;
  long double slack = 0;
  for (std::size_t i = 0; i < r.size(); ++i) {
    const long double bound = oracle.bound[i] * ratio;
    const long double rounding = std::fabs(oracle.y[i]) * std::numeric_limits<T>::epsilon() / 2;
    ASSERT_LE(std::fabs(static_cast<long double>(r[i]) - oracle.y[i]),
              bound + rounding + std::numeric_limits<T>::denorm_min())
        << "row " << i;
    expected += oracle.y[i] * oracle.y[i];
    slack += 2 * std::fabs(oracle.y[i]) * bound + bound * bound;
  }
  const auto terms = static_cast<long double>(r.size() + 4);
  EXPECT_LE(std::fabs(static_cast<long double>(squares) - expected),
            slack + terms * std::numeric_limits<double>::epsilon() * expected);
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
