/// \file
/// Survey of the machine's GPUs by the CUDA runtime, and the clock of a GPU.
#pragma once

#include "tessera/device.hpp"

#include <functional>

namespace tessera::cuda {

/// Does some work and says how many milliseconds it took.
using TimingClock = std::function<double(const std::function<void()>& work)>;

/// Never throws for a machine without GPU or driver: the survey says what is missing. \param ordinal as survey_cuda()
[[nodiscard]] CudaSurvey survey(int ordinal);

/// Times work by two events in the stream of the device and waits for the second.
/// \throws DeviceUnavailable, CudaError; so does the clock
[[nodiscard]] TimingClock event_clock(const Device& device);

}  // namespace tessera::cuda
