/// \file
/// Drop tolerances in the names of preconditioners.
#pragma once

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string>

namespace tessera::detail {

/// 1e-4, 0.25, 0: shortest text that reads back as the same number.
[[nodiscard]] [[nodiscard]] inline std::string tolerance_text(double value) {
  constexpr double least_plain = 0.1;
  if (value == 0.0 || value >= least_plain) return fmt::format("{}", value);
  std::array<char, 32> buffer{};
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
  std::string text(buffer.data(), end);
  const std::size_t exponent = text.find("e-") + 2;
  text.erase(exponent, text.find_first_not_of('0', exponent) - exponent);
  return text;
}

}  // namespace tessera::detail
