#include "core/value_passes.hpp"
#include "preprocess/transpose_map.hpp"
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

TYPED_TEST(Transpose, PositionsGatherNewValues) {
  const Csr<TypeParam> matrix =
      testing::with_row_lengths<TypeParam>(testing::power_law_lengths(900, 60, 7), 80, ValueStorage::weighted);
  for (const int threads : {1, 4}) {
    const Device device = Device::host(threads);
    const TransposeMap<TypeParam> map = transpose_map(matrix.view(), device);
    Array<TypeParam> values(matrix.nnz());
    gather_values(device, map.positions.span(), matrix.values().span(), values.span());
    const Csr<TypeParam> transposed = map.structure.with_values(std::move(values));
    EXPECT_TRUE(transposed.shares_structure_with(map.structure));
    const testing::EigenSparse<TypeParam> expected = testing::to_eigen(matrix.view()).transpose();
    ASSERT_EQ((testing::to_eigen(transposed.view()) - expected).norm(), TypeParam{0});
  }
}

}  // namespace
}  // namespace tessera
