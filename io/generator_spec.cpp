#include "io/recipe.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <system_error>

namespace tessera {

namespace {

/// Reads one spec and says in every complaint which text it is about.
class SpecParser {
 public:
  SpecParser(std::string_view text, std::uint64_t seed) : text_(text) { spec_.seed = seed; }

  GeneratorSpec parse() {
    const std::size_t end = text_.find_first_of(":,");
    spec_.family = text_.substr(0, end);
    if (end != std::string_view::npos) parse_parts(text_.substr(end + 1));
    try {
      static_cast<void>(io::Recipe(spec_));
    } catch (const InvalidArgument& error) {
      refuse(error.what());
    }
    return spec_;
  }

 private:
  void parse_parts(std::string_view rest) {
    while (true) {
      const std::size_t comma = rest.find(',');
      parse_part(rest.substr(0, comma));
      if (comma == std::string_view::npos) return;
      rest.remove_prefix(comma + 1);
    }
  }

  void parse_part(std::string_view part) {
    if (part.empty()) refuse("a size or NAME=NUMBER is missing after ':' or ','");
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      if (spec_.size) refuse(fmt::format("'{}' is a second size", part));
      spec_.size = whole_number("size", part);
      return;
    }
    const std::string_view name = part.substr(0, equals);
    const std::string_view value = part.substr(equals + 1);
    if (name == "seed") {
      if (seed_given_) refuse("parameter 'seed' is given twice");
      seed_given_ = true;
      spec_.seed = seed(value);
    } else if (!spec_.parameters.emplace(name, number(fmt::format("parameter '{}'", name), value)).second) {
      refuse(fmt::format("parameter '{}' is given twice", name));
    }
  }

  [[nodiscard]] double number(const std::string& what, std::string_view text) const {
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
      refuse(fmt::format("{} must be a number, got '{}'", what, text));
    }
    return value;
  }

  /// 55000000 or 55e6.
  [[nodiscard]] std::int64_t whole_number(const std::string& what, std::string_view text) const {
    const double value = number(what, text);
    constexpr double most = 0x1p53;
    if (value != std::floor(value) || std::fabs(value) > most) {
      refuse(fmt::format("{} must be a whole number up to 2^53, got '{}'", what, text));
    }
    return static_cast<std::int64_t>(value);
  }

  [[nodiscard]] std::uint64_t seed(std::string_view text) const {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) {
      refuse(fmt::format("parameter 'seed' must be an integer in [0, 2^64), got '{}'", text));
    }
    return value;
  }

  [[noreturn]] void refuse(const std::string& reason) const {
    throw InvalidArgument(fmt::format("generator '{}': {}", text_, reason));
  }

  std::string_view text_;
  GeneratorSpec spec_;
  bool seed_given_ = false;
};

}  // namespace

GeneratorSpec parse_generator(std::string_view text, std::uint64_t seed) { return SpecParser(text, seed).parse(); }

std::string to_string(const GeneratorSpec& spec) {
  const io::Recipe recipe(spec);
  std::string text = spec.family + ':';
  // A scale stands in for the size.
  if (!spec.parameters.contains("scale")) text += fmt::format("{},", recipe.size());
  for (const auto& [name, value] : spec.parameters) text += fmt::format("{}={},", name, value);
  return text + fmt::format("seed={}", spec.seed);
}

}  // namespace tessera
