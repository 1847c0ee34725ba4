// Scalings against their definition on dense matrices in long double.
#include "tessera/scaling.hpp"
#include "tessera/error.hpp"

#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

using namespace detail;
namespace {

using Dense = std::vector<std::vector<double>>;

Dense random_dense(std::size_t rows, std::size_t cols, double density, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  Dense dense(rows, std::vector<double>(cols));
  for (auto& row : dense) {
    for (double& value : row) {
      if (uniform(random) < density) value = std::pow(10.0, 20.0 * uniform(random) - 10.0) * (uniform(random) - 0.5);
    }
  }
  return dense;
}

/// Ruiz by its formulas: every sweep divides by the roots of the maxima of the matrix scaled so far.
struct DenseRuiz {
  std::vector<long double> row;
  std::vector<long double> column;

  DenseRuiz(const Dense& dense, std::size_t cols, int sweeps) : row(dense.size(), 1.0L), column(cols, 1.0L) {
    for (int s = 0; s < sweeps; ++s) {
      std::vector<long double> row_max(row.size());
      std::vector<long double> column_max(cols);
      for (std::size_t i = 0; i < row.size(); ++i) {
        for (std::size_t j = 0; j < cols; ++j) {
          const long double scaled = row[i] * column[j] * std::abs(static_cast<long double>(dense[i][j]));
          row_max[i] = std::max(row_max[i], scaled);
          column_max[j] = std::max(column_max[j], scaled);
        }
      }
      for (std::size_t i = 0; i < row.size(); ++i) row[i] /= row_max[i] > 0 ? std::sqrt(row_max[i]) : 1.0L;
      for (std::size_t j = 0; j < cols; ++j) column[j] /= column_max[j] > 0 ? std::sqrt(column_max[j]) : 1.0L;
    }
  }
};

/// A sweep rounds each factor four times, and so do the factors before.
void expect_near(const std::vector<double>& found, const std::vector<long double>& expected, int sweeps) {
  ASSERT_EQ(found.size(), expected.size());
  const double bound = 8.0 * (1 << sweeps) * std::numeric_limits<double>::epsilon();
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto exact = static_cast<double>(expected[i]);
    EXPECT_NEAR(found[i], exact, bound * exact) << i;
  }
}

TEST(RuizScaling, AgainstItsFormulas) {
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 100; ++trial) {
    const std::size_t rows = random() % 12;
    const std::size_t cols = random() % 12;
    const Dense dense = random_dense(rows, cols, 0.3, random);
    const auto a = testing::from_dense<double>(dense, static_cast<std::int64_t>(cols));
    const int sweeps = trial % 7;
    const Scaling found = ruiz_scaling(a.view(), sweeps);
    const DenseRuiz expected(dense, cols, sweeps);
    SCOPED_TRACE(trial);
    expect_near(found.row, expected.row, sweeps);
    expect_near(found.column, expected.column, sweeps);
  }
}

/// Ruiz (2001): the distance of the maxima from 1 halves in the logarithm with every sweep.
TEST(RuizScaling, SweepsBringAllMaximaToOne) {
  std::mt19937_64 random(6);
  Dense dense = random_dense(60, 60, 0.1, random);
  for (std::size_t i = 0; i < 60; ++i) dense[i][i] = 1.0;
  const auto a = testing::from_dense<float>(
      [&] {
        std::vector<std::vector<float>> single(60, std::vector<float>(60));
        for (std::size_t i = 0; i < 60; ++i) {
          for (std::size_t j = 0; j < 60; ++j) single[i][j] = static_cast<float>(dense[i][j]);
        }
        return single;
      }(),
      60);
  const auto view = a.view();
  for (const auto& [sweeps, tolerance] : {std::pair{6, 0.5}, std::pair{40, 1e-9}}) {
    const Scaling scaling = ruiz_scaling(view, sweeps);
    std::vector<double> row_max(60);
    std::vector<double> column_max(60);
    for (std::size_t i = 0; i < 60; ++i) {
      for (offset_t k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
        const auto j = static_cast<std::size_t>(view.columns[static_cast<std::size_t>(k)]);
        const double scaled = scaling.row[i] * std::abs(static_cast<double>(view.value(k))) * scaling.column[j];
        row_max[i] = std::max(row_max[i], scaled);
        column_max[j] = std::max(column_max[j], scaled);
      }
    }
    for (std::size_t i = 0; i < 60; ++i) {
      EXPECT_NEAR(row_max[i], 1.0, tolerance);
      EXPECT_NEAR(column_max[i], 1.0, tolerance);
    }
  }
}

