#include "tessera/statistics.hpp"

#include "tests/support/adversarial.hpp"
#include "tests/support/eigen_bridge.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <set>

namespace tessera {

using namespace detail;
namespace {

using testing::from_dense;
using testing::make_csr;

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Gini by its definition: mean absolute difference over twice the mean.
double naive_gini(const std::vector<offset_t>& lengths) {
  long double differences = 0;
  long double sum = 0;
  for (const offset_t a : lengths) {
    sum += static_cast<long double>(a);
    for (const offset_t b : lengths) differences += static_cast<long double>(std::abs(a - b));
  }
  const auto n = static_cast<long double>(lengths.size());
  return sum == 0 ? 0.0 : static_cast<double>(differences / (2 * n * sum));
}

template <class T>
void expect_row_statistics(const CsrView<T>& a, const MatrixStatistics& s) {
  std::vector<offset_t> lengths;
  for (std::size_t i = 0; i + 1 < a.row_offsets.size(); ++i) lengths.push_back(a.row_offsets[i + 1] - a.row_offsets[i]);
  const double mean = lengths.empty() ? 0.0 : static_cast<double>(a.nnz()) / static_cast<double>(lengths.size());
  double variance = 0.0;
  std::vector<index_t> histogram;
  for (const offset_t length : lengths) {
    variance += (static_cast<double>(length) - mean) * (static_cast<double>(length) - mean);
    std::size_t bin = 0;
    while (length >= offset_t{1} << bin) ++bin;
    if (histogram.size() <= bin) histogram.resize(bin + 1);
    ++histogram[bin];
  }
  EXPECT_EQ(s.min_row_nnz, lengths.empty() ? 0 : *std::min_element(lengths.begin(), lengths.end()));
  EXPECT_EQ(s.max_row_nnz, lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end()));
  EXPECT_DOUBLE_EQ(s.mean_row_nnz, mean);
  const double deviation = lengths.empty() ? 0.0 : std::sqrt(variance / static_cast<double>(lengths.size()));
  EXPECT_NEAR(s.stddev_row_nnz, deviation, 1e-12 * (1 + deviation));
  EXPECT_NEAR(s.gini_row_nnz, naive_gini(lengths), 1e-12);
  EXPECT_EQ(s.empty_rows, std::count(lengths.begin(), lengths.end(), 0));
  EXPECT_EQ(s.row_length_histogram, histogram);
  const double share = a.nnz() == 0 ? 0.0 : static_cast<double>(s.max_row_nnz) / static_cast<double>(a.nnz());
  EXPECT_DOUBLE_EQ(s.max_row_share, share);
}

TEST(Statistics, RowsOfAdversarialMatrices) {
  for (const auto& [name, matrix] : testing::adversarial_matrices<double>(ValueStorage::weighted, {672})) {
    if (matrix.rows() > 10000) continue;  // the naive Gini coefficient is quadratic
    SCOPED_TRACE(name);
    const auto a = matrix.view();
    const MatrixStatistics s = statistics(a, Device::host(2));
    expect_row_statistics(a, s);
    const std::set<index_t> used(a.columns.begin(), a.columns.end());
    EXPECT_EQ(s.empty_cols, a.cols - static_cast<index_t>(used.size()));
    offset_t bandwidth = 0;
    for (std::size_t i = 0; i + 1 < a.row_offsets.size(); ++i) {
      for (offset_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
        const offset_t distance = a.columns[static_cast<std::size_t>(k)] - static_cast<offset_t>(i);
        bandwidth = std::max(bandwidth, std::abs(distance));
      }
    }
    EXPECT_EQ(s.bandwidth, bandwidth);
  }
}

TEST(Statistics, GiniOfKnownDistributions) {
  const auto even = testing::with_row_lengths<double>(testing::lengths_of(50, 3), 10, ValueStorage::pattern);
  EXPECT_DOUBLE_EQ(statistics(even.view()).gini_row_nnz, 0.0);
  const auto single =
      testing::with_row_lengths<double>(testing::one_long_row(100, 7, 20, 0), 20, ValueStorage::pattern);
  EXPECT_DOUBLE_EQ(statistics(single.view()).gini_row_nnz, 0.99);  // (n - 1) / n
}

TEST(Statistics, SymmetryIsExact) {
  EXPECT_EQ(statistics(from_dense<double>({{1, 2}, {2, 3}}, 2).view()).symmetry, Symmetry::numerical);
  EXPECT_EQ(statistics(from_dense<double>({{1, 2}, {std::nextafter(2.0, 3.0), 3}}, 2).view()).symmetry,
            Symmetry::structural);
  EXPECT_EQ(statistics(from_dense<double>({{1, 2}, {-2, 3}}, 2).view()).symmetry, Symmetry::structural);
  EXPECT_EQ(statistics(from_dense<double>({{1, 2}, {0, 3}}, 2).view()).symmetry, Symmetry::none);
  EXPECT_EQ(statistics(from_dense<double>({{1, 0}, {2, 3}}, 2).view()).symmetry, Symmetry::none);
  EXPECT_EQ(statistics(from_dense<double>({{1, 2, 0}, {2, 3, 0}}, 3).view()).symmetry, Symmetry::none);
  EXPECT_EQ(statistics(testing::make_pattern<double>(2, 2, {0, 1, 2}, {1, 0}).view()).symmetry, Symmetry::numerical);
  EXPECT_EQ(statistics(make_csr<double>(2, 2, {0, 1, 2}, {1, 0}, {nan_value, nan_value}).view()).symmetry,
            Symmetry::structural);
  EXPECT_EQ(statistics(Csr<double>().view()).symmetry, Symmetry::numerical);
}

TEST(Statistics, SkewSymmetryIsExactToo) {
  EXPECT_EQ(statistics(from_dense<double>({{0, 2}, {-2, 0}}, 2).view()).symmetry, Symmetry::skew);
  EXPECT_EQ(statistics(make_csr<double>(2, 2, {0, 2, 3}, {0, 1, 0}, {0.0, 2.0, -2.0}).view()).symmetry, Symmetry::skew)
      << "a stored zero on the diagonal";
  EXPECT_EQ(statistics(make_csr<double>(2, 2, {0, 1, 2}, {1, 0}, {0.0, 0.0}).view()).symmetry, Symmetry::numerical)
      << "zeros are both";
  EXPECT_EQ(statistics(from_dense<double>({{0, 2}, {-std::nextafter(2.0, 3.0), 0}}, 2).view()).symmetry,
            Symmetry::structural);
  EXPECT_EQ(statistics(from_dense<double>({{0, 2, 1}, {-2, 0, 1}, {-1, 1, 0}}, 3).view()).symmetry,
            Symmetry::structural)
      << "one pair equal, the others opposite";
  EXPECT_EQ(statistics(from_dense<double>({{0, 2, 1}, {-2, 0, 0}, {0, 0, 0}}, 3).view()).symmetry, Symmetry::none);
  EXPECT_EQ(statistics(make_csr<double>(2, 2, {0, 1, 2}, {1, 0}, {nan_value, nan_value}).view()).symmetry,
            Symmetry::structural);
}

TEST(Statistics, SymmetryOfLargeMatricesFindsTheOneOddEntry) {
  // Tridiagonal, large enough for several threads, one value changed in the last rows.
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  const index_t n = 20000;
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = std::max(0, i - 1); j <= std::min(n - 1, i + 1); ++j) columns.push_back(j);
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  std::vector<double> values(columns.size(), 1.0);
  EXPECT_EQ(statistics(make_csr<double>(n, n, offsets, columns, values).view(), Device::host(3)).symmetry,
            Symmetry::numerical);
  values[values.size() - 2] = 1.5;
  EXPECT_EQ(statistics(make_csr<double>(n, n, offsets, columns, values).view(), Device::host(3)).symmetry,
            Symmetry::structural);
}

