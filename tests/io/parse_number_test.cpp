#include "io/parse_number.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>

namespace tessera::io {
namespace {

TEST(ParseNumber, AgreesWithStrtod) {
  std::mt19937_64 random(7);
  const auto digits = [&](std::size_t most) {
    std::string text;
    for (std::size_t n = 1 + random() % most; n > 0; --n) text += static_cast<char>('0' + random() % 10);
    return text;
  };
  for (int round = 0; round < 20000; ++round) {
    std::string text = random() % 2 == 0 ? "-" : (random() % 4 == 0 ? "+" : "");
    text += digits(20);
    if (random() % 2 == 0) text += "." + digits(20);
    if (random() % 2 == 0)
      text += std::string(random() % 2 == 0 ? "e" : "E") + (random() % 2 == 0 ? "-" : "+") + digits(3);
    double value = 1.0;
    const double expected = std::strtod(text.c_str(), nullptr);
    const NumberStatus status = parse_real(std::string_view(text), value);
    if (std::isinf(expected)) {
      EXPECT_EQ(status, NumberStatus::overflow) << text;
    } else {
      ASSERT_EQ(status, NumberStatus::ok) << text;
      EXPECT_EQ(value, expected) << text;
    }
  }
}

template <class T>
void expect_exact(const std::string& text) {
  T value{};
  const NumberStatus status = parse_real(std::string_view(text), value);
  T expected{};
  if constexpr (sizeof(T) == sizeof(float)) {
    expected = std::strtof(text.c_str(), nullptr);
  } else {
    expected = std::strtod(text.c_str(), nullptr);
  }
  ASSERT_EQ(status, std::isinf(expected) ? NumberStatus::overflow : NumberStatus::ok) << text;
  if (std::isinf(expected)) return;
  EXPECT_EQ(std::memcmp(&value, &expected, sizeof(T)), 0) << text << " gives " << value;
}

void expect_exact_in_both(const std::string& text) {
  expect_exact<float>(text);
  expect_exact<double>(text);
}

TEST(ParseNumber, AgreesWithStrtodAndStrtofInEveryBit) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 200000; ++round) {
    std::string digits;
    const std::size_t count = 1 + random() % 19;
    while (digits.size() < count) digits += static_cast<char>('0' + random() % 10);
    const int fraction = static_cast<int>(random() % (count + 1));
    std::string text = (random() % 2 == 0 ? "-" : "") + digits;
    if (fraction > 0 || random() % 4 == 0) text.insert(text.size() - static_cast<std::size_t>(fraction), ".");
    if (random() % 2 == 0) {
      const int exponent = static_cast<int>(random() % 28) - (random() % 2 == 0 ? 27 - fraction : 0);
      if (exponent - fraction > 27 || exponent - fraction < -27) continue;
      text += "e" + std::to_string(exponent);
    }
    expect_exact_in_both(text);
  }
}

TEST(ParseNumber, ShortestDigitsOfRandomNumbers) {
  std::mt19937_64 random(12);
  std::uniform_real_distribution<double> uniform(-10.0, 10.0);
  std::array<char, 64> buffer{};
  for (int round = 0; round < 100000; ++round) {
    const double number = uniform(random);
    std::snprintf(buffer.data(), buffer.size(), "%.17g", number);
    double value = 0;
    ASSERT_EQ(parse_real(std::string_view(buffer.data()), value), NumberStatus::ok) << buffer.data();
    EXPECT_EQ(value, number) << buffer.data();
  }
}

TEST(ParseNumber, HalfwayAndItsNeighbours) {
  // Odd and even mantissas plus exactly one half of the last place, and one digit more or less.
  for (const std::uint64_t even : {std::uint64_t{1} << 53, (std::uint64_t{1} << 53) + 2, std::uint64_t{1} << 60}) {
    const std::uint64_t unit = even >> 52;
    for (std::uint64_t k = 0; k < 8; ++k) {
      const std::uint64_t halfway = even + k * unit + unit / 2;
      for (const std::uint64_t number : {halfway - 1, halfway, halfway + 1}) {
        expect_exact_in_both(std::to_string(number));
        expect_exact_in_both(std::to_string(number) + "e5");
        expect_exact_in_both(std::to_string(number) + "e-5");
      }
    }
  }
  // Halves of small integers times powers of two are exact ties in float: 16777217 = 2^24 + 1.
  for (const char* text : {"16777217", "16777219", "16777217.0", "1677721.75", "33554434", "33554438", "16777217e3"}) {
    expect_exact_in_both(text);
  }
}

