/// \file
/// One line of a list of edges: its fields and their faults. Nothing here allocates or throws, so that it can run in
/// parallel loops.
#pragma once

#include "io/document.hpp"
#include "io/parse_number.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace tessera::io {

inline constexpr char blanks = ' ';  ///< as a separator: any number of blanks and tabs

/// What all lines of a file have in common.
struct EdgeLineForm {
  char separator = blanks;
  std::size_t fields = 2;  ///< 3: with weights

  [[nodiscard]] bool weighted() const noexcept { return fields == 3; }
};

enum class LineFlaw { none, unequal_fields, empty_id, open_quote, text_after_quote, bad_weight };

/// The fields of a line, and what is wrong with it.
struct EdgeLine {
  std::array<Token, 3> fields;  ///< of a quoted field what stands between the quotes
  std::size_t count = 0;        ///< 4: more than three
  LineFlaw flaw = LineFlaw::none;
  const char* where = nullptr;  ///< of the flaw

  void fail(LineFlaw kind, const char* place) noexcept {
    flaw = kind;
    where = place;
  }
};

/// Takes a field in double quotes, from behind the first of them. \return behind the last quote; nullptr without one
[[nodiscard]] inline const char* quoted_field(const char* p, const char* end, Token& field) noexcept {
  field.first = p;
  for (; p < end; ++p) {
    if (*p != '"') continue;
    if (p + 1 == end || p[1] != '"') {
      field.last = p;
      return p + 1;
    }
    ++p;
  }
  return nullptr;
}

[[nodiscard]] inline Token trimmed(const char* first, const char* last) noexcept {
  first = skip_blanks(first, last);
  while (last > first && is_blank(last[-1])) --last;
  return {first, last};
}

inline void split_at_separators(const char* p, const char* end, char separator, EdgeLine& line) noexcept {
  // A tab that separates fields is no blank around them.
  const auto skip = [&](const char* q) {
    while (q < end && is_blank(*q) && *q != separator) ++q;
    return q;
  };
  while (true) {
    Token field;
    const char* q = skip(p);
    if (q < end && *q == '"') {
      const char* behind = quoted_field(q + 1, end, field);
      if (behind == nullptr) return line.fail(LineFlaw::open_quote, q);
      q = skip(behind);
      if (q < end && *q != separator) return line.fail(LineFlaw::text_after_quote, q);
    } else {
      while (q < end && *q != separator) ++q;
      field = trimmed(p, q);
    }
    if (line.count < line.fields.size()) line.fields[line.count] = field;
    line.count = std::min(line.count + 1, line.fields.size() + 1);
    if (q == end) return;
    p = q + 1;
  }
}

/// \param p the first visible character of the line
[[nodiscard]] inline EdgeLine split_edge(const char* p, const char* end, char separator) noexcept {
  EdgeLine line;
  while (end > p && is_blank(end[-1]) && end[-1] != separator) --end;
  if (separator != blanks) {
    split_at_separators(p, end, separator, line);
    return line;
  }
  for (Token token = next_token(p, end); !token.empty(); token = next_token(token.last, end)) {
    if (line.count < line.fields.size()) line.fields[line.count] = token;
    line.count = std::min(line.count + 1, line.fields.size() + 1);
  }
  return line;
}

template <class T>
[[nodiscard]] NumberStatus weight_of(const EdgeLine& line, T& weight) noexcept {
  return parse_real(line.fields[2].text(), weight);
}

/// The line checked, with its weight.
template <class T>
[[nodiscard]] EdgeLine parse_edge(const char* p, const char* end, const EdgeLineForm& form, T& weight) noexcept {
  EdgeLine line = split_edge(p, end, form.separator);
  if (line.flaw != LineFlaw::none) return line;
  if (line.count != form.fields) {
    line.fail(LineFlaw::unequal_fields, p);
  } else if (line.fields[0].empty() || line.fields[1].empty()) {
    line.fail(LineFlaw::empty_id, line.fields[line.fields[0].empty() ? 0 : 1].first);
  } else if (form.weighted() && weight_of(line, weight) != NumberStatus::ok) {
    line.fail(LineFlaw::bad_weight, line.fields[2].first);
  }
  return line;
}

/// A whole number as it is usually written: without a plus sign and leading zeros.
[[nodiscard]] inline bool parse_id(const Token& token, std::int64_t& id) noexcept {
  const std::string_view text = token.text();
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.empty() || (digits[0] == '0' && text != "0")) return false;
  const auto [last, error] = std::from_chars(token.first, token.last, id);
  return error == std::errc{} && last == token.last;
}

}  // namespace tessera::io
