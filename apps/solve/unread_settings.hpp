/// \file
/// Places where a user may have left settings that this build does not read yet.
#pragma once

#include "warning.hpp"

namespace tessera::cli {

/// One warning for each environment variable SOLVE_<NAME>, and one for ./solve.toml.
[[nodiscard]] Warnings unread_settings();

}  // namespace tessera::cli
