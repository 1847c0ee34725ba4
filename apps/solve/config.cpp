#include "config.hpp"

#include "errors.hpp"
#include "option_table.hpp"
#include "option_values.hpp"
#include "report_json.hpp"

#include "support/json_reader.hpp"
#include "tessera/error.hpp"
#include "tessera/nearest.hpp"
#include "tessera/version.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>
#include <unistd.h>
#include <system_error>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

namespace {

/// A key and its value in a configuration file, whatever they mean.
struct ConfigEntry {
  enum class Type { boolean, number, string, other };

  std::string key;
  std::string text;  ///< as it would be typed after the option; of Type::other what it is: "a table"
  Type type = Type::string;
  std::string place;  ///< "run.toml:3"; the file alone where the line is not known
};

using Type = ConfigEntry::Type;

/// Shortest text that reads back as the same double; whole numbers in digits.
[[nodiscard]] std::string number_text(double value) { return fmt::format("{}", value); }

/// nlohmann keeps the last of two values of a key without a word.
[[nodiscard]] Json parse_json_once(const std::string& file, std::string_view text) {
  std::vector<std::set<std::string>> open;  // the keys of each object that is open
  return support::parse_json(file, text, [&](int /*depth*/, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second) {
      throw UsageError(fmt::format("{}: the key \"{}\" occurs twice", file, value.get<std::string>()));
    }
    return true;
  });
}

[[nodiscard]] ConfigEntry entry_of(const std::string& file, const std::string& key, const Json& value) {
  ConfigEntry entry{key, {}, Type::other, file};
  if (value.is_string()) {
    entry.type = Type::string;
    entry.text = value.get<std::string>();
  } else if (value.is_boolean()) {
    entry.type = Type::boolean;
    entry.text = value.get<bool>() ? "true" : "false";
  } else if (value.is_number()) {
    entry.type = Type::number;
    entry.text = value.is_number_float() ? number_text(value.get<double>()) : value.dump();
  } else {
    entry.text = value.is_null() ? "null" : (value.is_array() ? "an array" : "an object");
  }
  return entry;
}

/// A document of an earlier run: {"rtol": {"value": 1e-8, "source": "command line"}, ...}
[[nodiscard]] std::vector<ConfigEntry> entries_of_run(const std::string& file, const Json& config) {
  std::vector<ConfigEntry> entries;
  for (const auto& [key, item] : config.items()) {
    if (!item.is_object() || !item.contains("value") || item.value("source", "default") == "default") continue;
    entries.push_back(entry_of(file, key, item["value"]));
  }
  return entries;
}

/// The members of an object; of a document with a "schema", those of its "config" that are not defaults.
/// \throws ParseError with line and column; also for a key that occurs twice
[[nodiscard]] std::vector<ConfigEntry> json_entries(const std::string& file, std::string_view text) {
  const Json document = parse_json_once(file, text);
  if (!document.is_object()) support::refuse_json(file, text, 0, "expected an object of options");
  if (document.contains("schema")) {
    if (!document.contains("config")) support::refuse_json(file, text, 0, "this document has no \"config\" to repeat");
    if (document.value("right", Json()).is_object() && !document["config"].contains("right")) {
      support::refuse_json(file, text, 0, "the \"config\" of this product does not name B, so it cannot be repeated");
    }
    return entries_of_run(file, document["config"]);
  }
  std::vector<ConfigEntry> entries;
  for (const auto& [key, value] : document.items()) entries.push_back(entry_of(file, key, value));
  return entries;
}

[[nodiscard]] std::string_view name_of(const toml::node& node) {
  if (node.is_table()) return "a table";
  return node.is_array() ? "an array" : "a date or time";
}

