#include "option_values.hpp"
#include "settings.hpp"
#include "usage_error.hpp"

#include "core/nearest.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace tessera::cli {

namespace {

constexpr std::array<std::string_view, 4> model_problems{"poisson2d", "poisson3d", "convdiff", "powerlaw"};

/// Takes --generate and the model problems, and returns them as they were typed.
[[nodiscard]] std::vector<std::string> take_generator(const Options& options, ProblemSettings& settings) {
  std::vector<std::string> given;
  const auto seed = static_cast<std::uint64_t>(count_option(options, "seed"));
  for (const std::string_view name : model_problems) {
    if (!options.given(name)) continue;
    const std::int64_t size = count_option(options, name, 1, std::numeric_limits<index_t>::max());
    given.push_back("--" + std::string(name));
    settings.generator = {std::string(name), size, seed, {}};
    settings.name = fmt::format("{} {}", name, size);
  }
  if (const auto text = options.text("generate")) {
    given.emplace_back("--generate");
    try {
      settings.generator = parse_generator(*text, seed);
      settings.name = to_string(settings.generator);
    } catch (const InvalidArgument& error) {
      throw OptionError("generate", fmt::format("option --generate: {}", error.what()), "solve list generators");
    }
  }
  if (!given.empty()) settings.source = Source::generator;
  return given;
}

void take_file(const Options& options, const std::string& path, ProblemSettings& settings) {
  settings.path = path;
  settings.name = path;
  refuse_mistyped_word("matrix", path, command_names());
  if (path == "-") throw UsageError("reading the matrix from standard input is not available in this build");
  const std::string cache = options.text("cache").value_or("off");
  if (cache == "off") return;
  settings.caching = cache == "on" ? Caching::beside : Caching::directory;
  if (cache == "on") return;
  settings.cache_directory = cache;
  std::error_code ignored;
  if (!std::filesystem::is_directory(cache, ignored)) {
    throw IoError(fmt::format("--cache {}: there is no such directory", cache));
  }
}

void take_reading(const Options& options, ProblemSettings& settings) {
  constexpr Choices<Duplicates, 2> duplicates{{{"sum", Duplicates::sum}, {"error", Duplicates::error}}};
  settings.duplicates = choice_option(options, "duplicates", duplicates);
  settings.unweighted = options.flag("unweighted");
  settings.transposed = options.flag("transpose");
}

}  // namespace

ProblemSettings problem_settings(const Options& options, const std::vector<std::string>& files) {
  ProblemSettings result;
  std::vector<std::string> given = take_generator(options, result);
  given.insert(given.end(), files.begin(), files.end());
  if (given.empty()) {
    throw UsageError("no problem given: name a Matrix Market file or a model problem",
                     options.command() == Command::pagerank ? "for a first try: solve pagerank --powerlaw 10000"
                                                            : "for a first try: solve --poisson3d 32");
  }
  if (given.size() > 1) {
    throw UsageError(fmt::format("one problem is needed, found {}: {}", given.size(), fmt::join(given, ", ")),
                     files.empty() ? "" : did_you_mean(files.front(), command_names()));
  }
  if (result.source == Source::file) {
    take_file(options, given.front(), result);
  } else {
    for (const std::string_view name : {"duplicates", "cache"}) {
      if (options.typed(name)) throw UsageError(fmt::format("option --{} applies to files only", name));
    }
  }
  take_reading(options, result);
  return result;
}

ProblemSettings file_settings(const Options& options, const std::string& path) {
  ProblemSettings result;
  take_file(options, path, result);
  take_reading(options, result);
  return result;
}

ProblemSettings problem_settings(const Options& options) { return problem_settings(options, options.words()); }

}  // namespace tessera::cli
