// New values of plans on a GPU: from its memory, without a visit to the host, rounded, and for the transpose.
#include "core/cuda/context.hpp"
#include "tessera/statistics.hpp"
#include "tests/spmv/cuda_check.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/error_message.hpp"

#include <limits>

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::CudaCase;
using testing::CudaProduct;
using testing::message_of;
using testing::near;

template <class T>
class CudaPlanValues : public testing::CudaTest {
 protected:
  static Csr<T> matrix() {
    return testing::with_row_lengths<T>(testing::power_law_lengths(900, 700, 2), 800, ValueStorage::weighted);
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaPlanValues, Types);

TYPED_TEST(CudaPlanValues, ComeFromMemoryOfTheGpuWithoutAllocation) {
  const auto matrix = this->matrix();
  const auto x = testing::random_vector<TypeParam>(800, 3);
  const cuda::Context& context = cuda::Context::of(this->gpu());
  for (const CudaCase& kernel : testing::cuda_cases<TypeParam>(this->gpu())) {
    SCOPED_TRACE(kernel.name());
    CudaProduct<TypeParam> product(matrix, kernel.options(this->gpu()));
    CudaProduct<TypeParam> from_host(matrix, kernel.options(this->gpu()));
    for (std::uint64_t round = 0; round < 2; ++round) {
      const auto values = testing::random_vector<TypeParam>(matrix.nnz(), 50 + round);
      from_host.update_values(values, kernel.fp32_values);
      const auto there = Array<TypeParam>::copy_of(values, this->gpu());
      const auto before = context.counts();
      product.plan().update_values(there.span());
      if (round > 0) {
        EXPECT_EQ(context.counts().allocations, before.allocations);
      }
      ASSERT_TRUE(near(testing::product_oracle(from_host.matrix(), constant(x)), constant(product.apply(x)))) << round;
    }
  }
}

TYPED_TEST(CudaPlanValues, ComeWithAMatrixOnTheGpuWhoseStructureIsCompared) {
  const auto matrix = this->matrix();
  SpmvOptions options = CudaCase{SpmvAlgorithm::merge}.options(this->gpu());
  SpmvPlan<TypeParam> plan(Csr<TypeParam>::copy_of(matrix.view()), options);
  const auto values = testing::random_vector<TypeParam>(matrix.nnz(), 9);
  const auto same = matrix.with_values(Array<TypeParam>::copy_of(values)).to(this->gpu());
  plan.update_values(same.view());
  const Array<TypeParam> kept = Array<TypeParam>::adopt(
      {const_cast<TypeParam*>(plan.matrix().values.data()), values.size()}, nullptr, this->gpu());
  EXPECT_TRUE(
      testing::same_bytes(std::span<const TypeParam>(kept.to(Device{}).span()), std::span<const TypeParam>(values)));

  const auto refusal = [&](index_t moved_offset, offset_t moved_column) {
    auto offsets = matrix.row_offsets().to(Device{});
    auto columns = matrix.columns().to(Device{});
    if (moved_offset > 0) ++offsets[moved_offset];
    if (moved_column >= 0) ++columns[moved_column];
    const Csr<TypeParam> other(900, 800, std::move(offsets), std::move(columns), matrix.values().to(Device{}),
                               Check::trusted);
    const auto on_gpu = other.to(this->gpu());
    const auto text = message_of<InvalidMatrix>([&] { plan.update_values(other.view()); });
    EXPECT_EQ(message_of<InvalidMatrix>([&] { plan.update_values(on_gpu.view()); }), text);
    return text;
  };
  EXPECT_NE(refusal(17, -1).find("row offset 17 is"), std::string::npos);
  EXPECT_NE(refusal(0, 333).find("nonzero 333: column"), std::string::npos);
}

TYPED_TEST(CudaPlanValues, ReachTheTransposeByItsMap) {
  const auto matrix = this->matrix();
  const auto x = testing::random_vector<TypeParam>(900, 1);
  const auto source = Array<TypeParam>::copy_of(x, this->gpu());
  Array<TypeParam> target(800, Init::none, this->gpu());
  for (const SpmvAlgorithm algorithm : {SpmvAlgorithm::merge, SpmvAlgorithm::tiles}) {
    SCOPED_TRACE(to_string(algorithm));
    SpmvOptions options = CudaCase{algorithm}.options(this->gpu());
    options.with_transpose = true;
    SpmvPlan<TypeParam> plan(matrix.to(this->gpu()), options);
    const std::uint64_t bytes = plan.info().transpose->bytes;
    for (std::uint64_t round = 0; round < 2; ++round) {
      const auto values = testing::random_vector<TypeParam>(matrix.nnz(), 60 + round);
      const auto there = Array<TypeParam>::copy_of(values, this->gpu());
      plan.update_values(there.span());
      CsrView<TypeParam> updated = matrix.view();
      updated.values = values;
      const auto transposed = transpose(updated, Device{});
      plan.apply_transposed(source.span(), target.span());
      const Array<TypeParam> y = target.to(Device{});
      ASSERT_TRUE(near(testing::product_oracle(transposed.view(), constant(x)), y.span())) << round;
    }
    EXPECT_GT(plan.info().transpose->bytes, bytes);
  }
}

class CudaRoundedValues : public testing::CudaTest {};

TEST_F(CudaRoundedValues, AreRefusedWhereNoFloatHoldsThem) {
  const auto matrix =
      testing::with_row_lengths<double>(testing::lengths_of(400, 5), 400, ValueStorage::weighted).to(gpu());
  SpmvOptions options = CudaCase{SpmvAlgorithm::merge}.options(gpu());
  options.fp32_values = true;
  SpmvPlan<double> plan(matrix.to(gpu()), options);
  EXPECT_EQ(plan.info().upload_ms, 0.0);
  const auto x = Array<double>::copy_of(testing::random_vector<double>(400, 3), gpu());
  Array<double> before(400, Init::none, gpu());
  plan.apply(x.span(), before.span());
  for (const bool on_gpu : {true, false}) {
    auto values = testing::random_vector<double>(2000, 4);
    values[7] = std::numeric_limits<double>::infinity();
    values[1234] = -1e39;
    values[1500] = 1e300;
    const auto there = Array<double>::copy_of(values, gpu());
    const auto text =
        message_of<InvalidMatrix>([&] { plan.update_values(on_gpu ? there.span() : std::span<const double>(values)); });
    EXPECT_NE(text.find("nonzero 1234 is -1e+39"), std::string::npos) << text;
    Array<double> after(400, Init::none, gpu());
    plan.apply(x.span(), after.span());
    EXPECT_TRUE(testing::same_bytes(std::span<const double>(before.to(Device{}).span()),
                                    std::span<const double>(after.to(Device{}).span())));
  }
}

}  // namespace
}  // namespace tessera
