// Matchings against all permutations of small matrices, and against their dual variables: scaled entries at most 1.
#include "tessera/matching.hpp"
#include "tessera/error.hpp"
#include "tessera/matrix_market.hpp"
#include "tessera/statistics.hpp"

#include "preprocess/karp_sipser.hpp"
#include "tests/support/make_csr.hpp"
#include "tests/support/matrices_dir.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

using namespace detail;
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

template <class T>
double magnitude(const CsrView<T>& a, index_t i, index_t j) {
  const auto begin = a.columns.begin() + a.row_offsets[static_cast<std::size_t>(i)];
  const auto end = a.columns.begin() + a.row_offsets[static_cast<std::size_t>(i) + 1];
  const auto found = std::lower_bound(begin, end, j);
  return found == end || *found != j ? 0.0 : std::abs(static_cast<double>(a.value(found - a.columns.begin())));
}

/// Every row and column at most once, along nonzero entries, as many as said.
template <class T>
void expect_matching(const CsrView<T>& a, const Matching& matching) {
  ASSERT_EQ(matching.column_of_row.size(), static_cast<std::size_t>(a.rows));
  std::vector<char> taken(static_cast<std::size_t>(a.cols));
  index_t count = 0;
  for (index_t i = 0; i < a.rows; ++i) {
    const index_t j = matching.column_of_row[static_cast<std::size_t>(i)];
    if (j < 0) {
      ASSERT_EQ(j, -1);
      continue;
    }
    ASSERT_LT(j, a.cols);
    ASSERT_EQ(taken[static_cast<std::size_t>(j)]++, 0) << "column " << j;
    ASSERT_NE(magnitude(a, i, j), 0.0) << "row " << i;
    ++count;
  }
  ASSERT_EQ(count, matching.cardinality);
}

/// Complementary slackness, which proves that no other perfect matching has a larger product.
template <class T>
void expect_optimal(const CsrView<T>& a, const ProductMatching& found, double tolerance = 1e-11) {
  expect_matching(a, found.matching);
  ASSERT_TRUE(found.matching.is_perfect());
  ASSERT_EQ(found.scaling.row.size(), static_cast<std::size_t>(a.rows));
  ASSERT_EQ(found.scaling.column.size(), static_cast<std::size_t>(a.cols));
  double smallest_diagonal = a.rows == 0 ? 1.0 : std::numeric_limits<double>::infinity();
  for (index_t i = 0; i < a.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    ASSERT_TRUE(std::isnormal(found.scaling.row[row]) && found.scaling.row[row] > 0.0);
    ASSERT_TRUE(std::isnormal(found.scaling.column[row]) && found.scaling.column[row] > 0.0);
    const auto scaled = [&](index_t j) {
      return found.scaling.row[row] * magnitude(a, i, j) * found.scaling.column[static_cast<std::size_t>(j)];
    };
    for (offset_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
      ASSERT_LE(scaled(a.columns[static_cast<std::size_t>(k)]), 1.0 + tolerance) << "row " << i;
    }
    ASSERT_NEAR(scaled(found.matching.column_of_row[row]), 1.0, tolerance) << "row " << i;
    smallest_diagonal = std::min(smallest_diagonal, scaled(i));
  }
  EXPECT_DOUBLE_EQ(found.smallest_diagonal, smallest_diagonal);
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

TEST(ProductMatching, AgainstAllPermutations) {
  std::mt19937_64 random(5);
  int perfect = 0;
  for (int trial = 0; trial < 600; ++trial) {
    const std::size_t n = 1 + random() % 7;
    const Dense dense = random_dense(n, 0.2 + 0.1 * static_cast<double>(trial % 7), 4 * (trial % 4), random);
    const BestPermutation best = best_permutation(dense);
    const auto a = testing::from_dense<double>(dense, static_cast<std::int64_t>(n));
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
    double log_product = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      log_product += std::log(std::abs(dense[i][static_cast<std::size_t>(found.matching.column_of_row[i])]));
    }
    EXPECT_NEAR(log_product, best.log_product, 1e-9);
  }
  EXPECT_GT(perfect, 200);
  EXPECT_LT(perfect, 500);
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
    const auto a = testing::from_dense<double>(rectangle, static_cast<std::int64_t>(cols));
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
      const auto a = testing::from_dense<double>(dense, static_cast<std::int64_t>(n));
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
  const auto a = testing::from_dense<double>(dense, static_cast<std::int64_t>(n));
  const ProductMatching found = maximum_product_matching(a.view());
  expect_optimal(a.view(), found, 1e-10);
  for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(found.matching.column_of_row[to[i]], static_cast<index_t>(i));
}

