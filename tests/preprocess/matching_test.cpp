// Matchings against all permutations of small matrices, and against their dual variables: scaled entries at most 1.
#include "tessera/matching.hpp"
#include "tessera/error.hpp"
#include "tessera/statistics.hpp"

#include "preprocess/bipartite_matching.hpp"
#include "tests/preprocess/matching_checks.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

using Dense = std::vector<std::vector<double>>;

/// By all permutations: the largest number of nonzeros on a diagonal, and the largest log product of full ones.
struct BestPermutation {
  index_t cardinality = 0;
  double log_product = -std::numeric_limits<double>::infinity();
};

BestPermutation best_permutation(const Dense& dense) {
  std::vector<std::size_t> columns(dense.size());
  std::iota(columns.begin(), columns.end(), 0U);
  BestPermutation best;
  do {
    index_t count = 0;
    double log_product = 0.0;
    for (std::size_t i = 0; i < dense.size(); ++i) {
      if (dense[i][columns[i]] == 0.0) continue;
      ++count;
      log_product += std::log(std::abs(dense[i][columns[i]]));
    }
    best.cardinality = std::max(best.cardinality, count);
    if (count == static_cast<index_t>(dense.size())) best.log_product = std::max(best.log_product, log_product);
  } while (std::next_permutation(columns.begin(), columns.end()));
  return best;
}

/// Sparse values over many orders of magnitude, some equal.
Dense random_dense(std::size_t n, double density, int decades, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  Dense dense(n, std::vector<double>(n));
  for (auto& row : dense) {
    for (double& value : row) {
      if (uniform(random) >= density) continue;
      value = decades == 0 ? 1.0 : std::pow(10.0, decades * (uniform(random) - 0.5));
      if (uniform(random) < 0.3) value = 2.0;
      if (uniform(random) < 0.5) value = -value;
    }
  }
  return dense;
}

double log_product(const Dense& dense, const Matching& matching) {
  double sum = 0.0;
  for (std::size_t i = 0; i < dense.size(); ++i) {
    sum += std::log(std::abs(dense[i][static_cast<std::size_t>(matching.column_of_row[i])]));
  }
  return sum;
}

TEST(ProductMatching, AgainstAllPermutations) {
  std::mt19937_64 random(5);
  int perfect = 0;
  for (int trial = 0; trial < 600; ++trial) {
    const std::size_t n = 1 + random() % 7;
    const Dense dense = random_dense(n, 0.2 + 0.1 * static_cast<double>(trial % 7), 4 * (trial % 4), random);
    const BestPermutation best = best_permutation(dense);
    const auto a = from_dense<double>(dense, static_cast<std::int64_t>(n));
    SCOPED_TRACE(trial);
    const Matching largest = maximum_matching(a.view());
    expect_matching(a.view(), largest);
    EXPECT_EQ(largest.cardinality, best.cardinality);
    const ProductMatching found = maximum_product_matching(a.view());
    ASSERT_EQ(found.matching.cardinality, best.cardinality);
    if (!found.matching.is_perfect()) {
      expect_matching(a.view(), found.matching);
      EXPECT_EQ(found.scaling.row, std::vector<double>(n, 1.0));
      EXPECT_EQ(found.scaling.column, std::vector<double>(n, 1.0));
      continue;
    }
    ++perfect;
    expect_optimal(a.view(), found);
    EXPECT_NEAR(log_product(dense, found.matching), best.log_product, 1e-9);
  }
  EXPECT_GT(perfect, 200);
  EXPECT_LT(perfect, 500);
}

