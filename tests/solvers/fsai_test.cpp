/// Rows of FSAI against dense solves by Eigen, and what follows from its definition.
#include "tessera/approximate_inverse.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/solvers.hpp"
#include "tests/solvers/approximate_inverse_checks.hpp"
#include "tests/solvers/approximate_inverse_systems.hpp"
#include "tests/solvers/factors_support.hpp"
#include "tests/support/small_grain.hpp"

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

/// Neither filter drops an entry, and no row is cut.
FsaiOptions whole(int power) { return {.power = power, .filter = 0.0, .max_row_entries = 128, .post_filter = 0.0}; }

/// s_i a_ij s_j.
MatrixXd unit_diagonal(const MatrixXd& a) {
  const VectorXd scale = a.diagonal().cwiseSqrt().cwiseInverse();
  return scale.asDiagonal() * a * scale.asDiagonal();
}

/// Rows against Eigen's Cholesky of each submatrix. \param relative bound of the error of a row
template <class T>
void expect_fsai_rows(const CsrView<T>& a, const CsrView<T>& g, double relative) {
  const MatrixXd dense = to_dense(a);
  const MatrixXd factor = to_dense(g);
  for (index_t i = 0; i < g.rows; ++i) {
    const std::vector<Index> s = columns_of(g, i);
    ASSERT_EQ(s.back(), i);
    const MatrixXd part = dense(s, s);
    const VectorXd e = VectorXd::Unit(part.rows(), part.rows() - 1);
    const VectorXd y = part.llt().solve(e);
    const VectorXd expected = y / std::sqrt(y(y.size() - 1));
    EXPECT_LE((VectorXd(factor(i, s)) - expected).norm(), relative * expected.norm()) << "row " << i;
  }
  const VectorXd ones = (factor * dense * factor.transpose()).diagonal();
  EXPECT_LE((ones.array() - 1.0).abs().maxCoeff(), relative);
}

TEST(Fsai, RowsSolveTheirSubmatrices) {
  // The condition of the submatrices is below 1e3: 1e-12 is 1e3 eps with room for 4 of them.
  for (int power = 1; power <= 3; ++power) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const Csr<double> a = definite(seed);
      const FsaiPreconditioner<double> m(a.view(), whole(power));
      expect_fsai_rows(a.view(), m.g(), 1e-12);
    }
  }
  const Csr<float> single = poisson2d<float>(7, 6);
  expect_fsai_rows(single.view(), FsaiPreconditioner<float>(single.view(), whole(2)).g(), 1e-6);
}

TEST(Fsai, HasThePatternOfThePower) {
  const Csr<double> a = definite(4);
  const MatrixXd magnitudes = to_dense(a.view()).cwiseAbs();
  MatrixXd power = MatrixXd::Identity(40, 40);
  for (int k = 1; k <= 3; ++k) {
    power *= magnitudes;
    const FsaiPreconditioner<double> m(a.view(), whole(k));
    for (index_t i = 0; i < 40; ++i) {
      std::vector<Index> expected;
      for (Index j = 0; j <= i; ++j) {
        if (power(i, j) > 0.0) expected.push_back(j);
      }
      EXPECT_EQ(columns_of(m.g(), i), expected) << "power " << k << ", row " << i;
    }
    EXPECT_EQ(m.factor().pattern_nnz, m.factor().nnz);
  }
}

TEST(Fsai, OfAFullTriangleIsTheInverseOfTheCholeskyFactor) {
  const Csr<double> a = tridiagonal<double>(4, -1.0, 2.5, -1.0);
  const MatrixXd expected = MatrixXd(to_dense(a.view()).llt().matrixL()).inverse();
  const FsaiPreconditioner<double> m(a.view(), whole(3));
  EXPECT_LE((to_dense(m.g()) - expected).cwiseAbs().maxCoeff(), 4e-16);
  const std::vector<double> r = random_values<double>(4, 1);
  std::vector<double> z(4);
  m.apply(r, z);
  const VectorXd solution = to_dense(a.view()).llt().solve(Eigen::Map<const VectorXd>(r.data(), 4));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(z[i], solution(static_cast<Index>(i)), 1e-15);
}

