/// \file
/// Vectors in units that differ by powers of two: scaling them is exact while no digit falls below the smallest normal
/// number, and says so when one does.
#pragma once

#include "core/power_of_two.hpp"
#include "solvers/vector_ops.hpp"

#include <cmath>
#include <span>

namespace tessera::vectors {

/// x *= 2^exponent. \returns whether scaling back would give the same x: false when digits underflowed
template <class T>
[[nodiscard]] bool scale_by_power(const Device& device, std::span<T> x, int exponent) {
  if (exponent == 0) return true;
  using Power = host::PowerOfTwo<T>;
  return run_pass(device, length(x), passes::ScaleByPower<T>{x.data(), Power(exponent), Power(-exponent)}) == 0;
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
  const double sum = run_pass(device, length(x), passes::ScaledSquares<T>{x.data(), host::PowerOfTwo<double>(-shift)});
  const double norm = std::sqrt(sum);
  const int own = std::ilogb(norm);
  return {std::ldexp(norm, -own), shift + own};
}

}  // namespace tessera::vectors
