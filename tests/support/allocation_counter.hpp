/// \file
/// Counts the calls of every global operator new of the program, and their bytes, and lets single ones fail. Link
/// allocation_counter.cpp into a test of its own.
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

/// Allocation `number` from now on, counted from 0, fails; those before and behind it do not, and hold no old values.
void fail_allocation(std::int64_t number) noexcept;
/// None fails any more. \returns whether one did since fail_allocation()
[[nodiscard]] bool forgive_allocations() noexcept;

}  // namespace tessera::testing
