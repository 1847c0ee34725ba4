/// \file
/// Small grain: matrices of a hundred rows run on several threads.
#pragma once

#include "core/grain.hpp"

namespace tessera::testing {

/// While it lives, a thread is worth 4 items instead of 4096, and chunks are as much smaller. Made and destroyed
/// while no parallel operation runs; kernels must be made while it lives.
class SmallGrain {
 public:
  SmallGrain() { host::grain_divisor = 1024; }
  ~SmallGrain() { host::grain_divisor = 1; }
  SmallGrain(const SmallGrain&) = delete;
  SmallGrain& operator=(const SmallGrain&) = delete;
};

}  // namespace tessera::testing
