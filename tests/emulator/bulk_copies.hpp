/// \file
/// Copies from global to shared memory, and the barriers that report them complete or the threads that wait for their
/// own. The target is overwritten with ones when a copy starts, and filled when a thread waits for it. So a read that
/// is too early, or a copy that starts while others still read, gives NaN.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::emulator {

/// What follows is for threads of a kernel; misuse ends the grid.

void init_copy_barrier(std::uint64_t* barrier);
void expect_copies(std::uint64_t* barrier, std::uint32_t bytes);
void start_copy(void* target, const void* source, std::uint32_t bytes, std::uint64_t* barrier);
void wait_for_copies(std::uint64_t* barrier, std::uint32_t parity);

inline constexpr std::size_t copied_by_thread = 16;

/// Copies of a single thread, which waits for all of its own at once.
void start_copy_of_thread(void* target, const void* source);
void wait_for_copies_of_thread();

/// At the end of a block. \returns whether every copy was waited for
[[nodiscard]] bool finish_bulk_copies();
/// At the end of a grid.
void forget_bulk_copies();

}  // namespace tessera::emulator
