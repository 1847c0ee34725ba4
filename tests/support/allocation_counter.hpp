/// \file
/// Counts the calls of every global operator new of the program, and their bytes. Link allocation_counter.cpp into a
/// test of its own.
#pragma once

#include <cstdint>

namespace tessera::testing {

/// Allocations by operator new so far, from all threads.
[[nodiscard]] std::int64_t allocation_count() noexcept;

/// Bytes that are allocated so at this moment, as the system rounds them.
[[nodiscard]] std::int64_t live_bytes() noexcept;
/// The most that were, since the last call of forget_peak().
[[nodiscard]] std::int64_t peak_bytes() noexcept;
void forget_peak() noexcept;

}  // namespace tessera::testing
