/// \file
/// Products of matrices against a long-double oracle and its error bound.
#pragma once

#include "tessera/spgemm.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/compare.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tessera::testing {

/// Scalar products of A B.
template <class T>
[[nodiscard]] offset_t count_products(const CsrView<T>& a, const CsrView<T>& b) {
  offset_t total = 0;
  for (const index_t j : a.columns) {
    const auto row = static_cast<std::size_t>(j);
    total += b.row_offsets[row + 1] - b.row_offsets[row];
  }
  return total;
}

/// Fails at the first position or value of C that is not that of A B. Every row is summed in long double in a
/// full-width array; an entry of n products may be off by γ_n Σ |a_ik b_kj|, γ_n = n u / (1 - n u) (Higham, 2nd ed.,
/// §3.1), and by n times the smallest number, where products underflow.
template <class T>
[[nodiscard]] ::testing::AssertionResult is_product(const CsrView<T>& a, const CsrView<T>& b, const CsrView<T>& c) {
  if (c.rows != a.rows || c.cols != b.cols)
    return ::testing::AssertionFailure() << "shape " << c.rows << " x " << c.cols;
  struct Cell {
    long double sum = 0;
    long double magnitude = 0;
    int terms = 0;
  };
  constexpr long double unit = static_cast<long double>(std::numeric_limits<T>::epsilon()) / 2;
  std::vector<Cell> cells(static_cast<std::size_t>(b.cols));
  std::vector<index_t> touched;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i) {
    touched.clear();
    for (offset_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
      const auto row = static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)]);
      for (offset_t l = b.row_offsets[row]; l < b.row_offsets[row + 1]; ++l) {
        const index_t j = b.columns[static_cast<std::size_t>(l)];
        Cell& cell = cells[static_cast<std::size_t>(j)];
        const long double term = static_cast<long double>(a.value(k)) * static_cast<long double>(b.value(l));
        if (cell.terms++ == 0) touched.push_back(j);
        cell.sum += term;
        cell.magnitude += std::fabs(term);
      }
    }
    std::sort(touched.begin(), touched.end());
    const offset_t begin = c.row_offsets[i];
    if (c.row_offsets[i + 1] - begin != static_cast<offset_t>(touched.size())) {
      return ::testing::AssertionFailure()
             << "row " << i << " has " << c.row_offsets[i + 1] - begin << " entries, not " << touched.size();
    }
    for (std::size_t e = 0; e < touched.size(); ++e) {
      const auto place = static_cast<std::size_t>(begin) + e;
      Cell& cell = cells[static_cast<std::size_t>(touched[e])];
      if (c.columns[place] != touched[e]) {
        return ::testing::AssertionFailure()
               << "row " << i << ", entry " << e << ": column " << c.columns[place] << ", not " << touched[e];
      }
      const long double n = cell.terms;
      const long double bound = n * unit / (1 - n * unit) * cell.magnitude +
                                n * static_cast<long double>(std::numeric_limits<T>::denorm_min());
      const long double value = c.is_pattern() ? cell.sum : static_cast<long double>(c.values[place]);
      if (!(std::fabs(value - cell.sum) <= bound)) {
        return ::testing::AssertionFailure() << "entry (" << i << ", " << touched[e] << ") is " << value << ", not "
                                             << cell.sum << ", beyond the bound " << bound;
      }
      cell = Cell{};
    }
  }
  return ::testing::AssertionSuccess();
}

/// Workflow, accumulator and threads by name.
[[nodiscard]] inline SpgemmOptions spgemm_options(SpgemmWorkflow workflow, SpgemmAccumulator accumulator,
                                                  int threads = 2) {
  SpgemmOptions options;
  options.workflow = workflow;
  options.accumulator = accumulator;
  options.device = Device::host(threads);
  return options;
}

[[nodiscard]] inline std::string name_of(const SpgemmOptions& options) {
  return std::string(to_string(options.workflow)) + ", " + std::string(to_string(options.accumulator)) + ", " +
         std::to_string(options.device.threads()) + " threads";
}

/// `automatic` and all that can be named.
template <class E>
[[nodiscard]] std::vector<E> with_automatic(std::span<const E> named) {
  std::vector<E> result{E::automatic};
  result.insert(result.end(), named.begin(), named.end());
  return result;
}

/// The product against the oracle, then every workflow with every accumulator, for 1, 2 and 3 threads, against the
/// first to the last bit; the pattern as well.
template <class T>
void check_all_ways(const Csr<T>& a, const Csr<T>& b) {
  const SpgemmResult<T> first = spgemm(a, b);
  ASSERT_TRUE(is_product(a.view(), b.view(), first.matrix.view()));
  EXPECT_EQ(first.report.products, count_products(a.view(), b.view()));
  int threads = 0;
  for (const SpgemmWorkflow workflow : with_automatic(spgemm_workflows())) {
    for (const SpgemmAccumulator accumulator : with_automatic(spgemm_accumulators())) {
      const SpgemmOptions options = spgemm_options(workflow, accumulator, 1 + threads++ % 3);
      SCOPED_TRACE(name_of(options));
      const SpgemmResult<T> again = spgemm(a, b, options);
      ASSERT_NO_FATAL_FAILURE(expect_identical(first.matrix.view(), again.matrix.view()));
      ASSERT_FALSE(::testing::Test::HasNonfatalFailure());
      ASSERT_EQ(again.report.fallback, "");
      const Csr<T> pattern = spgemm_pattern(a, b, options).matrix;
      ASSERT_TRUE(pattern.is_pattern());
      ASSERT_TRUE(same_bytes(pattern.columns().span(), first.matrix.columns().span()));
      ASSERT_TRUE(same_bytes(pattern.row_offsets().span(), first.matrix.row_offsets().span()));
    }
  }
}

}  // namespace tessera::testing