TEST(ProductMatching, SmallestDiagonal) {
  const auto dominant = testing::from_dense<double>({{4, 1}, {1, -4}}, 2);
  EXPECT_DOUBLE_EQ(maximum_product_matching(dominant.view()).smallest_diagonal, 1.0);
  const auto missing = testing::from_dense<double>({{0, 1}, {1, 4}}, 2);
  EXPECT_EQ(maximum_product_matching(missing.view()).smallest_diagonal, 0.0);
  // All of |a_12| = |a_21| = 8 and |a_11| = |a_22| = 2 scaled by 1 / 8.
  const auto weak = testing::from_dense<double>({{2, 8}, {8, 2}}, 2);
  EXPECT_DOUBLE_EQ(maximum_product_matching(weak.view()).smallest_diagonal, 0.25);
  // Singular: nothing is scaled.
  const auto singular = testing::from_dense<double>({{3, 0, 0}, {2, 0, 0}, {1, 1, 1}}, 3);
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

  const auto one = testing::make_csr<double>(1, 1, {0, 1}, {0}, {-1e-300});
  const ProductMatching single = maximum_product_matching(one.view());
  expect_optimal(one.view(), single);

  const auto zero = testing::make_csr<double>(1, 1, {0, 1}, {0}, {0.0});
  EXPECT_EQ(maximum_product_matching(zero.view()).matching.cardinality, 0);
  EXPECT_EQ(maximum_matching(zero.view()).cardinality, 0);

  const auto nothing = testing::make_pattern<double>(2, 2, {0, 0, 0}, {});
  const ProductMatching none = maximum_product_matching(nothing.view());
  EXPECT_EQ(none.matching.cardinality, 0);
  EXPECT_EQ(none.scaling.column, std::vector<double>(2, 1.0));
}

/// The zeros would make it perfect, or better.
TEST(Matching, ExplicitZerosAreNoEntries) {
  const auto a = testing::make_csr<double>(3, 3, {0, 2, 4, 6}, {0, 1, 0, 1, 0, 2}, {1, 0, 2, 0, 3, 4});
  EXPECT_EQ(maximum_matching(a.view()).cardinality, 2);
  EXPECT_EQ(maximum_product_matching(a.view()).matching.cardinality, 2);
  const auto b = testing::make_csr<float>(2, 2, {0, 2, 4}, {0, 1, 0, 1}, {0, 1, 1, 5});
  const ProductMatching found = maximum_product_matching(b.view());
  expect_optimal(b.view(), found);
  EXPECT_EQ(found.smallest_diagonal, 0.0);
}

TEST(Matching, Patterns) {
  const auto chain = testing::make_pattern<double>(3, 3, {0, 2, 4, 5}, {0, 1, 0, 2, 0});
  const ProductMatching found = maximum_product_matching(chain.view());
  expect_optimal(chain.view(), found);
  EXPECT_EQ(found.matching.column_of_row, (std::vector<index_t>{1, 2, 0}));
}

