/// \file
/// Decimal numbers of ordinary size, read exactly at full speed.
///
/// A number of up to 19 digits is an integer w < 2^64 times 10^q. For |q| <= 27 the power 5^|q| fits 64 bits too, so
/// that w * 5^q is an exact product of 128 bits, and w / 5^|q| a division of 128 by 64 bits whose remainder says on
/// which side of a rounding boundary the quotient lies. Rounding once to nearest even then gives the number that is
/// closest.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

namespace tessera::io::detail {

__extension__ using Wide = unsigned __int128;

inline constexpr int max_power = 27;

inline constexpr auto powers_of_five = [] {
  std::array<std::uint64_t, max_power + 1> powers{1};
  for (std::size_t k = 1; k < powers.size(); ++k) powers[k] = 5 * powers[k - 1];
  return powers;
}();

/// top * 2^exponent, and whether something below was cut off; the highest bit of top is set.
struct Scaled {
  std::uint64_t top;
  int exponent;
  bool inexact;
};

/// w * 10^q. \param w not 0 \param q in 0 ... 27
[[nodiscard]] inline Scaled times_power(std::uint64_t w, int q) noexcept {
  const Wide product = Wide{w} * powers_of_five[static_cast<std::size_t>(q)];
  const auto high = static_cast<std::uint64_t>(product >> 64);
  const int zeros = high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<std::uint64_t>(product));
  const Wide shifted = product << zeros;
  return {static_cast<std::uint64_t>(shifted >> 64), 64 - zeros + q, static_cast<std::uint64_t>(shifted) != 0};
}

/// w / 10^q. \param w not 0 \param q in 1 ... 27
[[nodiscard]] inline Scaled over_power(std::uint64_t w, int q) noexcept {
  const std::uint64_t power = powers_of_five[static_cast<std::size_t>(q)];
  const int zeros_w = std::countl_zero(w);
  const int zeros_power = std::countl_zero(power);
  const std::uint64_t divisor = power << zeros_power;
  const std::uint64_t dividend = w << zeros_w;
  // The quotient has to lie in [2^63, 2^64).
  const int halved = dividend >= divisor ? 1 : 0;
  const Wide numerator = Wide{dividend} << (64 - halved);
  const auto quotient = static_cast<std::uint64_t>(numerator / divisor);
  const bool inexact = static_cast<std::uint64_t>(numerator) != quotient * divisor;
  return {quotient, zeros_power - zeros_w - q - 64 + halved, inexact};
}

/// The nearest T; ties go to the even one. Infinite where T does not reach so far.
template <class T>
[[nodiscard]] T round_to(const Scaled& number) noexcept {
  constexpr int dropped = 64 - std::numeric_limits<T>::digits;
  constexpr std::uint64_t half = std::uint64_t{1} << (dropped - 1);
  std::uint64_t mantissa = number.top >> dropped;
  const std::uint64_t rest = number.top & (2 * half - 1);
  if (rest > half || (rest == half && (number.inexact || mantissa % 2 == 1))) ++mantissa;
  constexpr int bias = 1023;
  constexpr int mantissa_bits = 52;
  const auto power = static_cast<std::uint64_t>(bias + number.exponent + dropped) << mantissa_bits;
  return static_cast<T>(static_cast<double>(mantissa) * std::bit_cast<double>(power));
}

/// Eight digits at p, if all are digits; the first one is the most significant.
[[nodiscard]] inline bool eight_digits(const char* p, std::uint64_t& number) noexcept {
  std::uint64_t text = 0;
  std::memcpy(&text, p, sizeof(text));
  constexpr std::uint64_t ones = 0x0101010101010101U;
  const std::uint64_t high_nibbles = text & (0xf0 * ones);
  const std::uint64_t after_six = (text + 6 * ones) & (0xf0 * ones);
  if (high_nibbles != 0x30 * ones || after_six != 0x30 * ones) return false;
  // Neighbours are joined: digits to pairs, pairs to fours, fours to the eight. Little-endian.
  text &= 0x0f * ones;
  text = (text * 10 + (text >> 8)) & 0x00ff00ff00ff00ffU;
  text = (text * 100 + (text >> 16)) & 0x0000ffff0000ffffU;
  number = (text * 10000 + (text >> 32)) & 0xffffffffU;
  return true;
}

/// Appends digits to w. \return behind the last digit
[[nodiscard]] inline const char* take_digits(const char* p, const char* end, std::uint64_t& w) noexcept {
  std::uint64_t eight = 0;
  while (end - p >= 8 && eight_digits(p, eight)) {
    w = w * 100000000 + eight;
    p += 8;
  }
  while (p < end && *p >= '0' && *p <= '9') w = w * 10 + static_cast<std::uint64_t>(*p++ - '0');
  return p;
}

/// Reads [-]digits[.digits][e[sign]digits]. \return behind the number, or nullptr when it is spelt otherwise, has more
/// than 19 digits or a decimal exponent beyond 27: then the careful way has to read it
template <class T>
[[nodiscard]] inline const char* fast_real(const char* p, const char* end, T& value) noexcept {
  const bool negative = p < end && *p == '-';
  if (negative) ++p;
  std::uint64_t w = 0;
  const char* const first = p;
  p = take_digits(p, end, w);
  auto digits = p - first;
  int q = 0;
  if (p < end && *p == '.') {
    const char* const fraction = ++p;
    p = take_digits(p, end, w);
    digits += p - fraction;
    if (p - fraction > max_power) return nullptr;
    q = -static_cast<int>(p - fraction);
  }
  if (digits == 0 || digits > 19) return nullptr;
  if (p < end && (*p == 'e' || *p == 'E')) {
    ++p;
    const bool minus = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) ++p;
    const char* const begin = p;
    int exponent = 0;
    while (p < end && p - begin < 4 && *p >= '0' && *p <= '9') exponent = 10 * exponent + (*p++ - '0');
    if (p == begin || p - begin == 4) return nullptr;
    q += minus ? -exponent : exponent;
  }
  if (q < -max_power || q > max_power) return nullptr;
  const T magnitude = w == 0 ? T{0} : round_to<T>(q < 0 ? over_power(w, -q) : times_power(w, q));
  value = negative ? -magnitude : magnitude;
  return p;
}

}  // namespace tessera::io::detail
