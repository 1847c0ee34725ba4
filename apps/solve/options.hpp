/// \file
/// The settings of a run: the command line, --set, the environment and configuration files, merged.
#pragma once

#include "option_table.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// At most one value per option. Every option in here applies to the command.
class Options {
 public:
  Options(Command command, std::vector<std::string> words, Layer settings)
      : command_(command), words_(std::move(words)), settings_(std::move(settings)) {}

  [[nodiscard]] Command command() const noexcept { return command_; }
  /// Bare words after the command: the matrix, the topic of list.
  [[nodiscard]] const std::vector<std::string>& words() const noexcept { return words_; }
  /// Not left to its default. A flag that a file sets to false is not given.
  [[nodiscard]] bool given(std::string_view name) const;
  /// Given on the command line or by --set, so meant for this very run.
  [[nodiscard]] bool typed(std::string_view name) const;
  [[nodiscard]] int flag_count(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const { return flag_count(name) > 0; }
  /// The text given, else the default, else nothing.
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
  /// The default, which may depend on --precision.
  [[nodiscard]] std::optional<std::string> fallback(std::string_view name) const;
  /// Not given, and another option replaces it: --poisson3d the matrix, --tol-per-node --tol.
  [[nodiscard]] bool is_overridden(std::string_view name) const;
  /// The setting as it was given; nullptr where the default holds.
  [[nodiscard]] const Setting* setting(std::string_view name) const;
  /// "command line", "--set", "environment", "config file", "./solve.toml" or "default".
  [[nodiscard]] std::string_view source(std::string_view name) const;
  /// The file of --config, which no output may overwrite; nothing if that file itself names the run's JSON output.
  [[nodiscard]] std::optional<std::string> guarded_config() const;

 private:
  Command command_;
  std::vector<std::string> words_;
  Layer settings_;
};

/// Reads the command line, --set, the environment (SOLVE_<OPTION>), the file of --config and ./solve.toml; the earlier
/// in this list, the stronger. Settings of other commands in files and in the environment are ignored; commands without
/// --config, and --help and --version, read the command line only.
/// \param arguments without the program's name
/// \throws UsageError for everything that this build does not know, or that is typed and does not apply to the command;
///         ParseError for a file that is neither TOML nor JSON; IoError for one that cannot be read
[[nodiscard]] Options resolve_options(const std::vector<std::string>& arguments);

}  // namespace tessera::cli
