/// \file
/// What every loop keeps beside the numbers of its method. A loop's state is a plain struct derived from LoopControl:
/// it lives with the host or, for a loop that runs on a GPU by itself, in the memory of the GPU.
#pragma once

#include "core/host_device.hpp"
#include "tessera/linear_operator.hpp"

#include <cstdint>

namespace tessera::loop {

/// Why a loop stands still and wants somebody to look at it.
enum class Halt : std::int32_t {
  none,       ///< it goes on
  check,      ///< the recurrence claims to be done, or knows nothing any more
  replace,    ///< the residual is to be computed, as it is now and then
  half_step,  ///< BiCGSTAB: the same as check, between its two products
  breakdown,
  limit,  ///< iterations, divergence, stagnation
};

struct LoopControl {
  Halt halt = Halt::none;
  std::int64_t iteration = 0;  ///< completed
  double norm = 0.0;           ///< what the history shows of it
  ProductDots dots;            ///< of the latest product

  [[nodiscard]] TESSERA_HOST_DEVICE bool halted() const noexcept { return halt != Halt::none; }
};

/// What is known of an iteration after it.
struct LoopEntry {
  std::int64_t iteration = 0;
  double norm = 0.0;
  double seconds = 0.0;  ///< since the loop was made
};

}  // namespace tessera::loop