/// Without a search: perfect where one is, scaled entries at most 1, and a product that lacks no more than they say.
TEST(ProductMatching, BeyondItsBudgetAgainstAllPermutations) {
  std::mt19937_64 random(15);
  int suboptimal = 0;
  int worse = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    const std::size_t n = 3 + random() % 5;
    const Dense dense = random_dense(n, 0.4 + 0.1 * static_cast<double>(trial % 5), 2 * (trial % 4), random);
    const BestPermutation best = best_permutation(dense);
    const auto a = from_dense<double>(dense, static_cast<std::int64_t>(n));
    SCOPED_TRACE(trial);
    detail::MatchingWork work;
    const ProductMatching found = detail::maximum_product_matching(a.view(), 0, work);
    ASSERT_EQ(found.matching.cardinality, best.cardinality);
    if (!found.matching.is_perfect()) continue;
    if (found.is_optimal) {
      expect_optimal(a.view(), found);
      continue;
    }
    ++suboptimal;
    expect_feasible(a.view(), found);
    double slack = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto row = static_cast<index_t>(i);
      slack -= std::log(scaled_magnitude(a.view(), found, row, found.matching.column_of_row[i]));
    }
    const double loss = best.log_product - log_product(dense, found.matching);
    EXPECT_GE(loss, -1e-9);
    EXPECT_LE(loss, slack + 1e-9);
    worse += loss > 1e-9 ? 1 : 0;
  }
  EXPECT_GT(suboptimal, 100);
  EXPECT_GT(worse, 20);
}

/// Pairs that every perfect matching holds need no search, in any order of rows and columns.
TEST(ProductMatching, PermutedTrianglesNeedNoSearch) {
  std::mt19937_64 random(16);
  std::uniform_real_distribution<double> decades(-12.0, 0.0);
  for (const std::size_t n : {2U, 10U, 400U}) {
    std::vector<std::size_t> row(n);
    std::iota(row.begin(), row.end(), 0U);
    std::vector<std::size_t> column = row;
    std::shuffle(row.begin(), row.end(), random);
    std::shuffle(column.begin(), column.end(), random);
    Dense dense(n, std::vector<double>(n));
    for (std::size_t i = 0; i < n; ++i) {
      dense[row[i]][column[i]] = std::pow(10.0, decades(random));
      for (int k = 0; k < 3; ++k) dense[row[i]][column[random() % (i + 1)]] = std::pow(10.0, decades(random));
    }
    const auto a = from_dense<double>(dense, static_cast<std::int64_t>(n));
    detail::MatchingWork work;
    const ProductMatching found = detail::maximum_product_matching(a.view(), 0, work);
    expect_optimal(a.view(), found, 1e-9);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(found.matching.column_of_row[row[i]], static_cast<index_t>(column[i]));
    }
  }
}

TEST(MaximumMatching, RectanglesAgainstAllPermutations) {
  std::mt19937_64 random(8);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t rows = random() % 7;
    const std::size_t cols = random() % 7;
    const std::size_t n = std::max(rows, cols);
    Dense square = random_dense(n, 0.3, 0, random);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if (i >= rows || j >= cols) square[i][j] = 0.0;
      }
    }
    Dense rectangle(square.begin(), square.begin() + static_cast<std::ptrdiff_t>(rows));
    for (auto& row : rectangle) row.resize(cols);
    const auto a = from_dense<double>(rectangle, static_cast<std::int64_t>(cols));
    const Matching found = maximum_matching(a.view());
    SCOPED_TRACE(trial);
    expect_matching(a.view(), found);
    EXPECT_EQ(found.cardinality, best_permutation(square).cardinality);
  }
}

TEST(ProductMatching, LargeRandomMatricesAreOptimalByTheirDuals) {
  std::mt19937_64 random(9);
  for (const std::size_t n : {50U, 200U, 500U}) {
    for (const int decades : {0, 2, 20, 200}) {
      Dense dense = random_dense(n, 6.0 / static_cast<double>(n), decades, random);
      std::vector<std::size_t> hidden(n);
      std::iota(hidden.begin(), hidden.end(), 0U);
      std::shuffle(hidden.begin(), hidden.end(), random);
      for (std::size_t i = 0; i < n; ++i) dense[i][hidden[i]] = 1e-3;
      const auto a = from_dense<double>(dense, static_cast<std::int64_t>(n));
      SCOPED_TRACE(std::to_string(n) + ", decades " + std::to_string(decades));
      expect_optimal(a.view(), maximum_product_matching(a.view()), 1e-10);
      const auto single = a.with_value_type<float>();
      if (decades < 30) expect_optimal(single.view(), maximum_product_matching(single.view()), 1e-10);
    }
  }
}

