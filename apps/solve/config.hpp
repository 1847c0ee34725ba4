/// \file
/// Settings from --set, the environment and configuration files; and the configuration that --print-config prints.
#pragma once

#include "options.hpp"

#include <string>
#include <vector>

namespace tessera::cli {

// A key is the long name of an option without dashes, "matrix" or "command". Each function throws UsageError for a key
// that no command knows, naming the place and the nearest key, and for a value of the wrong type. An empty text takes
// back what a weaker source sets.

/// The bytes of a file. \throws IoError with the system's reason
[[nodiscard]] std::string contents_of(const std::string& path);

/// \param assignments the texts of --set: "key=value"
[[nodiscard]] Layer set_layer(const std::vector<std::string>& assignments);

/// The variables SOLVE_<KEY>, in capitals and with underscores for dashes; an empty one counts as not set.
[[nodiscard]] Layer environment_layer();

/// A TOML or JSON file, told apart by content: JSON begins with a brace. In a document that a run wrote (--json), the
/// options that were not left to their defaults are taken.
/// \throws ParseError with line and column for text that is neither; IoError when the file cannot be read
[[nodiscard]] Layer file_layer(const std::string& path, SettingSource source);

/// TOML that repeats the run with --config FILE, independent of ./solve.toml: every option of the command has a line,
/// also with its default. Reading it back gives the same text.
/// \throws UsageError for a name that is not UTF-8, which TOML cannot hold
[[nodiscard]] std::string config_text(const Options& options);

}  // namespace tessera::cli
