/// \file
/// A launch as the CUDA runtime sees it.
#pragma once

#include "tests/emulator/grid.hpp"

#include <cuda_runtime_api.h>

#include <functional>

namespace tessera::emulator {

/// Runs kernel() in every thread of the grid. \param kernel_address tells kernels apart
/// \returns what is wrong with the launch or went wrong in the kernel
cudaError_t launch(const void* kernel_address, const GridShape& shape, cudaStream_t stream,
                   const std::function<void()>& kernel);

}  // namespace tessera::emulator
