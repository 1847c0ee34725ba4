/// \file
/// Products of a GPU against those of the host.
#pragma once

#include "tests/spgemm/product_check.hpp"
#include "tests/support/cuda_test.hpp"

namespace tessera::testing {

/// Workflow and accumulator by name, on a GPU, terms in the order of A's rows.
[[nodiscard]] inline SpgemmOptions gpu_options(const Device& gpu, SpgemmWorkflow workflow,
                                               SpgemmAccumulator accumulator = SpgemmAccumulator::automatic) {
  SpgemmOptions options;
  options.workflow = workflow;
  options.accumulator = accumulator;
  options.device = gpu;
  options.determinism = Determinism::gpu_to_gpu;
  return options;
}

[[nodiscard]] inline std::string gpu_name_of(const SpgemmOptions& options) {
  return std::string(to_string(options.workflow)) + ", " + std::string(to_string(options.accumulator)) +
         (options.determinism == Determinism::not_guaranteed ? ", any order" : "");
}

/// Accumulators of all products but those in tiles. Tiles alone may fall back: their kernels have limits.
inline void check_accumulators(const SpgemmReport& report, const SpgemmOptions& options, offset_t products) {
  if (options.workflow != SpgemmWorkflow::tiles) {
    EXPECT_EQ(report.fallback, "");
  }
  offset_t summed = 0;
  for (const SpgemmAccumulatorUse& use : report.accumulators) summed += use.products;
  EXPECT_EQ(report.accumulators.empty(), summed == 0);
  if (report.workflow == SpgemmWorkflow::tiles) {
    EXPECT_TRUE(summed < products || summed == 0);
    return;
  }
  // Rows that overflowed were summed twice.
  if (report.overflow_rows == 0) {
    EXPECT_EQ(summed, products);
  } else {
    EXPECT_GT(summed, products);
  }
}

/// The product on a GPU, fetched to the host; the device and the report are looked at on the way.
template <class T>
[[nodiscard]] Csr<T> product_on_gpu(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options,
                                    const SpgemmReport& expected) {
  const SpgemmResult<T> result = spgemm(a, b, options);
  EXPECT_TRUE(result.matrix.device() == options.device);
  EXPECT_EQ(result.report.products, expected.products);
  EXPECT_EQ(result.report.nnz, expected.nnz);
  check_accumulators(result.report, options, expected.products);
  return result.matrix.to(Device{});
}

/// The host's product, in the order of A's rows and in any order, and its pattern.
template <class T>
void check_on_gpu(const Csr<T>& a, const Csr<T>& b, const SpgemmResult<T>& expected, SpgemmOptions options) {
  SCOPED_TRACE(gpu_name_of(options));
  expect_identical(expected.matrix.view(), product_on_gpu(a, b, options, expected.report).view());
  options.determinism = Determinism::not_guaranteed;
  const SpgemmResult<T> any = spgemm(a, b, options);
  const Csr<T> found = any.matrix.to(Device{});
  // The class that the report names is kept.
  if (any.report.determinism == Determinism::gpu_to_gpu) {
    expect_identical(expected.matrix.view(), found.view());
  } else {
    ASSERT_TRUE(is_product(a.view(), b.view(), found.view()));
  }
  const Csr<T> pattern = spgemm_pattern(a, b, options).matrix.to(Device{});
  ASSERT_TRUE(pattern.is_pattern());
  ASSERT_TRUE(same_bytes(pattern.columns().span(), expected.matrix.columns().span()));
  ASSERT_TRUE(same_bytes(pattern.row_offsets().span(), expected.matrix.row_offsets().span()));
}

}  // namespace tessera::testing
