/// \file
/// What passes do at element i of their vectors, for the host and a GPU alike. A step is a small value: pointers to
/// vectors on one device, scalars, and the type of its sums. It may write to element i alone.
#pragma once

#include "core/power_of_two.hpp"
#include "core/sums.hpp"

#include <cmath>
#include <cstdint>

namespace tessera::passes {

/// max |x_i|
template <class T>
struct LargestMagnitude {
  using Sums = detail::Largest;
  const T* x;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, detail::Largest& largest) const {
    largest += detail::Largest{std::abs(static_cast<double>(x[i]))};
  }
};

/// <x, y>
template <class T>
struct Dot {
  using Sums = double;
  const T* x;
  const T* y;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, double& sum) const {
    sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  }
};

/// y += a x
template <class T>
struct AddMultiple {
  using Sums = detail::NoSum;
  T a;
  const T* x;
  T* y;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, detail::NoSum& /*sum*/) const { y[i] += a * x[i]; }
};

/// x <-> y
template <class T>
struct Swap {
  using Sums = detail::NoSum;
  T* x;
  T* y;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, detail::NoSum& /*sum*/) const {
    const T value = x[i];
    x[i] = y[i];
    y[i] = value;
  }
};

/// x *= 2^e; counts the elements that scaling back would not restore.
template <class T>
struct ScaleByPower {
  using Sums = std::int64_t;
  T* x;
  host::PowerOfTwo<T> scaled;
  host::PowerOfTwo<T> back;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, std::int64_t& changed) const {
    const T value = x[i];
    x[i] = scaled(value);
    changed += back(x[i]) == value ? 0 : 1;
  }
};

/// ‖2^e x‖₂²
template <class T>
struct ScaledSquares {
  using Sums = double;
  const T* x;
  host::PowerOfTwo<double> scaled;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, double& sum) const {
    const double value = scaled(static_cast<double>(x[i]));
    sum += value * value;
  }
};

}  // namespace tessera::passes
