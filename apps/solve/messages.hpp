/// \file
/// What goes to standard error for people: errors, hints, warnings.
#pragma once

#include "exit_code.hpp"

#include "support/warning.hpp"

#include <string_view>

namespace tessera::cli {

/// "solve: error: ..." and, if there is one, "  hint: ..." on a line of its own.
void print_failure(const Failure& failure);
void print_warnings(const support::Warnings& warnings);

/// The only way to standard error. What cannot be written there is lost: a closed or full standard error must not cost
/// a result.
void write_stderr(std::string_view text) noexcept;

}  // namespace tessera::cli