TEST(Fsai, FilterAndLimitKeepTheLargestOfTheScaledPower) {
  const std::vector<int> widths{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 3, 12, 2, 13, 14, 1, 9, 17, 18, 5};
  const Csr<double> a = skyline_matrix<double>(widths, true);
  MatrixXd scaled_a = unit_diagonal(to_dense(a.view())).cwiseAbs();
  constexpr double filter = 0.02;
  constexpr std::size_t most = 6;
  scaled_a = (scaled_a.array() >= filter).select(scaled_a, 0.0);
  const MatrixXd power = scaled_a * scaled_a;
  const FsaiPreconditioner<double> m(a.view(),
                                     {.power = 2, .filter = filter, .max_row_entries = most, .post_filter = 0.0});
  std::size_t cut = 0;
  for (index_t i = 0; i < m.rows(); ++i) {
    std::vector<Index> expected;
    for (Index j = 0; j < i; ++j) {
      if (power(i, j) > 0.0) expected.push_back(j);
    }
    std::stable_sort(expected.begin(), expected.end(), [&](Index j, Index k) { return power(i, j) > power(i, k); });
    if (expected.size() + 1 > most) {
      expected.resize(most - 1);
      ++cut;
    }
    expected.push_back(i);
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(columns_of(m.g(), i), expected) << "row " << i;
  }
  EXPECT_GT(cut, 5U);
  EXPECT_EQ(m.factor().largest_row, static_cast<std::int64_t>(most));
  expect_fsai_rows(a.view(), m.g(), 1e-12);
}

TEST(Fsai, TiesAtTheLimitKeepTheFirst) {
  // Row 5: five equal entries left of the diagonal, three places.
  std::vector<std::vector<double>> dense(6, std::vector<double>(6));
  for (std::size_t i = 0; i < 6; ++i) dense[i][i] = 4.0;
  for (std::size_t j = 0; j < 5; ++j) dense[5][j] = dense[j][5] = -1.0;
  const Csr<double> a = from_dense<double>(dense, 6);
  const FsaiPreconditioner<double> m(a.view(), {.power = 1, .filter = 0.0, .max_row_entries = 4, .post_filter = 0.0});
  EXPECT_EQ(columns_of(m.g(), 5), (std::vector<Index>{0, 1, 2, 5}));
  const FsaiPreconditioner<double> diagonal(a.view(), {.max_row_entries = 1});
  EXPECT_EQ(diagonal.g().nnz(), 6);
  EXPECT_EQ(diagonal.g().values[5], 0.5);
}

TEST(Fsai, PostFilterComputesRowsAnew) {
  const Csr<double> a = definite(6);
  FsaiOptions options = whole(3);
  const FsaiPreconditioner<double> all(a.view(), options);
  options.post_filter = 0.02;
  const FsaiPreconditioner<double> m(a.view(), options);
  EXPECT_GT(m.factor().dropped, 20);
  EXPECT_EQ(m.factor().nnz + m.factor().dropped, all.factor().nnz);
  expect_fsai_rows(a.view(), m.g(), 1e-12);
  const MatrixXd before = to_dense(all.g()) * to_dense(a.view()).diagonal().cwiseSqrt().asDiagonal();
  const MatrixXd after = to_dense(m.g());
  for (Index i = 0; i < 40; ++i) {
    for (Index j = 0; j <= i; ++j) {
      const bool stays = before(i, j) != 0.0 && std::abs(before(i, j)) >= 0.02 * before(i, i);
      EXPECT_EQ(after(i, j) != 0.0, stays) << i << ", " << j;
    }
  }
}

/// The same pattern by dense products: per step the largest |(Â ĝ)_j| left of the diagonal.
TEST(Fsai, AdaptivePatternFollowsTheGradient) {
  const Csr<double> a = definite(10);
  const MatrixXd scaled_a = unit_diagonal(to_dense(a.view()));
  for (const int per_step : {1, 2}) {
    const FsaiPreconditioner<double> m(a.view(), {.post_filter = 0.0, .adaptive_steps = 4, .step_entries = per_step});
    for (index_t i = 0; i < 40; ++i) {
      std::vector<Index> s{i};
      for (int step = 0; step < 4; ++step) {
        const MatrixXd part = scaled_a(s, s);
        VectorXd y = part.llt().solve(VectorXd::Unit(part.rows(), part.rows() - 1));
        VectorXd gradient = (scaled_a(Eigen::all, s) * y).cwiseAbs();
        std::vector<Index> added;
        for (int k = 0; k < per_step; ++k) {
          Index best = -1;
          for (Index j = 0; j < i; ++j) {
            const bool is_new =
                std::find(s.begin(), s.end(), j) == s.end() && std::find(added.begin(), added.end(), j) == added.end();
            if (is_new && gradient(j) > (best < 0 ? 1e-14 : gradient(best))) best = j;
          }
          if (best >= 0) added.push_back(best);
        }
        s.insert(s.end(), added.begin(), added.end());
        std::sort(s.begin(), s.end());
      }
      EXPECT_EQ(columns_of(m.g(), i), s) << "row " << i;
    }
    expect_fsai_rows(a.view(), m.g(), 1e-12);
  }
  EXPECT_EQ(FsaiPreconditioner<double>(a.view(), {.max_row_entries = 3, .adaptive_steps = 9}).factor().largest_row, 3);
}

