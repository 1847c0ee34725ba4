#include "completion.hpp"
#include "option_table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::cli {

namespace {

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

}  // namespace

std::string zsh_completion() {
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

}  // namespace tessera::cli
