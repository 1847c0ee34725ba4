/// \file
/// A path whose vertices have scattered names, as a Matrix Market file.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace tessera::testing {

/// A path whose vertices have scattered names: 7 is prime to 1000, so vertex 7 k of the file is neighbour of 7 (k ± 1).
[[nodiscard]] inline std::string scattered_path() {
  constexpr int n = 1000;
  std::string text = "%%MatrixMarket matrix coordinate real symmetric\n1000 1000 1999\n";
  const auto name = [](int k) { return k * 337 % n + 1; };
  for (int k = 0; k < n; ++k) {
    text += fmt::format("{0} {0} 3\n", name(k));
    if (k + 1 < n) text += fmt::format("{} {} -1\n", std::max(name(k), name(k + 1)), std::min(name(k), name(k + 1)));
  }
  return text;
}

}  // namespace tessera::testing