TEST(Fsai, HubRows) {
  // An arrow: entries of the long row are searched.
  const index_t n = 200;
  std::vector<std::vector<double>> dense(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    dense[i][i] = 2.0;
    dense[i][n - 1] = dense[n - 1][i] = i + 1 == n ? 4.0 : -1.0 / static_cast<double>(100 + i);
  }
  const Csr<double> a = from_dense<double>(dense, n);
  const FsaiPreconditioner<double> m(a.view(), {.power = 1, .filter = 0.0, .max_row_entries = 4, .post_filter = 0.0});
  EXPECT_EQ(columns_of(m.g(), n - 1), (std::vector<Index>{0, 1, 2, n - 1}));
  expect_fsai_rows(a.view(), m.g(), 1e-14);
  expect_spai_rows(a.view(), SpaiPreconditioner<double>(a.view(), {.max_row_entries = 4}).m(), 1e-14);
}

TEST(Fsai, IsSymmetric) {
  const Csr<double> a = definite(7);
  const FsaiPreconditioner<double> m(a.view());
  EXPECT_TRUE(m.info().is_symmetric);
  EXPECT_EQ(m.info().name, "fsai");
  const std::vector<double> u = random_values<double>(40, 1);
  const std::vector<double> v = random_values<double>(40, 2);
  std::vector<double> mu(40);
  std::vector<double> mv(40);
  std::vector<double> transposed(40);
  m.apply(u, mu);
  m.apply(v, mv);
  const double left = std::inner_product(mu.begin(), mu.end(), v.begin(), 0.0);
  EXPECT_NEAR(left, std::inner_product(u.begin(), u.end(), mv.begin(), 0.0), 1e-15);
  EXPECT_GT(std::inner_product(mu.begin(), mu.end(), u.begin(), 0.0), 0.0);
  m.apply_transposed(u, transposed);
  EXPECT_EQ(transposed, mu);
  // z = 2 M u - 3 z
  std::vector<double> z = v;
  m.apply(2.0, u, -3.0, z);
  for (std::size_t i = 0; i < z.size(); ++i) EXPECT_NEAR(z[i], 2.0 * mu[i] - 3.0 * v[i], 1e-14);
}

/// D A D with powers of two.
Csr<double> scaled_by_powers(const Csr<double>& a, const std::function<int(std::int64_t)>& exponent) {
  std::vector<double> values(a.values().begin(), a.values().end());
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (offset_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      values[static_cast<std::size_t>(k)] =
          std::ldexp(values[static_cast<std::size_t>(k)], exponent(i) + exponent(a.columns()[k]));
    }
  }
  return a.with_values<double>(Array<double>::copy_of(values));
}

TEST(Fsai, ScalingOfTheUnknownsScalesColumns) {
  const Csr<double> a = definite(8);
  const FsaiPreconditioner<double> m(a.view());
  const std::vector<std::function<int(std::int64_t)>> scalings{
      [](std::int64_t) { return 150; }, [](std::int64_t) { return -400; },
      [](std::int64_t i) { return static_cast<int>(i * 37 % 101) - 50; }};
  for (const auto& exponent : scalings) {
    const Csr<double> other = scaled_by_powers(a, exponent);
    const FsaiPreconditioner<double> n(other.view());
    ASSERT_EQ(n.g().nnz(), m.g().nnz());
    for (offset_t k = 0; k < n.g().nnz(); ++k) {
      const auto at = static_cast<std::size_t>(k);
      ASSERT_EQ(n.g().columns[at], m.g().columns[at]);
      EXPECT_EQ(n.g().values[at], std::ldexp(m.g().values[at], -exponent(m.g().columns[at])));
    }
  }
}

TEST(Fsai, ThreadsGiveTheSameBits) {
  const SmallGrain small;
  const Csr<double> a = skyline_matrix<double>(std::vector<int>(300, 12), true);
  const FsaiOptions options{.power = 2, .filter = 0.01, .max_row_entries = 20, .post_filter = 0.01};
  const FsaiPreconditioner<double> one(a.view(), options, Device::host(1));
  const FsaiPreconditioner<double> four(a.view(), options, Device::host(4));
  expect_same_bits(one.g(), four.g());
}

TEST(Fsai, RefreshIsASetUpOnThePattern) {
  const Csr<double> a = definite(9);
  FsaiPreconditioner<double> m(a.view());
  const FsaiPreconditioner<double> first(a.view());
  m.refresh(a.view());
  expect_same_bits(m.g(), first.g());
  // 16 A has the pattern of A, and G / 4.
  const Csr<double> other = scaled(a, 16.0);
  m.refresh(other.view());
  expect_same_bits(m.g(), FsaiPreconditioner<double>(other.view()).g());
  std::vector<double> values(a.values().begin(), a.values().end());
  values[3] += 1.0;
  const Csr<double> unsymmetric = a.with_values<double>(Array<double>::copy_of(values));
  EXPECT_THROW(m.refresh(unsymmetric.view()), InvalidMatrix);
  expect_same_bits(m.g(), FsaiPreconditioner<double>(other.view()).g());
  EXPECT_EQ(refusal<DimensionError>([&] { m.refresh(definite(9, 39).view()); }),
            "fsai was made for 40 x 40, got 39 x 39");
}

