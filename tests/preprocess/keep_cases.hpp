/// \file
/// Cases of keep_entries(), and the naive rule: every row sorted as a whole.
#pragma once

#include "tessera/keep.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/make_csr.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace tessera::testing {

template <class T>
[[nodiscard]] std::vector<offset_t> naive_row(const CsrView<T>& a, std::size_t row, const Keep& keep) {
  std::vector<offset_t> always;
  std::vector<offset_t> candidates;
  double largest = 0.0;
  const auto magnitude = [&](offset_t k) { return std::abs(static_cast<double>(a.value(k))); };
  for (offset_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
    if (std::isfinite(a.value(k))) largest = std::max(largest, magnitude(k));
  }
  for (offset_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
    const bool is_diagonal = static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)]) == row;
    if (!std::isfinite(a.value(k)) || (keep.diagonal && is_diagonal)) {
      always.push_back(k);
    } else if (!(magnitude(k) < keep.tolerance * largest)) {
      candidates.push_back(k);
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](offset_t k, offset_t l) { return magnitude(k) > magnitude(l); });
  while (keep.most > 0 && !candidates.empty() &&
         always.size() + candidates.size() > static_cast<std::size_t>(keep.most)) {
    candidates.pop_back();
  }
  always.insert(always.end(), candidates.begin(), candidates.end());
  std::sort(always.begin(), always.end());
  return always;
}

template <class T>
[[nodiscard]] Csr<T> naive_keep(const CsrView<T>& a, const Keep& keep) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<T> values;
  for (std::size_t row = 0; row < static_cast<std::size_t>(a.rows); ++row) {
    for (const offset_t k : naive_row(a, row, keep)) {
      columns.push_back(a.columns[static_cast<std::size_t>(k)]);
      values.push_back(a.value(k));
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return a.is_pattern() ? make_pattern<T>(a.rows, a.cols, offsets, columns)
                        : make_csr<T>(a.rows, a.cols, offsets, columns, values);
}

/// Rules that drop nothing, little, all but the diagonal; with either limit, with both.
[[nodiscard]] inline std::vector<Keep> keep_rules() {
  return {{},
          {.tolerance = 0.1},
          {.tolerance = 1.0, .diagonal = false},
          {.tolerance = 2.0},
          {.most = 1},
          {.most = 3, .diagonal = false},
          {.most = 40},
          {.tolerance = 0.5, .most = 17},
          {.tolerance = 0.9, .most = 1000, .diagonal = false}};
}

/// Rows whose magnitudes tie, descend by powers of two, differ in single bits, or are zero, tiny, NaN or infinite.
template <class T>
[[nodiscard]] Csr<T> awkward_magnitudes() {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  constexpr T tiny = std::numeric_limits<T>::denorm_min();
  constexpr T huge = std::numeric_limits<T>::max();
  constexpr index_t n = 70;
  std::vector<std::vector<T>> rows;
  rows.emplace_back(n, T{2});                                         // all equal
  rows.push_back({T{1}, T{-3}, T{3}, T{-3}, T{3}, T{2}});             // ties of both signs
  rows.push_back({nan, T{1}, infinity, T{5}, -infinity, T{4}, nan});  // more not finite than some limits
  rows.push_back({T{0}, -T{0}, T{0}, T{0}});                          // zeros, stored
  rows.push_back({tiny, huge, -tiny, -huge, T{0}, T{1}});
  rows.emplace_back();
  std::vector<T> powers;
  std::vector<T> bits;
  T value{1};
  for (index_t j = 0; j < n; ++j) {
    powers.push_back(std::ldexp(T{1}, j % 2 == 0 ? -j : j));
    bits.push_back(value);
    if (j % 3 == 0) value = std::nextafter(value, T{2});
  }
  rows.push_back(powers);
  rows.push_back(bits);
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<T> values;
  for (const auto& row : rows) {
    for (std::size_t j = 0; j < row.size(); ++j) {
      columns.push_back(static_cast<index_t>(j));
      values.push_back(row[j]);
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return make_csr<T>(static_cast<std::int64_t>(rows.size()), n, offsets, columns, values);
}

}  // namespace tessera::testing
