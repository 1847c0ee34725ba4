// Galerkin products and powers.
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/statistics.hpp"
#include "tests/spgemm/product_check.hpp"
#include "tests/support/eigen_bridge.hpp"
#include "tests/support/make_csr.hpp"

namespace tessera {
namespace {

/// Linear interpolation from n coarse points to 2 n + 1 fine ones.
Csr<double> interpolation(index_t n) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  for (index_t i = 0; i < 2 * n + 1; ++i) {
    if (i % 2 == 1) {
      columns.push_back(i / 2);
      values.push_back(1.0);
    } else {
      for (const index_t j : {i / 2 - 1, i / 2}) {
        if (j < 0 || j >= n) continue;
        columns.push_back(j);
        values.push_back(0.5);
      }
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return testing::make_csr<double>(2 * n + 1, n, offsets, columns, values);
}

TEST(Galerkin, CoarseLaplacianIsALaplacian) {
  const index_t n = 50;
  std::vector<std::vector<double>> dense(static_cast<std::size_t>(2 * n + 1),
                                         std::vector<double>(static_cast<std::size_t>(2 * n + 1)));
  for (std::size_t i = 0; i < dense.size(); ++i) {
    dense[i][i] = 2.0;
    if (i > 0) dense[i][i - 1] = -1.0;
    if (i + 1 < dense.size()) dense[i][i + 1] = -1.0;
  }
  const auto a = testing::from_dense<double>(dense, 2 * n + 1);
  const auto p = interpolation(n);
  const GalerkinResult<double> coarse = galerkin(transpose(p.view()), a, p);
  // The stencil of the coarse grid is (-1, 2, -1) / 2.
  for (index_t i = 0; i < n; ++i) {
    for (offset_t k = coarse.matrix.row_offsets()[i]; k < coarse.matrix.row_offsets()[i + 1]; ++k) {
      const index_t j = coarse.matrix.columns()[k];
      EXPECT_EQ(coarse.matrix.values()[k], i == j ? 1.0 : -0.5) << i << ", " << j;
    }
  }
  EXPECT_EQ(coarse.matrix.nnz(), 3 * n - 2);
}

TEST(Galerkin, AgreesWithEigen) {
  const auto a = generate<double>(parse_generator("poisson3d:12"));
  std::vector<index_t> lengths(static_cast<std::size_t>(a.rows()), 2);
  const auto p = testing::with_row_lengths<double>(lengths, 300, ValueStorage::weighted, 9);
  const auto r = testing::with_row_lengths<double>(std::vector<index_t>(200, 11), a.rows(), ValueStorage::weighted, 10);
  const Csr<double> c = galerkin(r, a, p).matrix;
  const auto eigen_r = testing::to_eigen(r.view());
  const testing::EigenSparse<double> a_p = testing::to_eigen(a.view()) * testing::to_eigen(p.view());
  const testing::EigenSparse<double> expected = eigen_r * a_p;
  const auto magnitude = [](testing::EigenSparse<double> m) {
    for (index_t k = 0; k < m.nonZeros(); ++k) m.valuePtr()[k] = std::fabs(m.valuePtr()[k]);
    return m;
  };
  const testing::EigenSparse<double> a_p_bound =
      magnitude(testing::to_eigen(a.view())) * magnitude(testing::to_eigen(p.view()));
  const testing::EigenSparse<double> bound = magnitude(eigen_r) * a_p_bound;
  ASSERT_EQ(expected.nonZeros(), c.nnz());
  for (offset_t k = 0; k < c.nnz(); ++k) {
    ASSERT_EQ(expected.innerIndexPtr()[k], c.columns()[k]);
    // Two nested sums of at most 14 and 11 terms, each side.
    ASSERT_LE(std::fabs(expected.valuePtr()[k] - c.values()[k]), 2 * 25 * 1.2e-16 * bound.valuePtr()[k]);
  }
}

TEST(Galerkin, OptionsOfEachProduct) {
  const auto a = generate<double>(parse_generator("poisson2d:9"));
  const auto p = testing::with_row_lengths<double>(std::vector<index_t>(static_cast<std::size_t>(a.rows()), 2), 20,
                                                   ValueStorage::weighted, 3);
  const Csr<double> r = transpose(p.view());
  GalerkinOptions options;
  options.first.workflow = SpgemmWorkflow::hll;
  options.second.workflow = SpgemmWorkflow::upper_bound;
  options.keep_a_p = true;
  const GalerkinResult<double> result = galerkin(r, a, p, options);
  EXPECT_EQ(result.first.workflow, SpgemmWorkflow::hll);
  EXPECT_EQ(result.second.workflow, SpgemmWorkflow::upper_bound);
  testing::expect_identical(spgemm(a, p).matrix.view(), result.a_p_matrix.view());
  testing::expect_identical(galerkin(r, a, p).matrix.view(), result.matrix.view());
  EXPECT_EQ(galerkin(r, a, p).a_p_matrix.rows(), 0);
}

TEST(Galerkin, RefusesSizesThatDoNotFit) {
  const auto a = generate<double>(parse_generator("poisson2d:4"));
  const auto p = testing::make_pattern<double>(15, 2, std::vector<offset_t>(16, 0), {});
  EXPECT_THROW(static_cast<void>(galerkin(a, a, p)), DimensionError);
  EXPECT_THROW(static_cast<void>(galerkin(transpose(p.view()), a, a)), DimensionError);
}

TEST(MatrixPower, ZeroAndOne) {
  const auto a = testing::with_row_lengths<double>({2, 0, 1}, 3, ValueStorage::weighted, 4);
  const Csr<double> one = matrix_power(a, 1).matrix;
  testing::expect_identical(a.view(), one.view());
  const MatrixPower<double> zero = matrix_power(a, 0);
  testing::expect_identical(zero.matrix.view(),
                            testing::make_csr<double>(3, 3, {0, 1, 2, 3}, {0, 1, 2}, {1.0, 1.0, 1.0}).view());
  EXPECT_TRUE(zero.products.empty());
  const auto pattern = testing::make_pattern<double>(2, 2, {0, 1, 2}, {1, 0});
  EXPECT_TRUE(matrix_power(pattern, 0).matrix.is_pattern());
  EXPECT_TRUE(matrix_power(pattern, 1).matrix.is_pattern());
  EXPECT_EQ(matrix_power(testing::make_pattern<double>(0, 0, {0}, {}), 3).matrix.nnz(), 0);
}

TEST(MatrixPower, CountsWalks) {
  // A path of 5 vertices: walks of length k from i to j by a dense recurrence.
  const auto path = testing::make_pattern<double>(5, 5, {0, 1, 3, 5, 7, 8}, {1, 0, 2, 1, 3, 2, 4, 3});
  std::vector<std::vector<double>> walks(5, std::vector<double>(5));
  for (std::size_t i = 0; i < 5; ++i) walks[i][i] = 1.0;
  for (int k = 1; k <= 13; ++k) {
    std::vector<std::vector<double>> next(5, std::vector<double>(5));
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t j = 0; j < 5; ++j) {
        if (j > 0) next[i][j] += walks[i][j - 1];
        if (j < 4) next[i][j] += walks[i][j + 1];
      }
    }
    walks = next;
    const MatrixPower<double> power = matrix_power(path, k);
    EXPECT_LE(power.products.size(), 2 * std::log2(k) + 1e-9);
    for (std::size_t i = 0; i < 5; ++i) {
      std::vector<double> row(5);
      const auto view = power.matrix.view();
      for (offset_t e = view.row_offsets[i]; e < view.row_offsets[i + 1]; ++e) {
        row[static_cast<std::size_t>(view.columns[static_cast<std::size_t>(e)])] = view.value(e);
      }
      EXPECT_EQ(row, walks[i]) << "k = " << k << ", row " << i;
    }
  }
}

TEST(MatrixPower, Refusals) {
  const auto wide = testing::make_pattern<double>(1, 2, {0, 0}, {});
  EXPECT_THROW(static_cast<void>(matrix_power(wide, 2)), DimensionError);
  const auto square = testing::make_pattern<double>(1, 1, {0, 1}, {0});
  EXPECT_THROW(static_cast<void>(matrix_power(square, -1)), InvalidArgument);
}

}  // namespace
}  // namespace tessera
