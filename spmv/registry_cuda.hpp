/// \file
/// The kernels of the CUDA backend, for the registry.
#pragma once

#include "spmv/registry.hpp"

namespace tessera {

/// How a kernel is made on a GPU; not offered() for one that runs on the host only, and for all of them in a build
/// without CUDA. The factories take a matrix that lies on options.device.
[[nodiscard]] SpmvBackend cuda_backend(SpmvAlgorithm algorithm);

}  // namespace tessera
