#include "tests/emulator/random.hpp"

#include <cstdlib>

namespace tessera::emulator {

std::uint64_t seed() {
  static const std::uint64_t chosen = [] {
    const char* const text = std::getenv("TESSERA_EMULATOR_SEED");
    return text == nullptr ? std::uint64_t{1} : std::strtoull(text, nullptr, 10);
  }();
  return chosen;
}

std::uint64_t random_bits() {
  static std::uint64_t state = seed();
  // SplitMix64.
  state += 0x9e3779b97f4a7c15;
  std::uint64_t bits = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
  return bits ^ bits >> 31;
}

}  // namespace tessera::emulator
