/// Rows of SPAI against dense solves by Eigen, what follows from its definition, and the names of both inverses.
#include "tessera/approximate_inverse.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/solvers.hpp"
#include "tests/solvers/approximate_inverse_checks.hpp"
#include "tests/solvers/approximate_inverse_systems.hpp"
#include "tests/solvers/factors_support.hpp"

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

TEST(Spai, RowsAreLeastSquaresSolutions) {
  // The normal equations of these rows have condition numbers below 1e4.
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Csr<double> a = random_matrix({.n = 40, .row_entries = 4, .diagonal = 3.0, .seed = seed});
    const SpaiPreconditioner<double> m(a.view());
    expect_spai_rows(a.view(), m.m(), 1e-13);
    EXPECT_EQ(m.inverse().nnz, a.nnz());
    EXPECT_FALSE(m.info().is_symmetric);
  }
  const Csr<double> flow = convection_diffusion<double>(8, 7, 1, Peclet{10.0, 3.0, 0.0});
  expect_spai_rows(flow.view(), SpaiPreconditioner<double>(flow.view()).m(), 1e-13);
  const Csr<float> single = convection_diffusion<float>(8, 7, 1, Peclet{10.0, 3.0, 0.0});
  expect_spai_rows(single.view(), SpaiPreconditioner<float>(single.view()).m(), 1e-6);
}

TEST(Spai, OfADiagonalMatrixIsItsInverse) {
  const std::vector<double> entries{4.0, -0.5, 8.0, 0x1p-600, 0x1p900};
  const Csr<double> a = diagonal_matrix(entries);
  for (const int level : {0, 1}) {
    const SpaiPreconditioner<double> m(a.view(), {.level = level});
    std::vector<double> z(entries.size());
    m.apply(entries, z);
    EXPECT_EQ(z, std::vector<double>(entries.size(), 1.0)) << level;
    EXPECT_EQ(m.inverse().nnz, 5);
  }
}

TEST(Spai, LevelZeroIsTheDiagonalOverTheSquaredNorm) {
  const Csr<double> a = random_matrix({.n = 40, .row_entries = 4, .diagonal = 3.0, .seed = 5});
  const SpaiPreconditioner<double> m(a.view(), {.level = 0});
  const MatrixXd dense = to_dense(a.view());
  ASSERT_TRUE(m.diagonal().has_value());
  for (Index i = 0; i < 40; ++i) {
    const double expected = dense(i, i) / dense.row(i).squaredNorm();
    EXPECT_NEAR((*m.diagonal())[static_cast<std::size_t>(i)], expected, 1e-15 * std::abs(expected));
  }
  EXPECT_TRUE(m.info().is_symmetric);
  const std::vector<double> r = random_values<double>(40, 2);
  std::vector<double> z(40);
  std::vector<double> transposed(40);
  m.apply(r, z);
  m.apply_transposed(r, transposed);
  EXPECT_EQ(z, transposed);
  EXPECT_EQ(z[7], (*m.diagonal())[7] * r[7]);
}

TEST(Spai, LimitKeepsTheDiagonalAndTheLargest) {
  const std::vector<int> widths{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 3, 12, 2, 13, 14, 1, 9, 17, 18, 5};
  Csr<double> a = skyline_matrix<double>(widths, false);
  const MatrixXd dense = to_dense(a.view());
  constexpr std::size_t most = 5;
  const SpaiPreconditioner<double> m(a.view(), {.max_row_entries = most});
  for (index_t i = 0; i < m.rows(); ++i) {
    std::vector<Index> expected;
    for (Index j = 0; j < dense.cols(); ++j) {
      if (j != i && dense(i, j) != 0.0) expected.push_back(j);
    }
    std::sort(expected.begin(), expected.end(),
              [&](Index j, Index k) { return std::abs(dense(i, j)) > std::abs(dense(i, k)); });
    expected.resize(std::min(expected.size(), most - 1));
    expected.push_back(i);
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(columns_of(m.m(), i), expected) << "row " << i;
  }
  expect_spai_rows(a.view(), m.m(), 1e-13);
}

TEST(Spai, DependentRowsTakePartOnce) {
  // Rows 1 and 2 are the same but for a row scaling: the matrix is singular, and M still is the best on its pattern.
  const Csr<double> a = from_dense<double>({{2, 1, 1}, {4, 2, 2}, {0, 1, 3}}, 3);
  const SpaiPreconditioner<double> m(a.view());
  const MatrixXd dense = to_dense(a.view());
  const MatrixXd inverse = to_dense(m.m());
  for (Index i = 0; i < 3; ++i) {
    const std::vector<Index> j = columns_of(m.m(), static_cast<index_t>(i));
    const MatrixXd columns = dense(j, Eigen::all).transpose();
    const VectorXd e = VectorXd::Unit(3, i);
    const VectorXd best = columns.completeOrthogonalDecomposition().solve(e);
    EXPECT_NEAR((columns * VectorXd(inverse(i, j)) - e).norm(), (columns * best - e).norm(), 1e-14);
  }
}

