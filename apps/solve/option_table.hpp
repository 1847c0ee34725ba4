/// \file
/// Every option that this build knows, in one table: parsing, help, defaults and the JSON "config" all read it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

enum class Command { run, pagerank, inspect, doctor, list };

[[nodiscard]] std::string_view to_string(Command command);
[[nodiscard]] std::span<const Command> commands();
/// One line for the help text.
[[nodiscard]] std::string_view describe(Command command);

/// What the text after an option means; decides how it is checked and shown.
enum class ValueKind {
  flag,     ///< no value
  text,     ///< a word, a file, a choice
  count,    ///< parse_count()
  number,   ///< parse_number()
  seconds,  ///< parse_seconds()
  bytes,    ///< parse_bytes()
};

struct OptionSpec {
  std::string_view name;   ///< long name without dashes
  char letter = '\0';      ///< short form, if any
  std::string_view group;  ///< heading in the help text
  unsigned used_by = 0;    ///< bit mask of commands, see uses()
  ValueKind kind = ValueKind::text;
  std::string_view value;     ///< what the help text shows for it; empty for flags
  std::string_view fallback;  ///< default, as the user would type it; empty when there is none
  std::string_view help;
  std::string_view fp32_fallback = {};  ///< default with --precision fp32, where it is another
};

[[nodiscard]] constexpr unsigned bit(Command command) { return 1U << static_cast<unsigned>(command); }
[[nodiscard]] constexpr bool uses(Command command, const OptionSpec& spec) {
  return (spec.used_by & bit(command)) != 0;
}

/// A name may occur twice, for commands with different defaults.
[[nodiscard]] std::span<const OptionSpec> option_table();

/// The entry that applies to a command; nullptr when the option does not.
[[nodiscard]] const OptionSpec* find_option(Command command, std::string_view name);

}  // namespace tessera::cli