/// Rows permuted and scaled by 10^±100: the matching finds the permutation, the scaling undoes the factors.
TEST(ProductMatching, FindsAPermutedAndBadlyScaledDiagonal) {
  std::mt19937_64 random(10);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  const std::size_t n = 300;
  std::vector<std::size_t> to(n);
  std::iota(to.begin(), to.end(), 0U);
  std::shuffle(to.begin(), to.end(), random);
  Dense dense(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    const double row_factor = std::pow(10.0, 100.0 * uniform(random));
    for (int e = 0; e < 5; ++e) dense[to[i]][random() % n] = 0.9 * uniform(random) * row_factor;
    dense[to[i]][i] = row_factor;
  }
  for (std::size_t j = 0; j < n; ++j) {
    const double column_factor = std::pow(10.0, 100.0 * uniform(random));
    for (auto& row : dense) row[j] *= column_factor;
  }
  const auto a = from_dense<double>(dense, static_cast<std::int64_t>(n));
  const ProductMatching found = maximum_product_matching(a.view());
  expect_optimal(a.view(), found, 1e-10);
  for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(found.matching.column_of_row[to[i]], static_cast<index_t>(i));
}

TEST(ProductMatching, SmallestDiagonal) {
  const auto dominant = from_dense<double>({{4, 1}, {1, -4}}, 2);
  EXPECT_DOUBLE_EQ(maximum_product_matching(dominant.view()).smallest_diagonal, 1.0);
  const auto missing = from_dense<double>({{0, 1}, {1, 4}}, 2);
  EXPECT_EQ(maximum_product_matching(missing.view()).smallest_diagonal, 0.0);
  // All of |a_12| = |a_21| = 8 and |a_11| = |a_22| = 2 scaled by 1 / 8.
  const auto weak = from_dense<double>({{2, 8}, {8, 2}}, 2);
  EXPECT_DOUBLE_EQ(maximum_product_matching(weak.view()).smallest_diagonal, 0.25);
  // Singular: nothing is scaled.
  const auto singular = from_dense<double>({{3, 0, 0}, {2, 0, 0}, {1, 1, 1}}, 3);
  const ProductMatching found = maximum_product_matching(singular.view());
  EXPECT_EQ(found.matching.cardinality, 2);
  EXPECT_EQ(found.smallest_diagonal, 0.0);
}

TEST(Matching, EmptyTinyAndZero) {
  const ProductMatching empty = maximum_product_matching(Csr<double>().view());
  EXPECT_TRUE(empty.matching.is_perfect());
  EXPECT_TRUE(empty.scaling.row.empty());
  EXPECT_EQ(empty.smallest_diagonal, 1.0);
  EXPECT_EQ(maximum_matching(Csr<float>().view()).cardinality, 0);

  const auto one = make_csr<double>(1, 1, {0, 1}, {0}, {-1e-300});
  const ProductMatching single = maximum_product_matching(one.view());
  expect_optimal(one.view(), single);

  const auto zero = make_csr<double>(1, 1, {0, 1}, {0}, {0.0});
  EXPECT_EQ(maximum_product_matching(zero.view()).matching.cardinality, 0);
  EXPECT_EQ(maximum_matching(zero.view()).cardinality, 0);

  const auto nothing = make_pattern<double>(2, 2, {0, 0, 0}, {});
  const ProductMatching none = maximum_product_matching(nothing.view());
  EXPECT_EQ(none.matching.cardinality, 0);
  EXPECT_EQ(none.scaling.column, std::vector<double>(2, 1.0));
}

/// The zeros would make it perfect, or better.
TEST(Matching, ExplicitZerosAreNoEntries) {
  const auto a = make_csr<double>(3, 3, {0, 2, 4, 6}, {0, 1, 0, 1, 0, 2}, {1, 0, 2, 0, 3, 4});
  EXPECT_EQ(maximum_matching(a.view()).cardinality, 2);
  EXPECT_EQ(maximum_product_matching(a.view()).matching.cardinality, 2);
  const auto b = make_csr<float>(2, 2, {0, 2, 4}, {0, 1, 0, 1}, {0, 1, 1, 5});
  const ProductMatching found = maximum_product_matching(b.view());
  expect_optimal(b.view(), found);
  EXPECT_EQ(found.smallest_diagonal, 0.0);
}

