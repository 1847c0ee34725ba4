/// \file
/// Text with its name for error messages; scanning of lines and tokens. A carriage return counts as a blank, so that
/// CRLF files need no special care.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tessera::io {

struct Document {
  std::string_view text;
  std::string name;

  [[nodiscard]] const char* begin() const noexcept { return text.data(); }
  [[nodiscard]] const char* end() const noexcept { return text.data() + text.size(); }
};

/// \throws ParseError for the line and column of `where`, which lies in the document's text or at its end
[[noreturn]] void fail_at(const Document& document, const char* where, const std::string& message);

/// 1-based number of the line that holds `where`.
[[nodiscard]] std::int64_t line_number(const Document& document, const char* where);

/// Text for a message: in double quotes, cut when long, with control and non-ASCII bytes as \xNN.
[[nodiscard]] std::string quoted(std::string_view text);

[[nodiscard]] constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r'; }

[[nodiscard]] inline const char* skip_blanks(const char* p, const char* end) noexcept {
  while (p < end && is_blank(*p)) ++p;
  return p;
}

/// The newline that ends the line of `p`, or `end`.
[[nodiscard]] inline const char* line_end(const char* p, const char* end) noexcept {
  if (p == end) return end;
  const void* newline = std::memchr(p, '\n', static_cast<std::size_t>(end - p));
  return newline == nullptr ? end : static_cast<const char*>(newline);
}

/// The first line, without its newline, taken off the text.
[[nodiscard]] inline std::string_view take_line(std::string_view& text) noexcept {
  const std::size_t newline = text.find('\n');
  const std::string_view line = text.substr(0, newline);
  text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
  return line;
}

/// Characters without blanks; empty at the end of a line.
struct Token {
  const char* first = nullptr;
  const char* last = nullptr;

  [[nodiscard]] bool empty() const noexcept { return first == last; }
  [[nodiscard]] std::string_view text() const noexcept { return {first, static_cast<std::size_t>(last - first)}; }
};

/// The next token of a line that ends at `end`, or an empty one where the last token of the line ended.
[[nodiscard]] inline Token next_token(const char* p, const char* end) noexcept {
  const char* first = skip_blanks(p, end);
  if (first == end) return {p, p};
  const char* last = first;
  while (last < end && !is_blank(*last)) ++last;
  return {first, last};
}

/// Which lines are comments: Matrix Market knows '%', plain lists of numbers also '#'.
enum class Comments { percent, percent_or_hash };

/// First visible character of the next line that is neither blank nor a comment, or `end`.
/// \param p start of a line, or anything behind the last token of one
[[nodiscard]] inline const char* next_data_line(const char* p, const char* end, Comments comments) noexcept {
  while (true) {
    while (p < end && (is_blank(*p) || *p == '\n')) ++p;
    if (p == end) return end;
    if (*p != '%' && (*p != '#' || comments == Comments::percent)) return p;
    p = line_end(p, end);
  }
}

}  // namespace tessera::io
