/// \file
/// solve: sparse systems and graph ranking from the command line.

#include "commands.hpp"
#include "help_text.hpp"
#include "interrupt.hpp"
#include "machine.hpp"
#include "messages.hpp"
#include "outputs.hpp"

#include <exception>
#include <string>
#include <vector>

namespace tessera::cli {

namespace {

[[nodiscard]] ExitCode dispatch(const Options& options, const Invocation& invocation) {
  if (options.flag("help")) {
    write_stdout(help_text(options.command()));
    return ExitCode::success;
  }
  if (options.flag("version")) return version_command(options);
  switch (options.command()) {
    case Command::run:
      return run_command(options, invocation);
    case Command::pagerank:
      return pagerank_command(options, invocation);
    case Command::doctor:
      return doctor_command(options, invocation);
    case Command::list:
      return list_command(options);
  }
  return ExitCode::internal_error;
}

}  // namespace

}  // namespace tessera::cli

int main(int argc, char** argv) {
  using namespace tessera::cli;
  try {
    Invocation invocation{std::vector<std::string>(argv, argv + argc), utc_now()};
    install_interrupt_handlers();
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    return static_cast<int>(dispatch(parse_command_line(arguments), invocation));
  } catch (const std::exception& error) {
    const Failure failure = classify(error);
    print_failure(failure);
    return static_cast<int>(failure.code);
  }
}
