// The manual page solve(1) in troff, made from the tables of commands and options.
#include "option_table.hpp"

#include "tessera/version.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace tessera::cli {

namespace {

/// Characters that troff would read as its own, or set as typographic ones.
[[nodiscard]] std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '\\':
        result += "\\(rs";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      default:
        result += c;
    }
  }
  // A dot at the beginning of a line would be a request.
  return result.starts_with('.') ? "\\&" + result : result;
}

/// Lines as they stand.
[[nodiscard]] std::string verbatim(std::string_view text) {
  std::string result = ".nf\n";
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    result += escaped(text.substr(0, end)) + '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result + ".fi\n";
}

[[nodiscard]] std::string option_entry(const OptionSpec& spec) {
  std::string name = spec.letter == '\0' ? "" : fmt::format("-{}, ", spec.letter);
  name += fmt::format("--{}", spec.name);
  std::string text = fmt::format(".TP\n\\fB{}\\fR", escaped(name));
  if (!spec.value.empty()) text += fmt::format(" \\fI{}\\fR", escaped(spec.value));
  return text + fmt::format("\n{}\n.br\nCommands: {}.\n", escaped(option_description(spec)), commands_text(spec));
}

[[nodiscard]] std::string options_section() {
  std::string text = ".SH OPTIONS\n";
  for (const std::string_view heading : option_groups()) {
    text += fmt::format(".SS {}\n", heading);
    for (const OptionSpec& spec : option_table()) {
      if (spec.group == heading) text += option_entry(spec);
    }
  }
  return text;
}

}  // namespace

std::string manual_page() {
  std::string text = fmt::format(".TH SOLVE 1 \"\" \"Tessera {}\" \"User Commands\"\n", build_info().version);
  text += ".SH NAME\nsolve \\- sparse linear systems and graph ranking\n.SH SYNOPSIS\n";
  for (const Command command : commands()) text += verbatim(command_usage(command));
  text += ".SH COMMANDS\n";
  for (const Command command : commands()) {
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", to_string(command), escaped(describe(command)));
  }
  text += options_section() + ".SH EXIT STATUS\n";
  for (const Command command : commands()) {
    text += fmt::format(".SS {}\n{}", to_string(command), verbatim(command_exit_codes(command)));
  }
  text += ".SH ENVIRONMENT\n.TP\n\\fBSOLVE_\\fIOPTION\\fR\nthe option of that name: SOLVE_MAX_ITERS=500\n";
  text += ".TP\n\\fBNO_COLOR\\fR\nany value: no colours, unless \\fB\\-\\-color always\\fR is given\n";
  text += ".SH FILES\n.TP\n\\fI./solve.toml\\fR\nsettings, weaker than all others\n.SH EXAMPLES\n";
  for (const Command command : commands()) text += verbatim(command_examples(command));
  return text;
}

}  // namespace tessera::cli
