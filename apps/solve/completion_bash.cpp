#include "completion.hpp"
#include "option_table.hpp"

#include <fmt/format.h>

#include <algorithm>

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

}  // namespace

std::string bash_completion() {
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

std::vector<std::string> alternatives(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find('|'));
    words.emplace_back(word);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return words;
}

}  // namespace tessera::cli
