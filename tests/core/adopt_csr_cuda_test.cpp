// Matrices on the arrays of other libraries, in the memory of a GPU.
#include "tessera/error.hpp"
#include "tests/core/adopt_csr_cases.hpp"
#include "tests/support/cuda_test.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera {
namespace {

class CudaAdoptCsr : public testing::CudaTest {};

TEST_F(CudaAdoptCsr, StaysInPlace) {
  testing::expect_adopted_in_place<std::int32_t>(gpu());
  testing::expect_adopted_in_place<std::int64_t>(gpu());
  testing::expect_owner_kept(gpu());
}

TEST_F(CudaAdoptCsr, RefusesArraysThatLieElsewhere) {
  const testing::OtherLibrary<std::int32_t> on_gpu(gpu());
  EXPECT_THROW(static_cast<void>(on_gpu.adopt({})), InvalidArgument);
  const testing::OtherLibrary<std::int64_t> also_on_gpu(gpu());
  EXPECT_THROW(static_cast<void>(also_on_gpu.adopt({})), InvalidArgument);
  const testing::OtherLibrary<std::int32_t> on_host(Device{});
  EXPECT_THROW(static_cast<void>(on_host.adopt({.device = gpu()})), InvalidArgument);
}

TEST_F(CudaAdoptCsr, IsCheckedAsOnTheHost) { testing::expect_checked(gpu()); }
TEST_F(CudaAdoptCsr, NarrowsColumnsOf64Bits) { testing::expect_narrowed(gpu()); }
TEST_F(CudaAdoptCsr, GivesItsArraysAway) { testing::expect_released(gpu()); }

TEST_F(CudaAdoptCsr, TakesNoRowsAndNoColumns) {
  const auto offsets = Array<std::int64_t>::copy_of(std::vector<std::int64_t>{0}, gpu());
  EXPECT_EQ(adopt_pattern<float>(0, 7, offsets.span(), std::span<const index_t>{}, {.device = gpu()}).cols(), 7);
  const auto wrong = Array<std::int64_t>::copy_of(std::vector<std::int64_t>{1}, gpu());
  EXPECT_THROW(
      static_cast<void>(adopt_pattern<float>(0, 7, wrong.span(), std::span<const index_t>{}, {.device = gpu()})),
      InvalidMatrix);
}

}  // namespace
}  // namespace tessera