TEST(Statistics, DiagonalAndValues) {
  // Row 0: stored zero. Row 1: missing. Row 2: negative. Row 3: NaN. Row 4: dominant by equality. Row 5: infinite
  // entry.
  const auto a = make_csr<double>(6, 6, {0, 2, 3, 5, 6, 8, 10}, {0, 1, 0, 1, 2, 3, 3, 4, 0, 5},
                                  {0.0, 1.0, 4.0, 1.0, -0.5, nan_value, 2.0, 2.0, infinity, 8.0});
  const MatrixStatistics s = statistics(a.view());
  EXPECT_EQ(s.explicit_zeros, 1);
  EXPECT_EQ(s.not_finite, 2);
  EXPECT_EQ(s.diagonal_missing, 1);
  EXPECT_EQ(s.diagonal_zero, 1);
  EXPECT_EQ(s.diagonal_negative, 1);
  EXPECT_EQ(s.diagonal_not_finite, 1);
  EXPECT_EQ(s.diagonal_min_abs, 0.0);
  EXPECT_EQ(s.diagonal_max_abs, 8.0);
  EXPECT_EQ(s.weakly_dominant_rows, 1);
  EXPECT_FALSE(s.full_diagonal());
}

TEST(Statistics, FullDiagonal) {
  EXPECT_TRUE(statistics(from_dense<double>({{2, 1}, {1, -2}}, 2).view()).full_diagonal());
  EXPECT_FALSE(statistics(make_csr<double>(1, 1, {0, 1}, {0}, {nan_value}).view()).full_diagonal());
  const MatrixStatistics s = statistics(from_dense<double>({{2, 1}, {1, -3}}, 2).view());
  EXPECT_EQ(s.diagonal_min_abs, 2.0);
  EXPECT_EQ(s.weakly_dominant_rows, 2);
}