TEST(Fsai, SmallestMatrices) {
  const FsaiPreconditioner<double> none(Csr<double>().view());
  EXPECT_EQ(none.rows(), 0);
  EXPECT_EQ(none.factor().nnz, 0);
  std::vector<double> empty;
  none.apply(empty, empty);
  const FsaiPreconditioner<double> one(diagonal_matrix<double>({4.0}).view());
  EXPECT_EQ(one.g().values[0], 0.5);
  std::vector<double> z(1);
  one.apply(std::vector<double>{8.0}, z);
  EXPECT_EQ(z[0], 2.0);
  // Of a pattern all entries are 1.
  const Csr<double> pattern = diagonal_matrix<double>({4.0, 9.0}).structure();
  EXPECT_EQ(FsaiPreconditioner<double>(pattern.view()).g().values[1], 1.0);
}

TEST(Fsai, RefusesWhatIsNotSymmetricPositiveDefinite) {
  const auto of = [](const std::vector<std::vector<double>>& dense) {
    return refusal<InvalidMatrix>([&] {
      const Csr<double> a = from_dense<double>(dense, static_cast<std::int64_t>(dense[0].size()));
      const FsaiPreconditioner<double> m(a.view());
    });
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(of({{2, 1}, {0, 2}}), "fsai needs a symmetric matrix: entry (1, 2) is 1, but entry (2, 1) is not stored");
  EXPECT_EQ(of({{2, 1}, {3, 2}}), "fsai needs a symmetric matrix: entry (2, 1) is 3, but entry (1, 2) is 1");
  EXPECT_EQ(of({{2, 1}, {1, 0}}), "fsai needs a positive diagonal: row 2 has no diagonal entry");
  EXPECT_EQ(of({{2, 1}, {1, -3}}), "fsai needs a positive diagonal: row 2 holds -3");
  EXPECT_EQ(of({{2, nan}, {nan, 2}}), "fsai needs finite values: row 1 holds NaN or infinity");
  EXPECT_EQ(of({{4, 0, 0}, {0, 1, 2}, {0, 2, 1}}),
            "fsai needs a positive definite matrix: the submatrix of the pattern of row 3 is not");
  EXPECT_EQ(of({{1, 1}, {1, 1}}),
            "fsai needs a positive definite matrix: the submatrix of the pattern of row 2 is not");
  EXPECT_EQ(refusal<DimensionError>([] {
              const FsaiPreconditioner<double> m(from_dense<double>({{1, 0, 0}, {0, 1, 0}}, 3).view());
            }),
            "fsai needs a square matrix, got 2 x 3");
}

TEST(Fsai, RefusesOptionsOutOfRange) {
  const Csr<double> a = definite(1);
  const auto of = [&](const FsaiOptions& options) {
    return refusal<InvalidArgument>([&] { const FsaiPreconditioner<double> m(a.view(), options); });
  };
  EXPECT_EQ(of({.power = 0}), "FsaiOptions::power is 0, expected 1, 2 or 3");
  EXPECT_EQ(of({.power = 4}), "FsaiOptions::power is 4, expected 1, 2 or 3");
  EXPECT_EQ(of({.filter = -0.1}), "FsaiOptions::filter is -0.1, expected [0, 1]");
  EXPECT_EQ(of({.max_row_entries = 129}), "FsaiOptions::max_row_entries is 129, expected [1, 128]");
  EXPECT_EQ(of({.adaptive_steps = 64}), "FsaiOptions::adaptive_steps is 64, expected [0, 63]");
  EXPECT_EQ(of({.step_entries = 0}), "FsaiOptions::step_entries is 0, expected [1, 63]");
  EXPECT_EQ(of({.post_filter = std::nan("")}), "FsaiOptions::post_filter is nan, expected [0, 1]");
}

TEST(Fsai, TakesFewerIterationsThanJacobi) {
  const Csr<double> a = poisson2d<double>(40, 40);
  const SpmvPlan<double> plan(a.to(Device{}));
  const std::vector<double> b = random_values<double>(1600, 3);
  std::vector<double> x(1600);
  std::vector<double> y(1600);
  const SolveReport jacobi = cg<double>(plan, JacobiPreconditioner<double>(a.view()), b, x);
  const SolveReport fsai = cg<double>(plan, FsaiPreconditioner<double>(a.view()), b, y);
  EXPECT_TRUE(fsai.converged());
  EXPECT_LE(10 * fsai.iterations, 6 * jacobi.iterations);
}

}  // namespace
}  // namespace tessera::testing
