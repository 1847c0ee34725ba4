/// \file
/// What goes to standard error for people: errors, hints, warnings.
#pragma once

#include "exit_code.hpp"
#include "warning.hpp"

namespace tessera::cli {

/// "solve: error: ..." and, if there is one, "  hint: ..." on a line of its own.
void print_failure(const Failure& failure);
void print_warnings(const Warnings& warnings);

}  // namespace tessera::cli