/// Assembled diagonals are sums that were rounded.
TEST(Statistics, DominanceAllowsForRounding) {
  const auto rounded = from_dense<double>({{0.6, 0.1, 0.2, 0.3}, {1, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}, 4);
  EXPECT_EQ(statistics(rounded.view()).weakly_dominant_rows, 4) << "0.1 + 0.2 + 0.3 > 0.6 by rounding";
  const auto less =
      from_dense<double>({{0.6 * (1 - 1e-14), 0.1, 0.2, 0.3}, {1, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}, 4);
  EXPECT_EQ(statistics(less.view()).weakly_dominant_rows, 3);
  const auto single = from_dense<float>({{0.6F * (1 - 1e-5F), 0.3F, 0.3F}, {0, 1, 0}, {0, 0, 1}}, 3);
  EXPECT_EQ(statistics(single.view()).weakly_dominant_rows, 2) << "two entries in fp32: far more than rounding";
}

TEST(Statistics, DiagonalOfRectangularMatrices) {
  const auto tall = from_dense<double>({{1, 0}, {0, 1}, {5, 5}, {0, 0}}, 2);
  const MatrixStatistics s = statistics(tall.view());
  EXPECT_EQ(s.diagonal_missing, 0);
  EXPECT_EQ(s.weakly_dominant_rows, 2);
  const auto wide = from_dense<float>({{1, 2, 0}, {0, 0, 3}}, 3);
  EXPECT_EQ(statistics(wide.view()).diagonal_missing, 1);
}

TEST(Statistics, PatternValuesAreOnes) {
  const auto a = testing::make_pattern<float>(2, 2, {0, 2, 3}, {0, 1, 1});
  const MatrixStatistics s = statistics(a.view());
  EXPECT_EQ(s.diagonal_min_abs, 1.0);
  EXPECT_EQ(s.diagonal_max_abs, 1.0);
  EXPECT_EQ(s.weakly_dominant_rows, 2);
  EXPECT_EQ(s.explicit_zeros, 0);
}

TEST(Statistics, EmptyMatrix) {
  const MatrixStatistics s = statistics(Csr<double>().view());
  EXPECT_EQ(s.nnz, 0);
  EXPECT_EQ(s.min_row_nnz, 0);
  EXPECT_TRUE(s.row_length_histogram.empty());
  EXPECT_TRUE(s.full_diagonal());
}

}  // namespace
}  // namespace tessera
