#include "solvers/factors/factorization.hpp"
#include "tessera/error.hpp"
#include "tests/solvers/factors_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

namespace tessera::testing {
namespace {

using detail::Factorization;
using detail::FactorRows;

constexpr host::ShiftOptions usual{1e-3, 1.0};

Factorization ic0(const Csr<double>& a, const host::ShiftOptions& shifts = usual,
                  const Device& device = Device::host(1)) {
  const FactorRows rows = factor_rows(a.view());
  detail::FactorBudget budget = no_limits(rows);
  return host::ic0(rows, shifts, budget, device);
}

Factorization ict(const Csr<double>& a, double tolerance, std::int64_t most, const host::ShiftOptions& shifts = usual) {
  const FactorRows rows = factor_rows(a.view());
  detail::FactorBudget budget = no_limits(rows);
  return host::ict(rows, tolerance, most, shifts, budget);
}

/// L Lᵀ, after both triangles were found to be transposes of each other.
Eigen::MatrixXd checked_product(const Factorization& f) {
  EXPECT_TRUE(f.is_symmetric);
  expect_triangular(f);
  const Eigen::MatrixXd lower = dense_lower(f);
  EXPECT_EQ((lower - dense_upper(f).transpose()).cwiseAbs().maxCoeff(), 0.0);
  return lower * lower.transpose();
}

Csr<double> definite(std::uint64_t seed, index_t n = 40) {
  return random_matrix({.n = n, .row_entries = 3, .diagonal = 8.0, .is_symmetric = true, .seed = seed});
}

/// IC(0) breaks down, though the matrix is definite (D. S. Kershaw, J. Comput. Phys. 26(1), 1978).
Csr<double> needs_a_shift() {
  return from_dense<double>({{3, -2, 0, 2}, {-2, 3, -2, 0}, {0, -2, 3, -2}, {2, 0, -2, 3}}, 4);
}

TEST(FactorsIc0, IsTheMatrixOnItsPattern) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Csr<double> a = definite(seed);
    const Factorization f = ic0(a);
    EXPECT_EQ(f.shift, 0.0);
    const Eigen::MatrixXd dense = to_dense(a.view());
    const Eigen::MatrixXd error = checked_product(f) - dense;
    for (Eigen::Index i = 0; i < dense.rows(); ++i) {
      for (Eigen::Index j = 0; j < dense.cols(); ++j) {
        if (dense(i, j) != 0.0) {
          EXPECT_NEAR(error(i, j), 0.0, 1e-13);
        }
      }
    }
    EXPECT_GT(error.cwiseAbs().maxCoeff(), 1e-3);
    EXPECT_EQ(f.entries(), a.nnz());
  }
}

TEST(FactorsIct, WithoutDroppingIsCholesky) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Csr<double> a = definite(seed);
    const Factorization f = ict(a, 0.0, 40);
    const Eigen::MatrixXd dense = to_dense(a.view());
    const Eigen::MatrixXd expected = Eigen::LLT<Eigen::MatrixXd>(dense).matrixL();
    EXPECT_LT((dense_lower(f) - expected).cwiseAbs().maxCoeff(), 1e-13);
    EXPECT_LT((checked_product(f) - dense).cwiseAbs().maxCoeff(), 1e-13);
  }
}

/// ICT on dense columns, as its definition says.
Eigen::MatrixXd dense_ict(const Eigen::MatrixXd& a, double tolerance, std::size_t most) {
  const Eigen::Index n = a.rows();
  Eigen::MatrixXd lower = Eigen::MatrixXd::Zero(n, n);
  for (Eigen::Index j = 0; j < n; ++j) {
    Eigen::VectorXd column = a.col(j);
    for (Eigen::Index k = 0; k < j; ++k) column -= lower(j, k) * lower.col(k);
    const double root = std::sqrt(column(j));
    const double threshold = tolerance * a.row(j).norm() / std::sqrt(a(j, j));
    std::vector<Eigen::Index> rows;
    for (Eigen::Index i = j + 1; i < n; ++i) {
      if (std::abs(column(i)) > threshold * root) rows.push_back(i);
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [&](Eigen::Index p, Eigen::Index q) { return std::abs(column(p)) > std::abs(column(q)); });
    rows.resize(std::min(rows.size(), most));
    lower(j, j) = root;
    for (const Eigen::Index i : rows) lower(i, j) = column(i) / root;
  }
  return lower;
}

