/// \file
/// One data line: its faults, the careful reader and the fast reader.
///
/// Both readers neither allocate nor throw, so that they can run in parallel loops. The fast reader accepts only plain
/// spelling; the careful reader decides about everything else.
#pragma once

#include "io/document.hpp"
#include "io/parse_number.hpp"
#include "tessera/matrix_market.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

namespace tessera::io {

enum class Fault {
  none,
  too_few_numbers,
  too_many_numbers,
  bad_index,
  malformed_value,
  not_finite,
  overflow,
  nonzero_diagonal,
};

/// A number of a line.
enum class LinePart { row, column, value };

struct LineFault {
  Fault fault = Fault::none;
  LinePart part = LinePart::value;
  Token token;  ///< the wrong text, or the position where a number is missing
};

/// The form of a line.
struct LineRules {
  MatrixMarketFormat format = MatrixMarketFormat::coordinate;
  MatrixMarketField field = MatrixMarketField::real;
  MatrixMarketSymmetry symmetry = MatrixMarketSymmetry::general;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  bool single_precision = false;  ///< values are read into float

  [[nodiscard]] bool has_indices() const noexcept { return format == MatrixMarketFormat::coordinate; }
  [[nodiscard]] bool has_values() const noexcept { return field != MatrixMarketField::pattern; }
};

/// 0-based position; the value is 1 in a pattern file.
template <class T>
struct TextEntry {
  index_t row = 0;
  index_t column = 0;
  T value{1};
};

/// "expected ..., found ..." \param line the line with the fault
[[nodiscard]] std::string describe(const LineFault& fault, std::string_view line, const LineRules& rules);

namespace detail {

[[nodiscard]] inline bool careful_index(const Token& token, std::int64_t bound, index_t& index) noexcept {
  std::int64_t number = 0;
  if (parse_integer(token.text(), number) != NumberStatus::ok || number < 1 || number > bound) return false;
  index = static_cast<index_t>(number - 1);
  return true;
}

template <class T>
[[nodiscard]] NumberStatus careful_value(const Token& token, MatrixMarketField field, T& value) noexcept {
  if (field == MatrixMarketField::real) return parse_real(token.text(), value);
  std::int64_t number = 0;
  const NumberStatus status = parse_integer(token.text(), number);
  value = static_cast<T>(number);
  return status;
}

[[nodiscard]] constexpr Fault fault_of(NumberStatus status) noexcept {
  switch (status) {
    case NumberStatus::ok:
      return Fault::none;
    case NumberStatus::not_finite:
      return Fault::not_finite;
    case NumberStatus::overflow:
      return Fault::overflow;
    case NumberStatus::malformed:
      return Fault::malformed_value;
  }
  return Fault::malformed_value;
}

/// Plain digits, then a blank or the end of the line. Up to 18 digits cannot overflow; the careful reader takes more.
[[nodiscard]] inline bool fast_index(const char*& p, const char* end, std::int64_t bound, index_t& index) noexcept {
  const char* first = p;
  std::int64_t number = 0;
  while (p < end && is_digit(*p) && p - first < 18) number = 10 * number + (*p++ - '0');
  if (number < 1 || number > bound || (p < end && !is_blank(*p) && *p != '\n')) return false;
  index = static_cast<index_t>(number - 1);
  p = skip_blanks(p, end);
  return true;
}

template <class T, class Number>
[[nodiscard]] bool fast_number(const char*& p, const char* end, T& value) noexcept {
  Number number{};
  const auto [last, error] = std::from_chars(p, end, number);
  if (error != std::errc{}) return false;
  value = static_cast<T>(number);
  if (!std::isfinite(value)) return false;
  p = skip_blanks(last, end);
  return true;
}

}  // namespace detail

/// Reads a line without any blank line or comment before it.
/// \param p   its first visible character
/// \param end its end
template <class T>
[[nodiscard]] LineFault read_carefully(const char* p, const char* end, const LineRules& rules,
                                       TextEntry<T>& entry) noexcept {
  Token token{p, p};
  if (rules.has_indices()) {
    token = next_token(token.last, end);
    if (!detail::careful_index(token, rules.rows, entry.row)) return {Fault::bad_index, LinePart::row, token};
    token = next_token(token.last, end);
    if (token.empty()) return {Fault::too_few_numbers, LinePart::column, token};
    if (!detail::careful_index(token, rules.cols, entry.column)) return {Fault::bad_index, LinePart::column, token};
  }
  if (rules.has_values()) {
    token = next_token(token.last, end);
    if (token.empty()) return {Fault::too_few_numbers, LinePart::value, token};
    const NumberStatus status = detail::careful_value(token, rules.field, entry.value);
    if (status != NumberStatus::ok) return {detail::fault_of(status), LinePart::value, token};
    const bool skew = rules.has_indices() && rules.symmetry == MatrixMarketSymmetry::skew_symmetric;
    if (skew && entry.row == entry.column && entry.value != T{0})
      return {Fault::nonzero_diagonal, LinePart::value, token};
  }
  const Token extra = next_token(token.last, end);
  if (!extra.empty()) return {Fault::too_many_numbers, LinePart::value, extra};
  return {};
}

/// The same for plain spelling, fast.
/// \param p   on success moved to the end of the line
/// \param end end of the text, behind the line's end
/// \return false when the careful reader must decide
template <MatrixMarketFormat format, MatrixMarketField field, class T>
[[nodiscard]] inline bool read_fast(const char*& p, const char* end, const LineRules& rules,
                                    TextEntry<T>& entry) noexcept {
  const char* q = p;
  if constexpr (format == MatrixMarketFormat::coordinate) {
    if (!detail::fast_index(q, end, rules.rows, entry.row)) return false;
    if (!detail::fast_index(q, end, rules.cols, entry.column)) return false;
  }
  if constexpr (field != MatrixMarketField::pattern) {
    using Number = std::conditional_t<field == MatrixMarketField::integer, std::int64_t, T>;
    if (!detail::fast_number<T, Number>(q, end, entry.value)) return false;
    if (format == MatrixMarketFormat::coordinate && rules.symmetry == MatrixMarketSymmetry::skew_symmetric &&
        entry.row == entry.column && entry.value != T{0}) {
      return false;
    }
  }
  if (q < end && *q != '\n') return false;
  p = q;
  return true;
}

}  // namespace tessera::io
