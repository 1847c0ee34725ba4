/// \file
/// Random numbers for the order of threads.
#pragma once

#include <cstdint>
#include <utility>

namespace tessera::emulator {

/// TESSERA_EMULATOR_SEED, or 1.
[[nodiscard]] std::uint64_t seed();

[[nodiscard]] std::uint64_t random_bits();

/// Puts values in random order.
inline void shuffle(unsigned* values, unsigned count) {
  for (unsigned i = count; i > 1; --i) std::swap(values[i - 1], values[random_bits() % i]);
}

}  // namespace tessera::emulator