TEST(Matching, Refusals) {
  const auto wide = testing::make_pattern<double>(1, 2, {0, 1}, {1});
  EXPECT_THROW(static_cast<void>(maximum_product_matching(wide.view())), DimensionError);
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const auto a = testing::make_csr<double>(2, 2, {0, 1, 3}, {0, 0, 1}, {1, 2, bad});
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
    const auto a = testing::from_dense<double>(dense, 2);
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
  const auto lower = testing::from_dense<double>(dense, 51);
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
    const auto a = testing::from_dense<double>(dense, n);
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

/// A long alternating path, for searches that must not recurse: only its end is free.
TEST(Matching, LongAugmentingPaths) {
  const index_t n = 300000;
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  for (index_t i = 0; i < n; ++i) {
    // Row i < n - 1 prefers column i + 1... the greedy start takes column i; the last row has column 0 alone.
    if (i + 1 < n) {
      columns.insert(columns.end(), {i, i + 1});
      values.insert(values.end(), {2.0, 1.0});
    } else {
      columns.push_back(0);
      values.push_back(1.0);
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto a = testing::make_csr<double>(n, n, offsets, columns, values);
  EXPECT_TRUE(maximum_matching(a.view()).is_perfect());
  const ProductMatching found = maximum_product_matching(a.view());
  ASSERT_TRUE(found.matching.is_perfect());
  for (index_t i = 0; i < n; ++i) ASSERT_EQ(found.matching.column_of_row[static_cast<std::size_t>(i)], (i + 1) % n);
}

/// The adjacency of a tree: its rows and columns form two copies of it.
Csr<double> random_tree(index_t vertices, index_t reach, std::mt19937& random) {
  std::vector<index_t> number(static_cast<std::size_t>(vertices));
  std::iota(number.begin(), number.end(), 0);
  std::shuffle(number.begin(), number.end(), random);
  std::vector<std::vector<index_t>> neighbours(number.size());
  for (index_t v = 1; v < vertices; ++v) {
    const index_t parent = v - 1 - static_cast<index_t>(random() % static_cast<unsigned>(std::min(v, reach)));
    const index_t from = number[static_cast<std::size_t>(v)];
    const index_t to = number[static_cast<std::size_t>(parent)];
    neighbours[static_cast<std::size_t>(from)].push_back(to);
    neighbours[static_cast<std::size_t>(to)].push_back(from);
  }
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (auto& row : neighbours) {
    std::sort(row.begin(), row.end());
    columns.insert(columns.end(), row.begin(), row.end());
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return testing::make_pattern<double>(vertices, vertices, offsets, columns);
}

/// The start of Karp and Sipser alone is maximal on forests; augmenting paths from nothing say what that is.
TEST(MaximumMatching, TreesByTheirStartAlone) {
  std::mt19937 random(5);
  const auto is_edge = [](index_t /*row*/, offset_t /*k*/) { return true; };
  for (int trial = 0; trial < 200; ++trial) {
    const auto tree = random_tree(1 + trial, trial % 3 == 0 ? 1 : 1 + trial % 17, random);
    const CsrView<double> view = tree.view();
    const EntryMatching start = KarpSipser(view.row_offsets, view.columns, is_edge, view.cols).run();
    EntryMatching reference(view.rows, view.cols);
    HopcroftKarp(view.row_offsets, view.columns, is_edge, reference).run();
    EXPECT_EQ(start.cardinality, reference.cardinality) << trial;
    expect_matching(view, start.with_columns(view.columns));
  }
}

/// Chains numbered at random: a greedy start leaves paths as long as the chain.
TEST(MaximumMatching, LongChains) {
  std::mt19937 random(6);
  for (const index_t n : {300000, 300001}) {
    EXPECT_EQ(maximum_matching(random_tree(n, 1, random).view()).cardinality, n - n % 2);
  }
}

/// A full first row and column: no cost of n² entries.
TEST(Matching, Hubs) {
  const index_t n = 100000;
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  for (index_t i = 0; i < n; ++i) {
    if (i == 0) {
      for (index_t j = 0; j < n; ++j) {
        columns.push_back(j);
        values.push_back(1.0 + j % 7);
      }
    } else {
      columns.insert(columns.end(), {0, i});
      values.insert(values.end(), {100.0 + i % 11, 1.0 + i % 5});
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto arrow = testing::make_csr<double>(n, n, offsets, columns, values);
  EXPECT_TRUE(maximum_matching(arrow.view()).is_perfect());
  expect_optimal(arrow.view(), maximum_product_matching(arrow.view()));
}

/// Structural ranks, known from another program.
using Deficits = std::vector<std::pair<const char*, index_t>>;

void expect_deficits(const Deficits& deficits) {
  for (const auto& [name, deficit] : deficits) {
    SCOPED_TRACE(name);
    const auto file = read_matrix_market<float>(*testing::real_matrices_dir() / (std::string(name) + ".mtx.gz"));
    const Matching matching = maximum_matching(file.matrix.view());
    expect_matching(file.matrix.view(), matching);
    EXPECT_EQ(file.matrix.rows() - matching.cardinality, deficit);
    if (file.matrix.nnz() > 1000000) continue;  // to be quick
    EXPECT_EQ(maximum_product_matching(file.matrix.view()).matching.cardinality, matching.cardinality);
  }
}

TEST(Matching, StructuralRanksOfRealMatrices) {
  TESSERA_REQUIRE_REAL_MATRICES();
  expect_deficits({{"karate", 7},
                   {"ca-GrQc", 415},
                   {"wiki-Vote", 5918},
                   {"email-Enron", 11573},
                   {"Sydney_net", 1540},
                   {"wb-cs-stanford", 4132},
                   {"ChicagoRegional_net", 218},
                   {"p2p-Gnutella31", 46227},
                   {"west0067", 0},
                   {"bcspwr10", 0}});
}

TEST(Matching, StructuralRanksOfLargeRealMatrices) {
  TESSERA_REQUIRE_REAL_MATRICES();
  if (std::getenv("TESSERA_SPARING_TESTS") != nullptr) GTEST_SKIP() << "long under sanitizers";
  expect_deficits({{"musae_git", 7468},
                   {"cit-HepPh", 8030},
                   {"luxembourg_osm", 1036},
                   {"cnr-2000", 133262},
                   {"ego-Twitter", 7194}});
}

TEST(ProductMatching, RealMatricesAreOptimalByTheirDuals) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const char* name :
       {"west0067", "qh1484", "lns_3937", "tols4000", "freeFlyingRobot_7", "bips98_606", "Goodwin_010"}) {
    SCOPED_TRACE(name);
    const auto file = read_matrix_market<double>(*testing::real_matrices_dir() / (std::string(name) + ".mtx.gz"));
    expect_optimal(file.matrix.view(), maximum_product_matching(file.matrix.view()), 1e-10);
  }
}

}  // namespace
}  // namespace tessera
