/// \file
/// Sums of reductions over vectors, on the host and on a GPU. A default-constructed value is the zero; += adds.
#pragma once

#include "core/host_device.hpp"

#include <cmath>
#include <cstdint>

namespace tessera::detail {

/// Of an operation that only writes.
struct NoSum {
  TESSERA_HOST_DEVICE NoSum& operator+=(const NoSum& /*other*/) noexcept { return *this; }
};

/// Of an operation on scalars alone, which has no elements.
struct NoBody {
  using Sums = NoSum;
  TESSERA_HOST_DEVICE void operator()(std::int64_t /*i*/, NoSum& /*sum*/) const noexcept {}
};

/// Two sums of one reduction.
struct TwoSums {
  double first = 0.0;
  double second = 0.0;
  TESSERA_HOST_DEVICE TwoSums& operator+=(const TwoSums& other) noexcept {
    first += other.first;
    second += other.second;
    return *this;
  }
};

/// Largest absolute value; NaN if any element is NaN.
struct Largest {
  double value = 0.0;
  TESSERA_HOST_DEVICE Largest& operator+=(const Largest& other) noexcept {
    if (!(other.value <= value) && !std::isnan(value)) value = other.value;
    return *this;
  }
};

/// Lowest index.
struct FirstIndex {
  std::int64_t index = -1;  ///< -1: none
  TESSERA_HOST_DEVICE FirstIndex& operator+=(const FirstIndex& other) noexcept {
    if (index < 0 || (other.index >= 0 && other.index < index)) index = other.index;
    return *this;
  }
};

/// Compensated sum: the rounding errors are summed too (Knuth's TwoSum). 10^8 ranks sum to 1 as well as ten do.
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

}  // namespace tessera::detail
