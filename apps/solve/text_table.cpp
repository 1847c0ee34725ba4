// Tables as text.
#include "text_table.hpp"

#include "terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string_view>

namespace tessera::cli {

namespace {

void append_line(std::string& text, const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string padding(widths[i] - display_width(cells[i]), ' ');
    if (i > 0) line += ' ';
    line += i == 0 ? cells[i] + padding : padding + cells[i];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + '\n';
}

/// Both lines of a heading.
[[nodiscard]] std::string title_of(const Heading& heading) {
  return heading.top + (heading.top.empty() || heading.bottom.empty() ? "" : " ") + heading.bottom;
}

[[nodiscard]] std::vector<std::size_t> column_widths(const TextTable& table) {
  std::vector<std::size_t> widths;
  for (const Heading& heading : table.columns) {
    widths.push_back(std::max(display_width(heading.top), display_width(heading.bottom)));
  }
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  return widths;
}

[[nodiscard]] std::size_t line_width(const std::vector<std::size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), widths.empty() ? 0 : widths.size() - 1);
}

void drop_column(TextTable& table, std::ptrdiff_t column) {
  table.columns.erase(table.columns.begin() + column);
  for (auto& row : table.rows) row.erase(row.begin() + column);
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

std::string aligned_text(const TextTable& table, std::size_t width) {
  TextTable kept = table;
  std::string left_out;
  std::vector<std::size_t> widths = column_widths(kept);
  while (width > 0 && line_width(widths) > width) {
    const auto first = std::max_element(kept.columns.begin(), kept.columns.end(),
                                        [](const Heading& a, const Heading& b) { return a.spare < b.spare; });
    if (first == kept.columns.end() || first->spare == 0) break;
    left_out += (left_out.empty() ? "" : ", ") + title_of(*first);
    drop_column(kept, first - kept.columns.begin());
    widths = column_widths(kept);
  }
  std::vector<std::string> top;
  std::vector<std::string> bottom;
  for (const Heading& heading : kept.columns) {
    top.push_back(heading.top);
    bottom.push_back(heading.bottom);
  }
  std::string text;
  append_line(text, top, widths);
  append_line(text, bottom, widths);
  for (const auto& row : kept.rows) append_line(text, row, widths);
  if (!left_out.empty()) text += fmt::format("  (not in {} columns: {})\n", width, left_out);
  return text;
}

std::string markdown_text(const TextTable& table) {
  std::string text = "|";
  std::string rule = "|";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Heading& heading = table.columns[i];
    text += fmt::format(" {} |", escape_markdown(title_of(heading)));
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
