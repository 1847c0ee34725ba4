/// \file
/// One value of one option, and where it came from.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tessera::cli {

/// Strongest first.
enum class SettingSource { command_line, set, environment, config_file, solve_toml };

/// "command line", "--set", "environment", "config file", "./solve.toml".
[[nodiscard]] std::string_view to_string(SettingSource source);

struct Setting {
  /// As it would be typed after the option; of a flag how often it is given. In a layer an empty text means "not set,
  /// whatever a weaker source says".
  std::string text;
  SettingSource source = SettingSource::command_line;
  std::string place;  ///< "run.toml:3", "SOLVE_RTOL", "--set rtol=1"; empty on the command line
};

/// All settings of one source, by the long name of the option without dashes. The problem's file goes by "matrix", the
/// command by "command".
using Layer = std::map<std::string, Setting, std::less<>>;

}  // namespace tessera::cli
