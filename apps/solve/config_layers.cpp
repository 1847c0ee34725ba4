#include "config_layers.hpp"

#include "config_entries.hpp"
#include "option_table.hpp"
#include "unavailable.hpp"
#include "usage_error.hpp"

#include "core/nearest.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace tessera::cli {

namespace {

using Type = ConfigEntry::Type;

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
  if (is_later_option("--" + entry.key)) {
    refuse(entry, fmt::format("option --{} is not available in this build", entry.key));
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

void require_command(const ConfigEntry& entry) {
  if (parse_command(entry.text)) return;
  if (is_later_command(entry.text)) refuse_command(entry.text);
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
  if (spec != nullptr && spec->kind == ValueKind::flag) return flag_text(entry);
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

[[nodiscard]] std::string contents_of(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw IoError(fmt::format("cannot read {}: it is a directory", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw IoError(fmt::format("cannot read {}: {}", path, std::generic_category().message(errno)));
  }
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

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

}  // namespace tessera::cli
