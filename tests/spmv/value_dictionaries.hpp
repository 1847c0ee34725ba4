/// \file
/// Lists of values with and without a dictionary, and what a dictionary has to say about them.
#pragma once

#include "core/detail_namespace.hpp"
#include "spmv/common/value_dictionary.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {

/// `n` values, of which `distinct` differ; the last ones appear once each, at the end.
template <class T>
[[nodiscard]] std::vector<T> values_of_few(std::int64_t n, int distinct) {
  std::vector<T> values(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t left = n - k;
    const std::int64_t number = left <= distinct ? left - 1 : k % 7 % distinct;
    values[static_cast<std::size_t>(k)] = static_cast<T>(static_cast<double>(number) / 64.0 - 1.0);
  }
  return values;
}

/// Zeros of both signs, NaNs of several bits, infinities, least and largest values.
template <class T>
[[nodiscard]] std::vector<T> odd_values() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values{T{0},
                        -T{0},
                        Limits::quiet_NaN(),
                        -Limits::quiet_NaN(),
                        Limits::infinity(),
                        -Limits::infinity(),
                        Limits::denorm_min(),
                        -Limits::denorm_min(),
                        Limits::min(),
                        Limits::max(),
                        Limits::lowest(),
                        T{1}};
  T payload = Limits::quiet_NaN();
  unsigned char low = 5;
  std::memcpy(&payload, &low, 1);
  values.push_back(payload);
  return values;
}

/// The NaN of which all bits are set.
template <class T>
[[nodiscard]] T all_bits() {
  T value;
  std::memset(&value, 0xff, sizeof(value));
  return value;
}

/// Whether a dictionary on the host names exactly these values, bit by bit.
template <class T>
void check_dictionary(const detail::ValueDictionary<T>& dictionary, const std::vector<T>& values) {
  std::set<std::uint64_t> keys;
  for (const T value : values) {
    keys.insert(detail::dictionary_key(value));
    const int code = dictionary.coder().code(value);
    ASSERT_GE(code, 0);
    ASSERT_LT(code, dictionary.count());
    ASSERT_EQ(std::memcmp(&dictionary.values[code], &value, sizeof(value)), 0) << value;
  }
  ASSERT_EQ(static_cast<std::size_t>(dictionary.count()), keys.size());
  EXPECT_EQ(dictionary.coder().code(T{12345.5}), -1);
  EXPECT_EQ(dictionary.coder().code(all_bits<T>()), -1);
}

}  // namespace tessera::testing
