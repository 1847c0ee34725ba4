/// \file
/// solve completion: scripts that let a shell complete the command line, made from the table of options.

#include "commands.hpp"
#include "errors.hpp"
#include "option_table.hpp"
#include "outputs.hpp"

#include "tessera/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

namespace {

/// "'run --rtol' | 'pagerank --rtol'", short forms included.
[[nodiscard]] std::string pattern_of(const OptionSpec& spec) {
  std::string pattern;
  for (const Command command : commands()) {
    if (!uses(command, spec)) continue;
    const std::string separator = pattern.empty() ? "" : " | ";
    pattern += fmt::format("{}'{} --{}'", separator, to_string(command), spec.name);
    if (spec.letter != '\0') pattern += fmt::format(" | '{} -{}'", to_string(command), spec.letter);
  }
  return pattern;
}

[[nodiscard]] std::string endings_text(std::string_view files) {
  std::string text;
  for (const std::string& ending : alternatives(files)) text += (text.empty() ? "" : " ") + ending;
  return text;
}

/// One line of a case: what may follow the option.
[[nodiscard]] std::string value_line(const OptionSpec& spec) {
  std::string words = fmt::format("{}", fmt::join(option_words(spec), " "));
  if (spec.name == "set") {
    for (const OptionSpec* each : distinct_options()) {
      if (is_configurable(*each)) words += fmt::format("{}{}=", words.empty() ? "" : " ", each->name);
    }
  }
  return fmt::format("    {})\n      words='{}' endings='{}' ;;\n", pattern_of(spec), words, endings_text(spec.files));
}

[[nodiscard]] std::string option_line(Command command) {
  std::string names;
  for (const OptionSpec& spec : option_table()) {
    if (uses(command, spec)) names += fmt::format("{}--{}", names.empty() ? "" : " ", spec.name);
  }
  return fmt::format("    {}) words='{}' ;;\n", to_string(command), names);
}

[[nodiscard]] std::string word_line(Command command) {
  std::string words = fmt::format("{}", fmt::join(alternatives(command_words(command)), " "));
  return fmt::format("    {}) words='{}' endings='{}' ;;\n", to_string(command), words,
                     endings_text(command_files(command)));
}

constexpr std::string_view body = R"bash(
_solve() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local line=" ${COMP_WORDS[*]} " command=run words='' endings='' ending
  # An equals sign is a word of its own: --spmv=me arrives as three.
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $previous == '=' ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
    [[ ${COMP_WORDS[COMP_CWORD - 3]} == @(-s|--set) ]] && previous="--$previous"
  fi
  [[ $line =~ ' '(-m|--method)' '('= ')?'pagerank ' ]] && command=pagerank
  if _solve_is_command "${COMP_WORDS[1]}" && ((COMP_CWORD > 1)); then command=${COMP_WORDS[1]}; fi

  if _solve_values "$command $previous"; then
    :
  elif [[ $current == -* ]]; then
    _solve_options "$command"
  else
    _solve_words "$command"
    ((COMP_CWORD == 1)) && words="$commands $words"
  fi
  mapfile -t COMPREPLY < <(
    compgen -W "$words" -- "$current"
    for ending in $endings; do compgen -f -X "!*$ending" -- "$current"; done
    [[ -n $endings ]] && compgen -d -- "$current"
  )
  [[ -n $endings ]] && compopt -o filenames 2>/dev/null
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[:=] ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -F _solve solve
)bash";

[[nodiscard]] std::string bash_completion() {
  std::string text = "# bash completion of solve, written by `solve completion bash`\n\n";
  const std::string names = fmt::format("{}", fmt::join(command_names(), "|"));
  text += fmt::format("_solve_is_command() {{ [[ $1 == @({}) ]]; }}\n", names);
  // What may follow an option; fails where the option takes nothing.
  text += "\n_solve_values() {\n  case $1 in\n";
  for (const OptionSpec& spec : option_table()) {
    if (spec.kind != ValueKind::flag) text += value_line(spec);
  }
  text += "    *) return 1 ;;\n  esac\n}\n\n_solve_options() {\n  case $1 in\n";
  for (const Command command : commands()) text += option_line(command);
  text += "  esac\n}\n\n_solve_words() {\n  case $1 in\n";
  for (const Command command : commands()) text += word_line(command);
  text += "  esac\n}\n";
  std::string function(body);
  const std::size_t place = function.find("$commands");
  return text + function.replace(place, std::string_view("$commands").size(),
                                 fmt::format("{}", fmt::join(command_names(), " ")));
}

/// Backslashes before the characters that _arguments reads; the whole stands between single quotes.
[[nodiscard]] std::string escaped(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return result;
}

/// The help text up to its first pause.
[[nodiscard]] std::string short_help(const OptionSpec& spec) {
  return escaped(spec.help.substr(0, spec.help.find_first_of(":;(")), "[]:");
}

