/// \file
/// The JSON document of `compare`.
#pragma once

#include "compare/compare_outcome.hpp"
#include "report_json.hpp"

namespace tessera::cli {

/// Schema solve.compare/1. \param code the exit code that the program is going to return
[[nodiscard]] Json compare_json(const CompareOutcome& outcome, const Options& options, const Invocation& invocation,
                                ExitCode code);

}  // namespace tessera::cli
