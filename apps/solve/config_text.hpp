/// \file
/// What --print-config prints.
#pragma once

#include "cli_options.hpp"

#include <string>

namespace tessera::cli {

/// TOML that repeats the run with --config FILE, whatever ./solve.toml may say: every option of the command has a line,
/// defaults among them. The same text results when it is read back.
/// \throws UsageError for a name that is not UTF-8, which TOML cannot hold
[[nodiscard]] std::string config_text(const Options& options);

}  // namespace tessera::cli