/// "_files -g '*.(mtx|mtx.gz)'", inside single quotes.
[[nodiscard]] std::string files_action(std::string_view files) {
  std::string endings;
  for (const std::string& ending : alternatives(files)) endings += (endings.empty() ? "" : "|") + ending.substr(1);
  return fmt::format("_files -g \"*.({})(-.)\"", endings);
}

[[nodiscard]] std::string value_action(const OptionSpec& spec) {
  if (spec.name == "set") {
    std::string keys;
    for (const OptionSpec* each : distinct_options()) {
      if (is_configurable(*each)) keys += fmt::format(" {}=", each->name);
    }
    return fmt::format("{{compadd -S \"\" --{}}}", keys);
  }
  const std::vector<std::string> words = option_words(spec);
  if (words.empty() && spec.files.empty()) return " ";
  if (spec.files.empty()) return fmt::format("({})", escaped(fmt::format("{}", fmt::join(words, " ")), ":"));
  if (words.empty()) return files_action(spec.files);
  return fmt::format("{{compadd -- {}; {}}}", fmt::join(words, " "), files_action(spec.files));
}

[[nodiscard]] std::string argument_line(const OptionSpec& spec) {
  const bool repeats = spec.name == "set" || spec.name == "verbose";
  const std::string letter = spec.letter == '\0' ? "" : fmt::format("-{}", spec.letter);
  const std::string name = fmt::format("--{}", spec.name);
  const bool takes_value = spec.kind != ValueKind::flag;
  const std::string value = !takes_value ? "" : fmt::format(":{}:{}", escaped(spec.value, "[]:"), value_action(spec));
  std::string head = repeats ? "'*'" : fmt::format("'({})'", letter.empty() ? name : letter + " " + name);
  head += letter.empty() ? name
                         : fmt::format("{{{}{},{}{}}}", letter, takes_value ? "+" : "", name, takes_value ? "=" : "");
  if (letter.empty() && takes_value) head += "=";
  return fmt::format("        {}'[{}]{}' \\\n", head, short_help(spec), value);
}

[[nodiscard]] std::string positional_line(Command command) {
  const std::string words = fmt::format("{}", fmt::join(alternatives(command_words(command)), " "));
  if (!words.empty()) return fmt::format("        '1:{}:({})'\n", to_string(command), words);
  if (!command_files(command).empty())
    return fmt::format("        '*:matrix:{}'\n", files_action(command_files(command)));
  return "        '*: :'\n";
}

[[nodiscard]] std::string arguments_of(Command command) {
  std::string text = fmt::format("    {})\n      _arguments -s -S \\\n", to_string(command));
  for (const OptionSpec& spec : option_table()) {
    if (uses(command, spec)) text += argument_line(spec);
  }
  return text + positional_line(command) + "      ;;\n";
}

[[nodiscard]] std::string zsh_completion() {
  std::string text = "#compdef solve\n# zsh completion of solve, written by `solve completion zsh`\n\n_solve() {\n";
  text += "  local command=run\n  local -a commands=(\n";
  for (const Command command : commands()) {
    text += fmt::format("    '{}:{}'\n", to_string(command), escaped(describe(command), ":"));
  }
  text += "  )\n";
  text += "  [[ \" ${words[*]} \" == *' '(-m|--method)(' '|=)'pagerank '* ]] && command=pagerank\n";
  text += "  if ((CURRENT == 2)) && [[ $PREFIX != -* ]]; then _describe command commands; fi\n";
  text += fmt::format("  if ((CURRENT > 2)) && [[ $words[2] == ({}) ]]; then\n", fmt::join(command_names(), "|"));
  text += "    command=$words[2]\n    words=($words[1] ${words[3,-1]})\n    ((CURRENT--))\n  fi\n  case $command in\n";
  for (const Command command : commands()) text += arguments_of(command);
  return text +
         "  esac\n}\n\n"
         "if [[ $funcstack[1] == _solve ]]; then _solve \"$@\"; else compdef _solve solve; fi\n";
}

}  // namespace

ExitCode completion_command(const Options& options) {
  const std::vector<std::string> shells = alternatives(command_words(Command::completion));
  const std::string known = fmt::format("{}", fmt::join(shells, ", "));
  if (options.words().size() != 1) throw UsageError(fmt::format("completion takes one of {}", known));
  const std::string& wanted = options.words().front();
  if (std::find(shells.begin(), shells.end(), wanted) == shells.end()) {
    throw UsageError(fmt::format("completion: expected one of {}, got \"{}\"", known, wanted),
                     did_you_mean(wanted, shells));
  }
  write_stdout(wanted == "bash" ? bash_completion() : wanted == "zsh" ? zsh_completion() : fish_completion());
  return ExitCode::success;
}

}  // namespace tessera::cli
