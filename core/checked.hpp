/// \file
/// Arithmetic on sizes that throws instead of wrapping around.
#pragma once

#include "tessera/error.hpp"

#include <concepts>
#include <limits>
#include <string>
#include <utility>

namespace tessera {

/// a + b. \throws InvalidArgument naming `what` on overflow
template <std::integral I>
[[nodiscard]] I checked_add(I a, I b, const char* what) {
  I result{};
  if (__builtin_add_overflow(a, b, &result)) {
    throw InvalidArgument(std::string(what) + ": " + std::to_string(a) + " + " + std::to_string(b) + " overflows");
  }
  return result;
}

/// a * b. \throws InvalidArgument naming `what` on overflow
template <std::integral I>
[[nodiscard]] I checked_multiply(I a, I b, const char* what) {
  I result{};
  if (__builtin_mul_overflow(a, b, &result)) {
    throw InvalidArgument(std::string(what) + ": " + std::to_string(a) + " * " + std::to_string(b) + " overflows");
  }
  return result;
}

/// The same number in another integer type. \throws InvalidArgument naming `what` when it does not fit
template <std::integral To, std::integral From>
[[nodiscard]] To checked_cast(From value, const char* what) {
  if (!std::in_range<To>(value)) {
    throw InvalidArgument(std::string(what) + ": " + std::to_string(value) + " is outside [" +
                          std::to_string(std::numeric_limits<To>::min()) + ", " +
                          std::to_string(std::numeric_limits<To>::max()) + "]");
  }
  return static_cast<To>(value);
}

}  // namespace tessera
