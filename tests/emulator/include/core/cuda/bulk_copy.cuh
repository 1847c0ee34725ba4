/// \file
/// Stands in for the header of the same name: bulk copies by the emulator.
#pragma once

#include "tests/emulator/bulk_copies.hpp"

#include <cstdint>

namespace tessera::cuda {

inline constexpr int bulk_copy_granule = 16;

using CopyBarrier = std::uint64_t;

inline void init_barrier(CopyBarrier* barrier) { emulator::init_copy_barrier(barrier); }
inline void make_barriers_visible() {}
inline void release_to_bulk_copies() {}
inline void expect_bytes(CopyBarrier* barrier, std::uint32_t bytes) { emulator::expect_copies(barrier, bytes); }
inline void bulk_copy(void* to_shared, const void* from_global, std::uint32_t bytes, CopyBarrier* barrier) {
  emulator::start_copy(to_shared, from_global, bytes, barrier);
}
inline void wait_for_copies(CopyBarrier* barrier, std::uint32_t parity) { emulator::wait_for_copies(barrier, parity); }

}  // namespace tessera::cuda
