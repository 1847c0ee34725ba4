#include "config_text.hpp"

#include "config_entries.hpp"
#include "report_json.hpp"
#include "units.hpp"
#include "usage_error.hpp"

#include "tessera/version.hpp"

#include <fmt/format.h>

namespace tessera::cli {

namespace {

/// A basic string of TOML escapes what a string of JSON does, and the character 127 besides.
[[nodiscard]] std::string quoted(std::string_view name, const std::string& text) {
  std::string result;
  try {
    result = Json(text).dump();
  } catch (const Json::type_error&) {
    throw UsageError(fmt::format("--print-config: \"{}\" is not UTF-8, which a configuration file must be", name));
  }
  for (std::size_t i = 0; (i = result.find('\x7f', i)) != std::string::npos;) result.replace(i, 1, "\\u007f");
  return result;
}

[[nodiscard]] std::string value_text(const OptionSpec& spec, const std::string& text) {
  if (spec.kind == ValueKind::flag) {
    if (spec.name == "verbose") return text;
    return text == "0" ? "false" : "true";
  }
  if (spec.kind == ValueKind::count) {
    if (const auto value = parse_count(text)) return fmt::format("{}", *value);
  }
  if (spec.kind == ValueKind::number) {
    if (const auto value = parse_number(text)) return number_text(*value);
  }
  return quoted(spec.name, text);
}

[[nodiscard]] std::string line_of(const Options& options, const OptionSpec& spec) {
  if (spec.kind == ValueKind::flag) {
    const int count = options.flag_count(spec.name);
    return fmt::format("{} = {}{}\n", spec.name, value_text(spec, std::to_string(count)),
                       count == 0 ? "  # default" : "");
  }
  const auto text = options.text(spec.name);
  const auto fallback = options.fallback(spec.name);
  // A weaker source cannot set it either, as long as its rival stands here.
  if (options.is_outdone(spec.name)) return fmt::format("# {} =\n", spec.name);
  if (!text) return fmt::format("{} = \"\"  # default\n", spec.name);
  const std::string value = value_text(spec, *text);
  const bool usual = fallback && value == value_text(spec, *fallback);
  return fmt::format("{} = {}{}\n", spec.name, value, usual ? "  # default" : "");
}

}  // namespace

std::string config_text(const Options& options) {
  std::string text = fmt::format(
      "# solve {}: this file repeats the run with solve --config FILE.\n"
      "# An empty text means: not set. A line that is commented out is replaced by another option.\n\ncommand = "
      "\"{}\"\n",
      build_info().version, to_string(options.command()));
  if (options.setting("matrix") != nullptr) {
    text += fmt::format("matrix = {}\n", quoted("matrix", options.words().front()));
  }
  std::string_view group;
  for (const OptionSpec& spec : option_table()) {
    if (!uses(options.command(), spec) || !is_configurable(spec)) continue;
    if (spec.group != group) text += fmt::format("\n# {}\n", spec.group);
    group = spec.group;
    text += line_of(options, spec);
  }
  return text;
}

}  // namespace tessera::cli
