#include "io/rounded_integers.hpp"

#include "io/parse_number.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tessera::io {

namespace {

/// Whether T holds the integer: it has no more significant bits than T.
template <class T>
[[nodiscard]] bool is_exact(std::int64_t integer) noexcept {
  const auto bits = static_cast<std::uint64_t>(integer);
  const std::uint64_t magnitude = integer < 0 ? 0 - bits : bits;
  if (magnitude == 0) return true;
  return static_cast<int>(std::bit_width(magnitude)) - std::countr_zero(magnitude) <= std::numeric_limits<T>::digits;
}

/// The number at the end of a data line without faults.
[[nodiscard]] std::int64_t last_integer(const char* line, const char* end) noexcept {
  Token last;
  for (Token token = next_token(line, end); !token.empty(); token = next_token(token.last, end)) last = token;
  std::int64_t integer = 0;
  static_cast<void>(parse_integer(last.text(), integer));
  return integer;
}

}  // namespace

template <class T>
std::optional<RoundedInteger> first_rounded_integer(const Document& document, const ParsedHeader& parsed,
                                                    std::span<const T> values) {
  if (parsed.header.field != MatrixMarketField::integer) return std::nullopt;
  // Smaller ones are exact; a rounded one is never smaller.
  const T largest_exact = std::ldexp(T{1}, std::numeric_limits<T>::digits);
  const auto is_large = [largest_exact](T value) { return std::fabs(value) >= largest_exact; };
  if (std::none_of(values.begin(), values.end(), is_large)) return std::nullopt;
  const char* const end = document.end();
  const char* line = next_data_line(parsed.body, end, Comments::percent);
  for (const T value : values) {
    const char* const line_ends = line_end(line, end);
    if (is_large(value)) {
      const std::int64_t integer = last_integer(line, line_ends);
      if (!is_exact<T>(integer)) return RoundedInteger{line_number(document, line), integer};
    }
    line = next_data_line(line_ends, end, Comments::percent);
  }
  return std::nullopt;
}

template std::optional<RoundedInteger> first_rounded_integer(const Document&, const ParsedHeader&,
                                                             std::span<const float>);
template std::optional<RoundedInteger> first_rounded_integer(const Document&, const ParsedHeader&,
                                                             std::span<const double>);

}  // namespace tessera::io
