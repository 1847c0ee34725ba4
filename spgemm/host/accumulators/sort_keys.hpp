/// \file
/// Sorts the columns of a row together with the offsets of their values.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

namespace tessera::host {

/// A column, relative to the row's first, above the offset of its value.
using SortKey = std::uint64_t;

[[nodiscard]] constexpr SortKey sort_key(std::uint32_t column, std::uint32_t place) noexcept {
  return (SortKey{column} << 32) | place;
}

/// Rows below this many entries are sorted by comparisons.
inline constexpr std::int64_t radix_threshold = 96;

/// Ascending by column, then by offset. Either columns are distinct, or offsets ascend on input.
/// \param scratch as long as keys \param width columns are below it
/// \returns where the sorted keys lie: `keys` or `scratch`
inline SortKey* sort_keys(SortKey* keys, SortKey* scratch, std::int64_t count, std::uint32_t width) noexcept {
  if (count < radix_threshold) {
    std::sort(keys, keys + count);
    return keys;
  }
  const auto bits = static_cast<int>(std::bit_width(width));
  for (int shift = 0; shift < bits; shift += 8) {
    std::array<std::int64_t, 256> position{};
    for (std::int64_t k = 0; k < count; ++k) ++position[(keys[k] >> (32 + shift)) & 255];
    std::int64_t sum = 0;
    for (std::int64_t& p : position) sum += std::exchange(p, sum);
    for (std::int64_t k = 0; k < count; ++k) scratch[position[(keys[k] >> (32 + shift)) & 255]++] = keys[k];
    std::swap(keys, scratch);
  }
  return keys;
}

}  // namespace tessera::host
