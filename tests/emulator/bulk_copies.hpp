/// \file
/// Copies from global into shared memory and the barriers that report them complete. A copy's target is overwritten
/// with ones when it starts and filled when a thread waits for it, so that whoever reads too early, or starts it while
/// others still read, gets NaN.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::emulator {

/// What follows is for threads of a kernel; misuse ends the grid.

void init_copy_barrier(std::uint64_t* barrier);
void expect_copies(std::uint64_t* barrier, std::uint32_t bytes);
void start_copy(void* target, const void* source, std::uint32_t bytes, std::uint64_t* barrier);
void wait_for_copies(std::uint64_t* barrier, std::uint32_t parity);

/// At the end of a block. \returns whether every copy was waited for
[[nodiscard]] bool finish_bulk_copies();
/// At the end of a grid.
void forget_bulk_copies();

}  // namespace tessera::emulator
