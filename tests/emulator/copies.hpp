/// \file
/// Copies of the emulated device, for tests.
#pragma once

#include <cstdint>

namespace tessera::emulator {

/// Bytes that copies of the runtime have brought from the device to the host, so far.
[[nodiscard]] std::uint64_t bytes_to_host();

}  // namespace tessera::emulator
