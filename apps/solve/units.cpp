#include "units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace tessera::cli {

namespace {

struct Quantity {
  double value = 0.0;
  std::string_view unit;
};

[[nodiscard]] std::optional<Quantity> split_unit(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
  return Quantity{value, text.substr(static_cast<std::size_t>(end - text.data()))};
}

template <std::size_t N>
[[nodiscard]] std::optional<double> scale_by_unit(std::string_view text,
                                                  const std::array<std::pair<std::string_view, double>, N>& units) {
  const auto quantity = split_unit(text);
  if (!quantity) return std::nullopt;
  for (const auto& [unit, factor] : units) {
    if (quantity->unit != unit) continue;
    const double result = quantity->value * factor;
    if (std::isfinite(result)) return result;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 2> units{{{"", 1.0}, {"%", 0.01}}};
  return scale_by_unit(text, units);
}

std::optional<std::int64_t> parse_count(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size()) {
    return value >= 0 ? std::optional(value) : std::nullopt;
  }
  // "1e6": exact as long as doubles hold every integer.
  constexpr double largest_exact = 9007199254740992.0;
  const auto number = split_unit(text);
  if (!number || !number->unit.empty()) return std::nullopt;
  if (number->value < 0 || number->value > largest_exact || std::floor(number->value) != number->value) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(number->value);
}

std::optional<double> parse_seconds(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 5> units{
      {{"", 1.0}, {"s", 1.0}, {"ms", 1e-3}, {"m", 60.0}, {"h", 3600.0}}};
  const auto seconds = scale_by_unit(text, units);
  return seconds && *seconds >= 0 ? seconds : std::nullopt;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  constexpr double kib = 1024.0;
  constexpr std::array<std::pair<std::string_view, double>, 14> units{{{"", 1.0},
                                                                       {"B", 1.0},
                                                                       {"K", kib},
                                                                       {"KiB", kib},
                                                                       {"KB", 1e3},
                                                                       {"M", kib * kib},
                                                                       {"MiB", kib * kib},
                                                                       {"MB", 1e6},
                                                                       {"G", kib * kib * kib},
                                                                       {"GiB", kib * kib * kib},
                                                                       {"GB", 1e9},
                                                                       {"T", kib * kib * kib * kib},
                                                                       {"TiB", kib * kib * kib * kib},
                                                                       {"TB", 1e12}}};
  const auto bytes = scale_by_unit(text, units);
  if (!bytes || *bytes < 0 || *bytes >= static_cast<double>(std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(*bytes);
}

}  // namespace tessera::cli
