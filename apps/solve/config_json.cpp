#include "config_entries.hpp"
#include "report_json.hpp"
#include "usage_error.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace tessera::cli {

namespace {

[[noreturn]] void refuse_at(const std::string& file, std::string_view text, std::size_t byte,
                            const std::string& message) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  throw ParseError(file, line, static_cast<std::int64_t>(before.size() - line_start) + 1, message);
}

/// nlohmann's text is "[json.exception.parse_error.101] parse error at line 2, column 3: what is wrong".
[[nodiscard]] std::string reason_of(const Json::parse_error& error) {
  const std::string text = error.what();
  const std::size_t place = text.find(": ");
  return "not JSON: " + (place == std::string::npos ? text : text.substr(place + 2));
}

[[nodiscard]] Json parse_json(const std::string& file, std::string_view text) {
  // The keys of each object that is open; nlohmann keeps the last of two values without a word.
  std::vector<std::set<std::string>> open;
  const auto watch = [&](int /*depth*/, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second) {
      throw UsageError(fmt::format("{}: the key \"{}\" occurs twice", file, value.get<std::string>()));
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    refuse_at(file, text, error.byte == 0 ? 0 : error.byte - 1, reason_of(error));
  }
}

[[nodiscard]] ConfigEntry entry_of(const std::string& file, const std::string& key, const Json& value) {
  using Type = ConfigEntry::Type;
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

}  // namespace

std::string number_text(double value) { return fmt::format("{}", value); }

std::vector<ConfigEntry> json_entries(const std::string& file, std::string_view text) {
  const Json document = parse_json(file, text);
  if (!document.is_object()) refuse_at(file, text, 0, "expected an object of options");
  if (document.contains("schema")) {
    if (!document.contains("config")) refuse_at(file, text, 0, "this document has no \"config\" to repeat");
    return entries_of_run(file, document["config"]);
  }
  std::vector<ConfigEntry> entries;
  for (const auto& [key, value] : document.items()) entries.push_back(entry_of(file, key, value));
  return entries;
}

}  // namespace tessera::cli
