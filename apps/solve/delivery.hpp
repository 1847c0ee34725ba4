/// \file
/// Hands out the results of a finished run so that one output that fails loses none of the others.
#pragma once

#include "exit_code.hpp"
#include "settings.hpp"

#include "tessera/report.hpp"

#include <functional>
#include <string>
#include <vector>

namespace tessera::cli {

/// How each output is made; called only where it was asked for.
struct Deliverables {
  std::function<void(const std::string& path)> write_vector;
  const std::vector<HistoryEntry>* history = nullptr;
  std::function<std::string()> summary;
  std::function<std::string()> csv;
  std::function<std::string()> markdown;
  std::function<std::string(ExitCode)> json;  ///< told the exit code as far as it is known by then
};

/// Writes vector, history, CSV, Markdown, JSON and summary.
/// \returns `code`, or bad_input when an output could not be written
[[nodiscard]] ExitCode deliver(const OutputSettings& settings, ExitCode code, const Deliverables& results);

}  // namespace tessera::cli
