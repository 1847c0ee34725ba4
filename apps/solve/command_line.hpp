/// \file
/// The words of the command line, sorted.
#pragma once

#include "options.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

/// The words that were typed, sorted into command, options and bare words, but not yet understood.
struct CommandLine {
  std::optional<Command> command;        ///< named by the first bare word
  std::vector<std::string> words;        ///< bare words after the command: the matrix, the topic of list
  Layer settings;                        ///< without --set
  std::vector<std::string> assignments;  ///< key=value of each --set
};

/// \param arguments without the program's name \throws UsageError for an option that is unknown, given twice or without
/// its value
[[nodiscard]] CommandLine parse_command_line(const std::vector<std::string>& arguments);

}  // namespace tessera::cli
