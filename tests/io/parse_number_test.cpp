#include "io/parse_number.hpp"

#include <gtest/gtest.h>

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

TEST(ParseNumber, FortranExponents) {
  double value = 0;
  EXPECT_EQ(parse_real(std::string_view("1.25D+02"), value), NumberStatus::ok);
  EXPECT_EQ(value, 125.0);
  EXPECT_EQ(parse_real(std::string_view("-.5d-1"), value), NumberStatus::ok);
  EXPECT_EQ(value, -0.05);
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