TEST(Spai, RowScalingScalesColumns) {
  const Csr<double> a = random_matrix({.n = 40, .row_entries = 4, .diagonal = 3.0, .seed = 6});
  std::vector<double> values(a.values().begin(), a.values().end());
  const auto exponent = [](std::int64_t i) { return static_cast<int>(i * 37 % 101) - 50; };
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (offset_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      values[static_cast<std::size_t>(k)] = std::ldexp(values[static_cast<std::size_t>(k)], exponent(i));
    }
  }
  const Csr<double> other = a.with_values<double>(Array<double>::copy_of(values));
  const SpaiPreconditioner<double> m(a.view());
  const SpaiPreconditioner<double> n(other.view());
  for (offset_t k = 0; k < a.nnz(); ++k) {
    const auto at = static_cast<std::size_t>(k);
    EXPECT_EQ(n.m().values[at], std::ldexp(m.m().values[at], -exponent(a.columns()[k])));
  }
}

TEST(Spai, RefreshIsASetUpOnThePattern) {
  const Csr<double> a = random_matrix({.n = 40, .row_entries = 4, .diagonal = 3.0, .seed = 7});
  const Csr<double> other = scaled(a, -3.0);
  for (const int level : {0, 1}) {
    const SpaiOptions options{.level = level, .max_row_entries = 4};
    SpaiPreconditioner<double> m(a.view(), options);
    m.refresh(other.view());
    const SpaiPreconditioner<double> fresh(other.view(), options);
    expect_same_bits(m.m(), fresh.m());
    const std::vector<double> r = random_values<double>(40, 2);
    std::vector<double> z(40);
    std::vector<double> expected(40);
    m.apply(r, z);
    fresh.apply(r, expected);
    EXPECT_EQ(z, expected);
    EXPECT_EQ(refusal<DimensionError>([&] { m.refresh(definite(9, 39).view()); }),
              "spai was made for 40 x 40, got 39 x 39");
  }
}

TEST(Spai, SmallestMatricesAndRefusals) {
  for (const int level : {0, 1}) {
    const SpaiPreconditioner<double> none(Csr<double>().view(), {.level = level});
    EXPECT_EQ(none.rows(), 0);
    const SpaiPreconditioner<double> one(diagonal_matrix<double>({-4.0}).view(), {.level = level});
    std::vector<double> z(1);
    one.apply(std::vector<double>{8.0}, z);
    EXPECT_EQ(z[0], -2.0);
  }
  const auto of = [](const std::vector<std::vector<double>>& dense, int level) {
    return refusal<InvalidMatrix>([&] {
      const Csr<double> a = from_dense<double>(dense, static_cast<std::int64_t>(dense[0].size()));
      const SpaiPreconditioner<double> m(a.view(), {.level = level});
    });
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(of({{1, 1}, {1, 0}}, 0), "spai:0: m_ii of row 2 would be 0 or not finite");
  EXPECT_EQ(of({{1, 1}, {1, 0}}, 1), "accepted");
  EXPECT_EQ(of({{1, 0}, {0, 0}}, 1), "spai: row 2 of M would be 0 or not finite");
  EXPECT_EQ(of({{1, infinity}, {0, 1}}, 1), "spai needs finite values: row 1 holds NaN or infinity");
  EXPECT_EQ(of({{5e-324, 0}, {0, 1}}, 1), "spai needs rows whose norm has a finite inverse: row 1 has not");
  const Csr<double> a = definite(1);
  EXPECT_EQ(refusal<InvalidArgument>([&] { const SpaiPreconditioner<double> m(a.view(), {.level = 2}); }),
            "SpaiOptions::level is 2, expected 0 or 1");
  EXPECT_EQ(refusal<InvalidArgument>([&] { const SpaiPreconditioner<double> m(a.view(), {.max_row_entries = 0}); }),
            "SpaiOptions::max_row_entries is 0, expected [1, 128]");
  EXPECT_EQ(refusal<DimensionError>([] {
              const SpaiPreconditioner<double> m(from_dense<double>({{1, 0, 0}, {0, 1, 0}}, 3).view());
            }),
            "spai needs a square matrix, got 2 x 3");
}

TEST(ApproximateInverse, Names) {
  EXPECT_EQ(fsai_name({}), "fsai:2");
  EXPECT_EQ(fsai_name({.power = 3, .filter = 0.025}), "fsai:3:0.025");
  EXPECT_EQ(spai_name({}), "spai:1");
  EXPECT_EQ(spai_name({.level = 0}), "spai:0");
}

}  // namespace
}  // namespace tessera::testing
