/// \file
/// Dense matrices of factors, and matrices to factorize.
#pragma once

#include "solvers/factors/factorization.hpp"
#include "tests/solvers/systems.hpp"

#include <Eigen/Dense>

#include <random>
#include <set>
#include <utility>
#include <vector>

namespace tessera::testing {

template <class T>
[[nodiscard]] Eigen::MatrixXd to_dense(const CsrView<T>& a) {
  Eigen::MatrixXd dense = Eigen::MatrixXd::Zero(a.rows, a.cols);
  for (index_t i = 0; i < a.rows; ++i) {
    for (offset_t k = a.row_offsets[static_cast<std::size_t>(i)]; k < a.row_offsets[static_cast<std::size_t>(i) + 1];
         ++k) {
      dense(i, a.columns[static_cast<std::size_t>(k)]) = static_cast<double>(a.value(k));
    }
  }
  return dense;
}

[[nodiscard]] inline Eigen::MatrixXd to_dense(const detail::FactorRows& rows) {
  Eigen::MatrixXd dense = Eigen::MatrixXd::Zero(rows.rows(), rows.rows());
  for (index_t i = 0; i < rows.rows(); ++i) {
    for (std::size_t k = rows.begin(i); k < rows.end(i); ++k) dense(i, rows.columns[k]) = rows.values[k];
  }
  return dense;
}

[[nodiscard]] inline Eigen::VectorXd dense_diagonal(const detail::Factorization& f) {
  return Eigen::Map<const Eigen::VectorXd>(f.diagonal.data(), static_cast<Eigen::Index>(f.diagonal.size()));
}

/// L, with its diagonal.
[[nodiscard]] inline Eigen::MatrixXd dense_lower(const detail::Factorization& f) {
  Eigen::MatrixXd lower = to_dense(f.lower);
  lower.diagonal() = f.is_symmetric ? dense_diagonal(f) : Eigen::VectorXd::Ones(lower.rows());
  return lower;
}

/// U, with its diagonal.
[[nodiscard]] inline Eigen::MatrixXd dense_upper(const detail::Factorization& f) {
  Eigen::MatrixXd upper = to_dense(f.upper);
  upper.diagonal() = dense_diagonal(f);
  return upper;
}

template <class T>
[[nodiscard]] detail::FactorRows factor_rows(const CsrView<T>& a) {
  detail::FactorRows rows;
  rows.offsets.assign(a.row_offsets.begin(), a.row_offsets.end());
  rows.columns.assign(a.columns.begin(), a.columns.end());
  for (offset_t k = 0; k < a.nnz(); ++k) rows.values.push_back(static_cast<double>(a.value(k)));
  return rows;
}

/// A budget that nothing exceeds.
[[nodiscard]] inline detail::FactorBudget no_limits(const detail::FactorRows& a) {
  IncompleteFactorOptions options;
  options.fill_limit = 1e9;
  return detail::FactorBudget(options, a.rows(), a.nnz());
}

struct RandomMatrix {
  index_t n = 40;
  int row_entries = 4;        ///< off the diagonal
  double diagonal = 3.0;      ///< 0: none stored
  bool is_symmetric = false;  ///< of the same sign pattern, with twice the entries
  std::uint64_t seed = 1;
};

/// Entries in [-1, 1] at random positions, and a diagonal of one size.
[[nodiscard]] inline Csr<double> random_matrix(const RandomMatrix& kind) {
  std::mt19937_64 generator(kind.seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::vector<std::vector<double>> dense(static_cast<std::size_t>(kind.n),
                                         std::vector<double>(static_cast<std::size_t>(kind.n)));
  for (std::size_t i = 0; i < dense.size(); ++i) {
    for (int k = 0; k < kind.row_entries; ++k) {
      const std::size_t j = generator() % dense.size();
      if (i == j) continue;
      dense[i][j] = uniform(generator);
      if (kind.is_symmetric) dense[j][i] = dense[i][j];
    }
    dense[i][i] = kind.diagonal;
  }
  return from_dense<double>(dense, kind.n);
}

inline void expect_same_rows(const detail::FactorRows& a, const detail::FactorRows& b) {
  EXPECT_EQ(a.offsets, b.offsets);
  EXPECT_EQ(a.columns, b.columns);
  EXPECT_EQ(a.values, b.values);
}

inline void expect_same_factors(const detail::Factorization& a, const detail::Factorization& b) {
  expect_same_rows(a.lower, b.lower);
  expect_same_rows(a.upper, b.upper);
  EXPECT_EQ(a.diagonal, b.diagonal);
  EXPECT_EQ(a.zero_pivots, b.zero_pivots);
  EXPECT_EQ(a.shift, b.shift);
}

/// Columns ascend, on the right side of the diagonal.
inline void expect_triangular(const detail::Factorization& f) {
  for (index_t i = 0; i < f.lower.rows(); ++i) {
    for (std::size_t k = f.lower.begin(i); k < f.lower.end(i); ++k) {
      EXPECT_LT(f.lower.columns[k], i);
      EXPECT_TRUE(k == f.lower.begin(i) || f.lower.columns[k - 1] < f.lower.columns[k]);
    }
    for (std::size_t k = f.upper.begin(i); k < f.upper.end(i); ++k) {
      EXPECT_GT(f.upper.columns[k], i);
      EXPECT_TRUE(k == f.upper.begin(i) || f.upper.columns[k - 1] < f.upper.columns[k]);
    }
  }
}

/// Independent tridiagonal blocks of four rows: so wide levels that threads are worth it.
[[nodiscard]] inline Csr<double> many_small_blocks(index_t blocks) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  for (index_t i = 0; i < 4 * blocks; ++i) {
    for (index_t j = i % 4 > 0 ? i - 1 : i; j <= (i % 4 < 3 ? i + 1 : i); ++j) {
      columns.push_back(j);
      values.push_back(i == j ? 4.0 + 1e-3 * (i % 7) : -1.0 / (2 + (i + j) % 5));
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return make_csr<double>(4 * blocks, 4 * blocks, offsets, columns, values);
}

}  // namespace tessera::testing
