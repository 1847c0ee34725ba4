// Tables as text.
#include "text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace tessera::cli {

namespace {

/// Characters, not bytes: continuation bytes of UTF-8 take no room.
[[nodiscard]] std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

void append_line(std::string& text, const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string padding(widths[i] - width(cells[i]), ' ');
    if (i > 0) line += ' ';
    line += i == 0 ? cells[i] + padding : padding + cells[i];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + '\n';
}

[[nodiscard]] std::string escape_markdown(std::string_view cell) {
  std::string result;
  for (const char c : cell) {
    if (c == '|' || c == '\\' || c == '*' || c == '<') result += '\\';
    result += c == '\n' || c == '\r' ? ' ' : c;
  }
  return result;
}

}  // namespace

std::string aligned_text(const TextTable& table) {
  std::vector<std::string> top;
  std::vector<std::string> bottom;
  for (const Heading& heading : table.columns) {
    top.push_back(heading.top);
    bottom.push_back(heading.bottom);
  }
  std::vector<std::size_t> widths(table.columns.size(), 0);
  const auto widen = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], width(cells[i]));
  };
  widen(top);
  widen(bottom);
  for (const auto& row : table.rows) widen(row);
  std::string text;
  append_line(text, top, widths);
  append_line(text, bottom, widths);
  for (const auto& row : table.rows) append_line(text, row, widths);
  return text;
}

std::string markdown_text(const TextTable& table) {
  std::string text = "|";
  std::string rule = "|";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Heading& heading = table.columns[i];
    const std::string blank = heading.top.empty() || heading.bottom.empty() ? "" : " ";
    text += fmt::format(" {} |", escape_markdown(heading.top + blank + heading.bottom));
    rule += i == 0 ? " --- |" : " ---: |";
  }
  text += '\n' + rule + '\n';
  for (const auto& row : table.rows) {
    text += '|';
    for (const std::string& cell : row) text += fmt::format(" {} |", escape_markdown(cell));
    text += '\n';
  }
  return text;
}

std::string short_number(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : (value > 0 ? "inf" : "-inf");
  const double size = std::fabs(value);
  constexpr double longest = 1e6;
  if (size == 0.0) return "0";
  if (size >= longest || size < 1e-3) return fmt::format("{:.2g}", value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  if (size >= 0.9995) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3g}", value);
}

}  // namespace tessera::cli