TEST(RuizScaling, SymmetricMatricesGetEqualFactors) {
  std::mt19937_64 random(7);
  Dense dense = random_dense(50, 50, 0.1, random);
  for (std::size_t i = 0; i < 50; ++i) {
    for (std::size_t j = 0; j < i; ++j) dense[i][j] = dense[j][i];
  }
  const Scaling scaling = ruiz_scaling(testing::from_dense<double>(dense, 50).view());
  EXPECT_EQ(scaling.row, scaling.column);
}

TEST(RuizScaling, EmptyRowsExplicitZerosAndPatterns) {
  EXPECT_TRUE(ruiz_scaling(Csr<double>().view()).row.empty());
  const auto zeros = testing::make_csr<double>(3, 2, {0, 1, 1, 3}, {0, 0, 1}, {0, 16, 0});
  const Scaling scaling = ruiz_scaling(zeros.view());
  EXPECT_EQ(scaling.row, (std::vector<double>{1, 1, 0.25}));
  EXPECT_EQ(scaling.column, (std::vector<double>{0.25, 1}));
  const auto ones = testing::make_pattern<float>(2, 2, {0, 2, 3}, {0, 1, 1});
  EXPECT_EQ(ruiz_scaling(ones.view()).row, (std::vector<double>{1, 1}));
  EXPECT_EQ(ruiz_scaling(zeros.view(), 0).row, (std::vector<double>(3, 1.0)));
}

TEST(RuizScaling, ExtremeMagnitudesStayPositiveAndFinite) {
  const double tiny = std::numeric_limits<double>::denorm_min();
  const double huge = std::numeric_limits<double>::max();
  // In the second, the factors that bring all maxima to 1 lie beyond double.
  for (const Dense& dense : {Dense{{huge, tiny}, {tiny, huge}}, Dense{{tiny, 0}, {huge, 0}}, Dense{{tiny}, {tiny}}}) {
    const auto cols = static_cast<std::int64_t>(dense.front().size());
    const Scaling scaling = ruiz_scaling(testing::from_dense<double>(dense, cols).view(), 50);
    for (const auto* factors : {&scaling.row, &scaling.column}) {
      for (const double factor : *factors) EXPECT_TRUE(std::isnormal(factor) && factor > 0.0) << factor;
    }
  }
}

TEST(RuizScaling, Refusals) {
  const auto one = testing::make_csr<double>(1, 1, {0, 1}, {0}, {1.0});
  EXPECT_THROW(static_cast<void>(ruiz_scaling(one.view(), -1)), InvalidArgument);
  for (const float bad : {std::nanf(""), -std::numeric_limits<float>::infinity()}) {
    const auto a = testing::make_csr<float>(2, 2, {0, 1, 2}, {0, 1}, {1.0F, bad});
    try {
      static_cast<void>(ruiz_scaling(a.view()));
      FAIL();
    } catch (const InvalidMatrix& error) {
      EXPECT_NE(std::string(error.what()).find("row 2, column 2"), std::string::npos) << error.what();
    }
  }
}

TEST(SymmetricScaling, MakesTheDiagonalOne) {
  const auto a = testing::from_dense<double>({{4, 1, 0}, {1, -25, 2}, {0, 2, 0}}, 3);
  const Scaling scaling = symmetric_scaling(a.view());
  EXPECT_EQ(scaling.row, (std::vector<double>{0.5, 0.2, 1.0}));
  EXPECT_EQ(scaling.column, scaling.row);
  const auto zero = testing::make_csr<float>(2, 2, {0, 1, 2}, {0, 1}, {0.0F, 0.25F});
  EXPECT_EQ(symmetric_scaling(zero.view()).row, (std::vector<double>{1.0, 2.0}));
  const auto pattern = testing::make_pattern<float>(2, 2, {0, 1, 2}, {0, 0});
  EXPECT_EQ(symmetric_scaling(pattern.view()).row, (std::vector<double>{1.0, 1.0}));
  EXPECT_TRUE(symmetric_scaling(Csr<double>().view()).row.empty());
}

TEST(SymmetricScaling, Refusals) {
  const auto wide = testing::make_pattern<double>(1, 2, {0, 1}, {1});
  EXPECT_THROW(static_cast<void>(symmetric_scaling(wide.view())), DimensionError);
  const auto bad = testing::make_csr<double>(1, 1, {0, 1}, {0}, {std::numeric_limits<double>::infinity()});
  EXPECT_THROW(static_cast<void>(symmetric_scaling(bad.view())), InvalidMatrix);
  // Off the diagonal it is not looked at.
  const auto beside = testing::make_csr<double>(2, 2, {0, 2, 3}, {0, 1, 1}, {4.0, std::nan(""), 1.0});
  EXPECT_EQ(symmetric_scaling(beside.view()).row, (std::vector<double>{0.5, 1.0}));
}

}  // namespace
}  // namespace tessera
