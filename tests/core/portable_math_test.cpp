#include "core/portable_math.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace tessera {
namespace {

TEST(PortableMath, AgreesWithTheMathematicalLibrary) {
  // Documented accuracy, relative; the library's own error is below 1e-16.
  for (double x = 1e-300; x < 1e300; x *= 1.7) {
    EXPECT_NEAR(portable_log2(x), std::log2(x), 1e-15 * std::fabs(std::log2(x)) + 1e-16) << x;
  }
  for (double x = 0.9; x < 1.1; x += 1e-3) {
    EXPECT_NEAR(portable_log2(x), std::log2(x), 1e-15 * std::fabs(std::log2(x)) + 1e-17) << x;
  }
  for (double x = -1000; x <= 1000; x += 0.37) {
    EXPECT_NEAR(portable_exp2(x) / std::exp2(x), 1.0, 1e-15) << x;
  }
  for (double base = 1e-12; base < 1e12; base *= 3.1) {
    for (const double exponent : {-5.0, -1 / 1.1, -0.2, 0.0, 0.2, 1.0, 5.0}) {
      EXPECT_NEAR(portable_pow(base, exponent) / std::pow(base, exponent), 1.0, 1e-12) << base << ' ' << exponent;
    }
  }
}

TEST(PortableMath, PowersOfTwoAreExact) {
  for (int k = -1000; k <= 1000; ++k) {
    EXPECT_EQ(portable_exp2(k), std::ldexp(1.0, k));
    EXPECT_EQ(portable_log2(std::ldexp(1.0, k)), k);
  }
  EXPECT_EQ(portable_log2(std::numeric_limits<double>::min()), -1022);
}

/// Against the sine of the mathematical library in long double. Near a zero at a whole number k, sin(π x) is
/// ± sin(π (x - k)), whose argument has no cancellation.
TEST(PortableMath, SineOfMultiplesOfPi) {
  const auto exact = [](double x) {
    const double nearest = std::round(x);
    const long double sine = std::sin(std::numbers::pi_v<long double> * (static_cast<long double>(x) - nearest));
    return std::fmod(nearest, 2.0) == 0.0 ? sine : -sine;
  };
  double worst = 0.0;
  for (int k = -400000; k <= 400000; ++k) {
    const double x = k / 131071.0;
    if (k % 131071 == 0) continue;
    worst = std::max(worst, static_cast<double>(std::fabs(portable_sin_pi(x) / exact(x) - 1)));
  }
  for (double x = 1e-300; x < 0.5; x *= 1.3) {
    worst = std::max(worst, static_cast<double>(std::fabs(portable_sin_pi(x) / exact(x) - 1)));
  }
  EXPECT_LE(worst, 5e-16);
  for (int k = -6; k <= 6; ++k) {
    EXPECT_EQ(portable_sin_pi(k), 0.0) << k;
    EXPECT_EQ(portable_sin_pi(k + 0.5), k % 2 == 0 ? 1.0 : -1.0) << k;
  }
  EXPECT_EQ(portable_sin_pi(0x1p60), 0.0);
  EXPECT_EQ(portable_sin_pi(-0.3), -portable_sin_pi(0.3));
}

}  // namespace
}  // namespace tessera
