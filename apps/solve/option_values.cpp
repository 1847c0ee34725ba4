#include "option_values.hpp"

#include "errors.hpp"
#include "option_table.hpp"

#include "tessera/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

void refuse_text(std::string_view name, std::string_view text, std::string_view expected) {
  throw OptionError(std::string(name), fmt::format("option --{}: expected {}, got \"{}\"", name, expected, text));
}

void refuse_planned_value(std::string_view name, std::string_view text, std::string_view available) {
  // What follows a colon or a parenthesis does not matter: "ainv:1".
  if (!is_planned(fmt::format("{}={}", name, text.substr(0, text.find_first_of(":("))))) return;
  throw OptionError(
      std::string(name),
      fmt::format("--{} {} is planned and not implemented in Tessera 0.1; available: {}", name, text, available));
}

namespace {

[[nodiscard]] std::string text_of(const Options& options, std::string_view name) {
  auto text = options.text(name);
  if (!text) throw OptionError(std::string(name), fmt::format("option --{} needs a value", name));
  return *std::move(text);
}

[[nodiscard]] std::string range_text(std::int64_t low, std::int64_t high) {
  if (high == std::numeric_limits<std::int64_t>::max()) return fmt::format("a whole number >= {}", low);
  return fmt::format("a whole number in [{}, {}]", low, high);
}

}  // namespace

double number_option(const Options& options, std::string_view name, double low, double high) {
  const std::string text = text_of(options, name);
  const auto value = parse_number(text);
  if (value && *value >= low && *value <= high) return *value;
  const bool unbounded = high == std::numeric_limits<double>::max();
  refuse_text(name, text,
              unbounded ? fmt::format("a finite number >= {}", low) : fmt::format("a number in [{}, {}]", low, high));
}

double damping_option(const Options& options) {
  const std::string text = text_of(options, "damping");
  const auto value = parse_number(text);
  if (!value || *value < 0.0 || *value >= 1.0) refuse_text("damping", text, "a number in [0, 1)");
  return *value;
}

std::int64_t count_option(const Options& options, std::string_view name, std::int64_t low, std::int64_t high) {
  const std::string text = text_of(options, name);
  const auto value = parse_count(text);
  if (value && *value >= low && *value <= high) return *value;
  refuse_text(name, text, range_text(low, high));
}

std::int64_t count_or_auto_option(const Options& options, std::string_view name, std::int64_t automatic,
                                  std::int64_t high) {
  const std::string text = text_of(options, name);
  if (text == "auto") return automatic;
  const auto value = parse_count(text);
  if (value && *value >= 1 && *value <= high) return *value;
  refuse_planned_value(name, text, "auto, N");
  refuse_text(name, text, range_text(1, high) + " or auto");
}

double seconds_option(const Options& options, std::string_view name) {
  const std::string text = text_of(options, name);
  if (text == "none") return std::numeric_limits<double>::infinity();
  const auto value = parse_seconds(text);
  if (!value) refuse_text(name, text, "a time such as 300s, 5m or 2h, or none");
  return *value;
}

std::uint64_t bytes_option(const Options& options, std::string_view name) {
  const std::string text = text_of(options, name);
  const auto value = parse_bytes(text);
  if (!value || *value == 0) refuse_text(name, text, "a size such as 8GiB or 500MB");
  return *value;
}

std::size_t choose(const Options& options, std::string_view name, std::span<const std::string_view> choices) {
  const std::string text = text_of(options, name);
  const auto found = std::find(choices.begin(), choices.end(), text);
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  const std::string known = fmt::format("{}", fmt::join(choices, ", "));
  refuse_planned_value(name, text, known);
  throw OptionError(std::string(name), fmt::format("option --{}: expected one of {}, got \"{}\"", name, known, text),
                    did_you_mean(text, choices));
}

std::vector<std::string> parse_word_list(std::string_view option, std::string_view text,
                                         std::span<const std::string_view> known) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    begin = end + 1;
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      throw UsageError(fmt::format("option --{}: expected words of {}, separated by commas, got \"{}\"", option,
                                   fmt::join(known, ", "), word),
                       did_you_mean(word, known));
    }
    if (std::find(words.begin(), words.end(), word) != words.end()) {
      throw UsageError(fmt::format("option --{}: {} is given twice", option, word));
    }
    words.emplace_back(word);
  }
  return words;
}

std::vector<std::string_view> kernel_names() {
  std::vector<std::string_view> names{to_string(SpmvAlgorithm::automatic), to_string(SpmvAlgorithm::measured)};
  for (const SpmvAlgorithm algorithm : known_spmv_algorithms()) names.push_back(to_string(algorithm));
  return names;
}

}  // namespace tessera::cli
