#include "tessera/matrix_market.hpp"
#include "tessera/statistics.hpp"

#include "tests/support/make_csr.hpp"
#include "tests/support/matrices_dir.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <vector>

namespace tessera {

using namespace detail;
namespace {

TEST(DuplicateRows, AgainstASetOfRows) {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t rows = random() % 40;
    std::vector<std::vector<double>> dense(rows, std::vector<double>(3));
    for (auto& row : dense) {
      for (double& value : row) value = static_cast<double>(random() % 3) - 1.0;
    }
    const std::set<std::vector<double>> distinct(dense.begin(), dense.end());
    const auto a = testing::from_dense<double>(dense, 3);
    EXPECT_EQ(duplicate_rows(a.view()), static_cast<index_t>(rows - distinct.size()));
    EXPECT_EQ(duplicate_rows(a.with_value_type<float>().view()), static_cast<index_t>(rows - distinct.size()));
    // The pattern alone: signs do not matter.
    std::set<std::vector<double>> patterns;
    for (auto row : dense) {
      for (double& value : row) value = std::abs(value);
      patterns.insert(row);
    }
    EXPECT_EQ(duplicate_rows(a.structure().view()), static_cast<index_t>(rows - patterns.size()));
  }
}

TEST(DuplicateRows, ZerosAndNaN) {
  EXPECT_EQ(duplicate_rows(Csr<double>().view()), 0);
  const auto zeros = testing::make_csr<double>(2, 1, {0, 1, 2}, {0, 0}, {0.0, -0.0});
  EXPECT_EQ(duplicate_rows(zeros.view()), 1);
  const auto nan = testing::make_csr<double>(3, 1, {0, 1, 2, 3}, {0, 0, 0}, {std::nan(""), std::nan(""), 1.0});
  EXPECT_EQ(duplicate_rows(nan.view()), 0);
  const auto empty = testing::make_pattern<float>(4, 4, {0, 0, 1, 1, 1}, {0});
  EXPECT_EQ(duplicate_rows(empty.view()), 2);
  // Not the same as the start of a longer row.
  const auto longer = testing::make_pattern<float>(2, 2, {0, 1, 3}, {0, 0, 1});
  EXPECT_EQ(duplicate_rows(longer.view()), 0);
}

/// A circuit of full structural rank that is singular.
TEST(DuplicateRows, OfTheRealCircuit) {
  TESSERA_REQUIRE_REAL_MATRICES();
  const auto file = read_matrix_market<double>(*testing::real_matrices_dir() / "rajat01.mtx.gz");
  EXPECT_EQ(duplicate_rows(file.matrix.structure().view()), 18);
}

}  // namespace
}  // namespace tessera
