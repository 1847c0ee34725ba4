/// \file
/// Runs the threads of a kernel one at a time, a fiber each, from one barrier to the next. Blocks run one after another
/// in random order, those of a cooperative grid in turns; the order of warps, and of the lanes of a warp, changes at
/// every barrier. TESSERA_EMULATOR_SEED chooses the order. Unwritten memory is filled with ones (NaN, -1): shared
/// memory before each block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tessera::emulator {

inline constexpr unsigned warp_lanes = 32;
inline constexpr unsigned max_threads = 1024;

struct GridShape {
  unsigned blocks = 1;
  unsigned threads = 1;
  std::size_t shared_bytes = 0;  ///< dynamic, per block
  bool is_cooperative = false;   ///< the blocks run in turns; few, since each has its own stacks
};

/// Runs kernel() in every thread. One grid at a time. \returns what went wrong, or nothing
[[nodiscard]] std::string run_grid(const GridShape& shape, const std::function<void()>& kernel);

// The rest is for threads of a kernel.

/// Ends the grid: run_grid() returns `what`. Its threads are abandoned, without destructors.
[[noreturn]] void fail(std::string_view what);

/// Intrinsics in which the lanes of a warp meet; all of them in the same.
enum class Meeting { sync, shuffle, vote, match, maximum, minimum, sum };

/// \param mask must name all lanes: no kernel here asks for fewer
void meet_warp(unsigned mask, Meeting kind);
/// What the other lanes of the warp give for `own`, by lane.
[[nodiscard]] const std::uint64_t* gather_warp(unsigned mask, Meeting kind, std::uint64_t own);
void meet_block();
/// Sum over the block.
[[nodiscard]] int count_block(bool own);
/// Lets other threads run.
void give_way();

[[nodiscard]] unsigned lane_of_thread();
/// Dynamic shared memory of the block: exactly as many bytes as the launch asked for.
[[nodiscard]] unsigned char* dynamic_shared();

}  // namespace tessera::emulator
