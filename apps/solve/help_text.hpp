/// \file
/// Help, made from the table of options.
#pragma once

#include "option_table.hpp"

#include <string>

namespace tessera::cli {

/// What --help prints: usage, commands, the options of `command` by group, exit codes, examples. At most 100 columns.
[[nodiscard]] std::string help_text(Command command);

}  // namespace tessera::cli
