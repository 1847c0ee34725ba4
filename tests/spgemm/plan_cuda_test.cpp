// Products planned once on a GPU and computed for many values.
#include "tests/spgemm/product_cuda_check.hpp"

#include "tessera/error.hpp"
#include "tessera/generators.hpp"

namespace tessera {
namespace {

class SpgemmPlanOnGpu : public testing::CudaTest {};

Csr<double> with_values(const Csr<double>& matrix, std::uint64_t seed) {
  return Csr<double>(matrix.rows(), matrix.cols(), matrix.row_offsets().to(Device{}), matrix.columns().to(Device{}),
                     Array<double>::copy_of(testing::random_vector<double>(matrix.nnz(), seed)));
}

std::string problem(const char* on_gpu, const char* emulated) {
  return testing::gpu_is_emulated || testing::sparing() ? emulated : on_gpu;
}

TEST_F(SpgemmPlanOnGpu, NewValuesOnAStoredStructure) {
  for (const auto& spec :
       {problem("fem3d:1000", "fem3d:64"), problem("rmat:2048", "rmat:128"), problem("lap2d:5000", "lap2d:100")}) {
    for (const auto accumulator : testing::with_automatic(spgemm_accumulators(Device::Kind::cuda))) {
      SCOPED_TRACE(spec + ", " + std::string(to_string(accumulator)));
      const auto a = generate<double>(parse_generator(spec));
      const auto options = testing::gpu_options(gpu(), SpgemmWorkflow::automatic, accumulator);
      SpgemmPlan<double> plan(Csr<double>::copy_of(a.view()), Csr<double>::copy_of(a.view()), options);
      testing::expect_identical(spgemm(a, a).matrix.view(), plan.multiply().to(Device{}).view());
      EXPECT_TRUE(plan.structure().is_pattern());
      EXPECT_TRUE(plan.structure().device() == gpu());
      EXPECT_GT(plan.bytes(), plan.structure().bytes());
      // Nothing of the set-up is left out.
      const SpgemmReport& report = plan.report();
      EXPECT_GT(report.upload_ms, 0.0);
      EXPECT_GT(report.analysis_ms, 0.0);
      EXPECT_GE(report.total_ms, report.upload_ms + report.analysis_ms + report.sizing_ms);
      for (std::uint64_t seed = 0; seed < 2; ++seed) {
        const Csr<double> left = with_values(a, seed);
        const Csr<double> right = with_values(a, seed + 10).to(gpu());
        const Csr<double> expected = spgemm(left, right.to(Device{})).matrix;
        testing::expect_identical(expected.view(), plan.multiply(left, right).to(Device{}).view());
        Array<double> values(expected.nnz(), Init::zero, gpu());
        plan.multiply_into(left, right, values.span());
        EXPECT_TRUE(testing::same_bytes<double>(values.to(Device{}).span(), expected.values().span()));
      }
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST_F(SpgemmPlanOnGpu, RefusesAnotherStructureAndMemoryOfTheHost) {
  const auto a = testing::with_row_lengths<double>({3, 0, 4, 2}, 5, ValueStorage::weighted, 1);
  const auto b = testing::with_row_lengths<double>({1, 2, 3, 0, 4}, 6, ValueStorage::weighted, 2);
  SpgemmPlan<double> plan(Csr<double>::copy_of(a.view()), Csr<double>::copy_of(b.view()),
                          testing::gpu_options(gpu(), SpgemmWorkflow::automatic));
  const Csr<double> before = plan.multiply().to(Device{});
  const auto other_a = testing::with_row_lengths<double>({3, 1, 3, 2}, 5, ValueStorage::weighted, 1);
  const auto other_b = testing::with_row_lengths<double>({1, 2, 3, 0, 4}, 6, ValueStorage::weighted, 77);
  EXPECT_THROW(static_cast<void>(plan.multiply(other_a, b)), InvalidMatrix);
  EXPECT_THROW(static_cast<void>(plan.multiply(a, other_b)), InvalidMatrix);
  EXPECT_THROW(static_cast<void>(plan.multiply(a, other_b.to(gpu()))), InvalidMatrix);
  EXPECT_THROW(static_cast<void>(plan.multiply(b, a)), InvalidMatrix);
  std::vector<double> values(static_cast<std::size_t>(before.nnz()));
  EXPECT_THROW(plan.multiply_into(a, b, values), NotSupported);
  testing::expect_identical(before.view(), plan.multiply(a, b).to(Device{}).view());
}

}  // namespace
}  // namespace tessera
