/// \file
/// Finding NaN and infinity.
#pragma once

#include "core/parallel.hpp"

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <span>

namespace tessera::io {

/// Whether all values are finite: x * 0 is 0 for finite x and NaN otherwise, and sums keep NaN.
template <class T>
[[nodiscard]] bool all_finite(const T* values, std::int64_t count) noexcept {
  constexpr std::int64_t lanes = 8;
  std::array<T, lanes> sums{};
  std::int64_t k = 0;
  for (; k + lanes <= count; k += lanes) {
    for (std::int64_t j = 0; j < lanes; ++j) sums[static_cast<std::size_t>(j)] += values[k + j] * T{0};
  }
  for (; k < count; ++k) sums[0] += values[k] * T{0};
  T total{0};
  for (const T sum : sums) total += sum;
  return total == T{0};
}

/// Position of the first NaN or infinity, or the number of values.
template <class T>
[[nodiscard]] std::int64_t first_not_finite(std::span<const T> values, const Device& device) {
  const auto count = static_cast<std::int64_t>(values.size());
  std::atomic<std::int64_t> first{count};
  host::parallel_for(device, count, [&](host::Range range) {
    if (all_finite(values.data() + range.begin, range.size())) return;
    std::int64_t k = range.begin;
    while (std::isfinite(values[static_cast<std::size_t>(k)])) ++k;
    std::int64_t seen = first.load();
    while (k < seen && !first.compare_exchange_weak(seen, k)) {
    }
  });
  return first;
}

}  // namespace tessera::io
