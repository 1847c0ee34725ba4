/// \file
/// What the CUDA runtime says of the machine's GPUs.
#pragma once

#include "tessera/device.hpp"

namespace tessera::cuda {

/// Never throws for a machine without GPU or driver: the survey says what is missing. \param ordinal as survey_cuda()
[[nodiscard]] CudaSurvey survey(int ordinal);

}  // namespace tessera::cuda
