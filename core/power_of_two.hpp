/// \file
/// Scaling by powers of two: exact, so that a solve in scaled units is the solve in the user's units.
#pragma once

#include "core/host_device.hpp"

#include <cmath>

namespace tessera::host {

/// 2^exponent for any exponent of a finite double or float: two factors, because 2^1074 is not representable.
template <class T>
class PowerOfTwo {
 public:
  TESSERA_HOST_DEVICE explicit PowerOfTwo(int exponent)
      : first_(std::ldexp(T{1}, exponent / 2)), second_(std::ldexp(T{1}, exponent - exponent / 2)) {}

  TESSERA_HOST_DEVICE T operator()(T value) const noexcept { return (value * first_) * second_; }

 private:
  T first_;
  T second_;
};

}  // namespace tessera::host
