// The completion script of fish.
#include "option_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

namespace {

constexpr std::string_view functions = R"fish(
function __solve_command
    set -l words (commandline -opc)
    if set -q words[2]; and contains -- $words[2] $__solve_commands
        echo $words[2]
    else if string match -qr -- '(-m|--method)[= ]pagerank( |$)' "$words"
        echo pagerank
    else
        echo run
    end
end

function __solve_is
    contains -- (__solve_command) $argv
end

function __solve_first
    test (count (commandline -opc)) -eq 1
end

# Folders, and files with one of the endings.
function __solve_files
    set -l begun (commandline -ct | string replace -r -- '^--[^=]*=' '')
    for file in $begun*
        if test -d $file
            echo $file/
            continue
        end
        for ending in $argv
            string match -q -- "*$ending" $file; and echo $file
        end
    end
end

complete -c solve -f
)fish";

/// Between single quotes.
[[nodiscard]] std::string fish_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\\' || c == '\'') result += '\\';
    result += c;
  }
  return result + "'";
}

[[nodiscard]] std::string files_call(std::string_view endings) {
  return fmt::format("(__solve_files {})", fmt::join(alternatives(endings), " "));
}

[[nodiscard]] std::string option_line(const OptionSpec& spec) {
  std::vector<std::string> offers = option_words(spec);
  if (spec.name == "set") {
    for (const OptionSpec* each : distinct_options()) {
      if (is_configurable(*each)) offers.push_back(std::string(each->name) + "=");
    }
  }
  if (!spec.files.empty()) offers.push_back(files_call(spec.files));
  std::string users;
  for (const Command command : commands()) {
    if (uses(command, spec)) users += fmt::format(" {}", to_string(command));
  }
  std::string line = fmt::format("complete -c solve -n '__solve_is{}' -l {}", users, spec.name);
  if (spec.letter != '\0') line += fmt::format(" -s {}", spec.letter);
  const bool value_may_be_missing = spec.name == "json" || spec.name == "cache";
  if (spec.kind != ValueKind::flag && !value_may_be_missing) line += " -x";
  if (!offers.empty()) line += " -a " + fish_quoted(fmt::format("{}", fmt::join(offers, " ")));
  const std::string_view help = spec.help.substr(0, spec.help.find_first_of(":;("));
  return line + fmt::format(" -d {}\n", fish_quoted(help.substr(0, help.find_last_not_of(' ') + 1)));
}

[[nodiscard]] std::string word_line(Command command) {
  std::vector<std::string> offers = alternatives(command_words(command));
  if (!command_files(command).empty()) offers.push_back(files_call(command_files(command)));
  if (offers.empty()) return {};
  return fmt::format("complete -c solve -n '__solve_is {}' -a {}\n", to_string(command),
                     fish_quoted(fmt::format("{}", fmt::join(offers, " "))));
}

}  // namespace

std::string fish_completion() {
  std::string text = "# fish completion of solve, written by `solve completion fish`\n";
  text += fmt::format("\nset -g __solve_commands {}\n{}", fmt::join(command_names(), " "), functions);
  for (const Command command : commands()) {
    text += fmt::format("complete -c solve -n __solve_first -a {} -d {}\n", to_string(command),
                        fish_quoted(describe(command)));
  }
  for (const Command command : commands()) text += word_line(command);
  for (const OptionSpec& spec : option_table()) text += option_line(spec);
  return text;
}

}  // namespace tessera::cli
