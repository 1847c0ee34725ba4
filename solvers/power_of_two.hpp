/// \file
/// Scaling by powers of two: exact, so that a solve in scaled units is the solve in the user's units.
#pragma once

#include "solvers/vector_ops.hpp"

#include <cmath>
#include <cstddef>
#include <span>

namespace tessera::host {

/// 2^exponent for any exponent of a finite double or float, as two factors because 2^1074 is none.
template <class T>
class PowerOfTwo {
 public:
  explicit PowerOfTwo(int exponent)
      : first_(std::ldexp(T{1}, exponent / 2)), second_(std::ldexp(T{1}, exponent - exponent / 2)) {}

  T operator()(T value) const noexcept { return (value * first_) * second_; }

 private:
  T first_;
  T second_;
};

/// x *= 2^exponent
template <class T>
void scale_by_power(const Device& device, std::span<T> x, int exponent) {
  if (exponent == 0) return;
  const PowerOfTwo<T> scaled(exponent);
  parallel_for(device, static_cast<std::int64_t>(x.size()), [=](Range range) {
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
      x[i] = scaled(x[i]);
    }
  });
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
