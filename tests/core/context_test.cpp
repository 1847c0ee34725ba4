#include "tessera/context.hpp"
#include "tessera/csr.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/spmv.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace tessera {
namespace {

class NoMemory final : public MemoryResource {
 public:
  void* allocate(std::uint64_t /*bytes*/, CUstream_st* /*stream*/) override { return nullptr; }
  void deallocate(void* /*data*/, std::uint64_t /*bytes*/, CUstream_st* /*stream*/) noexcept override {}
};

TEST(Context, OfTheHostIsItsDevice) {
  const Context context(Device::host(3));
  EXPECT_TRUE(context.device().is_host());
  EXPECT_EQ(context.device().threads(), 3);
  EXPECT_EQ(context.stream(), nullptr);
  EXPECT_EQ(context.counts().allocations + context.counts().waits + context.counts().recordings, 0U);
  context.synchronize();
  context.wait_for(Context());
  EXPECT_TRUE(context.device().shares_context_with(Device{}));
}

TEST(Context, OfTheHostTakesNeitherStreamNorMemory) {
  EXPECT_THROW(Context(Device{}, {.stream = nullptr}), InvalidArgument);
  EXPECT_THROW(Context(Device{}, {.memory = std::make_shared<NoMemory>()}), InvalidArgument);
}

TEST(Context, StandsWhereADeviceIsTaken) {
  const Context context(Device::host(2));
  const SpmvPlan<double> plan(poisson2d<double>(5, 5), SpmvOptions{.device = context});
  EXPECT_EQ(plan.device().threads(), 2);
  Array<double> y(25, Init::none, context);
  plan.apply(std::vector<double>(25, 1.0), y.span());
  EXPECT_EQ(y[12], 0.0);
  EXPECT_EQ(y[0], 2.0);
}

}  // namespace
}  // namespace tessera