TEST(FactorsIct, DropsAsDefined) {
  const Csr<double> a = definite(7, 60);
  for (const double tolerance : {0.0, 1e-3, 1e-2, 1e-1}) {
    for (const std::size_t most : {1U, 3U, 10U, 60U}) {
      SCOPED_TRACE(::testing::Message() << "tau " << tolerance << ", p " << most);
      const Factorization f = ict(a, tolerance, static_cast<std::int64_t>(most));
      EXPECT_LT((dense_lower(f) - dense_ict(to_dense(a.view()), tolerance, most)).cwiseAbs().maxCoeff(), 1e-12);
      checked_product(f);
    }
  }
}

/// Shifts are relative to the diagonal, the first that suffices among 1e-3 2^k.
TEST(FactorsIc0, EnlargesTheDiagonalAsMuchAsNeeded) {
  const Csr<double> a = needs_a_shift();
  ASSERT_EQ(Eigen::LLT<Eigen::MatrixXd>(to_dense(a.view())).info(), Eigen::Success);
  const Factorization f = ic0(a);
  EXPECT_GT(f.shift, 0.0);
  const double doublings = std::log2(f.shift / 1e-3);
  EXPECT_NEAR(doublings, std::round(doublings), 1e-12);
  const Eigen::MatrixXd product = checked_product(f);
  for (Eigen::Index i = 0; i < 4; ++i) EXPECT_NEAR(product(i, i), 3.0 * (1.0 + f.shift), 1e-14);
  EXPECT_NEAR(product(0, 1), -2.0, 1e-14);
  EXPECT_THROW(static_cast<void>(ic0(a, {1e-3, f.shift / 1.5})), InvalidMatrix) << "half of it is too little";
  const Factorization large = ic0(scaled(a, 1e100));
  EXPECT_EQ(large.shift, f.shift);
  EXPECT_EQ(ict(a, 0.0, 4).shift, 0.0) << "no fill is dropped";
}

TEST(FactorsIct, RefusesAnIndefiniteMatrix) {
  const Csr<double> a = from_dense<double>({{1, 3}, {3, 1}}, 2);
  try {
    static_cast<void>(ict(a, 0.0, 2));
    FAIL() << "accepted";
  } catch (const InvalidMatrix& error) {
    EXPECT_NE(std::string(error.what()).find("pivot of row 2"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("largest shift is 1"), std::string::npos) << error.what();
  }
  EXPECT_THROW(static_cast<void>(ic0(a)), InvalidMatrix);
  EXPECT_GT(ict(a, 0.0, 2, {1e-3, 3.0}).shift, 2.0);
}

/// A pivot that is rounding error is no pivot.
TEST(FactorsIct, ShiftsASemidefiniteMatrix) {
  const Csr<double> a = from_dense<double>({{1.1, 1.1, 0}, {1.1, 1.1, 0}, {0, 0, 1}}, 3);
  EXPECT_EQ(ict(a, 0.0, 3).shift, 1e-3);
  EXPECT_EQ(ic0(a).shift, 1e-3);
}

TEST(FactorsIc0, ThreadsGiveTheSameBits) {
  Csr<double> a = many_small_blocks(20000);
  expect_same_factors(ic0(a), ic0(a, usual, Device::host(4)));
  std::vector<double> values(a.values().begin(), a.values().end());
  for (double& value : values) value = value > 0.0 ? 0.45 : value;
  a = a.with_values(Array<double>::copy_of(values));
  EXPECT_GT(ic0(a).shift, 0.0);
  expect_same_factors(ic0(a), ic0(a, usual, Device::host(4)));
  const auto refusal = [&](const Device& device) -> std::string {
    try {
      static_cast<void>(ic0(a, {1e-3, 1e-3}, device));
    } catch (const InvalidMatrix& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(Device::host(1)), refusal(Device::host(4)));
  EXPECT_NE(refusal(Device::host(4)), "accepted");
}

TEST(FactorsIct, OfNoRowsAndOfOne) {
  EXPECT_TRUE(ict(Csr<double>(), 0.0, 1).diagonal.empty());
  EXPECT_TRUE(ic0(Csr<double>()).diagonal.empty());
  EXPECT_EQ(ict(diagonal_matrix<double>({4.0}), 0.0, 1).diagonal, std::vector<double>{2.0});
  EXPECT_EQ(ic0(diagonal_matrix<double>({4.0})).diagonal, std::vector<double>{2.0});
}

}  // namespace
}  // namespace tessera::testing
