/// Names of incomplete factors.
#include "tessera/incomplete_factors.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace tessera {

namespace {

/// 1e-4, 0.25, 0: shortest text that reads back as the same number.
[[nodiscard]] std::string tolerance_text(double value) {
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

}  // namespace

std::string factor_name(const IncompleteFactorOptions& options) {
  std::string name = options.blocks > 1 ? fmt::format("bjacobi:{}:", options.blocks) : std::string();
  name += to_string(options.kind);
  switch (options.kind) {
    case FactorKind::ilu0:
    case FactorKind::ic0:
      return name;
    case FactorKind::iluk:
      return name + fmt::format(":{}", options.level);
    case FactorKind::ilut:
    case FactorKind::ilutp:
    case FactorKind::ict:
      break;
  }
  return name + fmt::format(":{}:{}", tolerance_text(options.drop_tolerance), options.max_row_entries);
}

}  // namespace tessera
