/// \file
/// Checks that hold for every matching.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/matching.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace tessera::testing {

template <class T>
double magnitude(const CsrView<T>& a, index_t i, index_t j) {
  const auto begin = a.columns.begin() + a.row_offsets[static_cast<std::size_t>(i)];
  const auto end = a.columns.begin() + a.row_offsets[static_cast<std::size_t>(i) + 1];
  const auto found = std::lower_bound(begin, end, j);
  return found == end || *found != j ? 0.0 : std::abs(static_cast<double>(a.value(found - a.columns.begin())));
}

/// Every row and column at most once, along nonzero entries, as many as said.
template <class T>
void expect_matching(const CsrView<T>& a, const Matching& matching) {
  ASSERT_EQ(matching.column_of_row.size(), static_cast<std::size_t>(a.rows));
  std::vector<char> taken(static_cast<std::size_t>(a.cols));
  index_t count = 0;
  for (index_t i = 0; i < a.rows; ++i) {
    const index_t j = matching.column_of_row[static_cast<std::size_t>(i)];
    if (j < 0) {
      ASSERT_EQ(j, -1);
      continue;
    }
    ASSERT_LT(j, a.cols);
    ASSERT_EQ(taken[static_cast<std::size_t>(j)]++, 0) << "column " << j;
    ASSERT_NE(magnitude(a, i, j), 0.0) << "row " << i;
    ++count;
  }
  ASSERT_EQ(count, matching.cardinality);
}

template <class T>
double scaled_magnitude(const CsrView<T>& a, const ProductMatching& found, index_t i, index_t j) {
  return found.scaling.row[static_cast<std::size_t>(i)] * magnitude(a, i, j) *
         found.scaling.column[static_cast<std::size_t>(j)];
}

/// A perfect matching, and no scaled entry above 1: the product of the scaled matched entries is a bound for how much
/// larger another product can be.
template <class T>
void expect_feasible(const CsrView<T>& a, const ProductMatching& found, double tolerance = 1e-11) {
  expect_matching(a, found.matching);
  ASSERT_TRUE(found.matching.is_perfect());
  ASSERT_EQ(found.scaling.row.size(), static_cast<std::size_t>(a.rows));
  ASSERT_EQ(found.scaling.column.size(), static_cast<std::size_t>(a.cols));
  double smallest_diagonal = a.rows == 0 ? 1.0 : std::numeric_limits<double>::infinity();
  for (index_t i = 0; i < a.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    ASSERT_TRUE(std::isnormal(found.scaling.row[row]) && found.scaling.row[row] > 0.0);
    ASSERT_TRUE(std::isnormal(found.scaling.column[row]) && found.scaling.column[row] > 0.0);
    for (offset_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
      ASSERT_LE(scaled_magnitude(a, found, i, a.columns[static_cast<std::size_t>(k)]), 1.0 + tolerance) << "row " << i;
    }
    smallest_diagonal = std::min(smallest_diagonal, scaled_magnitude(a, found, i, i));
  }
  EXPECT_DOUBLE_EQ(found.smallest_diagonal, smallest_diagonal);
}

/// Complementary slackness, which proves that no other perfect matching has a larger product.
template <class T>
void expect_optimal(const CsrView<T>& a, const ProductMatching& found, double tolerance = 1e-11) {
  ASSERT_NO_FATAL_FAILURE(expect_feasible(a, found, tolerance));
  EXPECT_TRUE(found.is_optimal);
  for (index_t i = 0; i < a.rows; ++i) {
    const index_t j = found.matching.column_of_row[static_cast<std::size_t>(i)];
    ASSERT_NEAR(scaled_magnitude(a, found, i, j), 1.0, tolerance) << "row " << i;
  }
}

}  // namespace tessera::testing
