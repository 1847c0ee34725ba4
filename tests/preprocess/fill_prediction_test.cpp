/// Predicted fill against elimination of the pattern, step by step, and against the factors of Eigen.
#include "preprocess/fill_prediction.hpp"
#include "tessera/generators.hpp"
#include "tessera/ordering.hpp"
#include "tests/support/eigen_bridge.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>
#include <Eigen/SparseCholesky>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace tessera::testing {
namespace {

using namespace detail;

using DensePattern = std::vector<std::vector<bool>>;

struct Lists {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> indices;
  [[nodiscard]] PatternLists view() const { return {offsets, indices}; }
};

/// By rows, or by columns of the transpose.
Lists lists_of(const DensePattern& a, std::size_t cols, bool transposed) {
  Lists lists;
  const std::size_t outer = transposed ? cols : a.size();
  const std::size_t inner = transposed ? a.size() : cols;
  for (std::size_t i = 0; i < outer; ++i) {
    for (std::size_t j = 0; j < inner; ++j) {
      if (transposed ? a[j][i] : a[i][j]) lists.indices.push_back(static_cast<index_t>(j));
    }
    lists.offsets.push_back(static_cast<offset_t>(lists.indices.size()));
  }
  return lists;
}

std::vector<index_t> random_order(std::size_t n, std::mt19937_64& random) {
  std::vector<index_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

/// The pattern of a matrix of a few kinds: scattered, with a dense row and column, with empty rows and columns.
DensePattern random_pattern(std::size_t rows, std::size_t cols, std::mt19937_64& random) {
  const double density = std::uniform_real_distribution<double>(0.01, 0.3)(random);
  std::bernoulli_distribution stored(density);
  DensePattern a(rows, std::vector<bool>(cols));
  for (auto& row : a) {
    for (std::size_t j = 0; j < cols; ++j) row[j] = stored(random);
  }
  const auto kind = random() % 4;
  if (rows == 0 || cols == 0) return a;
  if (kind == 1) a[random() % rows].assign(cols, true);
  if (kind == 2) {
    const std::size_t column = random() % cols;
    for (auto& row : a) row[column] = true;
  }
  if (kind == 3) {
    a[random() % rows].assign(cols, false);
    const std::size_t column = random() % cols;
    for (auto& row : a) row[column] = false;
  }
  return a;
}

/// Entries of each column of L, and the parent of each: eliminates the vertices of a symmetric pattern one by one.
struct Elimination {
  std::vector<offset_t> counts;
  std::vector<index_t> parent;

  Elimination(DensePattern s, const std::vector<index_t>& order) : counts(order.size()), parent(order.size(), -1) {
    const std::size_t n = order.size();
    DensePattern p(n, std::vector<bool>(n));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        p[i][j] = s[static_cast<std::size_t>(order[i])][static_cast<std::size_t>(order[j])];
      }
    }
    for (std::size_t k = 0; k < n; ++k) {
      counts[k] = 1;
      for (std::size_t i = k + 1; i < n; ++i) {
        if (!p[i][k]) continue;
        ++counts[k];
        if (parent[k] == -1) parent[k] = static_cast<index_t>(i);
        for (std::size_t j = k + 1; j < n; ++j) {
          if (p[k][j]) p[i][j] = true;
        }
      }
    }
  }
};

DensePattern symmetrized(const DensePattern& a) {
  DensePattern s = a;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a.size(); ++j) s[i][j] = a[i][j] || a[j][i];
  }
  return s;
}

DensePattern normal_equations(const DensePattern& a, std::size_t cols) {
  DensePattern s(cols, std::vector<bool>(cols));
  for (const auto& row : a) {
    for (std::size_t i = 0; i < cols; ++i) {
      for (std::size_t j = 0; j < cols; ++j) {
        if (row[i] && row[j]) s[i][j] = true;
      }
    }
  }
  return s;
}

/// The prediction is that of its own order, which is the given one in a postorder of the same tree.
void expect_prediction_of(const FillPrediction& fill, const DensePattern& s, const std::vector<index_t>& given) {
  const Elimination own(s, fill.order);
  EXPECT_EQ(fill.counts, own.counts);
  EXPECT_EQ(fill.parent, own.parent);
  EXPECT_EQ(fill.factor_nnz(), std::accumulate(own.counts.begin(), own.counts.end(), offset_t{0}));
  const Elimination original(s, given);
  std::vector<offset_t> by_vertex(given.size());
  for (std::size_t k = 0; k < given.size(); ++k) by_vertex[static_cast<std::size_t>(given[k])] = original.counts[k];
  for (std::size_t k = 0; k < given.size(); ++k) {
    EXPECT_EQ(by_vertex[static_cast<std::size_t>(fill.order[k])], fill.counts[k]) << "column " << k;
  }
}

TEST(FillPredictionTest, SymmetricFillIsThatOfElimination) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const std::size_t n = random() % 30;
    const DensePattern a = random_pattern(n, n, random);
    const Lists rows = lists_of(a, n, false);
    const Lists columns = lists_of(a, n, true);
    const auto order = random_order(n, random);
    expect_prediction_of(predict_symmetric_fill(rows.view(), columns.view(), order), symmetrized(a), order);
    if (HasFailure()) return;
  }
}

