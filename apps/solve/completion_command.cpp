#include "commands.hpp"
#include "completion.hpp"
#include "outputs.hpp"
#include "usage_error.hpp"

#include "core/nearest.hpp"

#include <fmt/format.h>

namespace tessera::cli {

std::string completion_script(Shell shell) { return shell == Shell::bash ? bash_completion() : zsh_completion(); }

ExitCode completion_command(const Options& options) {
  const std::vector<std::string> shells = alternatives(command_words(Command::completion));
  const std::string known = fmt::format("{}", fmt::join(shells, ", "));
  if (options.words().size() != 1) throw UsageError(fmt::format("completion takes one of {}", known));
  const std::string& wanted = options.words().front();
  if (wanted != "bash" && wanted != "zsh") {
    throw UsageError(fmt::format("completion: expected one of {}, got \"{}\"", known, wanted),
                     did_you_mean(wanted, shells));
  }
  write_stdout(completion_script(wanted == "bash" ? Shell::bash : Shell::zsh));
  return ExitCode::success;
}

}  // namespace tessera::cli
