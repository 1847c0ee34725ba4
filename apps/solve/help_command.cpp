/// \file
/// solve help: the help text of a command, of one option, the exit codes, or the manual page.

#include "commands.hpp"
#include "errors.hpp"
#include "option_table.hpp"
#include "outputs.hpp"
#include "terminal.hpp"

#include "tessera/nearest.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

namespace {

/// Longer lines are hard to read; where no terminal says how wide it is, they are as in a mail.
[[nodiscard]] std::size_t help_width() {
  constexpr std::size_t widest = 100;
  constexpr std::size_t usual = 80;
  const std::size_t columns = terminal_width(STDOUT_FILENO);
  return columns == 0 ? usual : std::min(columns, widest);
}

[[nodiscard]] std::string exit_codes_text() {
  std::string text;
  for (const Command command : commands()) {
    text += fmt::format("{}{}:\n{}", text.empty() ? "" : "\n", to_string(command), command_exit_codes(command));
  }
  return text;
}

[[nodiscard]] bool is_meant(const OptionSpec& spec, std::string_view word) {
  if (word.size() == 2 && word.front() == '-') return spec.letter == word.back();
  return spec.name == word.substr(std::min(word.find_first_not_of('-'), word.size()));
}

/// Each entry of an option with the commands that take it; nothing where there is no such option.
[[nodiscard]] std::string option_topic(std::string_view word) {
  std::string text;
  for (const OptionSpec& spec : option_table()) {
    if (!is_meant(spec, word)) continue;
    text += option_help(spec, help_width()) + hanging("      commands:", commands_text(spec), 18, help_width());
  }
  return text;
}

[[noreturn]] void refuse_topic(const std::string& word) {
  std::vector<std::string> known = alternatives(command_words(Command::help));
  for (const OptionSpec* spec : distinct_options()) {
    known.push_back((word.starts_with('-') ? "--" : "") + std::string(spec->name));
  }
  const std::string hint = did_you_mean(word, known);
  throw UsageError(fmt::format("help: there is no command, option or topic \"{}\"", word),
                   hint.empty() ? "solve --help lists commands and options" : hint);
}

}  // namespace

void show_help(Command command) { show(help_text(command, help_width())); }

ExitCode help_command(const Options& options) {
  const std::vector<std::string>& words = options.words();
  if (words.size() > 1) throw UsageError(fmt::format("help takes one topic, found {}", words.size()));
  if (words.empty()) {
    show_help(Command::run);
  } else if (const auto command = parse_command(words.front())) {
    show_help(*command);
  } else if (words.front() == "exit-codes") {
    show(exit_codes_text());
  } else if (words.front() == "man") {
    write_stdout(manual_page());
  } else {
    const std::string text = option_topic(words.front());
    if (text.empty()) refuse_topic(words.front());
    show(text);
  }
  return ExitCode::success;
}

}  // namespace tessera::cli
