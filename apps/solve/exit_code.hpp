/// \file
/// The exit codes that scripts rely on.
#pragma once

#include "tessera/report.hpp"

#include <exception>
#include <string>

namespace tessera::cli {

enum class ExitCode : int {
  success = 0,         ///< converged and verified, or the command did its job
  internal_error = 1,  ///< a bug
  usage = 2,           ///< bad option or value
  not_converged = 3,   ///< iteration or time limit
  failed = 4,          ///< breakdown, divergence, stagnation, or numbers that are not finite
  bad_input = 5,       ///< a file, its format, dimensions, a singular diagonal; an output that cannot be written
  out_of_memory = 6,
  no_device = 7,
  verification_failed = 8,
  interrupted = 130,  ///< SIGINT
  terminated = 143,   ///< SIGTERM
};

/// \param signal     the signal that asked the solve to stop, 0 if none
/// \param exit_zero  whether --exit-zero turns "not converged" and "failed" into success
[[nodiscard]] ExitCode exit_code_of(Status status, int signal, bool exit_zero);

/// What the user is told about an exception.
struct Failure {
  ExitCode code = ExitCode::internal_error;
  std::string message;
  std::string hint;  ///< may be empty
};

[[nodiscard]] Failure classify(const std::exception& error);

}  // namespace tessera::cli
