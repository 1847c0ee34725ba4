#include "tessera/statistics.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/eigen_bridge.hpp"

#include <gtest/gtest.h>

namespace tessera {

using namespace detail;
namespace {

template <class T>
class Transpose : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Transpose, Types);

TYPED_TEST(Transpose, EqualsEigenOnAdversarialMatrices) {
  for (const auto storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (const auto& [name, matrix] : testing::adversarial_matrices<TypeParam>(storage, {672})) {
      for (const int threads : {1, 3}) {
        SCOPED_TRACE(name);
        const Csr<TypeParam> transposed = transpose(matrix.view(), Device::host(threads));
        ASSERT_NO_THROW(validate(transposed.view()));
        ASSERT_EQ(transposed.is_pattern(), matrix.is_pattern());
        const testing::EigenSparse<TypeParam> expected = testing::to_eigen(matrix.view()).transpose();
        ASSERT_EQ(transposed.rows(), expected.rows());
        ASSERT_EQ(transposed.cols(), expected.cols());
        const testing::EigenSparse<TypeParam> actual = testing::to_eigen(transposed.view());
        ASSERT_EQ(actual.nonZeros(), expected.nonZeros());
        // Eigen has no norm of a matrix without elements.
        if (expected.size() == 0) continue;
        ASSERT_EQ((actual - expected).norm(), TypeParam{0});
      }
    }
  }
}

TYPED_TEST(Transpose, LargeEnoughForSeveralParts) {
  const Csr<TypeParam> matrix =
      testing::with_row_lengths<TypeParam>(testing::lengths_of(3000, 40), 500, ValueStorage::weighted);
  const Csr<TypeParam> transposed = transpose(matrix.view(), Device::host(5));
  ASSERT_NO_THROW(validate(transposed.view()));
  const testing::EigenSparse<TypeParam> expected = testing::to_eigen(matrix.view()).transpose();
  ASSERT_EQ((testing::to_eigen(transposed.view()) - expected).norm(), TypeParam{0});
}

}  // namespace
}  // namespace tessera
