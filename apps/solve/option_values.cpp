#include "option_values.hpp"

#include "unavailable.hpp"
#include "units.hpp"
#include "usage_error.hpp"

#include "core/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tessera::cli {

void refuse_text(std::string_view name, std::string_view text, std::string_view expected) {
  throw OptionError(std::string(name), fmt::format("option --{}: expected {}, got \"{}\"", name, expected, text));
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
  if (is_later_value(name, text)) refuse_value(name, text, "auto, N");
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
  if (is_later_value(name, text)) refuse_value(name, text, known);
  throw OptionError(std::string(name), fmt::format("option --{}: expected one of {}, got \"{}\"", name, known, text),
                    did_you_mean(text, choices));
}

}  // namespace tessera::cli
