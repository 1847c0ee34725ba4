/// \file
/// Stands in for the header of the same name.
#pragma once

#include "tests/emulator/grid.hpp"

namespace tessera::cuda {

[[nodiscard]] inline unsigned char* dynamic_shared_memory() { return emulator::dynamic_shared(); }

}  // namespace tessera::cuda
