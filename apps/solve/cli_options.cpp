#include "cli_options.hpp"

#include "nearest.hpp"
#include "unavailable.hpp"
#include "usage_error.hpp"

#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace tessera::cli {

std::optional<std::string> Options::text(std::string_view name) const {
  if (const auto found = values_.find(name); found != values_.end()) return found->second;
  const OptionSpec* spec = find_option(command_, name);
  if (spec == nullptr || spec->fallback.empty()) return std::nullopt;
  if (!spec->fp32_fallback.empty() && text("precision") == "fp32") return std::string(spec->fp32_fallback);
  return std::string(spec->fallback);
}

namespace {

using Words = std::vector<std::string>;

/// --json takes a following word only if it cannot be the matrix: `solve --json A.mtx` must not overwrite A.mtx.
[[nodiscard]] Words settle_optional_values(Words arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--") break;
    if (arguments[i] != "--json") continue;
    const bool has_file = i + 1 < arguments.size() && (arguments[i + 1] == "-" || arguments[i + 1].ends_with(".json"));
    arguments[i] = "--json=" + (has_file ? arguments[i + 1] : std::string("-"));
    if (has_file) arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return arguments;
}

[[nodiscard]] std::vector<const OptionSpec*> distinct_options() {
  std::vector<const OptionSpec*> distinct;
  for (const OptionSpec& spec : option_table()) {
    const bool known = std::any_of(distinct.begin(), distinct.end(), [&](auto* s) { return s->name == spec.name; });
    if (!known) distinct.push_back(&spec);
  }
  return distinct;
}

[[noreturn]] void refuse_unknown(const std::string& argument) {
  const std::string option =
      argument.starts_with("--") ? argument.substr(0, argument.find('=')) : argument.substr(0, 2);
  if (is_later_option(option)) refuse_option(option);
  std::vector<std::string> names;
  for (const OptionSpec* spec : distinct_options()) names.push_back("--" + std::string(spec->name));
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string hint = did_you_mean(option, candidates);
  throw UsageError(fmt::format("unknown option {}", option), hint.empty() ? "solve --help lists all options" : hint);
}

/// What to use instead of an option that belongs to another command.
[[nodiscard]] std::string replacement_hint(std::string_view name, Command command) {
  constexpr std::array<std::array<std::string_view, 2>, 6> for_pagerank{{{"rtol", "--tol"},
                                                                         {"atol", "--tol"},
                                                                         {"norm-base", "--norm"},
                                                                         {"rhs", "--personalize"},
                                                                         {"poisson2d", "--powerlaw"},
                                                                         {"poisson3d", "--powerlaw"}}};
  constexpr std::array<std::array<std::string_view, 2>, 4> for_run{
      {{"tol", "--rtol"}, {"tol-per-node", "--rtol"}, {"norm", "--norm-base"}, {"powerlaw", "--poisson3d"}}};
  const auto in = [&](const auto& pairs) -> std::string {
    for (const auto& [from, to] : pairs) {
      if (from == name) return fmt::format("use {}", to);
    }
    return {};
  };
  std::string hint;
  if (command == Command::pagerank) hint = in(for_pagerank);
  if (command == Command::run) hint = in(for_run);
  if (!hint.empty()) return hint;
  for (const Command other : commands()) {
    if (find_option(other, name) != nullptr) return fmt::format("it belongs to: solve {}", to_string(other));
  }
  return {};
}

void require_applicable(Command command, std::string_view name) {
  if (find_option(command, name) != nullptr) return;
  throw UsageError(fmt::format("option --{} does not apply to {}", name, to_string(command)),
                   replacement_hint(name, command));
}

/// Takes the command off the front of the words; without one, the method decides.
[[nodiscard]] Command take_command(Words& words, std::string_view method) {
  if (!words.empty()) {
    if (is_later_command(words.front())) refuse_command(words.front());
    for (const Command command : commands()) {
      if (words.front() != to_string(command)) continue;
      words.erase(words.begin());
      if (method == "pagerank" && command == Command::run) {
        throw UsageError("run does not rank graphs", "use: solve pagerank, or --method pagerank without \"run\"");
      }
      return command;
    }
  }
  return method == "pagerank" ? Command::pagerank : Command::run;
}

}  // namespace

Options parse_command_line(const Words& arguments) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  Words words;
  app.add_option("words", words);
  const std::vector<const OptionSpec*> specs = distinct_options();
  std::vector<CLI::Option*> parsed;
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
    throw UsageError(error.what(), "solve --help lists all options");
  }

  std::map<std::string, std::string, std::less<>> values;
  std::map<std::string, int, std::less<>> flags;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (parsed[i]->count() == 0) continue;
    const std::string name(specs[i]->name);
    if (specs[i]->kind == ValueKind::flag) {
      flags[name] = static_cast<int>(parsed[i]->count());
      continue;
    }
    if (parsed[i]->count() > 1) throw UsageError(fmt::format("option --{} is given more than once", name));
    values[name] = parsed[i]->results().front();
  }

  const auto method = values.find("method");
  const Command command = take_command(words, method == values.end() ? "" : std::string_view(method->second));
  for (const std::string& extra : app.remaining()) refuse_unknown(extra);
  for (const auto& [name, value] : values) require_applicable(command, name);
  for (const auto& [name, value] : flags) require_applicable(command, name);
  return {command, std::move(words), std::move(values), std::move(flags)};
}

}  // namespace tessera::cli