TEST(FillPredictionTest, ColumnFillIsThatOfTheNormalEquations) {
  std::mt19937_64 random(12);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const std::size_t m = random() % 35;
    const std::size_t n = random() % 25;
    const DensePattern a = random_pattern(m, n, random);
    const Lists rows = lists_of(a, n, false);
    const Lists columns = lists_of(a, n, true);
    const auto order = random_order(n, random);
    expect_prediction_of(predict_column_fill(rows.view(), columns.view(), order), normal_equations(a, n), order);
    if (HasFailure()) return;
  }
}

/// The rows met bound L, and the counts of AᵀA bound U, for pivots chosen at random: Gaussian elimination of patterns,
/// without cancellation.
TEST(FillPredictionTest, BoundsHoldForRandomPivots) {
  std::mt19937_64 random(13);
  int eliminated = 0;
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const std::size_t n = 1 + random() % 20;
    DensePattern a = random_pattern(n, n, random);
    const Lists rows = lists_of(a, n, false);
    const FillPrediction fill = predict_column_fill(rows.view(), lists_of(a, n, true).view(), random_order(n, random));
    const std::vector<offset_t> met = predict_rows_met(rows.view(), fill);
    DensePattern u(n, std::vector<bool>(n));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) u[i][j] = a[i][static_cast<std::size_t>(fill.order[j])];
    }
    for (std::size_t k = 0; k < n; ++k) {
      std::vector<std::size_t> candidates;
      for (std::size_t i = k; i < n; ++i) {
        if (u[i][k]) candidates.push_back(i);
      }
      ASSERT_LE(static_cast<offset_t>(candidates.size()), met[k]) << "column " << k;
      if (candidates.empty()) break;  // structurally singular
      std::swap(u[k], u[candidates[random() % candidates.size()]]);
      for (std::size_t i = k + 1; i < n; ++i) {
        if (!u[i][k]) continue;
        for (std::size_t j = k; j < n; ++j) u[i][j] = u[i][j] || u[k][j];
      }
      ASSERT_LE(std::count(u[k].begin() + static_cast<std::ptrdiff_t>(k), u[k].end(), true), fill.counts[k]);
      ++eliminated;
    }
  }
  EXPECT_GT(eliminated, 500);
}

TEST(FillPredictionTest, CountsAreThoseOfEigen) {
  for (const std::int64_t depth : {1, 12}) {
    const Csr<double> matrix = poisson3d<double>(12, 12, depth);
    const CsrView<double> a = matrix.view();
    const auto order = ordering(a, Ordering::amd);
    // The pattern is symmetric: its rows are its columns.
    const PatternLists lists{a.row_offsets, a.columns};
    const FillPrediction fill = predict_symmetric_fill(lists, lists, order);
    Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> permutation(a.rows);
    for (index_t k = 0; k < a.rows; ++k) permutation.indices()(order[static_cast<std::size_t>(k)]) = k;
    Eigen::SparseMatrix<double> permuted;
    permuted = Eigen::SparseMatrix<double>(to_eigen(a)).twistedBy(permutation);
    const Eigen::SimplicialLLT<Eigen::SparseMatrix<double>, Eigen::Lower, Eigen::NaturalOrdering<int>> llt(permuted);
    EXPECT_EQ(fill.factor_nnz(), llt.matrixL().nestedExpression().nonZeros());
    // Columns of AᵀA, which is formed here.
    const Eigen::SparseMatrix<double> normal = permuted.transpose() * permuted;
    const Eigen::SimplicialLLT<Eigen::SparseMatrix<double>, Eigen::Lower, Eigen::NaturalOrdering<int>> of_normal(
        normal);
    EXPECT_EQ(predict_column_fill(lists, lists, order).factor_nnz(), of_normal.matrixL().nestedExpression().nonZeros());
  }
}

/// A chain of a million: no recursion, and no time to speak of.
TEST(FillPredictionTest, LongChains) {
  constexpr index_t n = 1'000'000;
  Lists lists;
  for (index_t i = 0; i < n; ++i) {
    if (i > 0) lists.indices.push_back(i - 1);
    lists.indices.push_back(i);
    if (i + 1 < n) lists.indices.push_back(i + 1);
    lists.offsets.push_back(static_cast<offset_t>(lists.indices.size()));
  }
  std::vector<index_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  EXPECT_EQ(predict_symmetric_fill(lists.view(), lists.view(), order).factor_nnz(), 2 * offset_t{n} - 1);
  EXPECT_EQ(predict_column_fill(lists.view(), lists.view(), order).factor_nnz(), 3 * offset_t{n} - 3);
}

/// One full row and column at the end of the order, and at its start: an arrow without fill, and a full factor's count.
TEST(FillPredictionTest, Arrows) {
  constexpr index_t n = 3000;
  Lists rows;
  for (index_t i = 0; i + 1 < n; ++i) {
    rows.indices.insert(rows.indices.end(), {i, n - 1});
    rows.offsets.push_back(static_cast<offset_t>(rows.indices.size()));
  }
  for (index_t j = 0; j < n; ++j) rows.indices.push_back(j);
  rows.offsets.push_back(static_cast<offset_t>(rows.indices.size()));
  std::vector<index_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  EXPECT_EQ(predict_symmetric_fill(rows.view(), rows.view(), order).factor_nnz(), 2 * offset_t{n} - 1);
  std::reverse(order.begin(), order.end());
  EXPECT_EQ(predict_symmetric_fill(rows.view(), rows.view(), order).factor_nnz(), offset_t{n} * (n + 1) / 2);
  EXPECT_EQ(predict_column_fill(rows.view(), rows.view(), order).factor_nnz(), offset_t{n} * (n + 1) / 2);
}

}  // namespace
}  // namespace tessera::testing
