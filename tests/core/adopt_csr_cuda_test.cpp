// Matrices on the arrays of other libraries, in the memory of a GPU.
#include "tessera/error.hpp"
#include "tests/core/adopt_csr_cases.hpp"
#include "tests/support/cuda_test.hpp"

#include <string>

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

TEST_F(CudaAdoptCsr, IsCheckedAsOnTheHost) {
  const std::vector<std::int32_t> offsets{0, 2};
  const std::vector<index_t> twice{1, 1};
  const std::vector<double> values{1.0, 2.0};
  const auto message = [&](const Device& device) -> std::string {
    const auto r = Array<std::int32_t>::copy_of(offsets, device);
    const auto c = Array<index_t>::copy_of(twice, device);
    const auto v = Array<double>::copy_of(values, device);
    try {
      static_cast<void>(adopt_csr<double>(1, 3, r.span(), c.span(), v.span(), {.device = device}));
    } catch (const InvalidMatrix& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message(Device{}), "");
  EXPECT_EQ(message(gpu()), message(Device{}));
}

}  // namespace
}  // namespace tessera
