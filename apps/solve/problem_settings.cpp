#include "nearest.hpp"
#include "option_values.hpp"
#include "settings.hpp"
#include "usage_error.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::cli {

ProblemSettings problem_settings(const Options& options) {
  constexpr Choices<Source, 4> generators{{{"poisson2d", Source::poisson2d},
                                           {"poisson3d", Source::poisson3d},
                                           {"convdiff", Source::convdiff},
                                           {"powerlaw", Source::powerlaw}}};
  ProblemSettings result;
  std::vector<std::string> given = options.words();
  for (const auto& [name, source] : generators) {
    if (!options.given(name)) continue;
    given.push_back("--" + std::string(name));
    result.source = source;
    result.size = count_option(options, name, 1, std::numeric_limits<index_t>::max());
  }
  if (given.empty()) {
    throw UsageError("no problem given: name a Matrix Market file or a model problem",
                     options.command() == Command::pagerank ? "for a first try: solve pagerank --powerlaw 10000"
                                                            : "for a first try: solve --poisson3d 32");
  }
  if (given.size() > 1) {
    throw UsageError(fmt::format("one problem is needed, found {}: {}", given.size(), fmt::join(given, ", ")),
                     options.words().empty() ? "" : did_you_mean(given.front(), command_names()));
  }
  if (result.source == Source::file) {
    result.path = given.front();
    refuse_mistyped_word("matrix", result.path, command_names());
    if (result.path == "-") throw UsageError("reading the matrix from standard input is not available in this build");
  }
  if (result.source != Source::file && options.typed("duplicates")) {
    throw UsageError("option --duplicates applies to files only");
  }
  constexpr Choices<Duplicates, 2> duplicates{{{"sum", Duplicates::sum}, {"error", Duplicates::error}}};
  result.duplicates = choice_option(options, "duplicates", duplicates);
  result.unweighted = options.flag("unweighted");
  return result;
}

}  // namespace tessera::cli
