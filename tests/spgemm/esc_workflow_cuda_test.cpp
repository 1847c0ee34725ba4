// The workflow that does nothing but expand, sort and contract: all of its levels in one product, and its memory.
#include "tests/spgemm/product_cuda_check.hpp"

#include "tests/support/make_csr.hpp"

namespace tessera {
namespace {

class EscWorkflowOnGpu : public testing::CudaTest {
 protected:
  /// Rows of no products, of each level, and several of the last.
  static Csr<double> of_all_levels() {
    const int scale = testing::repetitions(8, 1);
    std::vector<index_t> lengths;
    for (const index_t length : {0, 1, 3, 20, 100, 700, 0, 900, 1200, 30, 1000}) {
      for (int copy = 0; copy < scale; ++copy) lengths.push_back(length);
    }
    return testing::with_row_lengths<double>(lengths, 1500, ValueStorage::weighted, 21);
  }
  static Csr<double> right_factor() {
    std::vector<index_t> lengths(1500);
    for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<index_t>(i * 7 % 17);
    return testing::with_row_lengths<double>(lengths, 4000, ValueStorage::weighted, 22);
  }
};

TEST_F(EscWorkflowOnGpu, AllLevelsInOneProduct) {
  const Csr<double> a = of_all_levels();
  const Csr<double> b = right_factor();
  const auto expected = spgemm(a, b);
  testing::check_on_gpu(a, b, expected, testing::gpu_options(gpu(), SpgemmWorkflow::esc));
  const SpgemmReport report = spgemm(a, b, testing::gpu_options(gpu(), SpgemmWorkflow::esc)).report;
  ASSERT_EQ(report.accumulators.size(), 1U);
  EXPECT_EQ(report.accumulators[0].accumulator, SpgemmAccumulator::esc);
  EXPECT_EQ(report.accumulators[0].rows, a.rows() - 2 * testing::repetitions(8, 1));
  EXPECT_EQ(report.accumulators[0].products, expected.report.products);
  EXPECT_EQ(report.determinism, Determinism::gpu_to_gpu);
  EXPECT_EQ(report.overflow_rows, 0);
}

TEST_F(EscWorkflowOnGpu, SumsInTheHostsOrderWhateverTheClass) {
  auto options = testing::gpu_options(gpu(), SpgemmWorkflow::esc);
  options.determinism = Determinism::not_guaranteed;
  const Csr<double> a = of_all_levels();
  const Csr<double> b = right_factor();
  const auto result = spgemm(a, b, options);
  EXPECT_EQ(result.report.determinism, Determinism::gpu_to_gpu);
  testing::expect_identical(spgemm(a, b).matrix.view(), result.matrix.to(Device{}).view());
}

TEST_F(EscWorkflowOnGpu, SlicesKeepToTheMemoryLimit) {
  const Csr<double> a = of_all_levels();
  const Csr<double> b = right_factor();
  const auto expected = spgemm(a, b);
  auto options = testing::gpu_options(gpu(), SpgemmWorkflow::esc);
  const std::uint64_t whole = spgemm(a, b, options).report.peak_bytes;
  int sliced = 0;
  int fallen = 0;
  for (std::uint64_t limit = whole; limit > whole / 4; limit -= whole / 16) {
    SCOPED_TRACE(limit);
    options.memory_limit_bytes = limit;
    const auto result = spgemm(a, b, options);
    EXPECT_LE(result.report.peak_bytes, limit);
    testing::expect_identical(expected.matrix.view(), result.matrix.to(Device{}).view());
    const bool is_esc = result.report.workflow == SpgemmWorkflow::esc;
    EXPECT_EQ(result.report.fallback.empty(), is_esc);
    (is_esc ? sliced : fallen) += 1;
    if (!is_esc && fallen == 2) break;
  }
  EXPECT_GT(sliced, 1) << "the whole, and slices";
  EXPECT_GT(fallen, 0);
}

TEST_F(EscWorkflowOnGpu, ShortRowsKeepTheirOrder) {
  const auto a = testing::with_row_lengths<double>({3, 0, 8, 1, 0, 0, 5}, 10, ValueStorage::weighted, 1);
  const auto b = testing::with_row_lengths<double>(std::vector<index_t>(10, 4), 9, ValueStorage::weighted, 2);
  testing::check_on_gpu(a, b, spgemm(a, b), testing::gpu_options(gpu(), SpgemmWorkflow::esc));
}

TEST_F(EscWorkflowOnGpu, WhatCancelsStaysAnEntry) {
  const auto a = testing::make_csr<double>(2, 2, {0, 2, 3}, {0, 1, 0}, {1.0, 1.0, 0.0});
  const auto b = testing::make_csr<double>(2, 3, {0, 2, 4}, {0, 2, 0, 2}, {5.0, 1.0, -5.0, 2.0});
  const auto c = spgemm(a, b, testing::gpu_options(gpu(), SpgemmWorkflow::esc)).matrix.to(Device{});
  ASSERT_EQ(c.nnz(), 4);
  EXPECT_EQ(c.values()[0], 0.0);
  EXPECT_EQ(c.values()[1], 3.0);
  EXPECT_EQ(c.values()[2], 0.0);
}

/// A row of all blocks beside rows of threads: one row of B of ones times a matrix whose rows have one entry.
TEST_F(EscWorkflowOnGpu, OneEntryOfManyProducts) {
  const index_t n = testing::repetitions(400000, 9000);
  const auto a = testing::with_row_lengths<float>({n, 2}, n, ValueStorage::weighted, 3);
  const auto b = testing::with_row_lengths<float>(std::vector<index_t>(static_cast<std::size_t>(n), 1), 2,
                                                  ValueStorage::weighted, 4);
  testing::check_on_gpu(a, b, spgemm(a, b), testing::gpu_options(gpu(), SpgemmWorkflow::esc));
}

}  // namespace
}  // namespace tessera
