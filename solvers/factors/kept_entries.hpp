/// \file
/// Dropping: of the entries of a row of a factor, the largest are kept.
#pragma once

#include "solvers/factors/factorization.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tessera::detail {

struct KeptEntry {
  index_t column;
  double value;
};

/// The `most` largest in magnitude; of equal ones the first columns. Their order is lost.
inline void keep_largest(std::vector<KeptEntry>& entries, std::int64_t most) {
  if (static_cast<std::int64_t>(entries.size()) <= most) return;
  // The order is total, which nth_element needs, whatever the values: NaN counts as the largest.
  const auto magnitude = [](double value) { return std::isnan(value) ? HUGE_VAL : std::abs(value); };
  std::nth_element(entries.begin(), entries.begin() + most, entries.end(),
                   [magnitude](const KeptEntry& a, const KeptEntry& b) {
                     const double first = magnitude(a.value);
                     const double second = magnitude(b.value);
                     return first > second || (first == second && a.column < b.column);
                   });
  entries.resize(static_cast<std::size_t>(most));
}

inline void sort_by_column(std::vector<KeptEntry>& entries) {
  std::sort(entries.begin(), entries.end(), [](const KeptEntry& a, const KeptEntry& b) { return a.column < b.column; });
}

/// Appends the entries as a row, columns ascending, and clears them.
inline void append_row(std::vector<KeptEntry>& entries, FactorRows& rows) {
  sort_by_column(entries);
  for (const KeptEntry& entry : entries) rows.add(entry.column, entry.value);
  rows.end_row();
  entries.clear();
}

}  // namespace tessera::detail
