// The pitfalls of the dual-buffer commit on a GPU, one by one: what dual_buffer_test.cpp does on the host.
#include "tests/spmv/product_check.hpp"
#include "tests/support/cuda_test.hpp"

#include <utility>

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::near;
using Buffer = DualBuffer<double>;

/// A plan on the GPU and its matrix on the host.
struct PlanOnGpu {
  Csr<double> host;
  SpmvPlan<double> plan;

  PlanOnGpu(const std::vector<index_t>& lengths, index_t cols, int sigma, std::uint64_t seed = 1)
      : host(testing::with_row_lengths<double>(lengths, cols, ValueStorage::weighted, seed)),
        plan(Csr<double>::copy_of(host.view()), options(sigma)) {}

  [[nodiscard]] static SpmvOptions options(int sigma) {
    SpmvOptions result;
    result.algorithm = SpmvAlgorithm::merbit;
    result.device = Device::cuda(0);
    result.sigma = sigma;
    return result;
  }
};

/// Hub rows, empty rows, single entries: with sigma 7 most tiles share rows.
PlanOnGpu varied(std::uint64_t seed = 1, int sigma = 7) {
  std::vector<index_t> lengths = testing::power_law_lengths(1500, 900, seed);
  lengths[200] = 20000;
  lengths[201] = 0;
  lengths[202] = 9000;
  return {lengths, 25000, sigma, seed};
}

std::vector<double> fetch(std::span<const double> on_gpu) {
  std::vector<double> values(on_gpu.size());
  detail::copy_bytes(Device{}, values.data(), Device::cuda(0), on_gpu.data(), on_gpu.size_bytes());
  return values;
}

std::vector<double> result(const Buffer& buffer) { return fetch(buffer.current()); }

void poison(std::span<double> on_gpu) {
  const std::vector<double> nans(on_gpu.size(), std::numeric_limits<double>::quiet_NaN());
  detail::copy_bytes(Device::cuda(0), on_gpu.data(), Device{}, nans.data(), on_gpu.size_bytes());
}

/// A product with x number `round` into the buffer, checked.
void apply_and_check(const PlanOnGpu& a, Buffer& buffer, std::uint64_t round) {
  const auto x = testing::random_vector<double>(a.plan.cols(), 100 + round);
  const auto on_gpu = Array<double>::copy_of(x, Device::cuda(0));
  a.plan.apply(on_gpu.span(), buffer);
  const std::vector<double> y = result(buffer);
  ASSERT_TRUE(near(testing::product_oracle(a.host.view(), constant(x)), constant(y))) << "round " << round;
}

class DualBufferOnGpu : public testing::CudaTest {};

TEST_F(DualBufferOnGpu, ShapesAtTheEdges) {
  const auto repeat = [](const PlanOnGpu& a) {
    Buffer buffer = a.plan.make_output();
    for (std::uint64_t round = 0; round < 4; ++round) apply_and_check(a, buffer, round);
  };
  for (const std::size_t rows : {1U, 31U, 33U, 257U, 1009U}) repeat({testing::lengths_of(rows, 3), 50, 1});
  repeat({testing::lengths_of(700, 0), 5, 1});
  repeat({testing::lengths_of(1, 0), 0, 1});
  repeat({testing::lengths_of(3000, 1), 1, 1});
  repeat({testing::one_long_row(40, 20, 30000, 2), 40000, 1});
}

TEST_F(DualBufferOnGpu, BlocksWithoutNonzerosStillWriteZeros) {
  const PlanOnGpu a(testing::one_long_row(5000, 0, 3, 0), 10, 1);
  Buffer buffer = a.plan.make_output();
  for (std::uint64_t round = 0; round < 4; ++round) {
    apply_and_check(a, buffer, round);
    poison(buffer.current());
  }
}

TEST_F(DualBufferOnGpu, BufferUsedByAnotherPlanBefore) {
  const PlanOnGpu a = varied(1);
  const PlanOnGpu other = varied(2);
  Buffer buffer = a.plan.make_output();
  for (std::uint64_t round = 0; round < 4; ++round) {
    apply_and_check(a, buffer, round);
    apply_and_check(other, buffer, round);
    if (round % 2 == 0) apply_and_check(other, buffer, round + 50);
  }
}

TEST_F(DualBufferOnGpu, BufferOfASingleModeOperator) {
  const PlanOnGpu a = varied();
  Buffer single(a.plan.rows(), Buffer::Mode::single, gpu());
  poison(single.current());
  apply_and_check(a, single, 1);
  apply_and_check(a, single, 2);
}

TEST_F(DualBufferOnGpu, GivenToASingleModeOperatorInBetween) {
  const PlanOnGpu a = varied();
  const IdentityOperator<double> identity(a.plan.rows(), gpu());
  Buffer buffer = a.plan.make_output();
  apply_and_check(a, buffer, 1);
  const Array<double> x(a.plan.rows(), Init::zero, gpu());
  identity.apply(x.span(), buffer);
  EXPECT_EQ(buffer.prepared_for(), 0U);
  apply_and_check(a, buffer, 2);
  apply_and_check(a, buffer, 3);
}

TEST_F(DualBufferOnGpu, AfterAProductThatWasCutShort) {
  const PlanOnGpu a = varied();
  Buffer buffer = a.plan.make_output();
  apply_and_check(a, buffer, 1);
  buffer.set_prepared_for(0);
  poison(buffer.next());
  for (std::uint64_t round = 2; round < 6; ++round) apply_and_check(a, buffer, round);
}

TEST_F(DualBufferOnGpu, CallerOverwritesTheResultBetweenProducts) {
  const PlanOnGpu a = varied();
  Buffer buffer = a.plan.make_output();
  ASSERT_EQ(buffer.mode(), Buffer::Mode::dual);
  for (std::uint64_t round = 0; round < 5; ++round) {
    apply_and_check(a, buffer, round);
    poison(buffer.current());
  }
}

TEST_F(DualBufferOnGpu, MovedPlanKeepsItsBuffers) {
  PlanOnGpu original = varied();
  Buffer buffer = original.plan.make_output();
  apply_and_check(original, buffer, 1);
  const auto id = buffer.prepared_for();
  ASSERT_NE(id, 0U);
  const PlanOnGpu moved = std::move(original);
  apply_and_check(moved, buffer, 2);
  EXPECT_EQ(buffer.prepared_for(), id);
}

}  // namespace
}  // namespace tessera
