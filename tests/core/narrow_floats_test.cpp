// Half precision and pairs of TF32 numbers against closed forms in long double.
#include "core/narrow_floats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace tessera::detail {
namespace {

/// The number with these bits, from the definition of the format.
long double number_of(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const long double fraction = bits & 1023;
  const long double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/// The nearest number in half precision, of two the one whose last bit is 0; infinity from 65520 on.
long double nearest_half(long double value) {
  const long double magnitude = std::fabs(value);
  if (magnitude >= 65520.0L) return std::copysign(std::numeric_limits<long double>::infinity(), value);
  const int exponent = magnitude < 0x1p-14L ? -14 : std::ilogb(magnitude);
  const long double unit = std::ldexp(1.0L, exponent - 10);
  const long double below = std::floor(magnitude / unit);
  const long double rest = magnitude / unit - below;
  const bool odd = std::fmod(below, 2.0L) == 1.0L;
  const bool up = rest > 0.5L || (rest == 0.5L && odd);
  return std::copysign((up ? below + 1 : below) * unit, value);
}

void expect_nearest(double value) {
  const long double expected = nearest_half(value);
  const float found = float_of(half_of(value));
  ASSERT_EQ(static_cast<long double>(found), expected) << value;
  ASSERT_EQ(std::signbit(found), std::signbit(value)) << value;
}

TEST(HalfPrecision, EveryNumberIsItself) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    if (!is_finite(half)) continue;
    ASSERT_EQ(static_cast<long double>(float_of(half)), number_of(half.bits)) << bits;
    ASSERT_EQ(half_of(static_cast<double>(float_of(half))).bits, half.bits) << bits;
  }
}

/// Halfway between neighbours, and the numbers in double precision beside: no rounding to single comes between.
TEST(HalfPrecision, TiesGoToEvenAndNothingElseDoes) {
  for (std::uint16_t bits = 0; bits < Half::infinity; ++bits) {
    const auto next = bits + 1 == Half::infinity ? 65536.0L : number_of(static_cast<std::uint16_t>(bits + 1));
    const auto tie = static_cast<double>((number_of(bits) + next) / 2);
    for (const double value : {tie, std::nextafter(tie, 0.0), std::nextafter(tie, 1e9)}) {
      expect_nearest(value);
      expect_nearest(-value);
    }
  }
}

TEST(HalfPrecision, LimitsOfTheRange) {
  EXPECT_EQ(float_of(half_of(65519.999)), 65504.0F);
  EXPECT_EQ(half_of(65520.0).bits, Half::infinity);
  EXPECT_EQ(half_of(-1e300).bits, 0x8000 | Half::infinity);
  EXPECT_EQ(half_of(0x1p-25).bits, 0) << "a tie";
  EXPECT_EQ(half_of(std::nextafter(0x1p-25, 1.0)).bits, 1);
  EXPECT_EQ(half_of(-1e-300).bits, 0x8000);
  EXPECT_EQ(half_of(std::numeric_limits<double>::denorm_min()).bits, 0);
  EXPECT_EQ(half_of(-0.0).bits, 0x8000);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(float_of(half_of(infinity)), std::numeric_limits<float>::infinity());
  EXPECT_EQ(float_of(half_of(-infinity)), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(float_of(half_of(std::numeric_limits<double>::quiet_NaN()))));
  EXPECT_TRUE(is_subnormal(half_of(0x1p-15)));
  EXPECT_FALSE(is_subnormal(half_of(0x1p-14)));
  EXPECT_FALSE(is_subnormal(half_of(0.0)));
  EXPECT_FALSE(is_subnormal(half_of(infinity)));
}

TEST(HalfPrecision, RandomNumbers) {
  std::mt19937_64 generator(1);
  std::uniform_real_distribution<double> mantissa(-2.0, 2.0);
  std::uniform_int_distribution<int> exponent(-30, 17);
  for (int round = 0; round < 100'000; ++round) expect_nearest(std::ldexp(mantissa(generator), exponent(generator)));
}

/// TF32 has 11 bits: the 13 low bits of single precision are 0.
void expect_tf32(float value) { ASSERT_EQ(bits_of(value) & 0x1FFFU, 0U) << value; }

TEST(Tf32Pairs, StandForTheirNumbers) {
  std::mt19937_64 generator(2);
  std::uniform_real_distribution<float> mantissa(1.0F, 2.0F);
  std::uniform_int_distribution<int> exponent(-50, 61);
  long double worst = 0.0L;
  for (int round = 0; round < 200'000; ++round) {
    const float value = std::ldexp(mantissa(generator), exponent(generator));
    const Tf32Pair pair(round % 2 == 0 ? value : -value);
    expect_tf32(pair.big);
    expect_tf32(pair.small);
    const long double sum = static_cast<long double>(pair.big) + static_cast<long double>(pair.small);
    const long double magnitude = value;
    worst = std::max(worst, std::fabs(std::fabs(sum) - magnitude) / magnitude);
    ASSERT_LE(std::fabs(pair.small), 0x1p-11F * value);
  }
  EXPECT_LE(worst, 0x1p-23L);
  EXPECT_GT(worst, 0x1p-25L) << "the bound is nearly met";
}

TEST(Tf32Pairs, SmallNumbersOfBitsAreExact) {
  for (const float value : {0.0F, -0.0F, 1.0F, 3.0F, 2047.0F, -0x1.FFCp10F, 0x1p-50F, 0x1p62F}) {
    const Tf32Pair pair(value);
    EXPECT_EQ(pair.big, value);
    EXPECT_EQ(pair.small, 0.0F);
  }
}

}  // namespace
}  // namespace tessera::detail
