/// \file
/// Completion scripts that have a file of their own.
#pragma once

#include <string>

namespace tessera::cli {

[[nodiscard]] std::string fish_completion();

}  // namespace tessera::cli
