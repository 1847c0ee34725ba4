/// \file
/// What passes over vectors add up. Each type is its own zero and adds with +=, on the host and on a GPU.
#pragma once

#include "core/host_device.hpp"

#include <cmath>
#include <cstdint>

namespace tessera::passes {

/// Of a pass that only writes.
struct NoSum {
  TESSERA_HOST_DEVICE NoSum& operator+=(const NoSum& /*other*/) noexcept { return *this; }
};

/// Of a step that deals with scalars alone.
struct NoBody {
  using Sums = NoSum;
  TESSERA_HOST_DEVICE void operator()(std::int64_t /*i*/, NoSum& /*sum*/) const noexcept {}
};

/// Two sums of one pass.
struct TwoSums {
  double first = 0.0;
  double second = 0.0;
  TESSERA_HOST_DEVICE TwoSums& operator+=(const TwoSums& other) noexcept {
    first += other.first;
    second += other.second;
    return *this;
  }
};

/// Largest absolute value; NaN as soon as one element is NaN.
struct Largest {
  double value = 0.0;
  TESSERA_HOST_DEVICE Largest& operator+=(const Largest& other) noexcept {
    if (!(other.value <= value) && !std::isnan(value)) value = other.value;
    return *this;
  }
};

/// The lowest of some indices.
struct FirstIndex {
  std::int64_t index = -1;  ///< -1: none
  TESSERA_HOST_DEVICE FirstIndex& operator+=(const FirstIndex& other) noexcept {
    if (index < 0 || (other.index >= 0 && other.index < index)) index = other.index;
    return *this;
  }
};

/// A sum whose rounding errors are added up beside it (Knuth's exact addition): the ranks of 10^8 vertices sum to 1 as
/// well as those of ten.
struct CompensatedSum {
  double sum = 0.0;
  double error = 0.0;

  TESSERA_HOST_DEVICE void add(double value) noexcept {
    const double total = sum + value;
    const double part = total - sum;
    error += (sum - (total - part)) + (value - part);
    sum = total;
  }
  TESSERA_HOST_DEVICE CompensatedSum& operator+=(const CompensatedSum& other) noexcept {
    add(other.sum);
    error += other.error;
    return *this;
  }
  [[nodiscard]] TESSERA_HOST_DEVICE double value() const noexcept { return sum + error; }
};

}  // namespace tessera::passes
