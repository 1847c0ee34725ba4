/// \file
/// Functions on vectors, on the device where they lie: dot, axpy, copy, norms, scaling by powers of two.
#pragma once

#include "solvers/fused/transform_reduce.hpp"
#include "tessera/array.hpp"

#include <cmath>
#include <cstdint>
#include <span>

namespace tessera::fused {

template <class T>
[[nodiscard]] std::int64_t length(std::span<T> x) noexcept {
  return static_cast<std::int64_t>(x.size());
}

/// max |x_i|, NaN if any element is.
template <class T>
[[nodiscard]] double largest_magnitude(const Device& device, std::span<const T> x) {
  return transform_reduce(device, length(x), LargestMagnitude<T>{.x = x.data()}).value;
}

/// <x, y>
template <class T>
[[nodiscard]] double dot(const Device& device, std::span<const T> x, std::span<const T> y) {
  return transform_reduce(device, length(x), Dot<T>{.x = x.data(), .y = y.data()});
}

/// y = a x + y
template <class T>
void axpy(const Device& device, T a, std::span<const T> x, std::span<T> y) {
  transform_reduce(device, length(x), Axpy<T>{.a = a, .x = x.data(), .y = y.data()});
}

/// to = from
template <class T>
void copy(const Device& device, std::span<const T> from, std::span<T> to) {
  tessera::detail::copy_bytes(device, to.data(), device, from.data(), from.size_bytes());
}

template <class T>
void swap(const Device& device, std::span<T> x, std::span<T> y) {
  transform_reduce(device, length(x), Swap<T>{.x = x.data(), .y = y.data()});
}

/// x = 0
template <class T>
void clear(const Device& device, std::span<T> x) {
  tessera::detail::zero_bytes(device, x.data(), x.size_bytes());
}

/// A copy on the host.
template <class T>
[[nodiscard]] Array<T> to_host(const Device& device, std::span<const T> x) {
  Array<T> result(length(x), Init::none);
  tessera::detail::copy_bytes(Device{}, result.data(), device, x.data(), x.size_bytes());
  return result;
}

/// x = 2^exponent x. Exact while no digit falls below the smallest normal number.
/// \returns whether scaling back would give the same x: false when digits underflowed
template <class T>
[[nodiscard]] bool scale_by_power(const Device& device, std::span<T> x, int exponent) {
  if (exponent == 0) return true;
  using Power = host::PowerOfTwo<T>;
  const ScaleByPower<T> op{.x = x.data(), .scaled = Power(exponent), .back = Power(-exponent)};
  return transform_reduce(device, length(x), op) == 0;
}

/// A nonnegative number as mantissa * 2^exponent, mantissa in [1, 2) (or 0): norms whose squares leave the range of
/// double.
struct ScaledNorm {
  double mantissa = 0.0;
  int exponent = 0;
  /// Of a number in plain units; infinity and NaN stay in the mantissa.
  [[nodiscard]] static ScaledNorm of(double norm) {
    if (norm == 0.0 || !std::isfinite(norm)) return {norm, 0};
    const int exponent = std::ilogb(norm);
    return {std::ldexp(norm, -exponent), exponent};
  }
  /// In plain units; infinity or 0 where it does not fit.
  [[nodiscard]] double value() const { return std::ldexp(mantissa, exponent); }
};

/// ‖x‖₂ without overflow or underflow. \param largest max |x_i|, finite
template <class T>
[[nodiscard]] ScaledNorm scaled_norm(const Device& device, std::span<const T> x, double largest) {
  if (largest == 0.0) return {};
  const int shift = std::ilogb(largest);
  const ScaledSquares<T> op{.x = x.data(), .scaled = host::PowerOfTwo<double>(-shift)};
  const double norm = std::sqrt(transform_reduce(device, length(x), op));
  const int exponent = std::ilogb(norm);
  return {std::ldexp(norm, -exponent), shift + exponent};
}

}  // namespace tessera::fused
