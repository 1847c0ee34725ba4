/// \file
/// Every option that this build knows, in one table: parsing, help, defaults and the JSON "config" all read it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

enum class Command {
  run,
  pagerank,
  hits,
  katz,
  compare,
  inspect,
  convert,
  spgemm,
  report,
  bench,
  tune,
  doctor,
  list,
  completion,
  help,
  version
};

/// The commands whose result is a ranking of vertices.
[[nodiscard]] constexpr bool ranks_vertices(Command command) {
  return command == Command::pagerank || command == Command::hits || command == Command::katz;
}

[[nodiscard]] std::string_view to_string(Command command);
[[nodiscard]] std::optional<Command> parse_command(std::string_view word);
[[nodiscard]] std::span<const Command> commands();
[[nodiscard]] std::vector<std::string_view> command_names();
/// "a|b": the bare words that may follow a command, where they are no files.
[[nodiscard]] std::string_view command_words(Command command);
/// ".mtx|.gz": endings of the files that may follow a command.
[[nodiscard]] std::string_view command_files(Command command);
/// Parts of the help text, as lines.
[[nodiscard]] std::string_view command_usage(Command command);
[[nodiscard]] std::string_view command_exit_codes(Command command);
[[nodiscard]] std::string_view command_examples(Command command);
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
  std::string_view words = {};          ///< "a|b": words it may be, where `value` does not list them
  std::string_view files = {};          ///< ".mtx|.gz": endings of the files it may name, for completion
};

[[nodiscard]] constexpr unsigned bit(Command command) { return 1U << static_cast<unsigned>(command); }
[[nodiscard]] constexpr bool uses(Command command, const OptionSpec& spec) {
  return (spec.used_by & bit(command)) != 0;
}

/// A name may occur twice, for commands with different defaults.
[[nodiscard]] std::span<const OptionSpec> option_table();

/// The first entry of each name.
[[nodiscard]] std::vector<const OptionSpec*> distinct_options();

/// The entry that applies to a command; nullptr when the option does not.
[[nodiscard]] const OptionSpec* find_option(Command command, std::string_view name);
/// The first entry of any command.
[[nodiscard]] const OptionSpec* find_option(std::string_view name);

/// The entry with this short form; nullptr when there is none.
[[nodiscard]] const OptionSpec* find_option(char letter);

/// The option that other tools spell like this: "--tolerance" is --rtol, of pagerank --tol. Empty where there is none.
[[nodiscard]] std::string_view option_for_foreign_name(Command command, std::string_view option);

/// Options ("--events") and values ("precond=ainv") that are planned and not implemented yet. They
/// are refused by name: a run that silently ignored one would not be the run that was asked for.
[[nodiscard]] bool is_planned(std::string_view word);

/// Whether files and the environment may set it: everything but help, version, --dry-run and the options that name such
/// files.
[[nodiscard]] bool is_configurable(const OptionSpec& spec);

/// "a|b" taken apart.
[[nodiscard]] std::vector<std::string> alternatives(std::string_view text);

/// The words that the option's value may be, parameters such as i of "unit:i" left out. Empty where anything goes.
[[nodiscard]] std::vector<std::string> option_words(const OptionSpec& spec);

/// Headings of the help text, in their order.
[[nodiscard]] std::span<const std::string_view> option_groups();
/// "right-hand side: a vector file, ... (default: Aones)".
[[nodiscard]] std::string option_description(const OptionSpec& spec);
/// The commands that take an option: "run, compare", or "all".
[[nodiscard]] std::string commands_text(const OptionSpec& spec);
/// The lines of one option in the help text.
[[nodiscard]] std::string option_help(const OptionSpec& spec, std::size_t width);

/// What --help prints: usage, commands, the options of `command` by group, exit codes, examples, in lines of `width`.
[[nodiscard]] std::string help_text(Command command, std::size_t width);

/// The manual page solve(1) in troff.
[[nodiscard]] std::string manual_page();

/// The completion script of fish.
[[nodiscard]] std::string fish_completion();

}  // namespace tessera::cli
