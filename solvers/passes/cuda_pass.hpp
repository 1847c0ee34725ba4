/// \file
/// Runs a step over whole vectors on a GPU.
#pragma once

#include "tessera/device.hpp"

#include <cstdint>

namespace tessera::cuda {

/// For the steps that solvers/passes/cuda_steps.hpp lists.
template <class Step>
struct Pass {
  /// The sums of step(i, sums) over [0, n). Waits for them, unless the step only writes.
  /// \throws CudaError, OutOfMemory; DeviceUnavailable in a build without CUDA
  static typename Step::Sums run(const Device& device, std::int64_t n, const Step& step);
};

}  // namespace tessera::cuda
