// Block-diagonal matrices of several on the host.
#include "tessera/error.hpp"
#include "tests/preprocess/block_diagonal_cases.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/small_grain.hpp"

#include <limits>

namespace tessera {
namespace {

template <class T>
class BlockDiagonal : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(BlockDiagonal, Types);

TYPED_TEST(BlockDiagonal, IsAssembled) {
  for (const ValueStorage storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (const auto& [name, parts] : testing::sets_of_parts<TypeParam>(storage)) {
      SCOPED_TRACE(name);
      testing::expect_joined(parts, Device{});
    }
  }
}

TYPED_TEST(BlockDiagonal, IsAssembledBySeveralThreads) {
  const testing::SmallGrain small;
  for (const auto& [name, parts] : testing::sets_of_parts<TypeParam>(ValueStorage::weighted, true)) {
    SCOPED_TRACE(name);
    testing::expect_joined(parts, Device::host(3));
  }
}

TYPED_TEST(BlockDiagonal, PatternsBesideValuesAreOnes) {
  std::vector<Csr<TypeParam>> parts;
  parts.push_back(testing::random_part<TypeParam>(6, 5, 4, 1));
  parts.push_back(testing::random_part<TypeParam>(4, 4, 4, 2, ValueStorage::pattern));
  parts.push_back(testing::random_part<TypeParam>(6, 5, 4, 3));
  testing::expect_joined(parts, Device{});
}

TYPED_TEST(BlockDiagonal, OfOneViewManyTimes) {
  const auto part = testing::random_part<TypeParam>(6, 5, 4, 1);
  std::vector<Csr<TypeParam>> copies;
  for (int i = 0; i < 12; ++i) copies.push_back(part.to(Device{}));
  const std::vector<CsrView<TypeParam>> views(12, part.view());
  testing::expect_identical(block_diagonal<TypeParam>(views).view(), block_diagonal<TypeParam>(copies).view());
}

/// Bits, not numbers.
TYPED_TEST(BlockDiagonal, KeepsNaNAndInfinity) {
  using Limits = std::numeric_limits<TypeParam>;
  std::vector<Csr<TypeParam>> parts;
  parts.push_back(testing::make_csr<TypeParam>(1, 2, {0, 2}, {0, 1}, {Limits::quiet_NaN(), -TypeParam{0}}));
  parts.push_back(testing::make_csr<TypeParam>(1, 1, {0, 1}, {0}, {-Limits::infinity()}));
  const Csr<TypeParam> joined = block_diagonal<TypeParam>(parts);
  const std::vector<TypeParam> expected{Limits::quiet_NaN(), -TypeParam{0}, -Limits::infinity()};
  EXPECT_TRUE(testing::same_bytes<TypeParam>(joined.values().span(), expected));
}

TEST(BlockDiagonalSizes, BeyondTheIndicesAreRefused) {
  const std::vector<offset_t> offsets{0};
  const auto half = index_t{1} << 30;
  std::vector<CsrView<double>> wide(2, {0, half, ValueStorage::weighted, offsets, {}, {}});
  EXPECT_EQ(testing::message_of<DimensionError>([&] { (void)block_diagonal<double>(wide); }),
            "2 matrices on one diagonal are 0 x 2147483648: at most 2147483647 rows and columns");
  wide.back().cols = half - 1;
  EXPECT_EQ(block_diagonal<double>(wide).cols(), std::numeric_limits<index_t>::max());
  // Refused before anything is read.
  const std::vector<CsrView<double>> tall(3, {half, 1, ValueStorage::pattern, {}, {}, {}});
  EXPECT_EQ(testing::message_of<DimensionError>([&] { (void)block_diagonal<double>(tall); }),
            "3 matrices on one diagonal are 3221225472 x 3: at most 2147483647 rows and columns");
}

}  // namespace
}  // namespace tessera
