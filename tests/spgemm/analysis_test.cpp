// Analysis before a product: sizes, ranges, samples, the choice of a workflow.
#include "spgemm/host/analysis.hpp"
#include "spgemm/common/sketches.hpp"
#include "spgemm/host/job.hpp"
#include "spgemm/host/workflows/one_phase.hpp"
#include "spgemm/host/workflows/workflow_choice.hpp"
#include "tessera/generators.hpp"
#include "tests/spgemm/product_check.hpp"
#include "tests/support/make_csr.hpp"

namespace tessera {
namespace {

TEST(SpgemmAnalysis, ProductsAndRangesByHand) {
  // Rows of B: {2, 5}, {}, {0}, {3, 4, 7}.
  const auto b = testing::make_pattern<double>(4, 8, {0, 2, 2, 3, 6}, {2, 5, 0, 3, 4, 7});
  const auto a = testing::make_pattern<double>(5, 4, {0, 2, 2, 3, 5, 9}, {0, 3, 1, 0, 2, 0, 1, 2, 3});
  const host::ProductAnalysis analysis = host::analyse_product(a.view(), b.view(), Device{});
  EXPECT_EQ(std::vector<offset_t>(analysis.products.begin(), analysis.products.end()),
            (std::vector<offset_t>{0, 5, 5, 5, 8, 14}));
  EXPECT_EQ(std::vector<index_t>(analysis.first_columns.begin(), analysis.first_columns.end()),
            (std::vector<index_t>{2, 0, 0, 0, 0}));
  EXPECT_EQ(std::vector<index_t>(analysis.widths.begin(), analysis.widths.end()),
            (std::vector<index_t>{6, 0, 0, 6, 8}));
  EXPECT_EQ(analysis.bound_total, 5 + 3 + 6);
}

TEST(SpgemmAnalysis, ThreadsDoNotMatter) {
  const auto a = generate<double>(parse_generator("rmat:8192"));
  const auto one = host::analyse_product(a.view(), a.view(), Device::host(1));
  const auto three = host::analyse_product(a.view(), a.view(), Device::host(3));
  EXPECT_TRUE(testing::same_bytes(one.products.span(), three.products.span()));
  EXPECT_TRUE(testing::same_bytes(one.first_columns.span(), three.first_columns.span()));
  EXPECT_TRUE(testing::same_bytes(one.widths.span(), three.widths.span()));
}

TEST(SpgemmSample, SizesAndPlaces) {
  EXPECT_EQ(host::sample_size(0), 0);
  EXPECT_EQ(host::sample_size(5), 5);
  EXPECT_EQ(host::sample_size(700), 600);
  EXPECT_EQ(host::sample_size(100000), 3000);
  EXPECT_EQ(host::sample_size(2147483647), 10000);
  for (const index_t rows : {1, 7, 600, 12345, 2147483647}) {
    const index_t size = host::sample_size(rows);
    std::int64_t previous = -1;
    for (index_t k = 0; k < size; ++k) {
      const std::int64_t row = host::sampled_row(rows, size, k);
      ASSERT_GT(row, previous);
      ASSERT_LT(row, rows);
      previous = row;
    }
  }
}

TEST(SpgemmSample, ErrorOfThePaper) {
  // 200 000 rows, 64 registers: below 3, 6 and 17 % at 95 % confidence (Chebyshev) for CV = 0.5, 1 and 3.
  const double chebyshev = std::sqrt(20.0);
  const index_t n = host::sample_size(200000);
  EXPECT_LT(chebyshev * host::compression_error(0.13, 0.5, n), 0.031);
  EXPECT_LT(chebyshev * host::compression_error(0.13, 1.0, n), 0.06);
  EXPECT_LT(chebyshev * host::compression_error(0.13, 3.0, n), 0.18);
  EXPECT_EQ(host::compression_error(0.0, 0.0, 600), 0.0);
}

TEST(SpgemmSample, FindsTheCompression) {
  for (const char* spec : {"fem3d:27000", "lap2d:40000", "rmat:16384", "web:50000"}) {
    SCOPED_TRACE(spec);
    const auto a = generate<double>(parse_generator(spec));
    SpgemmOptions options;
    options.workflow = SpgemmWorkflow::sampled;
    const SpgemmReport report = spgemm(a, a, options).report;
    ASSERT_TRUE(report.sample.has_value());
    const double error = report.sample->compression / report.compression() - 1.0;
    EXPECT_LT(std::fabs(error), std::max(0.05, 4.0 * report.sample->relative_error));
  }
}

TEST(SpgemmSelection, RuleOfThePaper) {
  EXPECT_EQ(host::workflow_of_paper(63.9, 26.0, 20.0), SpgemmWorkflow::upper_bound);
  EXPECT_EQ(host::workflow_of_paper(64.0, 8.0, 8.0), SpgemmWorkflow::hll);
  EXPECT_EQ(host::workflow_of_paper(64.0, 7.9, 8.0), SpgemmWorkflow::symbolic);
  EXPECT_EQ(host::workflow_of_paper(700.0, 26.0, 7.9), SpgemmWorkflow::symbolic);
}

TEST(SpgemmSelection, Rule) {
  const host::WorkflowChoice shorts = host::choose_workflow({25.0, 5.0, 100, {}});
  EXPECT_EQ(shorts.workflow, SpgemmWorkflow::upper_bound);
  EXPECT_NE(shorts.reason.find("25 products a row"), std::string::npos);
  const host::WorkflowChoice sampled = host::choose_workflow({700.0, 26.0, 7'000'000, SpgemmSample{600, 5.9, 0.02}});
  EXPECT_EQ(sampled.workflow, SpgemmWorkflow::sampled);
  EXPECT_NE(sampled.reason.find("5.9 products an entry of C"), std::string::npos);
  const host::WorkflowChoice skewed = host::choose_workflow({700.0, 26.0, 7'000'000, SpgemmSample{600, 1.3, 0.4}});
  EXPECT_EQ(skewed.workflow, SpgemmWorkflow::symbolic);
  const host::WorkflowChoice small = host::choose_workflow({700.0, 26.0, host::counted_products, {}});
  EXPECT_EQ(small.workflow, SpgemmWorkflow::symbolic);
  EXPECT_EQ(small.reason, "2097152 products: counting costs less than a sample");
  EXPECT_FALSE(host::wants_sample({63.9, 5.0, 7'000'000, {}}));
  EXPECT_TRUE(host::wants_sample({64.0, 5.0, 7'000'000, {}}));
  EXPECT_TRUE(host::wants_sample({64.0, 5.0, host::counted_products + 1, {}}));
  EXPECT_FALSE(host::wants_sample({64.0, 5.0, host::counted_products, {}}));
}

TEST(SpgemmSelection, Registers) {
  EXPECT_EQ(detail::sketch_registers(47.9), 32);
  EXPECT_EQ(detail::sketch_registers(48.0), 64);
  EXPECT_EQ(detail::estimate_margin(32), 2.0);
  EXPECT_EQ(detail::estimate_margin(64), 1.5);
  EXPECT_EQ(detail::estimate_margin(128), 1.5);
}

TEST(SpgemmSelection, ReportsSayWhy) {
  const auto grid = generate<double>(parse_generator("lap2d:40000"));
  EXPECT_EQ(spgemm(grid, grid).report.workflow, SpgemmWorkflow::upper_bound);
  const auto cube = generate<double>(parse_generator("fem3d:8000"));
  const SpgemmReport report = spgemm(cube, cube).report;
  EXPECT_EQ(report.workflow, SpgemmWorkflow::sampled);
  EXPECT_TRUE(report.sample.has_value());
  EXPECT_GT(report.expansion, 20.0);
}

TEST(SpgemmEstimates, ErrorsOnProducts) {
  const auto a = generate<double>(parse_generator("fem3d:27000"));
  for (const auto& [registers, most] : {std::pair{32, 0.136}, {64, 0.106}, {128, 0.076}}) {
    SpgemmOptions options;
    options.workflow = SpgemmWorkflow::hll;
    options.registers = registers;
    const SpgemmReport report = spgemm(a, a, options).report;
    EXPECT_EQ(report.registers, registers);
    EXPECT_GT(report.estimate_error, 0.0);
    EXPECT_LE(report.estimate_error, most) << registers;
    EXPECT_LE(report.overflow_rows, a.rows() / 50);
  }
}

TEST(SpgemmEstimates, OverflowingRowsAreRightAllTheSame) {
  // Cohen's 32 keys miss rows by more than the margin now and then; so many rows that some do.
  const auto a = testing::with_row_lengths<double>(std::vector<index_t>(60000, 4), 60000, ValueStorage::weighted, 2);
  const SpgemmResult<double> exact =
      spgemm(a, a, testing::spgemm_options(SpgemmWorkflow::symbolic, SpgemmAccumulator::automatic));
  for (const SpgemmAccumulator accumulator : spgemm_accumulators()) {
    SpgemmOptions options = testing::spgemm_options(SpgemmWorkflow::cohen, accumulator);
    options.registers = 64;
    const SpgemmResult<double> result = spgemm(a, a, options);
    EXPECT_GT(result.report.overflow_rows, 0);
    testing::expect_identical(exact.matrix.view(), result.matrix.view());
  }
}

}  // namespace
}  // namespace tessera
