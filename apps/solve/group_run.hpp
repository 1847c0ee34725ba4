/// \file
/// solve --device cuda:0,1: one system on several devices of this machine.
#pragma once

#include "commands.hpp"
#include "errors.hpp"
#include "options.hpp"
#include "outcome.hpp"
#include "report_json.hpp"

#include <string>

namespace tessera::cli {

/// Whether --device names several devices.
[[nodiscard]] bool uses_several_devices(const Options& options);

/// A run on several devices. \throws as run_command; UsageError for what one device alone can do
[[nodiscard]] ExitCode run_on_several_devices(const Options& options, const Invocation& invocation);

/// A line of the summary per device.
[[nodiscard]] std::string parts_lines(const RunOutcome& outcome);
/// The same in a document.
[[nodiscard]] Json parts_json(const RunOutcome& outcome);

}  // namespace tessera::cli
