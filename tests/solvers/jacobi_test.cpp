#include "tessera/error.hpp"
#include "tests/solvers/systems.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace tessera::testing {
namespace {

std::string refusal(const Csr<double>& matrix) {
  try {
    const JacobiPreconditioner<double> jacobi(matrix.view());
  } catch (const InvalidMatrix& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Jacobi, AppliesTheInverseDiagonal) {
  const Csr<double> a = from_dense<double>({{2, 1, 0}, {0, -4, 1}, {7, 0, 0.5}}, 3);
  const JacobiPreconditioner<double> jacobi(a.view());
  const std::vector<double> x{2, 2, 2};
  std::vector<double> y{std::numeric_limits<double>::quiet_NaN(), 1, 1};
  jacobi.apply(x, std::span<double>(y));
  EXPECT_EQ(y, (std::vector<double>{1, -0.5, 4}));
  jacobi.apply(3.0, x, 2.0, y);
  EXPECT_EQ(y, (std::vector<double>{5, -2.5, 20}));
  ASSERT_TRUE(jacobi.diagonal().has_value());
  EXPECT_EQ((*jacobi.diagonal())[1], -0.25);
  std::vector<double> z(3);
  jacobi.apply_transposed(x, z);
  EXPECT_EQ(z, (std::vector<double>{1, -0.5, 4}));
}

TEST(Jacobi, PatternMatrixHasOnes) {
  const Csr<float> a = make_pattern<float>(2, 2, {0, 2, 3}, {0, 1, 1});
  const JacobiPreconditioner<float> jacobi(a.view());
  EXPECT_EQ((*jacobi.diagonal())[0], 1.0F);
}

TEST(Jacobi, NamesTheFirstRowItCannotInvert) {
  EXPECT_NE(refusal(from_dense<double>({{1, 0, 0}, {0, 0, 1}, {0, 1, 0}}, 3)).find("row 2 has no diagonal"),
            std::string::npos);
  EXPECT_NE(refusal(make_csr<double>(2, 2, {0, 1, 2}, {0, 1}, {1.0, 0.0})).find("row 2 holds 0"), std::string::npos);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(refusal(diagonal_matrix<double>({nan, 0.0})).find("row 1 holds nan"), std::string::npos);
  EXPECT_NE(refusal(diagonal_matrix<double>({1.0, 5e-324})).find("row 2 holds"), std::string::npos)
      << "1 / 5e-324 overflows";
  std::vector<double> many(20000, 1.0);
  many[7000] = many[19000] = 0.0;
  EXPECT_NE(refusal(diagonal_matrix(many)).find("row 7001 "), std::string::npos) << "the first, whatever the threads";
}

TEST(Jacobi, RefusesARectangularMatrix) {
  const Csr<double> a = from_dense<double>({{1, 2, 3}}, 3);
  EXPECT_THROW(JacobiPreconditioner<double>{a.view()}, DimensionError);
}

TEST(Jacobi, RefreshTakesNewValuesOrKeepsTheOld) {
  JacobiPreconditioner<double> jacobi(diagonal_matrix<double>({1, 2}).view());
  jacobi.refresh(diagonal_matrix<double>({4, 8}).view());
  EXPECT_EQ((*jacobi.diagonal())[1], 0.125);
  EXPECT_THROW(jacobi.refresh(diagonal_matrix<double>({2, 0}).view()), InvalidMatrix);
  EXPECT_THROW(jacobi.refresh(diagonal_matrix<double>({2, 2, 2}).view()), DimensionError);
  EXPECT_EQ((*jacobi.diagonal())[0], 0.25);
}

}  // namespace
}  // namespace tessera::testing