[[nodiscard]] ConfigEntry entry_of(const std::string& file, std::string_view key, const toml::node& node) {
  ConfigEntry entry{std::string(key), {}, Type::other, fmt::format("{}:{}", file, node.source().begin.line)};
  if (const auto* text = node.as_string()) {
    entry.type = Type::string;
    entry.text = text->get();
  } else if (const auto* boolean = node.as_boolean()) {
    entry.type = Type::boolean;
    entry.text = boolean->get() ? "true" : "false";
  } else if (const auto* whole = node.as_integer()) {
    entry.type = Type::number;
    entry.text = fmt::format("{}", whole->get());
  } else if (const auto* number = node.as_floating_point()) {
    entry.type = Type::number;
    entry.text = number_text(number->get());
  } else {
    entry.text = name_of(node);
  }
  return entry;
}

constexpr std::size_t largest_toml = std::size_t{64} << 10;
constexpr int most_dots = 100;

/// toml++ recurses into the parts of a key, and a stack may be small. \throws ParseError for a key of too many parts
void require_shallow_keys(const std::string& file, std::string_view text) {
  std::int64_t line = 1;
  std::int64_t column = 0;
  int dots = 0;
  for (const char c : text) {
    ++column;
    if (c == '.' && ++dots > most_dots) {
      throw ParseError(file, line, column, fmt::format("more than {} dots: a key has one part", most_dots));
    }
    if (c == '=' || c == '\n') dots = 0;
    if (c == '\n') {
      ++line;
      column = 0;
    }
  }
}

/// \throws ParseError with line and column
[[nodiscard]] std::vector<ConfigEntry> toml_entries(const std::string& file, std::string_view text) {
  if (text.size() > largest_toml) {
    throw InvalidMatrix(
        fmt::format("{}: {} bytes of TOML, a configuration has at most {}", file, text.size(), largest_toml));
  }
  require_shallow_keys(file, text);
  std::vector<ConfigEntry> entries;
  try {
    const toml::table table = toml::parse(text, file);
    for (const auto& [key, node] : table) entries.push_back(entry_of(file, key.str(), node));
  } catch (const toml::parse_error& error) {
    const toml::source_position& place = error.source().begin;
    throw ParseError(file, place.line, place.column, std::string(error.description()));
  }
  return entries;
}

[[nodiscard]] std::vector<std::string_view> known_keys() {
  std::vector<std::string_view> keys{"matrix", "command"};
  for (const OptionSpec* spec : distinct_options()) {
    if (is_configurable(*spec)) keys.push_back(spec->name);
  }
  return keys;
}

[[noreturn]] void refuse(const ConfigEntry& entry, const std::string& message, const std::string& hint = {}) {
  throw UsageError(fmt::format("{}: {}", entry.place, message), hint);
}

void require_known(const ConfigEntry& entry) {
  const std::vector<std::string_view> keys = known_keys();
  if (std::find(keys.begin(), keys.end(), entry.key) != keys.end()) return;
  if (find_option(entry.key) != nullptr) refuse(entry, fmt::format("--{} belongs on the command line", entry.key));
  if (is_planned("--" + entry.key)) {
    refuse(entry, fmt::format("option --{} is planned and not implemented in Tessera 0.1", entry.key));
  }
  const std::string hint = did_you_mean(entry.key, keys);
  refuse(entry, fmt::format("unknown key \"{}\"", entry.key),
         hint.empty() ? "keys are the long names of options, as solve --help lists them" : hint);
}

/// How often a flag is given: "true", "false"; of --verbose also a number.
[[nodiscard]] std::string flag_text(const ConfigEntry& entry) {
  if (entry.text == "true" || entry.text == "1") return "1";
  if (entry.text == "false" || entry.text == "0") return "0";
  const bool counts = entry.key == "verbose";
  if (counts && entry.text == "2") return "2";
  refuse(entry, fmt::format("option --{}: expected true or false{}, got \"{}\"", entry.key, counts ? ", or 0 to 2" : "",
                            entry.text));
}

/// An option may be a flag of one command and take words of another: transpose = true, transpose = "b".
[[nodiscard]] bool is_word_of_another_entry(const ConfigEntry& entry) {
  return std::any_of(option_table().begin(), option_table().end(), [&](const OptionSpec& spec) {
    if (spec.name != entry.key || spec.kind == ValueKind::flag) return false;
    const std::vector<std::string> words = option_words(spec);
    return std::find(words.begin(), words.end(), entry.text) != words.end();
  });
}

