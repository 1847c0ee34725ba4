/// \file
/// Numbers as Matrix Market files spell them: C and Fortran notation, an optional plus sign, no locale.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace tessera::io {

enum class NumberStatus { ok, malformed, not_finite, overflow };

namespace detail {

[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// from_chars takes no plus sign; "+-1" must stay an error.
[[nodiscard]] constexpr std::string_view without_plus(std::string_view token) noexcept {
  const bool plain = token.size() > 1 && token[0] == '+' && token[1] != '-' && token[1] != '+';
  return plain ? token.substr(1) : token;
}

/// Whether a well-formed number out of range is too large, not too small. Only exponents far from 0 are out of range,
/// so the position of the first nonzero digit decides.
[[nodiscard]] inline bool is_too_large(std::string_view number) noexcept {
  const std::size_t mark = number.find_first_of("eE");
  std::int64_t exponent = 0;
  if (mark != std::string_view::npos) {
    const std::string_view digits = without_plus(number.substr(mark + 1));
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (error == std::errc::result_out_of_range) return digits[0] != '-';
  }
  const std::string_view mantissa = number.substr(0, mark);
  const std::size_t point = mantissa.find('.');
  const std::size_t leading = mantissa.find_first_of("123456789");
  if (leading == std::string_view::npos) return false;
  const auto units = static_cast<std::int64_t>(point == std::string_view::npos ? mantissa.size() : point);
  return exponent > static_cast<std::int64_t>(leading) - units;
}

template <class T>
[[nodiscard]] NumberStatus parse_c_real(std::string_view token, T& value) noexcept {
  const char* last = token.data() + token.size();
  const auto [end, error] = std::from_chars(token.data(), last, value);
  if (error == std::errc::invalid_argument || end != last) return NumberStatus::malformed;
  if (error == std::errc::result_out_of_range) {
    if (is_too_large(token)) return NumberStatus::overflow;
    value = T{0};
    return NumberStatus::ok;
  }
  if (std::isfinite(value)) return NumberStatus::ok;
  // "inf" and "nan" have an n, numbers never; a number became infinite by rounding.
  return token.find_first_of("nN") == std::string_view::npos ? NumberStatus::overflow : NumberStatus::not_finite;
}

/// A number with a D exponent and more characters than a line of Fortran ever has.
template <class T>
[[nodiscard]] NumberStatus parse_long_real(std::string_view token, std::size_t mark, T& value) noexcept {
  std::array<char, 65536> buffer;
  if (token.size() > buffer.size()) return NumberStatus::malformed;
  token.copy(buffer.data(), token.size());
  buffer[mark] = 'e';
  return parse_c_real(std::string_view(buffer.data(), token.size()), value);
}

}  // namespace detail

/// Reads a whole token as a decimal number; 'd' and 'D' introduce an exponent as in Fortran. A number too small for T
/// becomes zero.
template <class T>
[[nodiscard]] NumberStatus parse_real(std::string_view token, T& value) noexcept {
  token = detail::without_plus(token);
  const std::size_t mark = token.find_first_of("dD");
  if (mark == std::string_view::npos) return detail::parse_c_real(token, value);
  std::array<char, 256> buffer{};
  if (token.size() > buffer.size()) return detail::parse_long_real(token, mark, value);
  token.copy(buffer.data(), token.size());
  buffer[mark] = 'e';
  return detail::parse_c_real(std::string_view(buffer.data(), token.size()), value);
}

/// Reads a whole token as an integer of 64 bits.
[[nodiscard]] inline NumberStatus parse_integer(std::string_view token, std::int64_t& value) noexcept {
  token = detail::without_plus(token);
  const char* last = token.data() + token.size();
  const auto [end, error] = std::from_chars(token.data(), last, value);
  if (error == std::errc::invalid_argument || end != last) return NumberStatus::malformed;
  return error == std::errc{} ? NumberStatus::ok : NumberStatus::overflow;
}

}  // namespace tessera::io
