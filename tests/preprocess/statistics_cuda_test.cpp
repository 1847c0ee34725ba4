// Statistics of a matrix on a GPU: the values of the host, which statistics_test.cpp holds against definitions.
#include "tessera/statistics.hpp"

#include "tessera/generators.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/cuda_test.hpp"
#include "tests/support/make_csr.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace tessera {
namespace {

using testing::from_dense;

class StatisticsCuda : public testing::CudaTest {};

template <class T>
void expect_values_of_host(const Device& gpu, const Csr<T>& matrix) {
  const MatrixStatistics found = statistics(matrix.to(gpu).view(), gpu);
  const MatrixStatistics expected = statistics(matrix.view());
  EXPECT_EQ(found.rows, expected.rows);
  EXPECT_EQ(found.cols, expected.cols);
  EXPECT_EQ(found.nnz, expected.nnz);
  EXPECT_EQ(found.min_row_nnz, expected.min_row_nnz);
  EXPECT_EQ(found.max_row_nnz, expected.max_row_nnz);
  EXPECT_EQ(found.mean_row_nnz, expected.mean_row_nnz);
  EXPECT_EQ(found.stddev_row_nnz, expected.stddev_row_nnz);
  EXPECT_EQ(found.gini_row_nnz, expected.gini_row_nnz);
  EXPECT_EQ(found.max_row_share, expected.max_row_share);
  EXPECT_EQ(found.empty_rows, expected.empty_rows);
  EXPECT_EQ(found.empty_cols, expected.empty_cols);
  EXPECT_EQ(found.row_length_histogram, expected.row_length_histogram);
  EXPECT_EQ(found.bandwidth, expected.bandwidth);
  EXPECT_EQ(found.symmetry, expected.symmetry);
  EXPECT_EQ(found.explicit_zeros, expected.explicit_zeros);
  EXPECT_EQ(found.not_finite, expected.not_finite);
  EXPECT_EQ(found.diagonal_missing, expected.diagonal_missing);
  EXPECT_EQ(found.diagonal_zero, expected.diagonal_zero);
  EXPECT_EQ(found.diagonal_negative, expected.diagonal_negative);
  EXPECT_EQ(found.diagonal_not_finite, expected.diagonal_not_finite);
  EXPECT_EQ(found.diagonal_min_abs, expected.diagonal_min_abs);
  EXPECT_EQ(found.diagonal_max_abs, expected.diagonal_max_abs);
  EXPECT_EQ(found.weakly_dominant_rows, expected.weakly_dominant_rows);
}

template <class T>
void check_adversarial(const Device& gpu, ValueStorage storage, offset_t emulated_limit) {
  for (const auto& [name, matrix] : testing::adversarial_matrices<T>(storage, {672})) {
    if (testing::is_too_large_here(matrix.nnz(), emulated_limit)) continue;
    SCOPED_TRACE(name);
    expect_values_of_host(gpu, matrix);
  }
}

TEST_F(StatisticsCuda, AdversarialMatrices) {
  check_adversarial<double>(gpu(), ValueStorage::weighted, 20000);
  check_adversarial<double>(gpu(), ValueStorage::pattern, 700);
  check_adversarial<float>(gpu(), ValueStorage::weighted, 700);
}

TEST_F(StatisticsCuda, SymmetriesAndDominance) {
  expect_values_of_host(gpu(), poisson2d<double>(13, 11));
  expect_values_of_host(gpu(), from_dense<double>({{0, 2, 0}, {-2, 0, -1}, {0, 1, 0}}, 3));
  expect_values_of_host(gpu(), from_dense<double>({{1, 2, 0}, {2, 0, -1}, {0, 1, 0}}, 3));
  // 0.1 + 0.2 + 0.3 in this order, not in another, is above 0.6 by rounding alone; 0.6 (1 - 1e-14) is not.
  const Csr<double> ordered =
      from_dense<double>({{0.6, 0.1, 0.2, 0.3}, {1, 1, 0, 0}, {0.1, 0.2, 0.6 * (1 - 1e-14), 0.3}, {0, 0, 0, 1}}, 4);
  EXPECT_EQ(statistics(ordered.view()).weakly_dominant_rows, 3);
  expect_values_of_host(gpu(), ordered);
}

TEST_F(StatisticsCuda, ValuesThatAreNotFinite) {
  const Csr<double> pattern = poisson2d<double>(9, 9);
  auto values = Array<double>::copy_of(pattern.values().span());
  for (std::int64_t k = 0; k < values.size(); k += 7) values[k] = std::nan("");
  for (std::int64_t k = 3; k < values.size(); k += 11) values[k] = -std::numeric_limits<double>::infinity();
  for (std::int64_t k = 5; k < values.size(); k += 13) values[k] = -0.0;
  expect_values_of_host(gpu(), pattern.with_values(std::move(values)));
}

}  // namespace
}  // namespace tessera
