/// \file
/// Sums of rows by lists that they share, on the host. Neighbouring rows on one list are summed side by side, 16 or 4
/// of them, so that vector instructions take several at once and their additions do not wait for each other.
#pragma once

#include "spmv/patterns/value_store_host.hpp"
#include "tessera/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tessera::host {

/// Rows of one list that are summed side by side where there are not slice_rows.
inline constexpr index_t few_rows = 4;

/// A list as a product reads it.
struct RowList {
  index_t length;
  const index_t* columns;  ///< relative
};

/// The first rows of `codes` that are on one list, at most `most`: slice_rows if all of these are, few_rows or one.
[[nodiscard]] inline index_t rows_alike(const std::uint8_t* codes, std::int64_t most) noexcept {
  const auto equal = [codes](index_t count) {
    int unlike = 0;
    for (index_t r = 1; r < count; ++r) unlike |= codes[r] ^ codes[0];
    return unlike == 0;
  };
  if (most >= slice_rows && equal(slice_rows)) return slice_rows;
  return most >= few_rows && equal(few_rows) ? few_rows : 1;
}

/// The sums of `Rows` rows of one list: entry by entry for all of them, so that a row still gets its terms in the order
/// of its columns. \param x at the first row's own column
template <index_t Rows, class T, class RowValues>
[[gnu::always_inline]] inline void add_rows(const RowList& own, const RowValues& values, const T* x,
                                            std::array<T, slice_rows>& sums) noexcept {
  constexpr bool has_values = !std::is_same_v<RowValues, NoStoredValues::Row>;
  if constexpr (Rows == 1) {
    T sum{0};
    for (index_t k = 0; k < own.length; ++k) {
      const T source = x[own.columns[k]];
      if constexpr (has_values) {
        sum += values.entry(k).value(0) * source;
      } else {
        sum += source;
      }
    }
    sums[0] = sum;
  } else {
    constexpr index_t lanes = LanesOfRows<T>::count;
    constexpr auto groups = static_cast<std::size_t>(Rows / lanes);
    Lanes<T> sum[groups] = {};
    for (index_t k = 0; k < own.length; ++k) {
      const T* const source = x + own.columns[k];
      for (std::size_t g = 0; g < groups; ++g) {
        const auto first = static_cast<index_t>(g) * lanes;
        if constexpr (has_values) {
          sum[g] += values.entry(k).lanes(first) * load_lanes(source + first);
        } else {
          sum[g] += load_lanes(source + first);
        }
      }
    }
    std::memcpy(sums.data(), &sum, sizeof(sum));
  }
}

/// The same for the rows that rows_alike() counted.
template <class T, class RowValues>
[[gnu::always_inline]] inline void add_rows(index_t count, const RowList& own, const RowValues& values, const T* x,
                                            std::array<T, slice_rows>& sums) noexcept {
  if (count == slice_rows) {
    add_rows<slice_rows, T>(own, values, x, sums);
  } else if (count == few_rows) {
    add_rows<few_rows, T>(own, values, x, sums);
  } else {
    add_rows<1, T>(own, values, x, sums);
  }
}

}  // namespace tessera::host
