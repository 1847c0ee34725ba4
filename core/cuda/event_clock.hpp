/// \file
/// The clock of a GPU.
#pragma once

#include "tessera/timing.hpp"

namespace tessera::cuda {

/// Times work by two events in the stream of the device and waits for the second.
/// \throws DeviceUnavailable, CudaError; so does the clock
[[nodiscard]] TimingClock event_clock(const Device& device);

}  // namespace tessera::cuda
