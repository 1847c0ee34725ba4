#include "vertex_names.hpp"

#include "option_values.hpp"

#include "tessera/error.hpp"
#include "tessera/nearest.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace tessera::cli {

VertexNames::VertexNames(std::vector<std::string> names) : names_(std::move(names)) {
  vertices_.reserve(names_.size());
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i].empty()) continue;
    const auto [entry, is_new] = vertices_.emplace(names_[i], static_cast<std::int64_t>(i));
    if (!is_new) entry->second = ambiguous;
    has_numbers_ = has_numbers_ || parse_count(names_[i]).has_value();
  }
}

std::optional<std::int64_t> VertexNames::find(std::string_view name) const {
  const auto found = vertices_.find(name);
  return found == vertices_.end() ? std::nullopt : std::optional(found->second);
}

std::string VertexNames::nearest(std::string_view name) const { return did_you_mean(name, names_); }

std::vector<std::pair<std::int64_t, std::string>> read_lines(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw IoError(fmt::format("cannot read {}: it is a directory", path));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw IoError(fmt::format("cannot read {}: {}", path, std::generic_category().message(errno)));
  std::vector<std::pair<std::int64_t, std::string>> lines;
  std::string line;
  for (std::int64_t number = 1; std::getline(file, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) lines.emplace_back(number, line);
  }
  return lines;
}

namespace {

/// A field of a CSV line without its quotes. \throws ParseError
[[nodiscard]] std::string unquoted(std::string_view field, const std::string& path, std::int64_t line,
                                   std::int64_t column) {
  if (!field.starts_with('"')) return std::string(field);
  std::string text;
  for (std::size_t i = 1; i < field.size(); ++i) {
    if (field[i] != '"') {
      text += field[i];
    } else if (i + 1 < field.size() && field[i + 1] == '"') {
      text += field[++i];
    } else if (i + 1 == field.size()) {
      return text;
    } else {
      break;
    }
  }
  throw ParseError(path, line, column, "a quoted name must end with its quote, at the end of the line");
}

[[nodiscard]] std::vector<std::string> names_by_id(const std::string& path, std::int64_t vertices) {
  std::vector<std::string> names(static_cast<std::size_t>(vertices));
  bool is_first = true;
  for (const auto& [number, line] : read_lines(path)) {
    const bool may_be_heading = std::exchange(is_first, false);
    const std::size_t comma = line.find(',');
    if (comma == std::string::npos) {
      throw ParseError(path, number, 1, fmt::format(R"(expected "id,name", found "{}")", line));
    }
    const auto id = parse_count(std::string_view(line).substr(0, comma));
    if (!id && may_be_heading) continue;
    if (!id || *id < 1 || *id > vertices) {
      throw ParseError(
          path, number, 1,
          fmt::format("expected the number of a vertex, from 1 to {}, found \"{}\"", vertices, line.substr(0, comma)));
    }
    std::string& name = names[static_cast<std::size_t>(*id - 1)];
    if (!name.empty()) throw ParseError(path, number, 1, fmt::format("vertex {} has a name already", *id));
    name = unquoted(std::string_view(line).substr(comma + 1), path, number, static_cast<std::int64_t>(comma) + 2);
  }
  return names;
}

}  // namespace

VertexNames read_labels(const std::string& path, std::int64_t vertices) {
  if (path.ends_with(".csv")) return VertexNames(names_by_id(path, vertices));
  std::vector<std::string> names;
  for (auto& [number, line] : read_lines(path)) names.push_back(std::move(line));
  if (static_cast<std::int64_t>(names.size()) != vertices) {
    throw DimensionError(fmt::format("{} names {} vertices, the graph has {}", path, names.size(), vertices));
  }
  return VertexNames(std::move(names));
}

}  // namespace tessera::cli
