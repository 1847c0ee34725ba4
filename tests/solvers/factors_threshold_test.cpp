#include "core/stopwatch.hpp"
#include "solvers/factors/factorization.hpp"
#include "tests/solvers/factors_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera::testing {
namespace {

using detail::Factorization;
using detail::FactorRows;

Factorization factorize(const Csr<double>& a, const host::ThresholdOptions& options) {
  const FactorRows rows = factor_rows(a.view());
  detail::FactorBudget budget = no_limits(rows);
  return host::ilut(rows, options, budget);
}

/// Columns in the order of the factors.
Eigen::MatrixXd in_order(const Eigen::MatrixXd& a, const std::vector<index_t>& order) {
  if (order.empty()) return a;
  Eigen::MatrixXd result(a.rows(), a.cols());
  for (Eigen::Index k = 0; k < a.cols(); ++k) result.col(k) = a.col(order[static_cast<std::size_t>(k)]);
  return result;
}

/// All but the `most` largest entries of [begin, end) become 0.
void keep_largest_of(Eigen::VectorXd& row, Eigen::Index begin, Eigen::Index end, std::int64_t most) {
  std::vector<Eigen::Index> positions(static_cast<std::size_t>(end - begin));
  std::iota(positions.begin(), positions.end(), begin);
  std::stable_sort(positions.begin(), positions.end(),
                   [&](Eigen::Index a, Eigen::Index b) { return std::abs(row(a)) > std::abs(row(b)); });
  for (std::size_t k = static_cast<std::size_t>(most); k < positions.size(); ++k) row(positions[k]) = 0.0;
}

/// ILUT on dense rows, as its definition says.
std::pair<Eigen::MatrixXd, Eigen::MatrixXd> dense_ilut(const Eigen::MatrixXd& a, double tolerance, std::int64_t most) {
  const Eigen::Index n = a.rows();
  Eigen::MatrixXd lower = Eigen::MatrixXd::Identity(n, n);
  Eigen::MatrixXd upper = Eigen::MatrixXd::Zero(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    Eigen::VectorXd row = a.row(i);
    const double threshold = tolerance * row.norm();
    for (Eigen::Index k = 0; k < i; ++k) {
      row(k) /= upper(k, k);
      if (std::abs(row(k)) <= threshold) row(k) = 0.0;
      for (Eigen::Index j = k + 1; j < n; ++j) row(j) -= row(k) * upper(k, j);
    }
    for (Eigen::Index j = i + 1; j < n; ++j) {
      if (std::abs(row(j)) <= threshold) row(j) = 0.0;
    }
    keep_largest_of(row, 0, i, most);
    keep_largest_of(row, i + 1, n, most);
    lower.row(i).head(i) = row.head(i);
    upper.row(i).tail(n - i) = row.tail(n - i);
  }
  return {lower, upper};
}

TEST(FactorsIlut, WithoutDroppingIsLu) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Csr<double> a = random_matrix({.n = 50, .row_entries = 4, .seed = seed});
    const Factorization f = factorize(a, {0.0, 50, 0.0});
    expect_triangular(f);
    EXPECT_LT((dense_lower(f) * dense_upper(f) - to_dense(a.view())).cwiseAbs().maxCoeff(), 1e-13);
    EXPECT_TRUE(f.column_order.empty());
  }
}

TEST(FactorsIlut, DropsAsDefined) {
  const Csr<double> a = random_matrix({.n = 60, .row_entries = 5, .seed = 3});
  for (const double tolerance : {0.0, 1e-3, 1e-2, 1e-1}) {
    for (const std::int64_t most : {1, 3, 10, 60}) {
      SCOPED_TRACE(::testing::Message() << "tau " << tolerance << ", p " << most);
      const Factorization f = factorize(a, {tolerance, most, 0.0});
      expect_triangular(f);
      const auto [lower, upper] = dense_ilut(to_dense(a.view()), tolerance, most);
      EXPECT_LT((dense_lower(f) - lower).cwiseAbs().maxCoeff(), 1e-12);
      EXPECT_LT((dense_upper(f) - upper).cwiseAbs().maxCoeff(), 1e-12);
    }
  }
}

