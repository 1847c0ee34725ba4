#include "solvers/factors/factorization.hpp"
#include "solvers/factors/level_schedule.hpp"
#include "support/odd_structures.hpp"
#include "tests/solvers/factors_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace tessera::testing {
namespace {

using detail::Factorization;
using detail::FactorRows;

Factorization ilu(const Csr<double>& a, int level, const Device& device = Device::host(1)) {
  const FactorRows rows = factor_rows(a.view());
  detail::FactorBudget budget = no_limits(rows);
  return host::ilu_on_pattern(rows, level, budget, device);
}

/// Levels of fill by the definition: lev_ij = min_k lev_ik + lev_kj + 1, all n^3 triples.
std::vector<std::vector<int>> levels_by_definition(const Csr<double>& a) {
  constexpr int far = std::numeric_limits<int>::max() / 4;
  const auto n = static_cast<std::size_t>(a.rows());
  std::vector<std::vector<int>> level(n, std::vector<int>(n, far));
  const CsrView<double> view = a.view();
  for (std::size_t i = 0; i < n; ++i) {
    level[i][i] = 0;
    for (offset_t k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
      level[i][static_cast<std::size_t>(view.columns[static_cast<std::size_t>(k)])] = 0;
    }
  }
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = k + 1; i < n; ++i) {
      for (std::size_t j = k + 1; j < n; ++j) level[i][j] = std::min(level[i][j], level[i][k] + level[k][j] + 1);
    }
  }
  return level;
}

/// ILU(0) by its definition, with the operations of the library in their order.
Eigen::MatrixXd ilu0_by_definition(const Csr<double>& a) {
  Eigen::MatrixXd values = to_dense(a.view());
  const Eigen::MatrixXd pattern = values;
  for (Eigen::Index i = 0; i < values.rows(); ++i) {
    for (Eigen::Index j = 0; j < i; ++j) {
      if (pattern(i, j) == 0.0) continue;
      values(i, j) /= values(j, j);
      for (Eigen::Index k = j + 1; k < values.cols(); ++k) {
        if (pattern(i, k) != 0.0 && pattern(j, k) != 0.0) values(i, k) -= values(i, j) * values(j, k);
      }
    }
  }
  return values;
}

/// Rows of pivots that are much longer are searched, others read: the same bits.
TEST(FactorsIlu, LongRowsOfPivots) {
  for (const char* structure : {"star", "hubs", "random", "triangular"}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(::testing::Message() << structure << ", seed " << seed);
      const Csr<double> a = support::odd_matrix(structure, 600, seed);
      const Eigen::MatrixXd expected = ilu0_by_definition(a);
      for (const int threads : {1, 3}) {
        const Factorization f = ilu(a, 0, Device::host(threads));
        ASSERT_EQ(f.zero_pivots, 0);
        EXPECT_TRUE((dense_lower(f) == expected.triangularView<Eigen::UnitLower>().toDenseMatrix()));
        EXPECT_TRUE((dense_upper(f) == expected.triangularView<Eigen::Upper>().toDenseMatrix()));
      }
    }
  }
}

TEST(FactorsIlu, OfATridiagonalMatrixIsLu) {
  const Csr<double> a = tridiagonal<double>(50, -1.0, 2.5, -1.2);
  const Factorization f = ilu(a, 0);
  expect_triangular(f);
  EXPECT_LT((dense_lower(f) * dense_upper(f) - to_dense(a.view())).cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_EQ(f.lower.nnz(), 49);
  EXPECT_EQ(f.upper.nnz(), 49);
  EXPECT_EQ(f.zero_pivots, 0);
}

/// The pattern is that of the levels, and on it the product is A.
TEST(FactorsIlu, ProductIsTheMatrixOnThePatternOfItsLevels) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Csr<double> a = random_matrix({.n = 40, .row_entries = 3, .seed = seed});
    const auto levels = levels_by_definition(a);
    const Eigen::MatrixXd dense = to_dense(a.view());
    for (int level = 0; level <= 4; ++level) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << ", level " << level);
      const Factorization f = ilu(a, level);
      expect_triangular(f);
      const Eigen::MatrixXd error = dense_lower(f) * dense_upper(f) - dense;
      offset_t entries = 0;
      double off_pattern = 0.0;
      for (index_t i = 0; i < a.rows(); ++i) {
        for (index_t j = 0; j < a.rows(); ++j) {
          if (levels[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] <= level) {
            ++entries;
            EXPECT_NEAR(error(i, j), 0.0, 1e-13) << i << ", " << j;
          } else {
            off_pattern = std::max(off_pattern, std::abs(error(i, j)));
          }
        }
      }
      EXPECT_EQ(f.entries(), entries);
      if (level == 0) {
        EXPECT_GT(off_pattern, 1e-3) << "random matrices have fill";
      }
    }
  }
}

