/// \file
/// Rows that occur twice: hashed, sorted by hash, compared.
#include "tessera/statistics.hpp"

#include "core/random.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

namespace tessera {

using namespace detail;

namespace {

[[nodiscard]] std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

[[nodiscard]] std::uint64_t mix(std::uint64_t hash, std::uint64_t word) { return SplitMix64(hash ^ word).next(); }

template <class T>
std::uint64_t hash_of_row(const CsrView<T>& a, index_t i) {
  std::uint64_t hash = 0;
  for (offset_t k = a.row_offsets[at(i)]; k < a.row_offsets[at(i) + 1]; ++k) {
    hash = mix(hash, static_cast<std::uint64_t>(a.columns[at(k)]));
    // -0 + 0 is 0: zeros of both signs are equal.
    if (!a.is_pattern()) hash = mix(hash, std::bit_cast<std::uint64_t>(static_cast<double>(a.value(k)) + 0.0));
  }
  return hash;
}

template <class T>
bool equal_rows(const CsrView<T>& a, index_t i, index_t j) {
  const auto row = [&a](const auto& entries, index_t r) {
    return entries.subspan(at(a.row_offsets[at(r)]), at(a.row_offsets[at(r) + 1] - a.row_offsets[at(r)]));
  };
  return std::ranges::equal(row(a.columns, i), row(a.columns, j)) &&
         (a.is_pattern() || std::ranges::equal(row(a.values, i), row(a.values, j)));
}

}  // namespace

template <class T>
index_t duplicate_rows(const CsrView<T>& matrix) {
  std::vector<std::pair<std::uint64_t, index_t>> rows(at(matrix.rows));
  for (index_t i = 0; i < matrix.rows; ++i) rows[at(i)] = {hash_of_row(matrix, i), i};
  std::sort(rows.begin(), rows.end());
  index_t duplicates = 0;
  std::vector<index_t> distinct;  // rows of one hash; hardly ever more than one
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (k == 0 || rows[k].first != rows[k - 1].first) distinct.clear();
    const index_t i = rows[k].second;
    if (std::ranges::any_of(distinct, [&](index_t earlier) { return equal_rows(matrix, i, earlier); })) {
      ++duplicates;
    } else {
      distinct.push_back(i);
    }
  }
  return duplicates;
}

template index_t duplicate_rows(const CsrView<float>&);
template index_t duplicate_rows(const CsrView<double>&);

}  // namespace tessera
