/// \file
/// Outputs of a solve, by one device, several, or PETSc.
#pragma once

#include "outcome.hpp"
#include "settings.hpp"

#include <functional>
#include <string>
#include <vector>

namespace tessera::cli {

/// Writes the solution, with comments, to a file or ("-") to standard output.
using SolutionWriter = std::function<void(const std::string& path, const std::vector<std::string>& comments)>;

/// Delivers summary, solution, history and JSON as the outputs say. \returns as deliver()
[[nodiscard]] ExitCode deliver_run(RunOutcome& outcome, const OutputSettings& output, const Options& options,
                                   const Invocation& invocation, const SolutionWriter& write);

}  // namespace tessera::cli
