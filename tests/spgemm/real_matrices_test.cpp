// A A and A Aᵀ of every real matrix, against Eigen and the oracle.
#include "tessera/matrix_market.hpp"
#include "tessera/statistics.hpp"
#include "tests/spgemm/product_check.hpp"
#include "tests/support/eigen_bridge.hpp"
#include "tests/support/matrices_dir.hpp"

#include <cstdio>

namespace tessera {
namespace {

/// The oracle takes seconds beyond; of larger products the pattern is counted and a product with a vector compared.
constexpr offset_t oracle_products = 12'000'000;
/// Beyond, the product would not fit into the memory of small machines.
constexpr offset_t most_products = 120'000'000;

void compare_with_eigen(const Csr<double>& a, const Csr<double>& b, const Csr<double>& c) {
  const testing::EigenSparse<double> expected = testing::to_eigen(a.view()) * testing::to_eigen(b.view());
  ASSERT_EQ(expected.nonZeros(), c.nnz());
  for (index_t i = 0; i <= c.rows(); ++i) ASSERT_EQ(expected.outerIndexPtr()[i], c.row_offsets()[i]);
  for (offset_t k = 0; k < c.nnz(); ++k) ASSERT_EQ(expected.innerIndexPtr()[k], c.columns()[k]);
}

/// (A B) 1 = A (B 1) with the bound of two products in turn, entries' magnitudes included.
void compare_row_sums(const Csr<double>& a, const Csr<double>& b, const Csr<double>& c) {
  const auto row_sums = [](const CsrView<double>& m, const std::vector<long double>& x, bool magnitudes) {
    std::vector<long double> y(static_cast<std::size_t>(m.rows));
    for (std::size_t i = 0; i < y.size(); ++i) {
      for (offset_t k = m.row_offsets[i]; k < m.row_offsets[i + 1]; ++k) {
        const auto value = static_cast<long double>(m.value(k));
        y[i] += (magnitudes ? std::fabs(value) : value) *
                x[static_cast<std::size_t>(m.columns[static_cast<std::size_t>(k)])];
      }
    }
    return y;
  };
  const std::vector<long double> ones(static_cast<std::size_t>(b.cols()), 1.0L);
  const auto expected = row_sums(a.view(), row_sums(b.view(), ones, false), false);
  const auto magnitude = row_sums(a.view(), row_sums(b.view(), ones, true), true);
  const auto found = row_sums(c.view(), ones, false);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto terms = static_cast<long double>(a.row_offsets()[static_cast<index_t>(i) + 1] -
                                                a.row_offsets()[static_cast<index_t>(i)]);
    ASSERT_LE(std::fabs(found[i] - expected[i]), 1.2e-16L * (terms + 2) * magnitude[i] + 1e-300L) << "row " << i;
  }
}

void check(const std::string& name, const Csr<double>& a, const Csr<double>& b) {
  SCOPED_TRACE(name);
  const offset_t products = testing::count_products(a.view(), b.view());
  if (products > most_products) {
    std::printf("  %s: %lld products, left out\n", name.c_str(), static_cast<long long>(products));
    return;
  }
  const SpgemmResult<double> first = spgemm(a, b);
  EXPECT_EQ(first.report.products, products);
  if (products <= oracle_products) {
    ASSERT_TRUE(testing::is_product(a.view(), b.view(), first.matrix.view()));
    compare_with_eigen(a, b, first.matrix);
  } else {
    compare_row_sums(a, b, first.matrix);
  }
  if (products > oracle_products / 4) return;
  for (const SpgemmWorkflow workflow : spgemm_workflows()) {
    const auto options = testing::spgemm_options(workflow, SpgemmAccumulator::automatic, 3);
    SCOPED_TRACE(testing::name_of(options));
    testing::expect_identical(first.matrix.view(), spgemm(a, b, options).matrix.view());
  }
}

TEST(SpgemmRealMatrices, SquaresAndProductsWithTheTranspose) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const auto& file : testing::real_matrix_files()) {
    const Csr<double> a = read_matrix_market<double>(file).matrix;
    const std::string name = testing::matrix_name(file);
    if (a.rows() == a.cols()) check(name + " squared", a, a);
    check(name + " times its transpose", a, transpose(a.view()));
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace tessera
