/// Small grain: what is found in small matrices on several threads is what one thread finds.
#include "tests/support/small_grain.hpp"
#include "core/parallel.hpp"
#include "tessera/assemble.hpp"
#include "tessera/device.hpp"
#include "tessera/generators.hpp"
#include "tessera/statistics.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/compare.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace tessera::testing {
namespace {

constexpr int thread_counts[] = {1, 2, 3, 7};

void expect_same(const MatrixStatistics& found, const MatrixStatistics& expected) {
  EXPECT_EQ(found.min_row_nnz, expected.min_row_nnz);
  EXPECT_EQ(found.max_row_nnz, expected.max_row_nnz);
  EXPECT_NEAR(found.stddev_row_nnz, expected.stddev_row_nnz, 1e-12 * (1.0 + expected.stddev_row_nnz));
  EXPECT_EQ(found.empty_rows, expected.empty_rows);
  EXPECT_EQ(found.empty_cols, expected.empty_cols);
  EXPECT_EQ(found.row_length_histogram, expected.row_length_histogram);
  EXPECT_EQ(found.bandwidth, expected.bandwidth);
  EXPECT_EQ(found.symmetry, expected.symmetry);
  EXPECT_EQ(found.explicit_zeros, expected.explicit_zeros);
  EXPECT_EQ(found.diagonal_missing, expected.diagonal_missing);
  EXPECT_EQ(found.diagonal_negative, expected.diagonal_negative);
  EXPECT_EQ(found.diagonal_min_abs, expected.diagonal_min_abs);
  EXPECT_EQ(found.diagonal_max_abs, expected.diagonal_max_abs);
  EXPECT_EQ(found.weakly_dominant_rows, expected.weakly_dominant_rows);
}

void expect_same(const MatrixDetails& found, const MatrixDetails& expected) {
  EXPECT_EQ(found.off_diagonal, expected.off_diagonal);
  EXPECT_EQ(found.mirrored, expected.mirrored);
  EXPECT_EQ(found.equal_pairs, expected.equal_pairs);
  EXPECT_EQ(found.asymmetry, expected.asymmetry);
  EXPECT_EQ(found.min_abs, expected.min_abs);
  EXPECT_EQ(found.max_abs, expected.max_abs);
  EXPECT_EQ(found.row_norm_max, expected.row_norm_max);
  EXPECT_EQ(found.profile, expected.profile);
  EXPECT_EQ(found.hub_rows, expected.hub_rows);
}

TEST(SmallGrainMatrices, FactsAndTransposes) {
  for (const auto& [name, matrix] : adversarial_matrices<double>(ValueStorage::weighted, {32})) {
    SCOPED_TRACE(name);
    const CsrView<double> a = matrix.view();
    const MatrixStatistics facts = statistics(a, Device::host(1));
    const MatrixDetails details = matrix_details(a, Device::host(1));
    const Csr<double> transposed = transpose(a, Device::host(1));
    const SmallGrain grain;
    ASSERT_EQ(host::threads_for(Device::host(3), 100), 3);
    for (const int threads : thread_counts) {
      const Device device = Device::host(threads);
      expect_same(statistics(a, device), facts);
      expect_same(matrix_details(a, device), details);
      expect_identical(transpose(a, device).view(), transposed.view());
    }
  }
}

TEST(SmallGrainMatrices, SymmetryFindsTheOneOddEntry) {
  const SmallGrain grain;
  const Csr<double> symmetric = poisson2d<double>(9, 7);
  std::vector<double> values(symmetric.values().begin(), symmetric.values().end());
  values[values.size() / 2 + 1] += 1.0;
  const Csr<double> odd(63, 63, Array<offset_t>::copy_of(symmetric.row_offsets().span()),
                        Array<index_t>::copy_of(symmetric.columns().span()), Array<double>::copy_of(values));
  for (const int threads : thread_counts) {
    EXPECT_EQ(statistics(symmetric.view(), Device::host(threads)).symmetry, Symmetry::numerical);
    EXPECT_NE(statistics(odd.view(), Device::host(threads)).symmetry, Symmetry::numerical);
  }
}

/// Paths through random vertices: one component each.
TEST(SmallGrainMatrices, Components) {
  const SmallGrain grain;
  constexpr index_t n = 300;
  std::vector<index_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(7));
  std::vector<index_t> rows;
  std::vector<index_t> columns;
  for (std::size_t k = 0; k + 1 < order.size(); ++k) {
    if (k % 100 == 99) continue;
    rows.push_back(order[k]);
    columns.push_back(order[k + 1]);
  }
  const auto graph = assemble<double>(n, n, rows, columns, {}, ValueStorage::pattern);
  for (int run = 0; run < 20; ++run) {
    for (const int threads : thread_counts) {
      const ComponentCounts found = connected_components(graph.matrix.view(), Device::host(threads));
      EXPECT_EQ(found.count, 3);
      EXPECT_EQ(found.largest, 100);
      EXPECT_EQ(found.singletons, 0);
    }
  }
}

/// Entries in random order with repetitions; values are whole numbers, so that their sums are exact in any order.
TEST(SmallGrainMatrices, Assembly) {
  std::mt19937_64 random(5);
  std::vector<index_t> rows(500);
  std::vector<index_t> columns(500);
  std::vector<double> values(500);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    rows[k] = static_cast<index_t>(random() % 31);
    columns[k] = static_cast<index_t>(random() % 23);
    values[k] = static_cast<double>(random() % 9);
  }
  const auto expected = assemble<double>(31, 23, rows, columns, values);
  const SmallGrain grain;
  for (const int threads : thread_counts) {
    set_default_host_threads(threads);
    const auto found = assemble<double>(31, 23, rows, columns, values);
    EXPECT_EQ(found.duplicates, expected.duplicates);
    expect_identical(found.matrix.view(), expected.matrix.view());
  }
  set_default_host_threads(0);
}

}  // namespace
}  // namespace tessera::testing
