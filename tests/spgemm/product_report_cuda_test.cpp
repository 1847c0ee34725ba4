// Reports of products on a GPU, and the memory that these take.
#include "tests/spgemm/product_cuda_check.hpp"

#include "tessera/error.hpp"
#include "tessera/generators.hpp"

namespace tessera {
namespace {

class SpgemmReportOnGpu : public testing::CudaTest {
 protected:
  [[nodiscard]] static Csr<double> fem() {
    return generate<double>(
        parse_generator(testing::gpu_is_emulated || testing::sparing() ? "fem3d:343" : "fem3d:8000"));
  }
};

TEST_F(SpgemmReportOnGpu, WorkflowsByName) {
  const auto a = fem();
  const auto expected = spgemm(a, a);
  for (const auto workflow : spgemm_workflows()) {
    SCOPED_TRACE(to_string(workflow));
    const SpgemmReport report = spgemm(a, a, testing::gpu_options(gpu(), workflow)).report;
    EXPECT_EQ(report.workflow, workflow);
    EXPECT_EQ(report.reason.substr(0, report.reason.find(';')), "chosen by name");
    EXPECT_EQ(report.threads, 0);
    EXPECT_EQ(report.determinism, Determinism::gpu_to_gpu);
    EXPECT_EQ(report.expansion, expected.report.expansion);
    EXPECT_GE(report.peak_bytes, expected.matrix.bytes());
    EXPECT_GT(report.total_ms, 0.0);
    EXPECT_GE(report.total_ms, report.analysis_ms);
    const bool sketched = workflow == SpgemmWorkflow::hll || workflow == SpgemmWorkflow::cohen;
    EXPECT_EQ(report.registers > 0, sketched);
    EXPECT_EQ(report.estimate_error > 0.0, sketched);
    EXPECT_LT(report.estimate_error, 0.25);
    EXPECT_EQ(report.sample.has_value(), workflow == SpgemmWorkflow::sampled);
    if (report.sample) {
      EXPECT_NEAR(report.sample->compression, expected.report.compression(), 0.1 * expected.report.compression());
    }
  }
}

TEST_F(SpgemmReportOnGpu, MoreRegistersEstimateBetter) {
  const auto a =
      generate<double>(parse_generator(testing::gpu_is_emulated || testing::sparing() ? "fem3d:512" : "fem3d:20000"));
  for (const auto workflow : {SpgemmWorkflow::hll, SpgemmWorkflow::cohen}) {
    for (const auto& [registers, error] : {std::pair{32, 0.16}, {64, 0.12}, {128, 0.085}}) {
      auto options = testing::gpu_options(gpu(), workflow);
      options.registers = registers;
      const SpgemmReport report = spgemm(a, a, options).report;
      EXPECT_EQ(report.registers, registers);
      EXPECT_LT(report.estimate_error, error) << to_string(workflow) << ", " << registers;
      EXPECT_GT(report.estimate_error, error / 4) << to_string(workflow) << ", " << registers;
    }
  }
}

/// Rows of two kinds, 40 entries each: most name neighbours that share their columns, some rows all over the matrix.
/// The first compress well, the others not, so that a mean foresees too little for these.
Csr<double> uneven(index_t rows) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t i = 0; i < rows; ++i) {
    const index_t first = std::min(i / 64 * 64, rows - 64);
    const auto end = static_cast<std::size_t>(offsets.back()) + 40;
    for (index_t k = 0; columns.size() < end; ++k) {
      if (i % 16 == 0) {
        columns.push_back(k * (rows / 40) + i % (rows / 40));
      } else if ((first + k) % 16 != 0) {
        columns.push_back(first + k);
      }
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto nnz = static_cast<std::int64_t>(columns.size());
  return Csr<double>(rows, rows, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns),
                     Array<double>::copy_of(testing::random_vector<double>(nnz, 4)));
}

TEST_F(SpgemmReportOnGpu, RowsThatOverflowAreDoneAgain) {
  const auto a = uneven(testing::repetitions(4000, 400));
  const auto expected = spgemm(a, a);
  auto options = testing::gpu_options(gpu(), SpgemmWorkflow::sampled, SpgemmAccumulator::bitmap);
  const auto result = spgemm(a, a, options);
  EXPECT_GT(result.report.overflow_rows, 0);
  testing::expect_identical(expected.matrix.view(), result.matrix.to(Device{}).view());
}

/// Rows so short that what is known of a row weighs as much as some of its entries.
TEST_F(SpgemmReportOnGpu, EstimatesHoldLittleMoreThanTheProductTwice) {
  for (const auto& [name, most] : {std::pair{"lap2d:10000", 2.2}, {"fem3d:1000", 2.15}}) {
    SCOPED_TRACE(name);
    const auto a = generate<double>(parse_generator(name));
    for (const auto workflow : {SpgemmWorkflow::hll, SpgemmWorkflow::cohen}) {
      const auto result = spgemm(a, a, testing::gpu_options(gpu(), workflow));
      const auto bytes = static_cast<double>(result.matrix.bytes());
      EXPECT_LE(static_cast<double>(result.report.peak_bytes), most * bytes) << to_string(workflow);
      EXPECT_GE(static_cast<double>(result.report.peak_bytes), 2.0 * bytes) << to_string(workflow);
    }
  }
}

TEST_F(SpgemmReportOnGpu, FallsBackAndNeverFailsWhereExactRuns) {
  const auto a = fem();
  const auto exact = spgemm(a, a, testing::gpu_options(gpu(), SpgemmWorkflow::symbolic));
  const std::uint64_t least = exact.report.peak_bytes;
  const Csr<double> expected = exact.matrix.to(Device{});
  for (const auto workflow : testing::with_automatic(spgemm_workflows())) {
    for (const std::uint64_t limit : {least, least + least / 2, 3 * least, 12 * least}) {
      auto options = testing::gpu_options(gpu(), workflow);
      options.memory_limit_bytes = limit;
      SCOPED_TRACE(std::string(to_string(workflow)) + ", limit " + std::to_string(limit));
      const auto result = spgemm(a, a, options);
      testing::expect_identical(expected.view(), result.matrix.to(Device{}).view());
      EXPECT_LE(result.report.peak_bytes, limit);
      const bool tight = limit == least && workflow != SpgemmWorkflow::symbolic;
      if (tight && workflow != SpgemmWorkflow::automatic) {
        EXPECT_EQ(result.report.workflow, SpgemmWorkflow::symbolic);
        EXPECT_NE(result.report.fallback.find("exact instead"), std::string::npos) << result.report.fallback;
      }
    }
  }
}

TEST_F(SpgemmReportOnGpu, RefusalNamesTheNeed) {
  const auto a = fem();
  const std::uint64_t need = spgemm(a, a).matrix.bytes();
  for (const auto workflow : testing::with_automatic(spgemm_workflows())) {
    auto options = testing::gpu_options(gpu(), workflow);
    options.memory_limit_bytes = need - 1;
    try {
      static_cast<void>(spgemm(a, a, options));
      ADD_FAILURE() << "C alone is larger than the limit";
    } catch (const OutOfMemory& error) {
      EXPECT_GE(error.requested_bytes(), need);
      EXPECT_LE(error.requested_bytes(), 2 * need);
      EXPECT_EQ(error.available_bytes(), need - 1);
    }
  }
  EXPECT_NO_THROW(static_cast<void>(spgemm(a, a, testing::gpu_options(gpu(), SpgemmWorkflow::automatic))));
}

/// A column of ones times a row of ones: 47000² entries, more than 2^31.
TEST_F(SpgemmReportOnGpu, MoreEntriesThanNumbersOf32Bits) {
  if (testing::gpu_is_emulated || testing::sparing()) GTEST_SKIP() << "needs 10 GB of a GPU";
  const index_t n = 47000;
  const auto column = testing::with_row_lengths<float>(std::vector<index_t>(n, 1), 1, ValueStorage::pattern);
  const auto row = testing::with_row_lengths<float>({n}, n, ValueStorage::pattern);
  const auto result = spgemm_pattern(column, row, testing::gpu_options(gpu(), SpgemmWorkflow::symbolic));
  ASSERT_EQ(result.matrix.nnz(), offset_t{n} * n);
  const Array<offset_t> offsets = result.matrix.row_offsets().to(Device{});
  for (index_t i = 0; i <= n; ++i) ASSERT_EQ(offsets[i], offset_t{n} * i);
  std::vector<index_t> last(static_cast<std::size_t>(n));
  detail::copy_bytes(Device{}, last.data(), gpu(), result.matrix.columns().data() + offset_t{n} * (n - 1),
                     last.size() * sizeof(index_t));
  for (index_t j = 0; j < n; ++j) ASSERT_EQ(last[static_cast<std::size_t>(j)], j);
}

}  // namespace
}  // namespace tessera