TEST(Matching, Patterns) {
  const auto chain = make_pattern<double>(3, 3, {0, 2, 4, 5}, {0, 1, 0, 2, 0});
  const ProductMatching found = maximum_product_matching(chain.view());
  expect_optimal(chain.view(), found);
  EXPECT_EQ(found.matching.column_of_row, (std::vector<index_t>{1, 2, 0}));
}

TEST(Matching, Refusals) {
  const auto wide = make_pattern<double>(1, 2, {0, 1}, {1});
  EXPECT_THROW(static_cast<void>(maximum_product_matching(wide.view())), DimensionError);
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const auto a = make_csr<double>(2, 2, {0, 1, 3}, {0, 0, 1}, {1, 2, bad});
    try {
      static_cast<void>(maximum_product_matching(a.view()));
      FAIL();
    } catch (const InvalidMatrix& error) {
      EXPECT_NE(std::string(error.what()).find("row 2, column 2"), std::string::npos) << error.what();
    }
  }
}

/// Magnitudes whose products lie far outside double.
TEST(ProductMatching, ExtremeMagnitudes) {
  const double tiny = std::numeric_limits<double>::denorm_min();
  const double huge = std::numeric_limits<double>::max();
  for (const Dense& dense : {Dense{{huge, huge}, {huge, -huge / 2}}, Dense{{tiny, 0}, {tiny, tiny}},
                             Dense{{1e-300, 0}, {0, 1e300}}, Dense{{1, 1e200}, {1e-200, 1}}}) {
    const auto a = from_dense<double>(dense, 2);
    expect_optimal(a.view(), maximum_product_matching(a.view()), 1e-10);
  }
}

/// Factors of one side from 1 to 10^±500 exceed double, but not if both sides share the range.
TEST(ProductMatching, FactorsAreCentered) {
  Dense dense(51, std::vector<double>(51));
  for (std::size_t i = 0; i < dense.size(); ++i) {
    dense[i][i] = 1.0;
    if (i > 0) dense[i][i - 1] = 1e10;
  }
  const auto lower = from_dense<double>(dense, 51);
  expect_optimal(lower.view(), maximum_product_matching(lower.view()), 1e-9);
  const auto upper = transpose(lower.view());
  expect_optimal(upper.view(), maximum_product_matching(upper.view()), 1e-9);
}

/// An upper bidiagonal matrix with entries beside the diagonal that are 10^10 times larger needs factors of 10^±5000.
/// They are limited, but stay positive and finite, and keep the matched entries at 1.
TEST(ProductMatching, FactorsBeyondDoubleAreLimited) {
  const index_t n = 1000;
  std::mt19937_64 random(12);
  std::uniform_real_distribution<double> uniform(-200.0, 200.0);
  Dense dense(static_cast<std::size_t>(n), std::vector<double>(static_cast<std::size_t>(n)));
  for (std::size_t i = 0; i < dense.size(); ++i) {
    dense[i][i] = std::pow(10.0, uniform(random));
    if (i + 1 < dense.size()) dense[i][i + 1] = dense[i][i] * 1e10;
  }
  for (int mirrored = 0; mirrored < 2; ++mirrored) {
    const auto a = from_dense<double>(dense, n);
    const ProductMatching found = maximum_product_matching(a.view());
    expect_matching(a.view(), found.matching);
    EXPECT_TRUE(found.matching.is_perfect());
    for (std::size_t i = 0; i < dense.size(); ++i) {
      EXPECT_NEAR(found.scaling.row[i] * dense[i][i] * found.scaling.column[i], 1.0, 1e-9);
      EXPECT_TRUE(std::isnormal(found.scaling.row[i]));
      EXPECT_TRUE(std::isnormal(found.scaling.column[i]));
    }
    std::reverse(dense.begin(), dense.end());
    for (auto& row : dense) std::reverse(row.begin(), row.end());
  }
}

}  // namespace
}  // namespace tessera::testing
