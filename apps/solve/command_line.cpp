#include "command_line.hpp"

#include "errors.hpp"
#include "option_table.hpp"

#include "tessera/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace tessera::cli {

namespace {

using Words = std::vector<std::string>;

[[noreturn]] void refuse_unknown(Command command, const std::string& argument) {
  const std::string option =
      argument.starts_with("--") ? argument.substr(0, argument.find('=')) : argument.substr(0, 2);
  if (is_planned(option))
    throw UsageError(fmt::format("option {} is planned and not implemented in Tessera 0.1", option));
  if (const std::string_view meant = option_for_foreign_name(command, option); !meant.empty()) {
    throw UsageError(fmt::format("unknown option {}", option), fmt::format("did you mean {}?", meant));
  }
  Words names;
  for (const OptionSpec* spec : distinct_options()) names.push_back("--" + std::string(spec->name));
  const std::string hint = did_you_mean(option, names);
  throw UsageError(fmt::format("unknown option {}", option), hint.empty() ? "solve --help lists all options" : hint);
}

/// Sorts words by the table of options: --name VALUE, --name=VALUE, -xVALUE, -x VALUE, flags joined as in -qv; after
/// "--" all words are bare. What is wrong with the value of an option is said at once, an unknown option later, so that
/// the command is known first.
class CommandLineParser {
 public:
  explicit CommandLineParser(const Words& arguments) : arguments_(arguments) {}

  [[nodiscard]] CommandLine parse() {
    // `solve help --rtol` asks about the option, `solve help --help` about the command.
    const bool is_about_help = arguments_.size() == 2 && (arguments_[1] == "--help" || arguments_[1] == "-h");
    bool only_words = !arguments_.empty() && arguments_.front() == "help" && !is_about_help;
    while (next_ < arguments_.size()) {
      const std::string& argument = arguments_[next_++];
      if (only_words || argument.size() < 2 || argument.front() != '-') {
        line_.words.push_back(argument);
      } else if (argument == "--") {
        only_words = true;
      } else if (argument.starts_with("--")) {
        take_long(argument);
      } else {
        take_letters(argument);
      }
    }
    take_command();
    if (!unknown_.empty()) refuse_unknown(line_.command.value_or(Command::run), unknown_);
    for (auto& [name, given] : given_) store(*given.spec, given.values);
    return std::move(line_);
  }

 private:
  struct Given {
    const OptionSpec* spec = nullptr;
    Words values;  ///< in their order; an empty one for each time a flag is given
  };

  /// The entry of the command where that is known by now: --transpose is a flag, and of spgemm names a factor.
  [[nodiscard]] const OptionSpec* entry_of(std::string_view name) const {
    const auto command = line_.words.empty() ? std::nullopt : parse_command(line_.words.front());
    const OptionSpec* spec = command ? find_option(*command, name) : nullptr;
    return spec == nullptr ? find_option(name) : spec;
  }

  void give(const OptionSpec& spec, std::string value) {
    Given& given = given_[spec.name];
    given.spec = &spec;
    given.values.push_back(std::move(value));
  }

  void take_long(const std::string& argument) {
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    const OptionSpec* spec = entry_of(name);
    if (spec == nullptr) return note_unknown(argument);
    if (equals == std::string::npos) {
      return give(*spec, spec->kind == ValueKind::flag ? std::string() : following_value(*spec));
    }
    if (spec->kind == ValueKind::flag) throw UsageError(fmt::format("option --{} takes no value", name));
    if (equals + 1 == argument.size()) {
      throw UsageError(fmt::format("option --{}= has an empty value", name), fmt::format("expected {}", spec->value));
    }
    give(*spec, argument.substr(equals + 1));
  }

  void take_letters(const std::string& argument) {
    for (std::size_t i = 1; i < argument.size(); ++i) {
      const OptionSpec* spec = find_option(argument[i]);
      if (spec == nullptr) return note_unknown("-" + argument.substr(i));
      if (spec->kind != ValueKind::flag) {
        const std::string rest = argument.substr(i + 1);
        return give(*spec, rest.empty() ? following_value(*spec) : rest);
      }
      give(*spec, {});
    }
  }

  void note_unknown(const std::string& argument) {
    if (unknown_.empty()) unknown_ = argument;
  }

  /// The value of --json and --cache may be missing. It can only be a word that cannot be the matrix:
  /// `solve --json A.mtx` must not overwrite A.mtx.
  [[nodiscard]] std::string following_value(const OptionSpec& spec) {
    std::string word = next_ < arguments_.size() ? arguments_[next_] : std::string();
    if (spec.name == "json" && word != "-" && !word.ends_with(".json") && !word.ends_with(".jsonl")) return "-";
    if (spec.name == "cache" && word != "on" && word != "off") return "on";
    if (next_ == arguments_.size()) {
      throw UsageError(fmt::format("option --{} needs a value", spec.name), fmt::format("expected {}", spec.value));
    }
    ++next_;
    return word;
  }

  void take_command() {
    if (line_.words.empty()) return;
    line_.command = parse_command(line_.words.front());
    if (line_.command) line_.words.erase(line_.words.begin());
  }

  void store(const OptionSpec& spec, Words& values) {
    if (spec.kind == ValueKind::flag) values = {std::to_string(values.size())};
    if (spec.name == "set") {
      line_.assignments = values;
    } else if (spec.name == "precond-opt") {
      values = {fmt::format("{}", fmt::join(values, ","))};
    } else if (spec.name == "personalize") {
      values = {fmt::format("{}", fmt::join(values, ";"))};
    } else if (values.size() > 1) {
      throw UsageError(fmt::format("option --{} is given more than once", spec.name));
    }
    line_.settings[std::string(spec.name)] = {values.front(), SettingSource::command_line, {}};
  }

  const Words& arguments_;
  std::size_t next_ = 0;
  std::map<std::string_view, Given> given_;  ///< by the long name
  std::string unknown_;                      ///< the first option that the table does not have
  CommandLine line_;
};

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& arguments) {
  return CommandLineParser(arguments).parse();
}

}  // namespace tessera::cli
