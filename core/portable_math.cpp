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

}  // namespace tessera