void require_command(const ConfigEntry& entry) {
  if (parse_command(entry.text)) return;
  const std::vector<std::string_view> names = command_names();
  refuse(entry, fmt::format("command: expected one of {}, got \"{}\"", fmt::join(names, ", "), entry.text),
         did_you_mean(entry.text, names));
}

[[nodiscard]] std::string checked_text(const ConfigEntry& entry) {
  require_known(entry);
  if (entry.key == "command") require_command(entry);
  const OptionSpec* spec = find_option(entry.key);
  const std::string_view expected = spec == nullptr ? "a name" : spec->value;
  if (entry.type == Type::other) {
    refuse(entry, fmt::format("option --{}: expected {}, got {}", entry.key,
                              expected.empty() ? "true or false" : expected, entry.text));
  }
  if (entry.type == Type::string && entry.text.empty() && entry.key != "command") return {};
  if (spec != nullptr && spec->kind == ValueKind::flag && !is_word_of_another_entry(entry)) return flag_text(entry);
  // A number that reads "true" is refused where numbers are; a file of that name is not what anybody means.
  const bool names_file =
      spec == nullptr || (spec->kind == ValueKind::text && expected.find("FILE") != std::string::npos);
  if (entry.type == Type::boolean && names_file) {
    refuse(entry, fmt::format("option --{}: expected {}, got {}", entry.key, expected, entry.text));
  }
  return entry.text;
}

[[nodiscard]] Layer checked_layer(const std::vector<ConfigEntry>& entries, SettingSource source) {
  Layer layer;
  for (const ConfigEntry& entry : entries) layer[entry.key] = {checked_text(entry), source, entry.place};
  return layer;
}

}  // namespace

std::string contents_of(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw IoError(fmt::format("cannot read {}: it is a directory", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw IoError(fmt::format("cannot read {}: {}", path, std::generic_category().message(errno)));
  }
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Layer set_layer(const std::vector<std::string>& assignments) {
  std::vector<ConfigEntry> entries;
  for (const std::string& assignment : assignments) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError(fmt::format("option --set: expected KEY=VALUE, got \"{}\"", assignment));
    }
    ConfigEntry entry{assignment.substr(0, equals), assignment.substr(equals + 1), Type::string, "--set " + assignment};
    const bool twice =
        std::any_of(entries.begin(), entries.end(), [&](const ConfigEntry& e) { return e.key == entry.key; });
    if (twice) refuse(entry, fmt::format("\"{}\" is set more than once", entry.key));
    entries.push_back(std::move(entry));
  }
  return checked_layer(entries, SettingSource::set);
}

namespace {

/// Variables of other programs begin with SOLVE_ too. One that is near a key is a typing error, and refused as such.
[[nodiscard]] bool is_meant_for_us(std::string_view key) {
  const std::vector<std::string_view> keys = known_keys();
  return find_option(key) != nullptr || is_planned("--" + std::string(key)) || !did_you_mean(key, keys).empty() ||
         std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

Layer environment_layer() {
  constexpr std::string_view prefix = "SOLVE_";
  std::vector<ConfigEntry> entries;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable(*each);
    const std::size_t equals = variable.find('=');
    if (!variable.starts_with(prefix) || equals == std::string_view::npos || equals + 1 == variable.size()) continue;
    std::string key(variable.substr(prefix.size(), equals - prefix.size()));
    for (char& letter : key) {
      if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
      if (letter == '_') letter = '-';
    }
    if (!is_meant_for_us(key)) continue;
    entries.push_back({std::move(key), std::string(variable.substr(equals + 1)), Type::string,
                       std::string(variable.substr(0, equals))});
  }
  return checked_layer(entries, SettingSource::environment);
}

Layer file_layer(const std::string& path, SettingSource source) {
  const std::string text = contents_of(path);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string::npos && text[first] == '{';
  return checked_layer(is_json ? json_entries(path, text) : toml_entries(path, text), source);
}

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
  // A weaker source cannot set it either, as long as its alternative stands here.
  if (options.is_overridden(spec.name)) return fmt::format("# {} =\n", spec.name);
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
