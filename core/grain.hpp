/// \file
/// Grain: how much work is worth a thread or a chunk of its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace tessera::host {

/// By what the amounts below are divided. 1, but in tests (tests/support/small_grain.hpp), where small matrices run on
/// several threads; it must not change while an operation runs.
inline std::atomic<std::int64_t> grain_divisor{1};

/// `items`, which are worth a thread or a chunk; fewer in tests that say so.
[[nodiscard]] inline std::int64_t grain(std::int64_t items) noexcept {
  return std::max<std::int64_t>(1, items / grain_divisor.load(std::memory_order_relaxed));
}

}  // namespace tessera::host
