#include "options.hpp"

#include "command_line.hpp"
#include "config.hpp"
#include "errors.hpp"
#include "option_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace tessera::cli {

std::string_view to_string(SettingSource source) {
  switch (source) {
    case SettingSource::command_line:
      return "command line";
    case SettingSource::set:
      return "--set";
    case SettingSource::environment:
      return "environment";
    case SettingSource::config_file:
      return "config file";
    case SettingSource::solve_toml:
      return "./solve.toml";
  }
  return "command line";
}

namespace {

[[nodiscard]] int count_of(const Setting& flag) {
  int count = 0;
  static_cast<void>(std::from_chars(flag.text.data(), flag.text.data() + flag.text.size(), count));
  return count;
}

[[nodiscard]] bool is_typed(const Setting& setting) {
  return setting.source == SettingSource::command_line || setting.source == SettingSource::set;
}

/// Options that replace each other: of each group the one from the strongest source counts.
constexpr std::array<std::array<std::string_view, 6>, 6> alternatives{
    {{"matrix", "poisson2d", "poisson3d", "convdiff", "powerlaw", "generate"},
     {"tol", "tol-per-node"},
     {"power", "right"},
     {"power", "transpose"},
     {"spy", "no-spy"},
     {"quiet", "verbose"}}};

/// The names of a problem: a file or a model problem.
constexpr const auto& problems = alternatives.front();

/// Whether the predicate holds for an option of the group of `name`, itself included.
template <class Predicate>
[[nodiscard]] bool any_alternative(std::string_view name, const Predicate& is_such) {
  return std::any_of(alternatives.begin(), alternatives.end(), [&](const auto& group) {
    const bool concerned = std::find(group.begin(), group.end(), name) != group.end();
    return concerned && std::any_of(group.begin(), group.end(), is_such);
  });
}

}  // namespace

const Setting* Options::setting(std::string_view name) const {
  const auto found = settings_.find(name);
  return found == settings_.end() ? nullptr : &found->second;
}

bool Options::given(std::string_view name) const {
  const OptionSpec* spec = find_option(command_, name);
  if (spec != nullptr && spec->kind == ValueKind::flag) return flag(name);
  return setting(name) != nullptr;
}

bool Options::typed(std::string_view name) const {
  const Setting* found = setting(name);
  return given(name) && found != nullptr && is_typed(*found);
}

int Options::flag_count(std::string_view name) const {
  const Setting* found = setting(name);
  return found == nullptr ? 0 : count_of(*found);
}

std::optional<std::string> Options::text(std::string_view name) const {
  if (const Setting* found = setting(name)) return found->text;
  return fallback(name);
}

std::optional<std::string> Options::fallback(std::string_view name) const {
  const OptionSpec* spec = find_option(command_, name);
  if (spec == nullptr || spec->fallback.empty()) return std::nullopt;
  if (!spec->fp32_fallback.empty() && text("precision") == "fp32") return std::string(spec->fp32_fallback);
  return std::string(spec->fallback);
}

std::string_view Options::source(std::string_view name) const {
  const Setting* found = setting(name);
  return found == nullptr ? "default" : to_string(found->source);
}

bool Options::is_overridden(std::string_view name) const {
  if (setting(name) != nullptr) return false;
  const bool has_fallback = fallback(name).has_value();
  const auto replaced_by_given = [&](std::string_view option) {
    return any_alternative(option, [&](std::string_view other) { return other != option && given(other); });
  };
  // Of two that are not given the one with a default stands, unless a third replaces it.
  return replaced_by_given(name) || (!has_fallback && any_alternative(name, [&](std::string_view other) {
           return other != name && text(other) && !replaced_by_given(other);
         }));
}

std::optional<std::string> Options::guarded_config() const {
  const Setting* json = setting("json");
  if (json != nullptr && json->source == SettingSource::config_file) return std::nullopt;
  return text("config");
}

