#include "unavailable.hpp"

#include "usage_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace tessera::cli {

namespace {

using Word = std::string_view;

constexpr std::array<Word, 3> later_commands{"tune", "bench", "report"};

constexpr std::array<Word, 18> later_options{"--reorder",    "--scale",     "--index",      "--graph",       "--events",
                                             "--html",       "--plot",      "--color",      "--dry-run",     "--debug",
                                             "--from-petsc", "--from-amgx", "--from-scipy", "--from-ginkgo", "--return",
                                             "--suite",      "--resume",    "--report"};

constexpr std::array<std::pair<Word, Word>, 10> later_values{{{"precond", "ilu0"},
                                                              {"precond", "bjacobi"},
                                                              {"precond", "poly"},
                                                              {"precond", "neumann"},
                                                              {"precond", "ainv"},
                                                              {"precond", "amg"},
                                                              {"precision", "mixed"},
                                                              {"replace-residual", "never"},
                                                              {"method", "gmres"},
                                                              {"method", "minres"}}};

}  // namespace

bool is_later_command(Word word) {
  return std::find(later_commands.begin(), later_commands.end(), word) != later_commands.end();
}

bool is_later_option(Word option) {
  return std::find(later_options.begin(), later_options.end(), option) != later_options.end();
}

bool is_later_value(Word option, Word value) {
  const std::pair<Word, Word> wanted{option, value.substr(0, value.find_first_of(":("))};
  return std::find(later_values.begin(), later_values.end(), wanted) != later_values.end();
}

void refuse_command(Word word) {
  throw UsageError(fmt::format("command \"{}\" is not available in this build", word),
                   fmt::format("solve --help lists the commands; a file of that name is ./{}", word));
}

void refuse_option(Word option) { throw UsageError(fmt::format("option {} is not available in this build", option)); }

void refuse_value(Word option, Word value, Word available) {
  throw OptionError(std::string(option),
                    fmt::format("--{} {} is not available in this build; available: {}", option, value, available));
}

}  // namespace tessera::cli
