// HTML of a report.
#include "report/html.hpp"

#include "summary_text.hpp"
#include "text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tessera::cli::report {

std::string escaped(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default: {
        const auto byte = static_cast<unsigned char>(c);
        const bool is_control = (byte < 0x20U && c != '\n' && c != '\t') || byte == 0x7FU;
        is_control ? result += "\uFFFD" : result += c;
      }
    }
  }
  return result;
}

std::string number(double value, std::string_view shown) {
  if (std::isnan(value)) return "–";
  return fmt::format(R"(<data value="{}">{}</data>)", value, escaped(shown));
}

std::string number(double value) { return number(value, short_number(value)); }

std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  constexpr std::size_t group = 3;
  constexpr std::size_t shortest = 5;  // 1000 reads well as it is
  if (digits.size() < shortest) return digits;
  for (std::size_t place = digits.size(); place > group + (value < 0 ? 1 : 0);) {
    place -= group;
    digits.insert(place, "\u202F");
  }
  return digits;
}

std::string count(double value) {
  constexpr double exact = 1e15;
  return std::abs(value) < exact ? number(value, grouped(value)) : number(value);
}

std::string residual(double value) { return number(value, fmt::format("{:.2e}", value)); }

std::string time(double milliseconds) {
  constexpr double step = 1000.0;
  if (milliseconds > 0.0 && milliseconds < 1.0) return number(milliseconds, short_number(step * milliseconds) + " µs");
  if (milliseconds < step) return number(milliseconds, short_number(milliseconds) + " ms");
  return number(milliseconds, short_number(milliseconds / step) + " s");
}

std::string size(double bytes) {
  const bool is_size = bytes >= 0 && bytes < 1e18;
  return is_size ? number(bytes, size_text(static_cast<std::uint64_t>(bytes))) : number(bytes);
}

std::string html(const Table& table) {
  if (table.rows.empty()) return {};
  std::string text = "<div class=\"wide\"><table>\n";
  if (!table.caption.empty()) text += fmt::format("<caption>{}</caption>\n", escaped(table.caption));
  const auto alignment = [&](std::size_t column) {
    const bool is_text = column < table.text_columns || (table.last_is_text && column + 1 == table.headings.size());
    return is_text ? std::string_view(R"( class="text")") : std::string_view();
  };
  text += "<thead><tr>";
  for (std::size_t i = 0; i < table.headings.size(); ++i) {
    text += fmt::format(R"(<th scope="col"{}>{}</th>)", alignment(i), table.headings[i]);
  }
  text += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    text += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += i == 0 ? fmt::format(R"(<th scope="row"{}>{}</th>)", alignment(i), row[i])
                     : fmt::format("<td{}>{}</td>", alignment(i), row[i]);
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string html(const Facts& facts) {
  std::string text;
  for (const auto& [term, value] : facts) {
    if (!value.empty()) text += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(term), value);
  }
  return text.empty() ? text : "<dl class=\"facts\">\n" + text + "</dl>\n";
}

std::string figure(const std::string& drawing, const std::string& caption, const std::string& data) {
  if (drawing.empty()) return {};
  std::string text = fmt::format("<figure>\n{}\n<figcaption>{}", drawing, caption);
  if (!data.empty()) text += fmt::format("<details><summary>Numbers</summary>\n{}</details>\n", data);
  return text + "</figcaption>\n</figure>\n";
}

std::string bar(double length, double most) {
  if (!(length > 0.0) || !(most > 0.0)) return {};
  return fmt::format(R"(<span class="bar" style="width:{:.2f}%"></span>)", std::min(100.0 * length / most, 100.0));
}

std::string section(std::string_view title, const std::string& body) {
  return body.empty() ? body : fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n", escaped(title), body);
}

}  // namespace tessera::cli::report
