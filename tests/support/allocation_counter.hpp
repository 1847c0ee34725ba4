/// \file
/// Counts the calls of every global operator new of the program. Link allocation_counter.cpp into a test of its own.
#pragma once

#include <cstdint>

namespace tessera::testing {

/// Allocations by operator new so far, from all threads.
[[nodiscard]] std::int64_t allocation_count() noexcept;

}  // namespace tessera::testing