TEST(ParseNumber, EdgesOfSpelling) {
  for (const char* text : {"0", "-0", "0.0", "-0.000e9", "9999999999999999999", "0.9999999999999999999e27", "1e27",
                           "1e-27", "9999999999999999999e-27", "1.e3", ".5", "00000000012345678", "7E+3", "7e-03",
                           "1e28", "1e-28", "12345678901234567890", "0.00000000000000000001", "1e0001"}) {
    expect_exact<double>(text);
  }
  float single = 0;
  EXPECT_EQ(parse_real(std::string_view("9999999999999999999e27"), single), NumberStatus::overflow);
  double value = 0;
  for (const char* text : {"-.", "1e", "1e+", "--1", "x", "1.5x"}) {
    EXPECT_EQ(parse_real(std::string_view(text), value), NumberStatus::malformed) << text;
  }
}

TEST(ParseNumber, FortranExponents) {
  double value = 0;
  const std::string long_number = "1." + std::string(300, '0') + "D+02";
  EXPECT_EQ(parse_real(std::string_view("1.25D+02"), value), NumberStatus::ok);
  EXPECT_EQ(value, 125.0);
  EXPECT_EQ(parse_real(std::string_view("-.5d-1"), value), NumberStatus::ok);
  EXPECT_EQ(value, -0.05);
  EXPECT_EQ(parse_real(std::string_view(long_number), value), NumberStatus::ok);
  EXPECT_EQ(value, 100.0);
  EXPECT_EQ(parse_real(std::string_view("1D400"), value), NumberStatus::overflow);
  EXPECT_EQ(parse_real(std::string_view("1D2D3"), value), NumberStatus::malformed);
  EXPECT_EQ(parse_real(std::string_view("D2"), value), NumberStatus::malformed);
}

TEST(ParseNumber, OutOfRangeTellsLargeFromSmall) {
  const std::string zeros(500, '0');
  const struct {
    std::string text;
    NumberStatus status;
  } cases[] = {
      {"1e-99999999999999999999", NumberStatus::ok},
      {"1e99999999999999999999", NumberStatus::overflow},
      {"0e99999999999999999999", NumberStatus::ok},
      {"1e9223372036854775807", NumberStatus::overflow},
      {"0.01e-9223372036854775808", NumberStatus::ok},
      {"0." + zeros + "1e-1", NumberStatus::ok},
      {"0." + zeros + "1e900", NumberStatus::overflow},
      {"1" + zeros, NumberStatus::overflow},
      {"1" + zeros + "e-900", NumberStatus::ok},
      {"-" + zeros + "1" + zeros + ".5", NumberStatus::overflow},
      {zeros + ".0e400", NumberStatus::ok},
  };
  for (const auto& c : cases) {
    double value = 1.0;
    EXPECT_EQ(parse_real(std::string_view(c.text), value), c.status) << c.text;
    if (c.status == NumberStatus::ok) {
      EXPECT_EQ(value, 0.0) << c.text;
    }
  }
}

TEST(ParseNumber, NotFinite) {
  double value = 0;
  for (const char* text : {"inf", "-inf", "+Infinity", "nan", "NAN", "-nan", "nan(12)"}) {
    EXPECT_EQ(parse_real(std::string_view(text), value), NumberStatus::not_finite) << text;
  }
}

TEST(ParseNumber, Malformed) {
  double value = 0;
  std::int64_t number = 0;
  for (const char* text : {"", "+", "-", "++1", "+-1", "-+1", ".", "e5", "1e", "1e+", "1 ", "0x1p3", "1_000"}) {
    EXPECT_EQ(parse_real(std::string_view(text), value), NumberStatus::malformed) << text;
    EXPECT_EQ(parse_integer(text, number), NumberStatus::malformed) << text;
  }
}

TEST(ParseNumber, Integers) {
  std::int64_t number = 0;
  EXPECT_EQ(parse_integer("-9223372036854775808", number), NumberStatus::ok);
  EXPECT_EQ(number, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse_integer("+0007", number), NumberStatus::ok);
  EXPECT_EQ(number, 7);
  EXPECT_EQ(parse_integer("9223372036854775808", number), NumberStatus::overflow);
  EXPECT_EQ(parse_integer("1.0", number), NumberStatus::malformed);
}

}  // namespace
}  // namespace tessera::io
