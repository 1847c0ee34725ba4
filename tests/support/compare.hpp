/// \file
/// Equality of matrices to the last bit.
#pragma once

#include "tessera/csr.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace tessera::testing {

template <class U>
[[nodiscard]] bool same_bytes(std::span<const U> a, std::span<const U> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

template <class T>
void expect_identical(const CsrView<T>& a, const CsrView<T>& b) {
  ASSERT_EQ(a.rows, b.rows);
  ASSERT_EQ(a.cols, b.cols);
  ASSERT_EQ(a.storage, b.storage);
  EXPECT_TRUE(same_bytes(a.row_offsets, b.row_offsets));
  EXPECT_TRUE(same_bytes(a.columns, b.columns));
  EXPECT_TRUE(same_bytes(a.values, b.values));
}

}  // namespace tessera::testing