namespace {

/// What to use instead of an option that belongs to another command.
[[nodiscard]] std::string replacement_hint(std::string_view name, Command command) {
  constexpr std::array<std::array<std::string_view, 2>, 7> for_pagerank{{{"rtol", "--tol"},
                                                                         {"alpha", "--damping"},
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
  if (ranks_vertices(command) && name == "rtol") hint = "use --tol";
  if (command == Command::run) hint = in(for_run);
  if (!hint.empty()) return hint;
  std::vector<std::string_view> owners;
  for (const Command other : commands()) {
    if (find_option(other, name) != nullptr) owners.push_back(to_string(other));
  }
  return owners.empty() ? std::string() : fmt::format("it belongs to: solve {}", fmt::join(owners, ", "));
}

/// A problem is a file or one of the model problems.
[[nodiscard]] bool takes_problem(Command command) {
  return std::any_of(option_table().begin(), option_table().end(),
                     [&](const OptionSpec& spec) { return spec.group == "Problem" && uses(command, spec); });
}

[[nodiscard]] bool applies(Command command, std::string_view name) {
  if (name == "command") return true;
  return name == "matrix" ? takes_problem(command) : find_option(command, name) != nullptr;
}

void require_applicable(Command command, const Layer& layer) {
  for (const auto& [name, setting] : layer) {
    if (applies(command, name)) continue;
    throw UsageError(fmt::format("option --{} does not apply to {}", name, to_string(command)),
                     replacement_hint(name, command));
  }
}

/// The strongest layer that names a command or a method decides.
[[nodiscard]] Command decide_command(const std::optional<Command>& typed, const std::vector<Layer>& layers) {
  if (typed) return *typed;
  for (const Layer& layer : layers) {
    if (const auto found = layer.find("command"); found != layer.end()) return *parse_command(found->second.text);
    if (const auto found = layer.find("method"); found != layer.end() && !found->second.text.empty()) {
      return found->second.text == "pagerank" ? Command::pagerank : Command::run;
    }
  }
  return Command::run;
}

[[nodiscard]] bool overridden(std::string_view name, const Layer& stronger) {
  return any_alternative(name, [&](std::string_view other) {
    const auto found = stronger.find(other);
    return found != stronger.end() && !found->second.text.empty() && found->second.text != "0";
  });
}

/// --transpose takes a factor of spgemm, and is a flag elsewhere.
[[nodiscard]] bool fits_transpose(Command command, const std::string& text) {
  const bool is_flag = text.empty() || text == "0" || text == "1";
  return text.empty() || is_flag == (command != Command::spgemm);
}

/// Only run takes `auto` and `metis` for --ordering.
[[nodiscard]] bool fits_ordering(Command command, const std::string& text) {
  return command == Command::run || (text != "auto" && text != "metis");
}

/// The matrix and the output of convert and tune are meant for one run: neither the environment nor ./solve.toml names
/// them.
[[nodiscard]] bool names_file_of_one_run(const std::string& name, const Setting& setting) {
  if (setting.source == SettingSource::config_file) return false;
  return name == "output" || std::find(problems.begin(), problems.end(), name) != problems.end();
}

/// Files and the environment may hold settings of several commands; those of another one are passed over.
[[nodiscard]] bool concerns(Command command, const std::string& name, const Setting& setting) {
  if (is_typed(setting)) return true;
  if (name == "transpose" && !fits_transpose(command, setting.text)) return false;
  if (name == "ordering" && !fits_ordering(command, setting.text)) return false;
  if ((command == Command::convert || command == Command::tune) && names_file_of_one_run(name, setting)) return false;
  if (name == "method" && (setting.text == "pagerank") != (command == Command::pagerank)) return false;
  return applies(command, name);
}

[[nodiscard]] Layer merge(Command command, const std::vector<Layer>& layers) {
  Layer merged;
  for (const Layer& layer : layers) {
    const Layer stronger = merged;
    for (const auto& [name, setting] : layer) {
      if (!concerns(command, name, setting) || overridden(name, stronger)) continue;
      merged.emplace(name, setting);
    }
  }
  // An empty text has kept the weaker sources from being heard; that was all.
  std::erase_if(merged, [](const auto& entry) { return entry.second.text.empty(); });
  return merged;
}

[[nodiscard]] std::vector<Layer> layers_behind(const CommandLine& line) {
  std::vector<Layer> layers{set_layer(line.assignments), environment_layer()};
  if (const auto config = line.settings.find("config"); config != line.settings.end()) {
    layers.push_back(file_layer(config->second.text, SettingSource::config_file));
  }
  std::error_code ignored;
  if (std::filesystem::exists("solve.toml", ignored)) {
    layers.push_back(file_layer("solve.toml", SettingSource::solve_toml));
  }
  return layers;
}

}  // namespace

namespace {

/// Puts the word at `index` into the settings. \throws UsageError where the option names it too
void name_word(std::string_view option, std::size_t index, CommandLine& line) {
  const std::string word = line.words[index];
  if (const auto given = line.settings.find(option); given != line.settings.end()) {
    throw UsageError(fmt::format("--{} {} and {} name the same factor", option, given->second.text, word));
  }
  line.settings[std::string(option)] = {word, SettingSource::command_line, {}};
  line.words.erase(line.words.begin() + static_cast<std::ptrdiff_t>(index));
}

/// The last word of convert is OUT. Behind A, the second word of spgemm is B; the first where A is generated.
void name_words(Command command, bool generated, CommandLine& line) {
  if (command == Command::convert && !line.words.empty() && !line.settings.contains("output")) {
    name_word("output", line.words.size() - 1, line);
  }
  if (command != Command::spgemm) return;
  const std::size_t b = generated ? 0 : 1;
  if (line.words.size() > b + 1) {
    throw UsageError(
        fmt::format("spgemm multiplies A by one matrix B, found {}: {}", line.words.size() - b,
                    fmt::join(line.words.begin() + static_cast<std::ptrdiff_t>(b), line.words.end(), ", ")));
  }
  if (line.words.size() > b) name_word("right", b, line);
}

/// Whether a typed setting makes the matrix.
[[nodiscard]] bool generates(const std::vector<Layer>& layers) {
  return std::any_of(layers.begin(), layers.end(), [](const Layer& layer) {
    return std::any_of(layer.begin(), layer.end(), [](const auto& entry) {
      return is_typed(entry.second) && !entry.second.text.empty() && entry.first != "matrix" &&
             std::find(problems.begin(), problems.end(), entry.first) != problems.end();
    });
  });
}

}  // namespace

Options resolve_options(const std::vector<std::string>& arguments) {
  CommandLine line = parse_command_line(arguments);
  const bool informs = line.settings.contains("help") || line.settings.contains("version");
  const bool configurable = !line.command || find_option(*line.command, "config") != nullptr;
  std::vector<Layer> layers{line.settings};
  if (configurable && !informs) {
    for (Layer& layer : layers_behind(line)) layers.push_back(std::move(layer));
  }
  const Command command = decide_command(line.command, layers);
  name_words(command, generates(layers), line);
  layers.front() = line.settings;
  if (takes_problem(command) && !line.words.empty()) {
    layers.front().emplace("matrix", Setting{line.words.front(), SettingSource::command_line, {}});
  }
  require_applicable(command, layers.front());
  if (layers.size() > 1) require_applicable(command, layers[1]);

  Layer settings = merge(command, layers);
  if (const auto method = settings.find("method");
      method != settings.end() && command == Command::run && method->second.text == "pagerank") {
    throw UsageError("run does not rank graphs", "use: solve pagerank, or --method pagerank without \"run\"");
  }
  if (const auto matrix = settings.find("matrix"); matrix != settings.end() && line.words.empty()) {
    line.words.push_back(matrix->second.text);
  }
  return {command, std::move(line.words), std::move(settings)};
}

}  // namespace tessera::cli
