#include "command_line.hpp"

#include "unavailable.hpp"
#include "usage_error.hpp"

#include "core/nearest.hpp"

#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace tessera::cli {

namespace {

using Words = std::vector<std::string>;

/// "--name=" would take the next word for its value; a flag takes none.
void require_sensible_value(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  if (!argument.starts_with("--") || equals == std::string::npos) return;
  const std::string name = argument.substr(2, equals - 2);
  const OptionSpec* spec = find_option(name);
  if (spec == nullptr) return;
  if (spec->kind == ValueKind::flag) throw UsageError(fmt::format("option --{} takes no value", name));
  if (equals + 1 == argument.size()) {
    throw UsageError(fmt::format("option --{}= has an empty value", name), fmt::format("expected {}", spec->value));
  }
}

/// Every "--json" gets a value of its own, which can only be a following word that cannot be the matrix:
/// `solve --json A.mtx` must not overwrite A.mtx.
[[nodiscard]] Words settle_optional_values(Words arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--") break;
    require_sensible_value(arguments[i]);
    if (arguments[i] == "--cache") {
      const bool has_word = i + 1 < arguments.size() && (arguments[i + 1] == "on" || arguments[i + 1] == "off");
      if (!has_word) arguments[i] = "--cache=on";
    }
    if (arguments[i] != "--json") continue;
    const bool has_file = i + 1 < arguments.size() && (arguments[i + 1] == "-" || arguments[i + 1].ends_with(".json"));
    arguments[i] = "--json=" + (has_file ? arguments[i + 1] : std::string("-"));
    if (has_file) arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return arguments;
}

[[noreturn]] void refuse_unknown(const std::string& argument) {
  const std::string option =
      argument.starts_with("--") ? argument.substr(0, argument.find('=')) : argument.substr(0, 2);
  if (is_later_option(option)) refuse_option(option);
  Words names;
  for (const OptionSpec* spec : distinct_options()) names.push_back("--" + std::string(spec->name));
  const std::string hint = did_you_mean(option, names);
  throw UsageError(fmt::format("unknown option {}", option), hint.empty() ? "solve --help lists all options" : hint);
}

/// What CLI11 could not place: bare words, and options that the table does not have.
[[nodiscard]] std::pair<Words, Words> split_remaining(const Words& remaining) {
  Words words;
  Words unknown;
  bool only_words = false;
  for (const std::string& each : remaining) {
    if (each == "--" && !only_words) {
      only_words = true;
    } else if (!only_words && each.size() > 1 && each.starts_with('-')) {
      unknown.push_back(each);
    } else {
      words.push_back(each);
    }
  }
  return {std::move(words), std::move(unknown)};
}

[[nodiscard]] std::optional<Command> take_command(Words& words) {
  if (words.empty()) return std::nullopt;
  if (is_later_command(words.front())) refuse_command(words.front());
  const auto command = parse_command(words.front());
  if (command) words.erase(words.begin());
  return command;
}

void take_values(const OptionSpec& spec, const CLI::Option& parsed, CommandLine& line) {
  if (parsed.count() == 0) return;
  const std::string name(spec.name);
  if (spec.kind == ValueKind::flag) {
    line.settings[name] = {std::to_string(parsed.count()), SettingSource::command_line, {}};
    return;
  }
  if (spec.name == "set") line.assignments = parsed.results();
  if (parsed.count() > 1 && spec.name != "set") {
    throw UsageError(fmt::format("option --{} is given more than once", name));
  }
  line.settings[name] = {parsed.results().front(), SettingSource::command_line, {}};
}

/// CLI11's messages begin with the option's name and a colon.
[[nodiscard]] UsageError refusal(const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::size_t colon = text.find(':');
  const bool value_missing = error.get_name() == "ArgumentMismatch" && text.starts_with('-');
  if (!value_missing || colon == std::string::npos) return UsageError(text, "solve --help lists all options");
  const OptionSpec* spec = find_option(std::string_view(text).substr(2, colon - 2));
  return UsageError(fmt::format("option {} needs a value", text.substr(0, colon)),
                    spec == nullptr ? "" : fmt::format("expected {}", spec->value));
}

}  // namespace

CommandLine parse_command_line(const Words& arguments) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  const std::vector<const OptionSpec*> specs = distinct_options();
  std::vector<const CLI::Option*> parsed;
  for (const OptionSpec* spec : specs) {
    std::string names = "--" + std::string(spec->name);
    if (spec->letter != '\0') names += std::string(",-") + spec->letter;
    parsed.push_back(spec->kind == ValueKind::flag ? app.add_flag(names) : app.add_option(names)->take_all());
  }

  Words reversed = settle_optional_values(arguments);
  std::reverse(reversed.begin(), reversed.end());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    throw refusal(error);
  }

  CommandLine line;
  Words unknown;
  std::tie(line.words, unknown) = split_remaining(app.remaining());
  line.command = take_command(line.words);
  if (!unknown.empty()) refuse_unknown(unknown.front());
  for (std::size_t i = 0; i < specs.size(); ++i) take_values(*specs[i], *parsed[i], line);
  return line;
}

}  // namespace tessera::cli
