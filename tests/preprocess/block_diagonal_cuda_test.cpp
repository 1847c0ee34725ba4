// Block-diagonal matrices of several on a GPU.
#include "core/cuda/memory.hpp"
#include "tessera/context.hpp"
#include "tessera/error.hpp"
#include "tests/preprocess/block_diagonal_cases.hpp"
#include "tests/support/cuda_test.hpp"
#include "tests/support/error_message.hpp"

namespace tessera {
namespace {

template <class T>
class BlockDiagonalCuda : public testing::CudaTest {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(BlockDiagonalCuda, Types);

TYPED_TEST(BlockDiagonalCuda, IsAssembled) {
  for (const ValueStorage storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (const auto& [name, parts] : testing::sets_of_parts<TypeParam>(storage, testing::gpu_is_emulated)) {
      SCOPED_TRACE(name);
      testing::expect_joined(parts, this->gpu());
    }
  }
}

TYPED_TEST(BlockDiagonalCuda, PatternsBesideValuesAreOnes) {
  std::vector<Csr<TypeParam>> parts;
  parts.push_back(testing::random_part<TypeParam>(6, 5, 4, 1));
  parts.push_back(testing::random_part<TypeParam>(4, 4, 4, 2, ValueStorage::pattern));
  testing::expect_joined(parts, this->gpu());
}

/// 10^4 parts: three matrices, and an empty one, in turn.
TYPED_TEST(BlockDiagonalCuda, ManyParts) {
  std::vector<Csr<TypeParam>> kinds;
  kinds.push_back(testing::with_row_lengths<TypeParam>({1}, 1, ValueStorage::weighted));
  kinds.push_back(testing::with_row_lengths<TypeParam>({0}, 1, ValueStorage::weighted));
  kinds.push_back(testing::random_part<TypeParam>(3, 2, 2, 1));
  kinds.emplace_back();
  const auto there = [&] {
    std::vector<Csr<TypeParam>> copies;
    copies.reserve(kinds.size());
    for (const auto& kind : kinds) copies.push_back(kind.to(this->gpu()));
    return copies;
  }();
  std::vector<CsrView<TypeParam>> views;
  std::vector<Csr<TypeParam>> parts;
  for (std::size_t p = 0; p < 10000; ++p) {
    views.push_back(there[p % 4].view());
    parts.push_back(kinds[p % 4].to(Device{}));
  }
  const Csr<TypeParam> joined = block_diagonal<TypeParam>(views, this->gpu()).to(Device{});
  const testing::EigenSparse<TypeParam> expected = testing::assembled(parts);
  ASSERT_EQ(joined.nnz(), expected.nonZeros());
  EXPECT_TRUE(std::equal(joined.columns().begin(), joined.columns().end(), expected.innerIndexPtr()));
  EXPECT_TRUE(std::equal(joined.values().begin(), joined.values().end(), expected.valuePtr()));
  EXPECT_TRUE(std::equal(joined.row_offsets().begin(), joined.row_offsets().end(), expected.outerIndexPtr()));
}

using BlockDiagonalOnGpu = testing::CudaTest;

/// The arrays and the table of parts, whatever the number of parts.
TEST_F(BlockDiagonalOnGpu, AllocatesFourArrays) {
  const Csr<double> part = testing::random_part<double>(20, 20, 5, 1).to(gpu());
  for (const std::size_t count : {1U, 100U}) {
    const std::vector<CsrView<double>> views(count, part.view());
    const std::uint64_t before = cuda::counts_of(gpu()).allocations;
    const Csr<double> joined = block_diagonal<double>(views, gpu());
    EXPECT_EQ(cuda::counts_of(gpu()).allocations - before, 4U) << count;
  }
}

TEST_F(BlockDiagonalOnGpu, PartsOfOneDeviceAndOfSeveralContexts) {
  std::vector<Csr<double>> parts;
  parts.push_back(testing::random_part<double>(20, 20, 5, 1));
  parts.push_back(testing::random_part<double>(20, 20, 5, 2));
  const Context other(gpu());
  std::vector<Csr<double>> there;
  there.push_back(parts[0].to(gpu()));
  there.push_back(parts[1].to(other));
  const Csr<double> joined = block_diagonal<double>(there);
  EXPECT_TRUE(joined.device().shares_context_with(gpu()));
  there.clear();
  EXPECT_EQ(testing::to_eigen(joined.to(Device{}).view()).toDense(), testing::assembled(parts).toDense());

  std::vector<Csr<double>> mixed;
  mixed.push_back(parts[0].to(gpu()));
  mixed.push_back(std::move(parts[1]));
  EXPECT_EQ(testing::message_of<InvalidArgument>([&] { (void)block_diagonal<double>(mixed); }),
            "the parts of a block-diagonal matrix lie on one device: part 0 is on cuda:0, part 1 on host");
}

}  // namespace
}  // namespace tessera