TEST(FactorsIlutp, WithoutDroppingIsLuOfExchangedColumns) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    // Without diagonal entries, but not singular.
    Csr<double> a = random_matrix({.n = 50, .row_entries = 6, .diagonal = 0.0, .seed = seed});
    ASSERT_EQ(to_dense(a.view()).diagonal().cwiseAbs().maxCoeff(), 0.0);
    const Factorization f = factorize(a, {0.0, 50, 1.0});
    expect_triangular(f);
    const Eigen::MatrixXd lower = dense_lower(f);
    const Eigen::MatrixXd upper = dense_upper(f);
    ASSERT_EQ(f.column_order.size(), 50U);
    ASSERT_EQ(f.zero_pivots, 0);
    const Eigen::MatrixXd error = lower * upper - in_order(to_dense(a.view()), f.column_order);
    EXPECT_LT(error.cwiseAbs().maxCoeff(), 1e-12 * upper.cwiseAbs().maxCoeff());
    for (Eigen::Index i = 0; i < 50; ++i) {
      EXPECT_EQ(upper.row(i).cwiseAbs().maxCoeff(), std::abs(upper(i, i))) << "the largest of the row is the pivot";
    }
  }
}

TEST(FactorsIlutp, ExchangesOnlyBeyondTheTolerance) {
  const Csr<double> a = from_dense<double>({{0.2, 1, 0}, {0, 1, 0.5}, {0.05, 0, 1}}, 3);
  EXPECT_EQ(factorize(a, {0.0, 3, 0.1}).column_order, (std::vector<index_t>{0, 1, 2}));
  EXPECT_EQ(factorize(a, {0.0, 3, 0.3}).column_order, (std::vector<index_t>{1, 0, 2})) << "0.3 > 0.2";
}

/// So that a refresh gives the factors of a fresh set-up.
TEST(FactorsIlutp, KeepingTheColumnOrderGivesTheSameBits) {
  for (const double tolerance : {0.0, 1e-2, 1e-1}) {
    for (const std::int64_t most : {2, 5, 50}) {
      const Csr<double> a = random_matrix({.n = 50, .row_entries = 6, .diagonal = 0.1, .seed = 8});
      const Factorization f = factorize(a, {tolerance, most, 0.5});
      const Factorization again = factorize(a, {tolerance, most, 0.0, f.column_order});
      expect_same_factors(f, again);
      EXPECT_EQ(f.column_order, again.column_order);
    }
  }
}

TEST(FactorsIlutp, EqualMagnitudesKeepTheColumnOrderToo) {
  // All entries ±1: dropping and pivoting meet ties in every row.
  Csr<double> a = random_matrix({.n = 40, .row_entries = 8, .diagonal = 0.0, .seed = 6});
  std::vector<double> signs(a.values().begin(), a.values().end());
  for (double& value : signs) value = value < 0 ? -1.0 : 1.0;
  a = a.with_values(Array<double>::copy_of(signs));
  const Factorization f = factorize(a, {1e-3, 3, 1.0});
  expect_same_factors(f, factorize(a, {1e-3, 3, 0.0, f.column_order}));
}

TEST(FactorsIlut, ReplacesPivotsThatVanish) {
  // The second row is twice the first, the third is empty.
  const Csr<double> a = from_dense<double>({{1, 2, 0}, {2, 4, 0}, {0, 0, 0}}, 3);
  const Factorization f = factorize(a, {0.0, 3, 0.0});
  EXPECT_EQ(f.zero_pivots, 2);
  EXPECT_GT(f.diagonal[1], 0.0);
  EXPECT_LT(f.diagonal[1], 1e-6);
  EXPECT_EQ(f.diagonal[2], 1.0);
}

TEST(FactorsIlut, OfNoRowsAndOfOne) {
  EXPECT_TRUE(factorize(Csr<double>(), {0.0, 1, 0.1}).diagonal.empty());
  EXPECT_EQ(factorize(diagonal_matrix<double>({-3.0}), {0.0, 1, 0.1}).diagonal, std::vector<double>{-3.0});
}

/// One dense row and column: the work stays near that of the entries.
TEST(FactorsIlut, HubRowsAreFast) {
  const index_t n = 200000;
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  const auto add = [&](index_t i, index_t j) {
    columns.push_back(j);
    values.push_back(i == j ? 2.0 : 1.0 / n);
  };
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = i < n - 1 ? i : 0; j < n; j = i < n - 1 && j == i ? n - 1 : j + 1) add(i, j);
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const Csr<double> a = make_csr<double>(n, n, offsets, columns, values);
  const Stopwatch watch;
  const Factorization f = factorize(a, {1e-12, 10, 0.1});
  EXPECT_EQ(f.zero_pivots, 0);
  EXPECT_LT(watch.seconds(), 20.0) << "n^2 steps take longer";
}

}  // namespace
}  // namespace tessera::testing
