/// \file
/// Limits of one GPU that kernels are sized by: shared memory, threads and blocks of a multiprocessor.
#pragma once

#include <cstdint>

namespace tessera::cuda {

/// Asked of the driver once per device; in bytes where nothing else is said (CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability").
struct DeviceLimits {
  int compute_capability = 0;  ///< 10 * major + minor
  int multiprocessors = 0;
  int threads_per_multiprocessor = 0;
  int blocks_per_multiprocessor = 0;
  std::int64_t shared_per_multiprocessor = 0;
  std::int64_t shared_per_block = 0;           ///< without asking for more
  std::int64_t largest_shared_per_block = 0;   ///< dynamic shared memory that a kernel may ask for
  std::int64_t reserved_shared_per_block = 0;  ///< what the runtime takes for itself
  bool launches_cooperative_grids = false;     ///< whose blocks all run at once
};

/// \param ordinal of the GPU \throws CudaError
[[nodiscard]] DeviceLimits device_limits(int ordinal);

}  // namespace tessera::cuda
