/// \file
/// Vectors in units that differ by powers of two: scaling them is exact while no digit falls below the smallest normal
/// number, and says so when one does.
#pragma once

#include "core/power_of_two.hpp"
#include "solvers/vector_ops.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera::host {

/// x *= 2^exponent. \returns whether scaling back would give the same x: false when digits underflowed
template <class T>
[[nodiscard]] bool scale_by_power(const Device& device, std::span<T> x, int exponent) {
  if (exponent == 0) return true;
  const PowerOfTwo<T> scaled(exponent);
  const PowerOfTwo<T> back(-exponent);
  return fused_sum<std::int64_t>(device, x.size(), [=](std::size_t i, std::int64_t& changed) {
           const T value = x[i];
           x[i] = scaled(value);
           changed += back(x[i]) == value ? 0 : 1;
         }) == 0;
}

/// A nonnegative number as mantissa * 2^exponent, mantissa in [1, 2) (or 0): norms outside the range of double squares.
struct ScaledNorm {
  double mantissa = 0.0;
  int exponent = 0;
  /// In plain units; infinity or 0 where it does not fit.
  [[nodiscard]] double value() const { return std::ldexp(mantissa, exponent); }
};

/// ‖x‖₂ without overflow or underflow. \param largest max |x_i|, finite
template <class T>
[[nodiscard]] ScaledNorm scaled_norm(const Device& device, std::span<const T> x, double largest) {
  if (largest == 0.0) return {};
  const int shift = std::ilogb(largest);
  const PowerOfTwo<double> scaled(-shift);
  const auto sum = fused_sum<double>(device, x.size(), [=](std::size_t i, double& total) {
    const double value = scaled(static_cast<double>(x[i]));
    total += value * value;
  });
  const double norm = std::sqrt(sum);
  const int own = std::ilogb(norm);
  return {std::ldexp(norm, -own), shift + own};
}

}  // namespace tessera::host
