/// Compiled without contraction of a * b + c, which would round once where other processors round twice.

#include "core/portable_math.hpp"

#include <cmath>
#include <numbers>

namespace tessera {

double portable_log2(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // in [1/2, 1)
  if (mantissa < std::numbers::sqrt2 / 2) {
    mantissa *= 2;
    --exponent;
  }
  // log m = 2 artanh s = 2 (s + s^3 / 3 + s^5 / 5 + ...), where s^2 <= 0.0295
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  double series = 0.0;
  for (int k = 21; k >= 1; k -= 2) series = series * square + 1.0 / k;
  return exponent + 2 * s * series * std::numbers::log2e;
}

double portable_exp2(double x) {
  const double whole = std::floor(x + 0.5);
  // e^y = 1 + y (1 + y/2 (1 + y/3 (...))), where |y| <= 0.347
  const double y = (x - whole) * std::numbers::ln2;
  double series = 1.0;
  for (int k = 14; k >= 1; --k) series = 1.0 + y / k * series;
  return std::ldexp(series, static_cast<int>(whole));
}

double portable_pow(double base, double exponent) { return portable_exp2(exponent * portable_log2(base)); }

namespace {

/// 1 - t^2 / (a (a + 1)) (1 - t^2 / ((a + 2) (a + 3)) (...)) for |t| <= π/4: cos t if a = 1, sin(t) / t if a = 2.
double alternating_series(double t, int a) {
  const double square = t * t;
  double series = 1.0;
  for (int k = a + 16; k >= a; k -= 2) series = 1.0 - square / (k * (k + 1)) * series;
  return series;
}

}  // namespace

double portable_sin_pi(double x) {
  // Every difference here is exact.
  const double magnitude = std::fabs(x);
  const double turns = std::floor(magnitude / 2);
  const double in_turn = magnitude - 2 * turns;  // in [0, 2)
  const double in_half = in_turn < 1.0 ? in_turn : in_turn - 1.0;
  const double y = in_half > 0.5 ? 1.0 - in_half : in_half;
  const double t = std::numbers::pi * (y > 0.25 ? 0.5 - y : y);
  const double sine = y > 0.25 ? alternating_series(t, 1) : t * alternating_series(t, 2);
  return (x < 0.0) == (in_turn < 1.0) ? -sine : sine;
}

}  // namespace tessera
