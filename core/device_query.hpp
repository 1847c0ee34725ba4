/// \file
/// The one question this layer asks the CUDA runtime. Exactly one of device_query_cuda.cu and device_query_none.cpp is
/// part of a build.
#pragma once

#include "tessera/device.hpp"

namespace tessera::cuda {

/// Never throws for a machine without GPU or driver: the survey says what is missing.
[[nodiscard]] CudaSurvey survey();

}  // namespace tessera::cuda