TEST(FactorsIlu, ManyLevelsAreLu) {
  const Csr<double> a = random_matrix({.n = 30, .row_entries = 4, .seed = 9});
  const Factorization f = ilu(a, 30);
  EXPECT_LT((dense_lower(f) * dense_upper(f) - to_dense(a.view())).cwiseAbs().maxCoeff(), 1e-13);
}

TEST(FactorsIlu, AddsTheDiagonalAndReplacesZeroPivots) {
  // Row 1 gets its pivot by elimination; row 2 is empty, row 3 has no way to get one.
  const Csr<double> a = from_dense<double>({{2, 4, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 0}, {8, 0, 0, 0}}, 4);
  const Factorization f = ilu(a, 0);
  EXPECT_EQ(f.diagonal[0], 2.0);
  EXPECT_EQ(f.diagonal[1], -2.0);
  EXPECT_EQ(f.diagonal[2], 1.0);
  EXPECT_GT(f.diagonal[3], 0.0);
  EXPECT_EQ(f.zero_pivots, 2);
}

TEST(FactorsIlu, ThreadsGiveTheSameBits) {
  const Csr<double> a = many_small_blocks(20000);
  const FactorRows rows = factor_rows(a.view());
  const host::LevelSchedule schedule = host::level_schedule(rows.offsets, rows.columns, host::Triangle::lower);
  EXPECT_EQ(schedule.levels(), 4);
  ASSERT_TRUE(host::is_worth_threads(schedule, a.nnz(), Device::host(4)));
  expect_same_factors(ilu(a, 0), ilu(a, 0, Device::host(4)));
  expect_same_factors(ilu(a, 1), ilu(a, 1, Device::host(4)));
}

TEST(FactorsLevels, HoldEveryRowAfterThoseItNeeds) {
  const Csr<double> a = random_matrix({.n = 200, .row_entries = 2, .seed = 4});
  const CsrView<double> view = a.view();
  for (const auto triangle : {host::Triangle::lower, host::Triangle::upper}) {
    const host::LevelSchedule schedule = host::level_schedule(view.row_offsets, view.columns, triangle);
    std::vector<index_t> level_of(200, -1);
    for (index_t level = 0; level < schedule.levels(); ++level) {
      const auto begin = static_cast<std::size_t>(schedule.offsets[static_cast<std::size_t>(level)]);
      const auto end = static_cast<std::size_t>(schedule.offsets[static_cast<std::size_t>(level) + 1]);
      EXPECT_LT(begin, end) << "no empty level";
      for (std::size_t k = begin; k < end; ++k) level_of[static_cast<std::size_t>(schedule.rows[k])] = level;
    }
    EXPECT_EQ(schedule.rows.size(), 200U);
    for (index_t i = 0; i < 200; ++i) {
      index_t expected = 0;
      for (offset_t k = view.row_offsets[static_cast<std::size_t>(i)];
           k < view.row_offsets[static_cast<std::size_t>(i) + 1]; ++k) {
        const index_t j = view.columns[static_cast<std::size_t>(k)];
        if (triangle == host::Triangle::lower ? j < i : j > i) {
          expected = std::max(expected, level_of[static_cast<std::size_t>(j)] + 1);
        }
      }
      EXPECT_EQ(level_of[static_cast<std::size_t>(i)], expected);
    }
  }
}

TEST(FactorsLevels, OfNoRows) {
  const std::vector<offset_t> offsets{0};
  const host::LevelSchedule schedule = host::level_schedule(offsets, {}, host::Triangle::lower);
  EXPECT_EQ(schedule.levels(), 0);
  EXPECT_FALSE(host::is_worth_threads(schedule, 0, Device::host(4)));
}

}  // namespace
}  // namespace tessera::testing
