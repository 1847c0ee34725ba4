/// \file
/// What -v and -vv say of the run that begins.
#pragma once

#include "cli_options.hpp"
#include "progress.hpp"

#include "settings.hpp"

namespace tessera::cli {

/// Version and machine; with -vv every setting as well.
void print_banner(const Options& options, const MachineSettings& machine, Progress& progress);

/// The device that `auto` chose, and why.
void print_device(const MachineSettings& machine, Progress& progress);

}  // namespace tessera::cli
