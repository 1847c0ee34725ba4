#include "config_entries.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

namespace tessera::cli {

namespace {

[[nodiscard]] std::string_view name_of(const toml::node& node) {
  if (node.is_table()) return "a table";
  return node.is_array() ? "an array" : "a date or time";
}

[[nodiscard]] ConfigEntry entry_of(const std::string& file, std::string_view key, const toml::node& node) {
  using Type = ConfigEntry::Type;
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

}  // namespace

std::vector<ConfigEntry> toml_entries(const std::string& file, std::string_view text) {
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

}  // namespace tessera::cli
