/// \file
/// solve --device cuda:0,1: one system on several devices of this machine; and what solve pagerank shares with it.
#pragma once

#include "commands.hpp"
#include "errors.hpp"
#include "options.hpp"
#include "outcome.hpp"
#include "report_json.hpp"

#include "tessera/several_devices.hpp"

#include <string>

namespace tessera::cli {

/// Whether --device names several devices.
[[nodiscard]] bool uses_several_devices(const Options& options);

/// A run on several devices. \throws as run_command; UsageError for what one device alone can do
[[nodiscard]] ExitCode run_on_several_devices(const Options& options, const Invocation& invocation);

/// The devices that --device names. \throws OptionError, DeviceUnavailable
[[nodiscard]] DeviceGroup device_group(const Options& options);
/// Takes what the devices have of a DistributedMatrix or a DistributedTransitionMatrix.
template <class Matrix>
void take_parts(const Matrix& matrix, CommonOutcome& outcome) {
  outcome.parts = matrix.parts();
  outcome.has_peer_access = matrix.group().has_peer_access();
  outcome.device = matrix.group().device(0);
  outcome.memory.matrix += matrix.memory_bytes();
}

/// A line of the summary per device.
[[nodiscard]] std::string parts_lines(const CommonOutcome& outcome);
/// The same in a document.
[[nodiscard]] Json parts_json(const CommonOutcome& outcome);

}  // namespace tessera::cli
