/// \file
/// The words that were typed, sorted into command, options and bare words, but not yet understood.
#pragma once

#include "option_table.hpp"
#include "setting.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

struct CommandLine {
  std::optional<Command> command;        ///< named by the first bare word
  std::vector<std::string> words;        ///< bare words after the command: the matrix, the topic of list
  Layer settings;                        ///< --set aside
  std::vector<std::string> assignments;  ///< key=value of each --set
};

/// \param arguments without the program's name
/// \throws UsageError for everything that this build does not know; whether an option applies to the command is not
///         looked at
[[nodiscard]] CommandLine parse_command_line(const std::vector<std::string>& arguments);

}  // namespace tessera::cli
