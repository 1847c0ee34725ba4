/// \file
/// Warnings of a solve.
#pragma once

#include "outcome.hpp"
#include "settings.hpp"

namespace tessera::cli {

/// W008, when an option was typed that the method chosen by auto does not use.
void warn_about_unused(const RunSettings& settings, Method method, Warnings& warnings);

/// All that follow from what a finished solve found: W001 to W006 and W009 to W016.
void warn_about_run(const RunOutcome& outcome, Warnings& warnings);

}  // namespace tessera::cli
