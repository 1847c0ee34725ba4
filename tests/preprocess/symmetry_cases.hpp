/// \file
/// Symmetry and the signs of diagonals, on any device.
#pragma once

#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/symmetry.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace tessera::testing {

template <class T>
void expect_symmetry(const Device& device) {
  const auto symmetric = [&](const Csr<T>& matrix) { return is_symmetric(matrix.to(device).view(), device); };
  EXPECT_TRUE(symmetric(Csr<T>()));
  EXPECT_TRUE(symmetric(poisson2d<T>(9, 8)));
  EXPECT_TRUE(symmetric(poisson2d<T>(9, 8).structure()));
  EXPECT_TRUE(symmetric(make_csr<T>(1, 1, {0, 0}, {}, {})));
  EXPECT_FALSE(symmetric(make_csr<T>(1, 2, {0, 1}, {0}, {T{1}}))) << "not square";
  EXPECT_FALSE(symmetric(make_csr<T>(2, 2, {0, 1, 1}, {1}, {T{1}}))) << "another structure";
  EXPECT_FALSE(symmetric(make_csr<T>(3, 3, {0, 1, 2, 3}, {1, 2, 0}, {T{1}, T{1}, T{1}}))) << "a cycle, rows as long";
  const T next = std::nextafter(T{1}, T{2});
  EXPECT_FALSE(symmetric(make_csr<T>(2, 2, {0, 1, 2}, {1, 0}, {T{1}, next}))) << "the last bit of a value";
  EXPECT_TRUE(symmetric(make_csr<T>(2, 2, {0, 1, 2}, {1, 0}, {T{0}, -T{0}})));
  const T nan = std::numeric_limits<T>::quiet_NaN();
  EXPECT_FALSE(symmetric(make_csr<T>(1, 1, {0, 1}, {0}, {nan})));
}

template <class T>
void expect_diagonals(const Device& device) {
  const auto first = [&](const Csr<T>& matrix) {
    return first_row_without_positive_diagonal(matrix.to(device).view(), device);
  };
  EXPECT_EQ(first(Csr<T>()), -1);
  EXPECT_EQ(first(poisson2d<T>(30, 20)), -1);
  EXPECT_EQ(first(poisson2d<T>(5, 4).structure()), -1);
  EXPECT_EQ(first(make_csr<T>(3, 3, {0, 1, 2, 3}, {0, 2, 2}, {T{1}, T{1}, T{1}})), 1) << "missing";
  EXPECT_EQ(first(make_csr<T>(3, 3, {0, 2, 4, 5}, {0, 2, 0, 1, 2}, {T{1}, T{9}, T{9}, -T{1}, T{0}})), 1) << "negative";
  EXPECT_EQ(first(make_csr<T>(2, 2, {0, 1, 2}, {0, 1}, {T{1}, T{0}})), 1) << "zero";
  EXPECT_EQ(first(make_csr<T>(1, 1, {0, 1}, {0}, {std::numeric_limits<T>::quiet_NaN()})), 0);
  EXPECT_EQ(first(make_csr<T>(2, 2, {0, 0, 0}, {}, {})), 0) << "empty rows";
  EXPECT_THROW(static_cast<void>(first(make_csr<T>(1, 2, {0, 1}, {0}, {T{1}}))), DimensionError);
}

}  // namespace tessera::testing
