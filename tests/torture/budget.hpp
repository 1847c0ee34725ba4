/// \file
/// Number of random cases that the tests of this folder try: TESSERA_TORTURE is a factor, 1 without it.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace tessera::testing {

/// `count` cases times TESSERA_TORTURE; .ci/nightly sets it high.
[[nodiscard]] inline std::uint64_t torture_cases(std::uint64_t count) {
  const char* factor = std::getenv("TESSERA_TORTURE");
  const long value = factor == nullptr ? 1 : std::strtol(factor, nullptr, 10);
  return value < 1 ? count : count * static_cast<std::uint64_t>(value);
}

}  // namespace tessera::testing
