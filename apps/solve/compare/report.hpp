/// \file
/// `compare` from the problem to the written results, for a given table of kernels.
#pragma once

#include "compare/candidate.hpp"
#include "compare/compare_settings.hpp"
#include "exit_code.hpp"
#include "outcome.hpp"

#include <vector>

namespace tessera::cli {

/// Loads the problem, compares the candidates and writes the outputs of the settings.
/// \returns the exit code; throws what compare() and the loading throw
template <class T>
[[nodiscard]] ExitCode compare_and_report(const CompareSettings& settings, const std::vector<Candidate<T>>& candidates,
                                          const Options& options, const Invocation& invocation);

}  // namespace tessera::cli
