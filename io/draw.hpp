/// \file
/// Independent sources of random numbers inside one generator.
#pragma once

#include "core/random.hpp"

#include <cstdint>

namespace tessera::io {

/// What a random number is for. The numbers are part of the definition of the matrices: they never change.
enum class Draw : std::uint64_t { value = 1, edge = 2, second_edge = 3, row = 4, heavy_row = 5, permutation = 6 };

[[nodiscard]] constexpr std::uint64_t draw_seed(std::uint64_t seed, Draw draw) {
  return SplitMix64(seed, static_cast<std::uint64_t>(draw)).next();
}

}  // namespace tessera::io
